"""The local engine: explores on this machine at compiled speed, with all of its cores.

One noun in each module. `lazy` are values that are read as far as they are looked at, `lenses` are how domains look
at packed states, `recording` is one evaluation of an action or property, `tables` is what was learned of all of them,
`masks` is what can be told before any table is walked, `following`, `expanding` and `storing` are the compiled loops
over `arrays`, `visited` is the set of states, `worker_pool` expands a level, `engine` goes from level to level,
`walks` goes where chance leads. Only code that explores imports this package: it loads numpy and numba.
"""

from numba.core import config

from spec.language.errors import UsageError

if config.DISABLE_JIT:
    raise UsageError("NUMBA_DISABLE_JIT is set, and without its compiler there is only --engine reference: unset it")

from spec.checking.local.engine import LocalEngine

__all__ = ["LocalEngine"]
