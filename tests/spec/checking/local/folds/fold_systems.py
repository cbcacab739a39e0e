"""Random specifications full of folds over sets and mappings, as Python modules that a person can read, save and run.

Bodies nest, raise, end early, call helpers, mutate lists and consume iterators; names leak from loops, and builtins
are shadowed. Hypothesis makes the choices, so it also finds the smallest specification that fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from textwrap import indent
from typing import Final

from hypothesis import strategies as st

PRELUDE: Final = '''"""Senders, a set of messages, and places."""
from typing import Annotated, Any, NamedTuple

from spec.language import Partial, Size, Specification, State, Step, Total, action, at_most, initial, invariant
from spec.language import require, sometimes, variable

Number = Annotated[int, "a number"]
Name = Annotated[str, "a name"]
Place = Annotated[int, "a place"]


class A(NamedTuple):
    """With a name."""

    k: Name
    n: Number

    @property
    def great(self):
        return self.n > 1


class B(NamedTuple):
    """Without."""

    n: Number


def like(m, s):
    return sum(1 for x in s.msgs if x.n == m.n) + isinstance(m, A)


def shadowed(s, wanted):
    any = all
    return any(m.n == wanted for m in s.msgs)


def spread(found, m):
    found.append(m)
    return len(found) > 1


class Here(State):
    """The state."""

    msgs: frozenset[A | B] = variable("Messages.")
    at: Total[Name, Number] = variable("A number of each.")
    pair: B = variable("A record.")
    q: tuple[Number, ...] = variable("A queue.")
    row: Total[Place, Number] = variable("A number in each place.")
    held: Partial[Place, Number] = variable("A number in some places.")
    tags: Total[Place, A] = variable("A record in each place.")


class Made(Specification[Here]):
    """Made at random."""

    def sizes(self) -> dict[Any, Size]:
        return {Number: range(3), Name: ["a", "b"], Place: range(4), tuple[Number, ...]: at_most(1)}

    def plain(self, s, n):
        return n + s.at["a"]

    def other(self, s, n):
        return [m for m in s.msgs if m.n != n]
'''
"""The beginning of each module."""

SOURCES: Final = (
    *["s.msgs"] * 4,
    *("s.msgs - {B(1)}", "s.msgs | {B(2)}", "(s.msgs & {A('a', 1), B(0)})", "sorted(s.msgs, key=repr)"),
    *("{m for m in s.msgs if <e:m>}", "(m for m in s.msgs if <e:m>)", "list(s.msgs)", "{B(0)} | s.msgs"),
)
PLACES: Final = (*["range(4)"] * 3, "s.row", "s.held", "(0, 2, 3)", "sorted(s.held)", "[*s.held.keys()]")
CONDITIONS: Final = (
    *("<v>.n == <n>", "isinstance(<v>, A)", "<v>.n > s.at['a']", "(<v>.n + 1) % 2 == 0", "<v>.n == s.pair.n"),
    *("isinstance(<v>, A) and s.at[<v>.k] <= <v>.n", "B(<v>.n) in s.msgs", "<v>.n in s.q", "like(<v>, s) > 1"),
    *("<v> in self.some(s, <n>)", "A('a', <v>.n) in s.msgs", "self.score(s, <v>.n) > <n>", "(6 // (<v>.n + 1)) > 2"),
    *("isinstance(<v>, A) and <v>.k == 'b'", "isinstance(<v>, A) and <v>.great", "<v>.n in (s.at['b'], <n>)"),
    *("any(<e:<v>x> and <v>x.n >= <v>.n for <v>x in s.msgs)", "all(<e:<v>x> for <v>x in s.msgs if <v>x != <v>)"),
    *("len([<v>x for <v>x in s.msgs if <v>x.n == <v>.n]) > 1", "not (<e:<v>>)", "(<e:<v>>) != (<e:<v>>)"),
)
"""Conditions on an element."""
FLAT: Final = -5
"""The last ones nest."""
RAISING: Final = (
    *("<v>.k == 'a'", "1 // <v>.n > 0", "s.at[<v>.k] > 0", "s.q[0] == <v>.n", "[1, 2][<v>.n] == 1", "<v>.great"),
)
"""Conditions that raise for some elements."""
IN_PLACES: Final = (
    *("s.row[<v>] == <n>", "s.row[<v>] > s.at['a']", "<v> in s.held", "<v> in s.held and s.held[<v>] == s.row[<v>]"),
    *("s.tags[<v>].n == <n>", "s.tags[<v>].great and s.tags[<v>].k == 'a'", "s.tags[<v>].n == s.row[<v>]"),
    *("B(s.row[<v>]) in s.msgs", "s.tags[<v>] in s.msgs", "s.row[(<v> + 1) % 4] > s.row[<v>]", "s.row[<v>] in s.q"),
    *("s.row[s.row[<v>]] == <n>", "like(s.tags[<v>], s) > 1", "s.held.get(<v>, 1) > <n>", "s.row[<v>] + <v> == <n>"),
)
"""Conditions on a place."""
RAISING_IN_PLACES: Final = ("s.held[<v>] > 0", "1 // s.row[<v>] > 0", "s.q[s.row[<v>]] == <n>")
SELDOM: Final = 20
"""How much more likely other conditions are: most systems should not raise."""
CARELESS: Final = (
    *("spread(found, <v>)", "next(each, 1) == <n>", "<v> in each", "(last := <v>.n) > <n>", "found.append(<v>.n)"),
    "bool(counts.setdefault(<v>.n, len(counts)))",
)
"""Conditions that depend on how often they were evaluated; `found`, `each` and `counts` are variables around them."""
QUESTIONS: Final = (
    *("<f>(<e:m> for m in <s>)", "<f>(<e:m> for m in <s> if <e:m>)", "<f>([<e:m> for m in <s>])", "len(s.msgs) > 2"),
    *("len({m.n for m in <s> if <e:m>}) <c> <n>", "sum(m.n for m in <s> if <e:m>) % 3 <c> <n>"),
    "max((m.n for m in <s> if <e:m>), default=-1) <c> <n>",
    "<f>(x.n <= y.n or <e:x> for x in <s> for y in s.msgs if <e:y>)",
    "bool([m for m in <s> if <e:m>]) == bool({(m.n, s.at['b']) for m in <s> if <e:m>})",
    "frozenset(m for m in <s> if <e:m>) <c> frozenset({B(0), B(1), A('a', 0)})",
    *("len({m.n: m for m in <s> if <e:m>}) <c> <n>", "self.looped(s, <n>)", "self.careless(s, <n>)"),
    *("self.counted(s, <n>)", "sum(m.n for m in s.msgs) <c> <n>", "{m.n for m in s.msgs} <c> {<n>, 1}"),
    *("shadowed(s, <n>)", "self.late(s, <n>)", "sorted(m.n for m in <s> if <e:m>)[:1] <c> [<n>]"),
    "<f>(n <= x.n for n, x in [(m.n, m) for m in <s>] if <e:x>)",
    *("sum(s.row.values()) % 3 <c> <n>", "set(s.row.values()) <c> {<n>, 1}", "max(s.row.values()) <c> <n>"),
    *("sum(<p:p> for p in <o>) <c> <n>", "sum(s.row[p] for p in <o> if <p:p>) % 3 <c> <n>", "self.rowed(s, <n>)"),
    *("len({s.row[p] for p in <o> if <p:p>}) <c> <n>", "len([p for p in <o> if <p:p> and <p:p>]) <c> <n>"),
    *(
        "sum(x for p, x in s.row.items() if <p:p>) % 3 <c> <n>",
        "min((x for x in s.held.values()), default=1) <c> <n>",
    ),
    *(
        "len(s.held) <c> <n>",
        "max((s.tags[p].n for p in <o> if <p:p>), default=0) <c> <n>",
        "<f>(<p:p> for p in <o>)",
    ),
    *("len({t.n for t in s.tags.values()}) <c> <n>", "self.rowed(s, <n>)", "{s.tags[p].k for p in <o>} == {'a'}"),
    *(
        "sum(s.row[p] == s.row[o] for p in <o> for o in <o> if p < o) <c> <n>",
        "sum(x > <n> for x in [*s.row.values()]) > 1",
    ),
)
"""Questions about a state."""
LINES: Final = """
def some(self, s, n):
    return {m for m in s.msgs if m.n <? == ;; < ;; >= ?> n and <h:m>}

