"""Damaged or foreign files of compiled code count as missing, and their kernels are compiled again."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

import pytest

from spec.checking import local, random, spark
from spec.checking.local import kernel_cache

ROOT = Path(__file__).parents[4]

DAMAGED = '''
"""Damage a file of the cache in many ways; after each, a loaded kernel computes the same figures."""

import random
import sys
from pathlib import Path
from shutil import rmtree

from spec.checking.local.jit import compiled

def doubled(number):
    return 2 * number

def figures():
    kernel = compiled(doubled)  # not loaded yet
    found = kernel(5), kernel(2.5)
    return found, sum(kernel.stats.cache_misses.values())

def flipped(content):
    changed = bytearray(content)
    for _ in range(chance.choice([1, 20])):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)

def damage(path):
    content = path.read_bytes()
    way = chance.choice([
        lambda: path.write_bytes(flipped(content)),
        lambda: path.write_bytes(flipped(content)),
        lambda: path.write_bytes(content[:chance.randrange(len(content))]),
        lambda: path.write_bytes(b""),
        lambda: path.write_bytes(chance.randbytes(len(content))),
        lambda: path.write_bytes(path.with_name(path.name.replace(".1.nbc", ".2.nbc")).read_bytes() + b"."),
        path.unlink,
        lambda: (path.unlink(), path.mkdir()),
    ])
    way()

chance, suffix = random.Random(1), sys.argv[1]
assert figures() == ((10, 5.0), 2)
for way in range(20):
    path = min(Path(sys.argv[2]).rglob("*" + suffix))
    damage(path)
    figures_then, missed = figures()
    assert figures_then == (10, 5.0), (way, figures_then)
    assert missed, way
    if path.is_dir():
        rmtree(path)
        figures()
    assert figures() == ((10, 5.0), 0), way
print("the same figures")
'''


@pytest.mark.parametrize("suffix", [pytest.param(".nbi", marks=pytest.mark.long), ".1.nbc"])
def test_a_damaged_cache_file_is_recompiled(suffix: str, tmp_path: Path) -> None:
    """The file is emptied, cut off, overwritten, removed, or replaced by a folder."""
    (tmp_path / "damaged.py").write_text(DAMAGED)
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "damaged.py", suffix, "cache"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert (run.stdout, run.stderr) == ("the same figures\n", "")


FOREIGN = """
import sys
import numba
numba.__version__ = sys.argv[1] or numba.__version__
from spec.checking.local.jit import compiled

@compiled
def doubled(number):
    return 2 * number

assert doubled(4) == 8
print(sum(doubled.stats.cache_misses.values()), end="")
"""


@pytest.mark.long
def test_code_for_another_processor_or_numba_is_not_loaded(tmp_path: Path) -> None:
    """It would crash the process."""
    (tmp_path / "foreign.py").write_text(FOREIGN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    misses = ""
    for version, processor in [("", ""), ("", "generic"), ("0.1", "")]:
        misses += subprocess.run(
            [sys.executable, tmp_path / "foreign.py", version],
            env=environment | ({"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""} if processor else {}),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    assert misses == "111"


def test_a_change_in_any_module_with_code_or_constants_of_kernels_is_noticed() -> None:
    """Numba itself compares only the module in which a kernel is written."""
    needed = set[str]()
    for package in (local, random, spark):
        for module in iter_modules(package.__path__, f"{package.__name__}."):
            if module.ispkg:  # `folds` has no kernels
                continue
            source = Path(package.__path__[0], f"{module.name.rpartition('.')[2]}.py").read_text()
            if own := imports_of_kernels(ast.parse(source)):
                needed |= own | {module.name} if package is local else own
    assert {"spec.checking.local.storing", "spec.checking.local.outcomes", "spec.checking.random.chance"} <= needed
    stamped = {f"spec.checking.{name}".replace("/", ".") for name in kernel_cache.MODULES}
    assert sorted(needed - stamped) == []


DECORATORS = {"inlined", "part", "compiled"}


def imports_of_kernels(module: ast.Module) -> set[str]:
    """The modules of ours from which a module's kernels take functions and constants, also by way of its own."""
    defined, imported, kernels = dict[str, ast.AST](), dict[str, str](), list[ast.AST]()
    for each in module.body:
        match each:
            case ast.ImportFrom(module=str(origin), names=names) if origin.startswith("spec."):
                imported |= {name.asname or name.name: origin_of(origin, name.name) for name in names}
            case ast.FunctionDef(name=name, body=body, decorator_list=decorators):
                defined[name] = ast.Module(body, [])  # annotations are not compiled
                kernels += [defined[name] for by in decorators if isinstance(by, ast.Name) and by.id in DECORATORS]
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                defined |= {name.id: value for name in ast.walk(target) if isinstance(name, ast.Name)}
    reached, left = set[str](), [name for kernel in kernels for name in names_in(kernel)]
    while left:
        name = left.pop()
        if name not in reached:
            reached.add(name)
            left += names_in(defined[name]) if name in defined else []
    return {imported[name] for name in reached & imported.keys()}


def origin_of(module: str, name: str) -> str:
    """The module from which a name is imported: the name may be a module itself."""
    found = find_spec(module)
    is_package = found is not None and found.submodule_search_locations
    return f"{module}.{name}" if is_package and find_spec(f"{module}.{name}") else module


def names_in(code: ast.AST) -> list[str]:
    """All names that are used."""
    return [each.id for each in ast.walk(code) if isinstance(each, ast.Name)]
