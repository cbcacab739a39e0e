"""The local engine: explores on this machine at compiled speed, with all of its cores.

One noun in each module. `lazy` are values that are read as far as they are looked at, `lenses` are how domains look
at packed states, `recording` is one evaluation of an action or property, `tables` is what was learned of all of them,
`masks` is what can be told before any table is walked, `traversing`, `expanding` and `storing` are the compiled loops
over `arrays`, `visited` is the set of states, `worker_pool` expands a level, `engine` goes from level to level,
`compiled_walks` goes where chance leads. Only code that explores imports this package: it loads numpy and numba.
"""

from spec.checking.engines import require_compiler

require_compiler()  # before numba is loaded, which would run the kernels as Python

from spec.checking.local.engine import LocalEngine  # noqa: E402

__all__ = ["LocalEngine"]
