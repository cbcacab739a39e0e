"""How many lines the specifications take, and for what: at a revision and in the working tree, side by side.

`python -m benchmarks.lines [REVISION]`. Counted is every line that is not blank, as it stands in the file:

    imports             import statements
    domains and layout  variables, their classes of states, what gives a domain or a size, the types of values;
                        and the plumbing: the parts, with what each is given
    constants           constants and switches, assumptions, what releases have of them
    actions             what may happen, and how it begins
    properties          invariants, transition invariants, witnesses
    views               sentences about states
    pictures            what draws a state, or a part of it
    the rest            docstrings of files and systems, functions that the others call, those of states too

A docstring and the comments before a statement count to what they belong to. An override without a word before it is
what it overrides.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
BEFORE: Final = "523640a"
"""The last revision at which every variable was a method that gave its domain."""
SYSTEMS: Final = ("spec/systems", "spec/parts")
"""Counted file by file, and by kind."""
BESIDE: Final = ("spec/language", "statemachines")
"""Counted as a whole."""
NAME: Final = 36
"""Columns of the name of a file."""

IMPORTS, DOMAINS, CONSTANTS = "imports", "domains and layout", "constants"
ACTIONS, PROPERTIES, VIEWS, PICTURES, REST = "actions", "properties", "views", "pictures", "the rest"
KINDS: Final = (IMPORTS, DOMAINS, CONSTANTS, ACTIONS, PROPERTIES, VIEWS, PICTURES, REST)

WORDS: Final = {
    "variable": DOMAINS,
    "part": DOMAINS,
    "constant": CONSTANTS,
    "switch": CONSTANTS,
    "switches": CONSTANTS,
    "assumption": CONSTANTS,
    "initial": ACTIONS,
    "action": ACTIONS,
    "invariant": PROPERTIES,
    "transition_invariant": PROPERTIES,
    "sometimes": PROPERTIES,
    "view": VIEWS,
    "picture": PICTURES,
}
"""What stands behind, or before, a word of the language."""
MAKES_DOMAINS: Final = {
    *("booleans", "either", "every", "integers", "interchangeable", "left_out", "mapping", "one_of", "optional"),
    *("part_of", "partial_mapping", "record", "sequence_of", "subset_of", "tuple_of", "at_most", "domain_of"),
}
DRAWN: Final = {"Cells", "Drawing", "Grid", "Queue", "Tag", "Tags", "Tree"}
"""Of what a picture is made."""
NAMES_A_TYPE: Final = {"Annotated", "Literal", "NewType", "TypeAlias"}
OF_VALUES: Final = {"NamedTuple", "Enum", "IntEnum"}
"""Bases of the classes whose values stand in a state."""
OF_STATES: Final = {"State"}
"""Bases of the classes of states, which have variables, and functions of them."""
OF_RELEASES: Final = {"since", "releases"}

Known = Mapping[str, str]
"""Of which kind a name is that some class of a system has: an override has no word of its own."""


def counted(source: str, known: Known = {}) -> Counter[str]:  # noqa: B006 - it is only read
    """The lines of a file, by kind; together they are all that are not blank."""
    lines = source.splitlines()
    kinds = [REST] * len(lines)
    for first, last, kind in _kinds(ast.parse(source).body, 1, {**kinds_of_names([source]), **known}):
        kinds[first - 1 : last] = [kind] * (last - first + 1)
    return Counter(kind for line, kind in zip(lines, kinds, strict=True) if line.strip())


def kinds_of_names(sources: Iterable[str]) -> dict[str, str]:
    """Of which kind the methods are that stand behind a word."""
    return {
        node.name: kind
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        for kind in (_by_word(node.decorator_list),)
        if kind
    }


def _kinds(body: list[ast.stmt], begin: int, known: Known) -> Iterator[tuple[int, int, str]]:
    """The first and the last line of each statement, comments before it included, and its kind."""
    kind = REST
    for statement in body:
        last = statement.end_lineno or statement.lineno
        if not _is_docstring(statement):  # which goes with what it stands behind
            kind = _kind(statement, known)
        if isinstance(statement, ast.ClassDef) and kind == REST:
            yield from _kinds(statement.body, statement.body[0].lineno, known)
        else:
            yield begin, last, kind
        if isinstance(statement, ast.ClassDef) and OF_STATES & set(_names(statement.bases)):
            yield from ((first, end, REST) for first, end in _functions(statement))
        begin = last + 1


def _functions(of: ast.ClassDef) -> Iterator[tuple[int, int]]:
    """The first and the last line of each function, its decorators included."""
    for each in of.body:
        if isinstance(each, ast.FunctionDef):
            yield min([each.lineno, *(its.lineno for its in each.decorator_list)]), each.end_lineno or each.lineno


def _kind(statement: ast.stmt, known: Known) -> str:
    match statement:
        case ast.Import() | ast.ImportFrom():
            return IMPORTS
        case ast.If(body=body) if all(_kind(each, known) == IMPORTS for each in body):
            return IMPORTS
        case ast.ClassDef(bases=bases) if (OF_VALUES | OF_STATES) & set(_names(bases)):
            return DOMAINS
        case ast.FunctionDef(name=name, decorator_list=decorators, returns=returns):
            if returns and DRAWN & set(_names([returns])):
                return PICTURES
            given = {*_names([returns] if returns else ()), *_called(statement)}
            domains = name == "sizes" or any("Domain" in each for each in given) or "Size" in given
            return _by_word(decorators) or known.get(name) or (DOMAINS if domains or given & MAKES_DOMAINS else REST)
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            given = set(_names([statement]))
            if given & OF_RELEASES or name in OF_RELEASES:
                return CONSTANTS
            made = _by_word([statement.value] if statement.value else ())
            return made or known.get(name) or (DOMAINS if given & (MAKES_DOMAINS | NAMES_A_TYPE) else REST)
    return REST


def _by_word(expressions: Iterable[ast.expr]) -> str:
    """The kind of what these words stand before, `@action` or `@action(...)`, or begin: `constant(...)`."""
    functions = (each.func if isinstance(each, ast.Call) else each for each in expressions)
    return next((WORDS[each.id] for each in functions if isinstance(each, ast.Name) and each.id in WORDS), "")


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """All names, but for those in strings."""
    for node in nodes:
        yield from (each.id for each in ast.walk(node) if isinstance(each, ast.Name))


def _called(function: ast.FunctionDef) -> Iterator[str]:
    """The names of the functions that it calls."""
    for each in ast.walk(function):
        if isinstance(each, ast.Call):
            yield from _names([each.func]) if isinstance(each.func, ast.Name) else ()


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


# The files.


def files(folder: str, revision: str | None) -> dict[str, str]:
    """The modules in a folder and below, by path: at a revision, or as they are."""
    if revision is None:
        paths = [path for path in sorted((ROOT / folder).rglob("*.py")) if path.name != "__init__.py"]
        return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    names = _git("ls-tree", "-r", "--name-only", revision, "--", f"{folder}/").splitlines()
    return {
        name: _git("show", f"{revision}:{name}")
        for name in names
        if name.endswith(".py") and not name.endswith("__init__.py")
    }


def _git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True).stdout


def table(revision: str | None) -> dict[str, Counter[str]]:
    """The lines of each system and part, and of what stands beside them, by kind."""
    specifications = {name: text for folder in SYSTEMS for name, text in files(folder, revision).items()}
    known = kinds_of_names(specifications.values())
    found = {name: counted(text, known) for name, text in specifications.items()}
    for folder in BESIDE:
        lines = (line for text in files(folder, revision).values() for line in text.splitlines())
        found[folder] = Counter({REST: sum(bool(line.strip()) for line in lines)})
    return found


def printed(before: Mapping[str, Counter[str]], now: Mapping[str, Counter[str]], revision: str) -> str:
    """Both, a line for each file and time, and all together; where there was no such file, there is no line."""
    times = {revision[:9]: dict(before), "now": dict(now)}
    for each in times.values():
        each["together"] = Counter({REST: sum(lines.total() for lines in each.values())})
    columns = [*KINDS, "all"]
    shown = [f"{'':{NAME + 9}}" + "".join(f"   {column}" for column in columns)]
    for name in dict.fromkeys([*before, *now, "together"]):
        label = name
        for when, counts in times.items():
            if name in counts:
                numbers = [counts[name][kind] for kind in KINDS] if name.endswith(".py") else [0] * len(KINDS)
                cells = zip([*numbers, counts[name].total()], columns, strict=True)
                row = "".join(f"{number or '':>{len(column) + 3}}" for number, column in cells)
                shown.append(f"{label:{NAME}}{when:>9}{row}")
                label = ""
    return "\n".join(line.rstrip() for line in shown)


def main() -> None:
    """Print how many there are, and were."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument(
        "revision",
        nargs="?",
        default=BEFORE,
        metavar="REVISION",
        help=f"of git; else {BEFORE}, the last before types had sizes and systems were made of parts",
    )
    revision = asked.parse_args().revision
    print(printed(table(revision), table(None), revision))


if __name__ == "__main__":
    main()
