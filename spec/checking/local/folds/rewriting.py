"""The syntax tree of a twin: whatever it iterates over goes through `members`, with a *probe* of the body.

    any(m.n > 1 for m in s.msgs if m.k == k)
    any(m.n > 1 for m in members(s.msgs, lambda e: (m.n > 1 for m in (e,) if m.k == k), any is ANY) if m.k == k)

    {m.n for m in s.msgs if m.k == k}
    {m.n for m in members(s.msgs, lambda e: (True for m in (e,) if m.k == k)) if m.k == k}

    for m in s.msgs:
        if m.k == k: ...
    for m in members(s.msgs, lambda e: (m.k == k for m in (e,))): ...

A probe is a generator for one element. The element matters if the generator yields anything true: the body would then
contribute a value, decide `any` or `all`, or run a statement. `members` leaves out elements that do not matter, and
the fold itself stays as its author wrote it: its iteration, its accumulator, its short circuit, its `else`.

Builtins that aggregate go through `aggregate`, with the iterable, and a body that says what an element contributes:

    sum(m.n for m in s.msgs if m.k == k)
    aggregate("sum", sum, s.msgs, lambda it: sum(m.n for m in members(it, ...) if m.k == k),
              lambda e: (m.n for m in (e,) if m.k == k))

So do loops that only assign to variables, or return; here `accumulate` says whether and how the loop ended:

    for m in s.msgs:
        total += m.n

    def step(e, total):
        for m in (e,):
            total += m.n
        return (total,)
    ended, result = accumulate(s.msgs, step, (total,))
    if ended is None:
        for m in s.msgs: ...
    elif ended:
        (total,) = result
    else:
        return result

Every call goes through `twin`, so the functions that a function calls are twins as well.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Final, TypeVar, cast

from spec.checking.local.folds.purity import called_members, is_pure, is_pure_turn

MEMBERS: Final = ".members"
TWIN: Final = ".twin"
AGGREGATE: Final = ".aggregate"
ACCUMULATE: Final = ".accumulate"
STEP: Final = ".step"
"""A turn of a loop, as a function."""
LOOPED: Final = ".looped"
ENDED: Final = ".ended"
RESULT: Final = ".result"
"""Variables around a loop: what it goes through; how and with what it ended, see `accumulate`."""
AGGREGATING: Final = {"frozenset", "len", "max", "min", "set", "sum"}
"""Builtins that aggregate what they go through."""
SIZE_OF_SET: Final = "len of a set"
SET: Final = ".set"
"""The real builtin, in a twin."""
_APART: Final = {*(("len", ast.GeneratorExp), ("sum", ast.SetComp), ("set", ast.SetComp), ("frozenset", ast.SetComp))}
"""Builtins with comprehensions that they do not aggregate as the values come: a generator has no length, and equal
values count once."""
DECIDING: Final = {"any": ".any", "all": ".all"}
"""Builtins that ask only whether a body is true, and the names of the real ones in a twin."""
ELEMENT: Final = ".element"
"""The parameter of a probe, and of a body. No name of an author has a dot."""
ITERABLE: Final = ".iterable"
"""The parameter of an author's call, if what it goes through is given."""
CONSUMING: Final = {"all", "any", "dict", "frozenset", "len", "list", "max", "min", "set", "sorted", "sum", "tuple"}
"""Builtins that exhaust a generator before they return."""
LONGEST: Final = 100
"""The most statements of a loop's body that are looked at: some are, once for each way on which they are reached."""

Scope = ast.FunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def rewritten(function: Scope, known: Collection[str]) -> Scope:
    """A rewritten copy of a function in which these names, besides its own variables, may not mean builtins."""
    return cast("Scope", ast.fix_missing_locations(_Rewriter(function, known).visit(deepcopy(function))))


