"""Random mutants: places of `election` and `statemachines` drawn by lot, each changed in one line, and then tested.

`make long-mutation` says what came of each; `SEED=7` draws the same places again, `MUTANTS=20` fewer. Cosmic Ray
finds the places, changes one of them in a copy of the tree, and runs tests there. Its operators swap operators, turn
conditions, change numbers, empty loops; `LEFT_OUT` has what is lost most easily in code like ours: a statement, a
filter, one call of several. What only annotations say, and comparisons by `is` that compare as well by `==`, are no
places.

A mutant meets the tests that mirror its module, those of its rooms, and then whatever else of `make test` depends on
these two packages, until one fails. What runs into a limit is caught.

Survivors that change nothing, so that no test could tell:

    broker/broker           an epoch that is not above, in place of the same: it is never below
    broker/log/truncation   a log that begins at -1 instead of 0 by default: there is no offset below 0
    event_thread            a batch asked by its last request whether it reads, not by its first: all do, or none
    controller_process      a length that is not 0, in place of one above 0
    kafka_zk_client         what an exception says that is caught wherever it is raised
    partition_state_machine zip without strict: that there is an answer to each request has been looked at before
    zookeeper/counters      EVER as another number: what waited in the inbox has changed, whenever that was
"""

from __future__ import annotations

import ast
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from difflib import unified_diff
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple

import click
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

PACKAGES = ("election", "statemachines")
CONCERNED = (
    "tests/election tests/statemachines tests/spec/parts tests/spec/systems tests/spec/scenarios tests/spec/what_if "
    "tests/spec/test_controller_life.py tests/spec/test_diagrams.py tests/spec/atlas tests/spec/cli "
    "tests/kafka "
    "tests/zookeeper tests/test_examples.py tests/test_tutorial.py tests/test_docstrings.py"
)
"""What of `make test` depends on them."""
PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not long and not spark")
SECONDS, MEMORY = 900, 4 << 30
"""What a mutant may take of processor time and of bytes, before it is one that does not end, or grows without end."""
SENSIBLE = re.compile(
    r"""
    core/(?!Variable|ReplaceBinary|ReplaceComparison)
    | _(Add_Sub|Sub_Add|Sub_BitAnd|BitOr_BitAnd|BitAnd_BitOr|Mul_Add|FloorDiv_Mul|Mod_Mul)$
    | _(Is_IsNot|IsNot_Is)$
    | _(Eq|NotEq|LtE?|GtE?)_(Eq|NotEq|LtE?|GtE?)$
    """,
    re.VERBOSE,
)
"""Cosmic Ray's operators, but for those after which nearly any code fails at once, or does the same."""


