"""Damaged or foreign files of compiled code count as missing, and their kernels are compiled again."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from numba.core.dispatcher import Dispatcher

from spec.checking import local
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


@pytest.mark.parametrize("suffix", [".nbi", ".1.nbc"])
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


def test_a_change_in_any_module_with_kernels_is_noticed() -> None:
    """Kernels of other modules may contain its code."""
    modules = [import_module(f"spec.checking.local.{module.name}") for module in iter_modules(local.__path__)]
    found = {
        each.py_func.__module__.rpartition(".")[2]
        for module in modules
        for each in vars(module).values()
        if isinstance(each, Dispatcher)
    }
    assert {"storing", "traversing"} <= found
    assert {f"local/{name}" for name in found} <= set(kernel_cache.MODULES)