def score(self, s, n):
    total = 0
    for m in s.msgs:
        if m.n == n:
            total += <? 1 ;; s.at["a"] ;; m.n ;; len(s.q) ?>
        <? if total > 2: break ;; if isinstance(m, B) and m.n == n: return total ;; pass ;; if not m.n: continue ?>
    return total

def looped(self, s, n):
    seen, last, fs, k, x = [], None, [], 0, B(n)
    for m in s.msgs:
        <? pass ;; if m.n == n: return True ;; if m.n < n: continue ;; if len(seen) > 1: break ;;
            if not <e:m>: continue ;; if m.n > n: return any(<e:x> for x in s.msgs) ?>
        <? pass ;; k = m.n ;; if <e:m>: k = m.n ;; if last == m.n: seen.append(n) ?>
        <? pass ;; if k == n: continue ;; if k > n and <e:m>: seen.append(k) ?>
        <? if m: ;; if <e:m>: ?>
            <? pass ;; seen.append(m.n) ;; last = m ;; seen += [s.at["b"]] ;; fs.append(lambda: m.n) ?>
        for <? x ;; x ;; m ?> in s.msgs:
            <? pass ;; pass ;; x = m ?>
            <? pass ;; if x.n == m.n and x != m: last = x ;; if x.n > m.n: seen = [] ;;
                if x.n == s.at["a"]: return False ;; if <e:x>: seen.append(x.n) ;; if <e:x>: break ;;
                k = 6 // (x.n + m.n) ?>
    <? else ;; if n ?>:
        <? pass ;; seen.append(n) ;; last = B(n) ?>
    return <? len(seen) > 1 ;; last is not None and last.n > 0 ;; bool(seen) and m.n > 0 ;;
        sum(f() for f in fs) > 1 ;; sum(map(repr(seen).count, "01")) % 2 == 0 ?>