class LeftOut(NamedTuple):
    """An operator as Cosmic Ray has them: a node that is replaced by other code, if it is one of these."""

    fits: Callable[[Any], bool]
    code: str

    def mutation_positions(self, node: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Where it is, if it fits."""
        if self.fits(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, _: int) -> Any:
        """What stands there instead."""
        return get_ast(node.get_first_leaf().prefix + self.code)


def is_call(node: Any) -> bool:
    """Whether something is called, and no more is done with what comes of it."""
    return bool(node.type == "atom_expr" and node.children[-1].get_first_leaf() == "(")


def is_effect(node: Any) -> bool:
    """Whether a statement calls something, or changes what is there: an item, an attribute, a sum."""
    if node.parent is None or node.parent.type != "simple_stmt":
        return False
    changes = node.type == "expr_stmt" and (node.children[0].type == "atom_expr" or "=" not in node.children)
    return is_call(node) or (changes and node.children[1].type != "annassign")


def is_one_of_several(node: Any) -> bool:
    """Whether it is a call, or a part that is unpacked, in a tuple or a list."""
    return bool(
        node.parent is not None
        and node.parent.type == "testlist_comp"
        and node.parent.children[1] == ","
        and (node.type == "star_expr" or is_call(node))
    )


LEFT_OUT = {
    "a statement": LeftOut(is_effect, "pass"),
    "a filter": LeftOut(lambda node: node.type == "comp_if", ""),
    "one of several": LeftOut(is_one_of_several, "*()"),
    "membership": LeftOut(lambda node: node == "in" and node.parent.type == "comparison", "not in"),
}
OPERATORS: Mapping[str, Any] = {
    **LEFT_OUT,
    **{name: get_operator(name)() for name in operator_names() if SENSIBLE.search(name)},
}


class Mutant(NamedTuple):
    """A change of one place."""

    path: str
    line: int
    operator: str
    occurrence: int

    def code(self) -> str:
        """The module with this change."""
        return str(mutate_code(Path(self.path).read_text(), OPERATORS[self.operator], self.occurrence))

    def difference(self) -> str:
        """The lines as they are and as they would be."""
        lines = unified_diff(Path(self.path).read_text().split("\n"), self.code().split("\n"), n=0, lineterm="")
        return "\n".join([f"{self.path}:{self.line}: {self.operator}", *(f"    {each}" for each in [*lines][3:])])

    def own_tests(self) -> Iterator[str]:
        """The tests of the module, then of the rooms that it is in, from the smallest."""
        mirror = Path("tests", self.path)
        places = (mirror.with_name(f"test_{mirror.name}"), *mirror.parents[:-2])
        return (str(each) for each in places if each.exists())


def comments(tree: ast.AST) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where there is what nothing that runs depends on: annotations, aliases of types, lines in Kafka's sources."""
    for node in ast.walk(tree):
        said = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
            said = [node.value]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Line":
            said = [node]
        for each in filter(None, said):
            yield (each.lineno, each.col_offset), (each.end_lineno, each.end_col_offset)


def mutants_of(path: Path) -> list[list[Mutant]]:
    """All mutants of a module, together where they change the same place."""
    source = path.read_text()
    nodes, said = list(ast_nodes(get_ast(source))), list(comments(ast.parse(source)))
    places: dict[tuple[Any, Any], list[Mutant]] = {}
    for name, operator in OPERATORS.items():
        positions = (each for node in nodes for each in operator.mutation_positions(node))
        for occurrence, (start, end) in enumerate(positions):
            if not any(first <= start < last for first, last in said):
                places.setdefault((start, end), []).append(Mutant(str(path), start[0], name, occurrence))
    return list(places.values())


def work_in_a_copy(folder: str) -> None:
    """Where this process changes files: a tree of its own, with what has been compiled, to which nothing is added."""
    copy = Path(tempfile.mkdtemp(dir=folder)) / "copy"
    shutil.copytree(".", copy, ignore=shutil.ignore_patterns(".*", "build", "dist"))
    os.chdir(copy)
    os.environ.update(PYTHONPATH=str(copy), HYPOTHESIS_PROFILE="ci", PYTHONDONTWRITEBYTECODE="1")
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def fail(tests: str) -> bool:
    """Whether one of these tests fails, or does not end."""
    with suppress(subprocess.TimeoutExpired):
        return subprocess.run([*PYTEST, *tests.split()], capture_output=True, timeout=10 * SECONDS).returncode != 0
    return True


def caught_by(mutant: Mutant) -> tuple[Mutant, str]:
    """Which tests fail with this mutant, from its own to all that it may concern; or none."""
    path = Path(mutant.path)
    as_it_is, changed = path.read_text(), mutant.code()
    try:
        path.write_text(changed)
        return mutant, next(filter(fail, (*mutant.own_tests(), CONCERNED)), "")
    finally:
        path.write_text(as_it_is)


@click.command()
@click.option("--size", default=100, show_default=True, type=click.IntRange(1), help="How many places.")
@click.option("--seed", type=int, help="Draws the same again. Without it: another one each time.")
def main(size: int, seed: int | None) -> None:
    """Draw mutants of `election` and `statemachines`, and see which of them the tests catch."""
    seed = random.randrange(10**6) if seed is None else seed
    lot = random.Random(seed)
    paths = [path for package in PACKAGES for path in sorted(Path(package).rglob("*.py"))]
    places = [place for path in paths for place in mutants_of(path)]
    mutants = [lot.choice(place) for place in lot.sample(places, min(size, len(places)))]
    click.echo(f"{len(mutants)} of {len(places):,} places, seed {seed}")
    survivors = []
    with tempfile.TemporaryDirectory() as folder, Pool(os.cpu_count(), work_in_a_copy, (folder,)) as pool:
        fail_anyhow = pool.apply_async(fail, (CONCERNED,))
        outcomes = pool.imap_unordered(caught_by, mutants)
        if fail_anyhow.get():
            raise click.ClickException("tests fail without any mutant, too")
        for mutant, by in outcomes:
            told = "the rest" if by == CONCERNED else by or "survives"
            click.echo(f"{mutant.path}:{mutant.line}: {mutant.operator}: {told}")
            survivors += [] if by else [mutant]
    click.echo("\n".join(mutant.difference() for mutant in survivors))
    click.echo(f"{len(mutants) - len(survivors)} of {len(mutants)} are caught")


if __name__ == "__main__":
    main()