class _Rewriter(ast.NodeTransformer):
    def __init__(self, function: Scope, known: Collection[str]):
        self.known = {*known, *bound_names(function)}
        """Names of variables, and of globals that hide a builtin."""
        self.scopes: list[Scope] = []
        self.deciding: dict[ast.expr, str] = {}
        """Generators that are the argument of `any` or `all`, with its name."""
        self.aggregated = set[ast.expr]()
        """Comprehensions that are the argument of a builtin that aggregates."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._within(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._within(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def _within(self, scope: Scope) -> ast.AST:
        self.scopes.append(scope)
        scope = self.generic_visit(scope)  # type: ignore[assignment]
        self.scopes.pop()
        return scope

    # Calls.

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(ast.Name(("any" | "all") as name), [ast.GeneratorExp() as generator], []):
                self.deciding[generator] = name
            case ast.Call(ast.Name("super")):  # the compiler looks for this very call
                return self.generic_visit(node)
            case ast.Call(ast.Name(name), [argument], keywords) if name in AGGREGATING:
                if not isinstance(argument, ast.Starred) and all(map(_is_default, keywords)):
                    return self._aggregated(node, name, argument)
        return self._called(node)

    def _called(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        node.func = _call(TWIN, node.func)
        return node

    # Aggregates.

    def _aggregated(self, node: ast.Call, name: str, argument: ast.expr) -> ast.AST:
        """A call of a builtin that aggregates."""
        builtin = deepcopy(node.func)
        match argument:
            case ast.GeneratorExp() | ast.ListComp() | ast.SetComp():
                calls = self._calls_if_pure([_contribution(argument)], argument.generators)
                if calls is None or (name, type(argument)) in _APART:
                    return self._called(node)
                self.aggregated.add(argument)
                kind = SIZE_OF_SET if name == "len" and isinstance(argument, ast.SetComp) else name
                return self._with_body(kind, builtin, self._called(node), argument, calls)
        made = self._called(node)
        iterable, made.args = made.args[0], [_loaded(ITERABLE)]
        return _call(AGGREGATE, ast.Constant(name), builtin, iterable, _of_iterable(made))

    def _with_body(
        self, kind: str, builtin: ast.expr, made: ast.expr, node: Comprehension, calls: Sequence[str]
    ) -> ast.expr:
        """The call of `aggregate` for what was made of a comprehension and of the call around it."""
        first, *others = node.generators
        iterable, first = _apart(first, ITERABLE)
        body = _probe(_contribution(node), first, others)
        return _call(AGGREGATE, ast.Constant(kind), builtin, iterable, _of_iterable(made), body, _names(calls))

    # Comprehensions and generator expressions.

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        calls = self._calls_if_pure([node.elt], node.generators)
        made = self._comprehension(node)
        if calls is None or node in self.aggregated:
            return made
        return self._with_body("set", _loaded(SET), node, node, calls)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        return self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._comprehension(node)

    def _comprehension(self, node: Comprehension) -> ast.AST:
        name = self.deciding.get(cast("ast.expr", node))
        body = [node.elt] if name and isinstance(node, ast.GeneratorExp) else []
        tried = [self._is_tried(body, node.generators[at:]) for at in range(len(node.generators))]
        self.generic_visit(node)
        for at, (generator, calls) in reversed(list(enumerate(zip(node.generators, tried, strict=True)))):
            if calls is None:
                continue
            value: ast.expr = ast.Constant(True)
            if name and isinstance(node, ast.GeneratorExp):
                value = node.elt if name == "any" else ast.UnaryOp(ast.Not(), node.elt)
            generator.iter = _members(
                generator.iter, _probe(value, generator, node.generators[at + 1 :]), calls, name
            )
        return node

    def _is_tried(self, body: list[ast.expr], generators: Sequence[ast.comprehension]) -> tuple[str, ...] | None:
        """The members that the probe of the first of these generators calls; None if there is no point in a probe."""
        if not (body or any(each.ifs for each in generators)):
            return None
        if isinstance(generators[0].iter, ast.Tuple | ast.List | ast.Set):  # no set of a state
            return None
        return self._calls_if_pure(body, generators)

    def _calls_if_pure(
        self, body: Sequence[ast.expr], generators: Sequence[ast.comprehension]
    ) -> tuple[str, ...] | None:
        """The members that are called for an element of the first of these generators; None if that is not pure."""
        conditions = [condition for each in generators for condition in each.ifs]
        parts = [*body, *conditions, *(each.target for each in generators), *(each.iter for each in generators[1:])]
        if any(each.is_async for each in generators):
            return None
        return called_members(parts) if all(is_pure(part, self.known) for part in parts) else None

    # Loops.

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        loop = _Loop(self.scopes[-1], self.known)
        matters = loop.matters(node)
        variables = loop.variables(node)
        calls = called_members(node.body)
        self.generic_visit(node)
        turn = deepcopy(node.body)
        if matters is not None:
            generator = ast.comprehension(node.target, node.iter, [], 0)
            probe = _probe(self.visit(matters), generator, [])
            node.iter = _members(node.iter, probe, called_members([matters]), None)
        return _accumulated(node, turn, variables, calls) if variables else node


class _Loop:
    """Says as an expression what a loop's body would do for one element."""

    def __init__(self, scope: Scope, known: set[str]):
        self.scope, self.known = scope, known
        self.every_turn = set[ast.stmt]()
        """Statements of a loop's body that each turn reaches, unless it has gone on to the next one."""
        self.looked_at = 0

    def matters(self, loop: ast.For) -> ast.expr | None:
        """Whether the body would run a statement that something outside can notice; None if it always may."""
        if not self._is_only_for(loop, bound_names(loop.target), loop.body) or not is_pure(loop.target, ()):
            return None
        found = self._turn(loop.body)
        return None if isinstance(found, ast.Constant) else found

    def variables(self, loop: ast.For) -> tuple[str, ...]:
        """The variables that a loop's turns assign for later, if that is all that they do; otherwise none."""
        body = self.scope.body if isinstance(self.scope, ast.FunctionDef) else []
        if loop not in body or loop.orelse or not is_pure_turn(loop, self.known):
            return ()
        if not self._is_only_for(loop, bound_names(loop.target), loop.body) or not is_pure(loop.target, ()):
            return ()
        lasting: dict[str, None] = {}
        for at, statement in enumerate(loop.body):
            for each in ast.walk(statement):
                match each:
                    case ast.For():
                        if not self._is_only_for(each, bound_names(each.target), each.body):
                            return ()
                    case ast.Assign([ast.Name(name)]) if each is statement and name not in lasting:
                        if not self._is_only_for(each, [name], loop.body[at + 1 :]):
                            lasting[name] = None
                    case ast.Assign() | ast.AugAssign():
                        lasting |= dict.fromkeys(bound_names(each))
        before = body[: body.index(loop)]
        assigned = {
            name
            for each in before
            if isinstance(each, ast.Assign) or (isinstance(each, ast.AnnAssign) and each.value)
            for name in bound_names(each)
        }
        parameters = {each.arg for each in ast.walk(self.scope.args) if isinstance(each, ast.arg)}
        others = (ast.Global, ast.Nonlocal, ast.Delete)
        if not lasting.keys() <= assigned | parameters or any(
            isinstance(each, others) for each in ast.walk(self.scope)
        ):
            return ()
        return tuple(lasting)

    def _turn(self, body: Sequence[ast.stmt]) -> ast.expr:
        """Whether a turn of a loop does something, as an expression."""
        self.every_turn.update(body)
        return self._statements(body)

    def _statements(self, body: Sequence[ast.stmt]) -> ast.expr:
        """Whether these statements do something, as an expression."""
        self.looked_at += 1
        match body if self.looked_at <= LONGEST else [ast.Break()]:
            case [] | [ast.Continue(), *_]:
                return ast.Constant(False)
            case [ast.Pass() | ast.Expr(ast.Constant()), *rest]:
                return self._statements(rest)
            case [ast.If(test, then, otherwise), *rest] if is_pure(test, self.known):
                if any(isinstance(each, ast.Continue) for part in (*then, *otherwise) for each in ast.walk(part)):
                    then, otherwise, rest = [*then, *rest], [*otherwise, *rest], []
                choice = _either(test, self._statements(then), self._statements(otherwise))
                return _or(choice, self._statements(rest))
            case [ast.Assign([ast.Name(name)], value) as first, *rest] if is_pure(value, self.known):
                if first in self.every_turn and self._is_only_for(first, [name], rest):
                    return _some(self._statements(rest), ast.Name(name), _one(value))
            case [ast.For(target, iterable, turn, []) as first, *rest] if is_pure(iterable, self.known):
                if self._is_only_for(first, bound_names(target), turn) and is_pure(target, ()):
                    return _or(_some(self._turn(turn), target, deepcopy(iterable)), self._statements(rest))
        return ast.Constant(True)

    def _is_only_for(self, binding: ast.stmt, names: Iterable[str], body: Sequence[ast.stmt]) -> bool:
        """Whether what a statement binds is read only in this body, and no longer in the next turn of a loop."""
        wanted = set(names)
        for node in ast.walk(self.scope):
            if isinstance(node, ast.Global | ast.Nonlocal) and not wanted.isdisjoint(node.names):
                return False
        inside = {id(each) for part in body for each in ast.walk(part)}
        kept = {name for part in body for name in self._kept_names(part)}
        reads = (read for name in wanted for read in _reads(self.scope, name, binding))
        return kept.isdisjoint(wanted) and all(id(read) in inside for read in reads)

    def _kept_names(self, node: ast.AST) -> Iterator[str]:
        """The names in functions and generators that may outlive the turn of a loop in which they are made."""
        match node:
            case ast.Call(ast.Name(name), [ast.GeneratorExp() as generator], keywords) if (
                name in CONSUMING - self.known
            ):
                for each in (*ast.iter_child_nodes(generator), *keywords):
                    yield from self._kept_names(each)
            case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.GeneratorExp():
                yield from (each.id for each in ast.walk(node) if isinstance(each, ast.Name))
            case _:
                for each in ast.iter_child_nodes(node):
                    yield from self._kept_names(each)


