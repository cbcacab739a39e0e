"""Random mutants of `election` and `statemachines`: each changes one line, and then the tests run.

`make long-mutation` prints the outcome of each; `SEED=7` draws the same places again, `MUTANTS=20` fewer. Cosmic Ray
finds the places, changes one of them in a copy of the tree, and runs tests there. Its operators swap operators,
negate conditions, change numbers and empty loops. `LEFT_OUT` removes what such code loses most easily: a statement, a
filter, one call of several. Annotations are excluded, and so are comparisons by `is` that `==` could replace.

Each mutant runs the tests that mirror its module, then those of its rooms, and then all other tests of `make test`
that depend on these two packages, until one fails. A mutant that runs into a limit counts as caught.

Equivalent survivors, which no test could catch:

    broker/broker           an epoch that is not above, in place of the same: it is never below
    broker/log/truncation   a log that begins at -1 instead of 0 by default: there is no offset below 0
    event_thread            a batch's last request, not its first, says whether it reads: all requests do, or none
    controller_process      a length that is not 0, in place of one above 0
    zk_requests             the text of an exception that every caller catches
    partition_state_machine zip without strict: the number of answers has been checked before
    zookeeper/counters      EVER as another number: a waiting notification counts as a change at any time
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
    "tests/election tests/statemachines tests/transcripts tests/spec/parts tests/spec/systems tests/spec/scenarios "
    "tests/spec/what_if tests/spec/test_controller_life.py tests/spec/test_diagrams.py tests/spec/atlas "
    "tests/spec/cli tests/kafka tests/zookeeper tests/test_examples.py tests/test_tutorial.py "
    "tests/test_docstrings.py"
)
"""The tests in `make test` that depend on these packages."""
PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not long and not spark")
SECONDS, MEMORY = 900, 4 << 30
"""Limits on a mutant's processor time and memory in bytes, against endless loops and endless growth."""
SENSIBLE = re.compile(
    r"""
    core/(?!Variable|ReplaceBinary|ReplaceComparison)
    | _(Add_Sub|Sub_Add|Sub_BitAnd|BitOr_BitAnd|BitAnd_BitOr|Mul_Add|FloorDiv_Mul|Mod_Mul)$
    | _(Is_IsNot|IsNot_Is)$
    | _(Eq|NotEq|LtE?|GtE?)_(Eq|NotEq|LtE?|GtE?)$
    """,
    re.VERBOSE,
)
"""Cosmic Ray's operators, except those that make nearly any code fail at once, or change no behaviour."""


class LeftOut(NamedTuple):
    """An operator in Cosmic Ray's form: it replaces a node of one of these kinds by other code."""

    fits: Callable[[Any], bool]
    code: str

    def mutation_positions(self, node: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Yield the position of the node, if the operator applies."""
        if self.fits(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, _: int) -> Any:
        """Return the replacement."""
        return get_ast(node.get_first_leaf().prefix + self.code)


def is_call(node: Any) -> bool:
    """Whether it is a call whose value is unused."""
    return bool(node.type == "atom_expr" and node.children[-1].get_first_leaf() == "(")


def is_effect(node: Any) -> bool:
    """Whether a statement calls a function, or changes an item, an attribute or a sum in place."""
    if node.parent is None or node.parent.type != "simple_stmt":
        return False
    changes = node.type == "expr_stmt" and (node.children[0].type == "atom_expr" or "=" not in node.children)
    return is_call(node) or (changes and node.children[1].type != "annassign")


def is_one_of_several(node: Any) -> bool:
    """Whether it is a call, or an unpacked part, in a tuple or a list."""
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
        """Return the module's source with this change."""
        return str(mutate_code(Path(self.path).read_text(), OPERATORS[self.operator], self.occurrence))

    def difference(self) -> str:
        """Return the changed lines, before and after."""
        lines = unified_diff(Path(self.path).read_text().split("\n"), self.code().split("\n"), n=0, lineterm="")
        return "\n".join([f"{self.path}:{self.line}: {self.operator}", *(f"    {each}" for each in [*lines][3:])])

    def own_tests(self) -> Iterator[str]:
        """Return the tests of the module, then of the rooms around it, from the smallest."""
        mirror = Path("tests", self.path)
        places = (mirror.with_name(f"test_{mirror.name}"), *mirror.parents[:-2])
        return (str(each) for each in places if each.exists())


def comments(tree: ast.AST) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the places that no running code depends on: annotations, aliases of types, lines in Kafka's sources."""
    for node in ast.walk(tree):
        said = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
            said = [node.value]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Line":
            said = [node]
        for each in filter(None, said):
            yield (each.lineno, each.col_offset), (each.end_lineno, each.end_col_offset)


def mutants_of(path: Path) -> list[list[Mutant]]:
    """Return all mutants of a module, grouped by the place they change."""
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
    """Change to a copy of the tree, with its compiled files, where this process edits files and adds none."""
    copy = Path(tempfile.mkdtemp(dir=folder)) / "copy"
    shutil.copytree(".", copy, ignore=shutil.ignore_patterns(".*", "build", "dist"))
    os.chdir(copy)
    os.environ.update(PYTHONPATH=str(copy), HYPOTHESIS_PROFILE="ci", PYTHONDONTWRITEBYTECODE="1")
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def fail(tests: str) -> bool:
    """Return whether one of these tests fails, or does not end."""
    with suppress(subprocess.TimeoutExpired):
        return subprocess.run([*PYTEST, *tests.split()], capture_output=True, timeout=10 * SECONDS).returncode != 0
    return True


def caught_by(mutant: Mutant) -> tuple[Mutant, str]:
    """Return the tests that fail with this mutant, from its own to all that depend on it; or none."""
    path = Path(mutant.path)
    as_it_is, changed = path.read_text(), mutant.code()
    try:
        path.write_text(changed)
        return mutant, next(filter(fail, (*mutant.own_tests(), CONCERNED)), "")
    finally:
        path.write_text(as_it_is)


@click.command()
@click.option("--size", default=100, show_default=True, type=click.IntRange(1), help="How many places.")
@click.option("--seed", type=int, help="Repeats a draw. Without it, each run draws anew.")
def main(size: int, seed: int | None) -> None:
    """Draw mutants of `election` and `statemachines`, and report which of them the tests catch."""
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
            raise click.ClickException("the tests fail without any mutant, too")
        for mutant, by in outcomes:
            outcome = "the rest" if by == CONCERNED else by or "survives"
            click.echo(f"{mutant.path}:{mutant.line}: {mutant.operator}: {outcome}")
            survivors += [] if by else [mutant]
    click.echo("\n".join(mutant.difference() for mutant in survivors))
    click.echo(f"{len(mutants) - len(survivors)} of {len(mutants)} are caught")


if __name__ == "__main__":
    main()
