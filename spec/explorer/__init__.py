"""The explorer: a page in which a person goes from state to state of a specification, or of a trace.

It is one file, which needs nothing else (`of_system`, `of_trace`), or it is served by a process that is asked for
each state (`ExplorerServer`), where there are more than a file has room for. The page is the same.
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