def counted(self, s, n):
    total, last, k = <? 0 ;; n ;; s.at["a"] ?>, <? None ;; True ?>, 0
    for m in s.msgs:
        <? pass ;; if <e:m>: continue ;; k = m.n % 2 ;; k, last = last, m.n ;; if total > 2: return <e:m> ?>
        <? if m.n != k: ;; if <e:m>: ;; for x in range(m.n): ;; for x in s.msgs: ?>
            <? total += 1 ;; total += m.n ;; total = max(total, m.n) ;; last = m.n ;; last = last == m.n ;;
                k = s.at["b"] ?>
    <? pass ;; last = total ?>
    return bool(<? total % 3 == n ;; last == n ;; total > n and last ;; repr((k, last)) > repr((n, n)) ?>)

def rowed(self, s, n):
    total, last, k = <? 0 ;; n ;; s.at["a"] ?>, <? None ;; True ?>, 0
    for p in <o>:
        <? pass ;; if <p:p>: continue ;; k = s.row[p] % 2 ;; k, last = last, p ;; if total > 2: return <p:p> ?>
        <? if s.row[p] != k: ;; if <p:p>: ;; for x in range(s.row[p]): ;; if <p:p> and <p:p>: ?>
            <? total += 1 ;; total += s.row[p] ;; total = max(total, s.tags[p].n) ;; last = p ;; last = last == p ;;
                k = s.at["b"] ;; return p > n ?>
    <? pass ;; last = total ?>
    return bool(<? total % 3 == n ;; last == n ;; total > n and last ;; repr((k, last)) > repr((n, n)) ?>)

def careless(self, s, n):
    found, counts, each, last = [], {}, iter(<? range(3) ;; s.msgs ?>), 0
    got = <? any ;; all ;; len ?>([<c:m> for m in s.msgs])
    for m in s.msgs:
        if <c:m>: last += 1
    return bool(got) == (len(found) + len(counts) + last + len(list(each))) % 2

def late(self, s, n):
    there = (<? m ;; m.n ?> for m in s.msgs if <? m.n < n ;; <e:m> ?>)
    <? pass ;; n += 1 ;; n = s.at["a"] ;; next(there, 0) ?>
    return len([*there]) > n

