"""The system explored in the reliability tests. Its levels are large, and it has a counterexample."""

from __future__ import annotations

from spec.language import invariant
from spec.systems.controller_election import Cluster, ControllerElection


class Outage(ControllerElection):
    """The election with a property that it breaks. The counterexample has 31 states."""

    @invariant
    def somebody_is_left(self, s: Cluster) -> bool:
        """When all sessions have ended after a write, fewer than five events are still queued."""
        written = s.partition_state.controller_epoch > 0
        waiting = sum(len(each.queue) for each in s.controllers.values())
        return not (written and waiting >= 5 and not any(s.zk.sessions.values()))


SUBJECT = Outage(brokers=3, elections=1, crashes=False)
"""1,025,545 states, a sixth as many orbits, in levels of up to 100,000."""