def _reads(node: ast.AST, name: str, binding: ast.stmt) -> Iterator[ast.AST]:
    """Where a variable is read that a statement binds; not where another loop, or an inner scope, has bound it."""
    inner: Iterable[ast.AST] = ast.iter_child_nodes(node)
    match node:
        case ast.Name(id=found, ctx=ast.Load() | ast.Del()) if found == name:
            yield node
        case ast.For(target, iterable, _, otherwise) if name in bound_names(target) and binding not in ast.walk(node):
            inner = (iterable, *otherwise)
        case ast.ListComp(generators=every) | ast.SetComp(generators=every) | ast.GeneratorExp(generators=every) if (
            any(name in bound_names(each.target) for each in every)
        ):
            inner = (every[0].iter,)
    for each in inner:
        yield from _reads(each, name, binding)


def bound_names(node: ast.AST) -> Iterator[str]:
    """The names that are bound in a node: variables and parameters, also those of functions inside it."""
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((name.asname or name.name).partition(".")[0] for name in names)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name


def _is(node: ast.expr, constant: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is constant


def _loaded(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _call(name: str, *given: ast.expr) -> ast.Call:
    return ast.Call(_loaded(name), list(given), [])


def _one(value: ast.expr) -> ast.expr:
    return ast.Tuple([deepcopy(value)], ast.Load())


def _or(one: ast.expr, other: ast.expr) -> ast.expr:
    if _is(one, True) or _is(other, False):
        return one
    return other if _is(one, False) or _is(other, True) else ast.BoolOp(ast.Or(), [one, other])


def _either(test: ast.expr, yes: ast.expr, no: ast.expr) -> ast.expr:
    """One expression if a test holds, else another."""
    if _is(yes, True) and _is(no, True):
        return yes
    if _is(no, False):  # even if both are: the test may raise
        return deepcopy(test) if _is(yes, True) else ast.BoolOp(ast.And(), [deepcopy(test), yes])
    return ast.IfExp(deepcopy(test), yes, no)


def _some(condition: ast.expr, target: ast.expr, iterable: ast.expr) -> ast.expr:
    """Whether a condition holds for some value of a variable, of which there is one."""
    if _is(condition, True):
        return condition
    target = ast.Name(target.id, ast.Store()) if isinstance(target, ast.Name) else deepcopy(target)
    every = ast.comprehension(target, iterable, [condition], 0)
    return _call(DECIDING["any"], ast.GeneratorExp(ast.Constant(True), [every]))


def _probe(value: ast.expr, first: ast.comprehension, others: Sequence[ast.comprehension]) -> ast.expr:
    """A function of an element: a generator of what the body says of it."""
    here = ast.comprehension(first.target, ast.Tuple([_loaded(ELEMENT)], ast.Load()), first.ifs, 0)
    element = ast.arguments([], [ast.arg(ELEMENT)], None, [], [], None, [])
    return ast.Lambda(element, deepcopy(ast.GeneratorExp(value, [here, *others])))


def _accumulated(
    loop: ast.For, turn: list[ast.stmt], variables: Sequence[str], calls: Sequence[str]
) -> list[ast.stmt]:
    """Statements that run a loop unless `accumulate` says what it makes of its variables."""
    parameters = ast.arguments([], [ast.arg(name) for name in (ELEMENT, *variables)], None, [], [], None, [])
    values = ast.Tuple([_loaded(name) for name in variables], ast.Load())
    for each in (each for statement in turn for each in ast.walk(statement) if isinstance(each, ast.Return)):
        each.value = ast.List([each.value or ast.Constant(None)], ast.Load())
    once = ast.For(deepcopy(loop.target), ast.Tuple([_loaded(ELEMENT)], ast.Load()), turn, [])
    step = ast.FunctionDef(STEP, parameters, [once, ast.Return(values)], [])
    result = _call(ACCUMULATE, _loaded(LOOPED), _loaded(STEP), deepcopy(values), _names(calls))
    targets = ast.Tuple([ast.Name(name, ast.Store()) for name in variables], ast.Store())
    ended = ast.Tuple([ast.Name(ENDED, ast.Store()), ast.Name(RESULT, ast.Store())], ast.Store())
    iterable, loop = _apart(loop, LOOPED)
    must_run = ast.Compare(_loaded(ENDED), [ast.Is()], [ast.Constant(None)])
    goes_on = ast.If(_loaded(ENDED), [ast.Assign([targets], _loaded(RESULT))], [ast.Return(_loaded(RESULT))])
    return [
        ast.Assign([ast.Name(LOOPED, ast.Store())], iterable),
        step,
        ast.Assign([ended], result),
        ast.If(must_run, [loop], [goes_on]),
    ]


Iterating = TypeVar("Iterating", ast.comprehension, ast.For)


def _apart(node: Iterating, name: str) -> tuple[ast.expr, Iterating]:
    """What a loop or comprehension goes through; and the same one, going through a variable that holds this."""
    match node.iter:
        case ast.Call(ast.Name(function), arguments) if function == MEMBERS:
            iterable, arguments[0] = arguments[0], _loaded(name)
        case iterable:
            node.iter = _loaded(name)
    return iterable, node


def _members(iterable: ast.expr, probe: ast.expr, calls: Sequence[str], consumer: str | None) -> ast.expr:
    """The call of `members`. If `any` or `all` decides, the probe holds only as long as that is the builtin."""
    more: list[ast.expr] = []
    if consumer is not None:
        more.append(ast.Compare(_loaded(consumer), [ast.Is()], [_loaded(DECIDING[consumer])]))
    return _call(MEMBERS, iterable, probe, _names(calls), *more)


def _names(names: Iterable[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(name) for name in names], ast.Load())


def _is_default(keyword: ast.keyword) -> bool:
    """Whether a keyword says only what `max` of nothing is."""
    value = keyword.value.operand if isinstance(keyword.value, ast.UnaryOp) else keyword.value
    return keyword.arg == "default" and isinstance(value, ast.Constant)


def _contribution(node: Comprehension) -> ast.expr:
    return node.value if isinstance(node, ast.DictComp) else node.elt


def _of_iterable(made: ast.expr) -> ast.expr:
    """An author's call, as a function of what it goes through."""
    given = ast.arguments([], [ast.arg(ITERABLE)], None, [], [], None, [])
    return ast.Lambda(given, deepcopy(made))
