"""The explorer: a page for going from state to state of a specification or a trace.

The page is one self-contained file (`of_system`, `of_trace`), or, for more states than a file has room for, it is
served by a process that computes each state on request (`ExplorerServer`). The page is the same.
"""

from spec.explorer.embedded import MOST, Explorer, embedded, of_system, of_trace
from spec.explorer.explorer_model import EnabledStep, ExplorerModel, model_of_system, model_of_trace
from spec.explorer.http_server import ExplorerServer

__all__ = [
    "MOST",
    "EnabledStep",
    "Explorer",
    "ExplorerServer",
    "ExplorerModel",
    "embedded",
    "of_system",
    "of_trace",
    "model_of_trace",
    "model_of_system",
]
