"""The checkers: engines that explore a specification, and their results. Nothing here knows of Kafka.

from spec.checking import check
result = check(Counter(top=2))
result.verdict, result.distinct_states
print(result)
"""

from spec.checking import markup as markup  # registers results and traces with `html_of`
from spec.checking.check import check
from spec.checking.exploration import Engine, Statistics
from spec.checking.graph.state_space import Component, StateSpace, state_space
from spec.checking.model import EvaluationFailed, Model
from spec.checking.result import Result
from spec.checking.simulation import Simulation, simulate
from spec.checking.traces.replay import NotEnabled, Replay
from spec.checking.traces.tabular import to_pandas
from spec.checking.traces.trace import Trace

__all__ = [
    "Component",
    "Engine",
    "EvaluationFailed",
    "Statistics",
    "Model",
    "NotEnabled",
    "Replay",
    "Result",
    "Simulation",
    "StateSpace",
    "Trace",
    "check",
    "simulate",
    "state_space",
    "to_pandas",
]
