"""The local engine: explores on this machine at compiled speed, with all of its cores.

One noun in each module:

- `lazy` has values that are read only when they are used; `lenses` are the views that domains have of packed states;
- `recording` is one evaluation of an action or property; `folds` lets it leave out what does not matter to a loop;
- `tables` is everything learned from evaluations; `masks` finds outcomes before any table is walked;
- `traversing`, `expanding` and `storing` are the compiled loops over `arrays`;
- `visited` is the set of states; `worker_pool` expands a level; `engine` goes from level to level;
- `learning_budget` decides whether a path is learned, or `plain_expander` expands the states that need it; `probe`
  predicts that before anything is compiled;
- `compiled_walks` takes random walks.

The engine loads numpy and numba, so it is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spec.checking.engines import require_compiler

if TYPE_CHECKING:
    from spec.checking.local.engine import LocalEngine

require_compiler()  # before numba is loaded, which might run the kernels as Python

__all__ = ["LocalEngine"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from spec.checking.local import engine

    return getattr(engine, name)
