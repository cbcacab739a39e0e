"""The local engine: explores on this machine at compiled speed, with all of its cores.

One noun in each module:

- `lazy` has values that are read only when they are used; `lenses` are the views that domains have of packed states;
- `recording` is one evaluation of an action or property; `folds` lets it leave out memberships that do not matter;
- `tables` is everything learned from evaluations; `masks` finds outcomes before any table is walked;
- `traversing`, `expanding` and `storing` are the compiled loops over `arrays`;
- `visited` is the set of states; `worker_pool` expands a level; `engine` goes from level to level;
- `compiled_walks` takes random walks.

Only code that explores imports this package: it loads numpy and numba.
"""

from spec.checking.engines import require_compiler

require_compiler()  # before numba is loaded, which might run the kernels as Python

from spec.checking.local.engine import LocalEngine  # noqa: E402

__all__ = ["LocalEngine"]
