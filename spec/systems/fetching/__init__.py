"""Fetch by fetch: brokers crash, requests and responses are on their way, ISRs are asked for. Are records kept?

`state` has the variables and their sizes, `actions` the actions, `properties` the properties, and `fetching` the
theory, the views and the pictures. Each has a class that extends the one before.
"""

from spec.systems.fetching.fetching import Fetching
from spec.systems.fetching.state import Life, Pair, Proposal, Replicas

__all__ = ["Fetching", "Life", "Pair", "Proposal", "Replicas"]
