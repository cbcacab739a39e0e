"""Places of random mutants: the changes of our own operators, and the excluded code."""

from __future__ import annotations

from itertools import count, takewhile
from pathlib import Path

from cosmic_ray.mutating import mutate_code

from tests.random_mutants import LEFT_OUT, Mutant, mutants_of
from tests.rows import rows


@rows(
    "operator, code, mutants",
    [
        ("a statement", "y = f(x)\nself.f(x)\n", ["y = f(x)\npass\n"]),
        ("a statement", "y = x\ny += x\n", ["y = x\npass\n"]),
        ("a statement", "y: int = x\ny.z = x\n", ["y: int = x\npass\n"]),
        ("a statement", "if x:\n    del y\n    y[x] = z\n", ["if x:\n    del y\n    pass\n"]),
        ("a filter", "[x for x in y if x]\n", ["[x for x in y ]\n"]),
        ("one of several", "x = (f(), *y, z)\n", ["x = (*(), *y, z)\n", "x = (f(), *(), z)\n"]),
        ("one of several", "f(g(), *y)\n(f(x) for x in y)\n", []),
        ("membership", "[x in y for x in z]\n", ["[x not in y for x in z]\n"]),
    ],
)
def test_code_excluded_from_mutation(operator: str, code: str, mutants: list[str]) -> None:
    """Mutants come in the order of their places."""
    made = (mutate_code(code, LEFT_OUT[operator], occurrence) for occurrence in count())
    assert list(takewhile(lambda each: each is not None, made)) == mutants


def test_docstrings_are_not_mutated(tmp_path: Path) -> None:
    """And neither are annotations, types, the lines of Kafka's sources, and strings."""
    module = tmp_path / "module.py"
    module.write_text('''"""1 and 2."""
Which: TypeAlias = int | None
by_source = (Line("2.0", "Kafka.scala", "process", 1000),)
def f(x: int | None) -> bool | None:
    return x is not None
''')
    (place,) = mutants_of(module)
    assert {(mutant.line, mutant.operator) for mutant in place} == {(5, "core/ReplaceComparisonOperator_IsNot_Is")}
    assert place[0].difference().splitlines()[1:] == ["    -    return x is not None", "    +    return x is None"]


def test_the_closest_tests_run_first() -> None:
    """First those that mirror the module, then those of its rooms, up to the package."""
    assert list(Mutant("statemachines/zookeeper/server.py", 1, "", 0).own_tests()) == [
        "tests/statemachines/zookeeper/test_server.py",
        "tests/statemachines/zookeeper",
        "tests/statemachines",
    ]
    assert list(Mutant("statemachines/controller/topic_deletion_manager.py", 1, "", 0).own_tests()) == [
        "tests/statemachines/controller",
        "tests/statemachines",
    ]
