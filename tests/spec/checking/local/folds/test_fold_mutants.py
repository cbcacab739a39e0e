"""Folds with one condition weakened each, and the function of the state that shows it.

`test_folds` requires that each of these functions is decided as in plain Python. A mutant is a module whose text has
one change. Plain values refute most wrong paths; then the rule becomes opaque, which counts as a difference.
"""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

from spec.checking.local import LocalEngine, recording
from spec.checking.local.folds import aggregates, aggregation, purity, rewriting, twins
from spec.checking.local.tables import DecisionTables
from spec.checking.reference import ReferenceEngine
from tests.spec.checking.local.folds import test_aggregates as of_sets
from tests.spec.checking.local.folds import test_folds as folds
from tests.spec.checking.local.folds.crowds import Judged, fold_from, found, require_agreement

MUTANTS = [
    (rewriting, ' if name == "any" else ast.UnaryOp(ast.Not(), node.elt)', "", folds.all_of_them),
    (rewriting, "all(is_pure(part, self.known) for part in parts)", "True", folds.appending_by_name),
    (rewriting, "return ast.Constant(True)", "return ast.Constant(False)", folds.in_a_loop),
    (rewriting, "[ast.Continue(), *_]", "[ast.Continue() | ast.Break(), *_]", folds.at_the_end_of_a_loop),
    (rewriting, "ast.For(target, iterable, turn, [])", "ast.For(target, iterable, turn, _)", folds.ended),
    (rewriting, "and self._is_only_for(first, [name], rest):", "and True:", folds.leaking_to_the_next),
    (rewriting, "all(id(read) in inside for read in reads)", "True", folds.leaking),
    (rewriting, "for name in self._kept_names(part)}", "for name in ()}", folds.leaking_to_a_function),
    (rewriting, "if first in self.every_turn and", "if", folds.leaking_in_some_turns),
    (rewriting, " and binding not in ast.walk(node)", "", folds.leaking_from_an_inner_loop),
    (rewriting, "if _is(condition, True):", "if isinstance(condition, ast.Constant):", folds.raising_in_a_loop),
    (rewriting, "if _is(yes, True) and _is(no, True):", "if ast.dump(yes) == ast.dump(no):", folds.raising_in_a_loop),
    (rewriting, "CONSUMING - self.known", "CONSUMING", folds.leaking_by_another_name),
    (rewriting, "if consumer is not None:", "if False:", folds.shadowed),
    (purity, "and member not in _IN_PLACE", "", folds.appending_by_name),
    (purity, "ast.Subscript(ctx=context)", "ast.Subscript(ctx=ast.Load() as context)", folds.setting),
    (purity, "all(map(self._is_pure_function, functions))", "True", folds.appending_elsewhere),
    (purity, "not fresh.issuperset(_bound_in(each.target))", "False", folds.appending_elsewhere),
    (purity, "return value in _PURE", "return True", folds.pushing),
    (purity, "return kind is dict", "return issubclass(kind, dict)", folds.counting),
    (purity, "all(map(stays, tuple.__iter__(value)))", "True", folds.of_a_generator),
    (purity, "return stays(cell.cell_contents)", "return True", folds.consuming),
    (purity, "or not holds:", "or False:", folds.shadowed),
    (purity, "matters = True\n", "matters = False\n", folds.what_is_not_known),
    (purity, "if in_vain >= PATIENCE", "if in_vain", folds.raising),
    (rewriting, 'keyword.arg == "default" and isinstance(value, ast.Constant)', "True", of_sets.from_a_start),
    (rewriting, '("sum", ast.SetComp), ', "", of_sets.once_each),
    (aggregation, "builtin is not BUILTINS[kind] or ", "", of_sets.shadowed),
    (aggregation, "self._purity.of(body, calls) and variables_stay(body)", "variables_stay(body)", of_sets.noting),
    (aggregation, "self._purity.of(body, calls) and variables_stay(body)", "True", of_sets.consuming),
    (aggregation, "if result is None:", "if False:", of_sets.of_nothing),
    (
        aggregation,
        "value is None or type(value) in (int, str)",
        "type(value) in (int, str, bool)",
        of_sets.of_equal_tuples,
    ),
    (aggregation, "(*partial, value)", "tuple(sorted((*partial, value)))", of_sets.in_order),
    (aggregation, "if there is None or there:", "if True:", of_sets.without_a_member),
    (aggregation, "return type(value), value", "return type, value", of_sets.of_equal_values_in_a_loop),
    (aggregation, "return type(value), value\n    raise TypeError", "pass\n    return int, value", of_sets.of_a_list),
    (rewriting, " or loop.orelse", "", of_sets.at_the_end),
    (
        rewriting,
        "if not self._is_only_for(each, [name], loop.body[at + 1 :]):",
        "if False:",
        of_sets.after_its_turn,
    ),
    (rewriting, "bound_names(each.target), each.body)", "(), each.body)", of_sets.after_an_inner_loop),
    (
        aggregation,
        "if kind is list:\n                    return partial",
        "if False:\n                    pass",
        of_sets.until_there_are_enough,
    ),
    (aggregation, "return (False, after[0])", "return (True, after)", of_sets.until_there_are_enough),
    (aggregates, "known.get(slot, random", "{}.get(slot, random", of_sets.before_a_member),
]


def mutated(module: ModuleType, right: str, wrong: str) -> ModuleType:
    """A copy of a module with another text in one place."""
    text = inspect.getsource(module)
    assert text.count(right) == 1, f"{text.count(right)} times {right!r}"
    copy = ModuleType(module.__name__)
    exec(compile(text.replace(right, wrong), str(module.__file__), "exec"), vars(copy))
    return copy


def put_in_place(mutant: ModuleType, changed: pytest.MonkeyPatch) -> None:
    """Use what a mutant defines, wherever the others have imported it."""
    for user in (aggregates, aggregation, purity, rewriting, twins, recording):
        for name, right in list(vars(user).items()):
            if getattr(right, "__module__", None) == mutant.__name__ and hasattr(mutant, name):
                changed.setattr(user, name, getattr(mutant, name))


@pytest.mark.long
@pytest.mark.parametrize(("module", "right", "wrong", "judged"), MUTANTS, ids=[each[3].__name__ for each in MUTANTS])
def test_mutants_are_caught(
    module: ModuleType, right: str, wrong: str, judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_place(mutated(module, right, wrong), monkeypatch)
    with pytest.raises(AssertionError):
        require_agreement(judged, monkeypatch)


def test_plain_values_refute_what_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """If an element matters after all, the rule gets plain values, and the result is right."""
    put_in_place(mutated(purity, "matters = True\n", "matters = False\n"), monkeypatch)
    fold_from(1, monkeypatch)
    expected = found(folds.what_is_not_known, ReferenceEngine())
    assert found(folds.what_is_not_known, LocalEngine(1)) == expected._replace(opaque=("act",))


def test_earlier_paths_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the paths of a rule and of its twin would contradict each other."""
    monkeypatch.setattr(DecisionTables, "_forget", lambda *_: None)
    fold_from(5, monkeypatch)
    assert "not deterministic" in str(found(folds.any_of_them, LocalEngine(1)).enabled)
