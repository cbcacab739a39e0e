"""The files in which numba keeps compiled code, protected against damage and against changes in other modules.

Machine code with a wrong bit can crash the process, or answer wrongly. So each file ends with a digest of its
content. A file that does not match its digest counts as missing, and is compiled anew and overwritten. numba itself
ignores the digest.

A kernel takes seconds to compile, so processes that begin at the same time wait for each other.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from numba.core.caching import FunctionCache, IndexDataCacheFile

MODULES: Final = (
    "local/arrays",
    "local/compact",
    "local/compiled_walks",
    "local/expanding",
    "local/intrinsics",
    "local/jit",
    "local/outcomes",
    "local/representing",
    "local/rows",
    "local/seeking",
    "local/shape",
    "local/storing",
    "local/traversing",
    "random/chance",
    "random/sketch",
    "random/walks",
    "states/packed_state",
    "states/splitmix",
)
"""Modules of `spec.checking` whose code or constants are in kernels of other modules; a test compares them."""
DIGEST: Final = hashlib.sha256().digest_size


class KernelCache(IndexDataCacheFile):  # type: ignore[misc]
    """The index and the compiled code of one kernel, for all signatures."""

    def __init__(self, cache: FunctionCache):
        own = cache._impl
        super().__init__(cache.cache_path, own.filename_base, (own.locator.get_source_stamp(), _source_of_kernels()))

    def load(self, key: Any) -> Any:
        """The code that was saved under a key; None if it is missing or damaged."""
        found = super().load(key)
        if found is None or found[0] != key:  # two processes compiling at once can choose the same file name
            return None
        return found[1]

    def save(self, key: Any, data: Any) -> None:
        """Keep code under a key."""
        super().save(key, (key, data))

    def _load_index(self) -> dict[Any, str]:
        if not _is_whole(Path(self._index_path)):
            return {}
        try:
            found: dict[Any, str] = super()._load_index()
        except (AttributeError, ImportError):  # written by an earlier version with other type names
            return {}
        return found

    def _load_data(self, name: str) -> Any:
        if not _is_whole(Path(self._data_path(name))):
            raise FileNotFoundError(name)
        return super()._load_data(name)

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[BytesIO]:
        content = BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(content.getvalue() + _digest(content.getvalue()))


@contextmanager
def alone(task: str) -> Iterator[None]:
    """While this is open, no other process with the same cache is in the same task: the next one finds it done.

    A lock ends with its process. Where nothing can be kept, nothing is locked.
    """
    with ExitStack() as until_done:
        with suppress(OSError, RuntimeError):
            folder = Path(FunctionCache(_is_whole).cache_path)
            folder.mkdir(parents=True, exist_ok=True)
            fcntl.flock(until_done.enter_context((folder / f"{task}.lock").open("w")), fcntl.LOCK_EX)
        yield


def _is_whole(path: Path) -> bool:
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return content[-DIGEST:] == _digest(content[:-DIGEST])


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


@cache
def _source_of_kernels() -> bytes:
    """Numba itself notices changes only in the module of a kernel."""
    package = files("spec.checking")
    return _digest(b"".join(package.joinpath(f"{name}.py").read_bytes() for name in MODULES))