@initial
def begin(self, s):
    s.at["a"] = s.at["b"] = 0
    s.pair = B(0)
    for p in range(4):
        s.row[p], s.tags[p] = p % 2, A("a", p % 3)

@action
def send(self, s, k: Name, n: Number):
    require(n == <n> or <q>)
    s.msgs |= {<? B(n) ;; A(k, n) ;; A(k, s.at[k]) ?>}

@action
def answer(self, s, n: Number):
    require(n == <n> or <q>)
    s.msgs |= {B(n)}
    s.pair = s.pair._replace(n=n)

@action
def move(self, s, k: Name):
    require(<q>)
    for m in s.msgs:
        if <e:m>:
            s.at[k] = <? m.n ;; max(m.n, s.at[k]) ;; (s.at[k] + m.n) % 3 ?>

@action
def place(self, s, p: Place, n: Number):
    require(n == <n> or <q>)
    <? s.row[p] = n ;; s.held[p] = n ;; s.tags[p] = A("b", n) ;; s.held.pop(p, None) ;;
        s.tags[p] = s.tags[p]._replace(n=s.row[p]) ;; s.row[p] = max(s.held.values(), default=n) ?>

@action
def swap(self, s, p: Place):
    <? s.row[p], s.row[0] = s.row[0], s.row[p] ;; s.row[p] = sum(s.row.values()) % 3 ;; s.held[p] = s.row[p] ;;
        s.tags[p] = s.tags[3] ?>
    require(<q>)

@action(n=lambda self, s: {m.n for m in s.msgs if <e:m>})
def queue(self, s, n: Number):
    require(<q>)
    s.q = tuple(m.n for m in s.msgs if <e:m>)[:1]
    s.msgs -= {m for m in s.msgs if <e:m>}

@sometimes
def seen(self, s):
    return <q>

@sometimes(where=lambda self, s: <q>)
def seen_too(self, s):
    return <q>

@sometimes
def seen_step(self, before, step, after):
    return <? any(<b:m> for m in after.msgs if m not in before.msgs) ;;
        sum(before.row[p] != after.row[p] for p in range(4)) <c> <n> ;;
        sum(after.row.values()) <c> sum(before.row.values()) ?>
"""
"""The methods. `<? one ;; another ?>` is a choice, `<e:m>` a condition on the element m, `<p:p>` one on the place p,
`<q>` a question."""

_SIMPLE: Final = {
    "n": ("0", "1", "2"),
    "f": ("any", "all"),
    "c": ("<", ">=", "=="),
    "s": SOURCES,
    "q": QUESTIONS,
    "o": PLACES,
}


@st.composite
def fold_systems(draw: Callable[[st.SearchStrategy[str]], str]) -> str:
    """The text of a module with a specification `Made`."""

    def one_of(lines: Sequence[str]) -> str:
        return draw(st.sampled_from(lines))

    def condition(kind: str, element: str) -> str:
        if kind == "p":
            line = one_of([*IN_PLACES * SELDOM, *RAISING_IN_PLACES])
        else:
            lines = CONDITIONS[: None if len(element) < 3 else FLAT]
            line = one_of([*lines * SELDOM, *RAISING, *CARELESS * (kind == "c") * SELDOM])
        text = filled(line.replace("<v>", element))
        if kind == "h":  # a helper calls no helper that calls it
            text = text.replace("self.some(s", "self.other(s").replace("self.score(", "self.plain(")
        if kind == "b":
            text = re.sub(r"\bs([.,)])", r"before\1", text)
        return text

    def filled(line: str) -> str:
        def choose(found: re.Match[str]) -> str:
            return one_of([each.strip() for each in found[1].split(";;")])

        def fill(found: re.Match[str]) -> str:
            mark, _, element = found[1].partition(":")
            return condition(mark, element) if element else filled(one_of(_SIMPLE[mark]))

        while (chosen := re.sub(r"<\?((?:(?!<\?).)*?)\?>", choose, line, flags=re.DOTALL)) != line:
            line = chosen
        return re.sub(r"<(\w(?::\w+)?)>", fill, line)

    return f"{PRELUDE}{indent(filled(LINES), '    ')}"
