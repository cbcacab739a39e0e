"""The strategies by which Kafka's controller elects the leader of a partition.

Each is named for the reason of the election:

- offline: the partition has no leader, or its leader died;
- reassign: the partition moves to other brokers, and its leader is not among them or not up;
- preferred: leadership returns to the preferred replica;
- controlled-shutdown: the leader has asked the controller for permission to stop.

===================  =========================================  ==================  =====================
strategy             the leader is the first of the AR that is  the ISR becomes     recipients
===================  =========================================  ==================  =====================
offline              online, in the ISR                         its online members  online replicas
offline, unclean     online, if no member of the ISR is         the leader alone    online replicas
reassign             online, in the ISR                         unchanged            all target replicas
preferred            online, in the ISR, at the head            unchanged            all replicas
controlled-shutdown  up, in the ISR, not shutting down          all but those that  replicas that are up,
                                                                are shutting down   shutting down or not
===================  =========================================  ==================  =====================

*Online* means up and not shutting down [ControllerContext.scala, 3.9]. Only *offline* removes dead brokers from the
ISR. The others keep them: the death of a broker is an event of its own, and its handling shrinks the ISR
[ReplicaStateMachine.scala, 3.9].
"""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

from election.brokers import in_order, up_and_leaving
from election.ids import Id
from election.result import NO_ELIGIBLE_LEADER, ElectionResult


class Strategy(Protocol):
    """How to elect a leader: one signature for all, so that a caller may choose a strategy by name.

    `replicas` are the assigned replicas, for *reassign* those that the partition moves to. `live` holds the
    brokers that are up, `shutting_down` those that are about to leave. `unclean` is a permission, not a request:
    only *offline* uses it, and only as the last resort.

    Returns NO_ELIGIBLE_LEADER when no replica qualifies; raises InvalidBrokers when the arguments are malformed.
    """

    def __call__(
        self,
        replicas: Sequence[Id],
        isr: Sequence[Id],
        live: Collection[Id],
        *,
        shutting_down: Collection[Id] = (),
        unclean: bool = False,
    ) -> ElectionResult[Id]:
        """Elect a leader."""
        ...


UNCLEAN: Final = frozenset({"offline"})
"""The strategies that use the permission to elect uncleanly."""


def leader_for_offline(
    replicas: Sequence[Id],
    isr: Sequence[Id],
    live: Collection[Id],
    *,
    shutting_down: Collection[Id] = (),
    unclean: bool = False,
) -> ElectionResult[Id]:
    """Elect for a partition without a live leader; dead brokers leave the ISR [Election.scala, 3.9].

    The order of the assignment decides, not that of the ISR:

    >>> leader_for_offline(replicas=(1, 2, 3), isr=(3, 2), live={2, 3})
    ElectionResult(leader=2, isr=(3, 2), recipients=(2, 3), unclean=False)

    Without a live member of the ISR there is no leader, unless `unclean` permits one that may lack committed
    records. In Kafka that permission comes from the topic's unclean.leader.election.enable, false by default
    since 0.11, or from an administrator who asks for an UNCLEAN election [PartitionStateMachine.scala, 3.9;
    KAFKA-4623; KAFKA-8286].

    >>> leader_for_offline(replicas=(1, 2, 3), isr=(1,), live={2, 3})
    ElectionResult(leader=None, isr=None, recipients=(), unclean=False)
    >>> leader_for_offline(replicas=(1, 2, 3), isr=(1,), live={2, 3}, unclean=True)
    ElectionResult(leader=2, isr=(2,), recipients=(2, 3), unclean=True)

    A live member of the ISR that is no assigned replica cannot lead. Yet while there is one, the permission has no
    effect [collectUncleanLeaderElectionState in PartitionStateMachine.scala, 3.9].

    >>> leader_for_offline(replicas=(1, 2), isr=(2, 3), live={1, 3}, unclean=True)
    ElectionResult(leader=None, isr=None, recipients=(), unclean=False)
    """
    assigned, in_sync = in_order("replicas", replicas), in_order("isr", isr)
    up, leaving = up_and_leaving(live, shutting_down)
    online = up - leaving

    online_replicas = tuple(broker for broker in assigned if broker in online)
    online_in_sync = tuple(broker for broker in in_sync if broker in online)
    for broker in online_replicas:
        if broker in online_in_sync:
            return ElectionResult(broker, online_in_sync, online_replicas, unclean=False)
    if unclean and online_replicas and not online_in_sync:
        return ElectionResult(online_replicas[0], online_replicas[:1], online_replicas, unclean=True)
    return NO_ELIGIBLE_LEADER


def leader_for_reassign(
    replicas: Sequence[Id],
    isr: Sequence[Id],
    live: Collection[Id],
    *,
    shutting_down: Collection[Id] = (),
    unclean: bool = False,
) -> ElectionResult[Id]:
    """Elect among the replicas that a partition moves to, here `replicas` [Election.scala, 3.9; KIP-455].

    The ISR does not change: it keeps its dead members, and those that the partition moves away from. All target
    replicas receive the result, including dead ones.

    >>> leader_for_reassign(replicas=(4, 5, 6), isr=(1, 2, 4, 5), live={1, 2, 5})
    ElectionResult(leader=5, isr=(1, 2, 4, 5), recipients=(4, 5, 6), unclean=False)
    """
    target, in_sync = in_order("replicas", replicas), in_order("isr", isr)
    up, leaving = up_and_leaving(live, shutting_down)
    online = up - leaving

    for broker in target:
        if broker in online and broker in in_sync:
            return ElectionResult(broker, in_sync, target, unclean=False)
    return NO_ELIGIBLE_LEADER


def leader_for_preferred_replica(
    replicas: Sequence[Id],
    isr: Sequence[Id],
    live: Collection[Id],
    *,
    shutting_down: Collection[Id] = (),
    unclean: bool = False,
) -> ElectionResult[Id]:
    """Elect the preferred replica, the first of the assignment, or none [Election.scala, 3.9].

    The ISR does not change, dead members included, and all replicas receive the result. Kafka's callers do not ask
    when the preferred replica already leads [KafkaController.scala, 3.9]; the strategy would elect it again.

    >>> leader_for_preferred_replica(replicas=(1, 2, 3), isr=(2, 1, 3), live={1, 2})
    ElectionResult(leader=1, isr=(2, 1, 3), recipients=(1, 2, 3), unclean=False)
    >>> leader_for_preferred_replica(replicas=(1, 2, 3), isr=(2, 1, 3), live={2, 3})
    ElectionResult(leader=None, isr=None, recipients=(), unclean=False)
    """
    assigned, in_sync = in_order("replicas", replicas), in_order("isr", isr)
    up, leaving = up_and_leaving(live, shutting_down)
    online = up - leaving

    for preferred in assigned[:1]:
        if preferred in online and preferred in in_sync:
            return ElectionResult(preferred, in_sync, assigned, unclean=False)
    return NO_ELIGIBLE_LEADER


def leader_for_controlled_shutdown(
    replicas: Sequence[Id],
    isr: Sequence[Id],
    live: Collection[Id],
    *,
    shutting_down: Collection[Id] = (),
    unclean: bool = False,
) -> ElectionResult[Id]:
    """Elect in place of a leader that is shutting down [Election.scala, 3.9; KAFKA-3670].

    A broker that is shutting down leaves the ISR at once but still receives the result: it is up, and must learn that
    it no longer leads [KAFKA-7482]. A dead member of the ISR stays until the controller learns of its death. A broker
    that is shutting down leaves the ISR even if its log directory has failed, so that it is not in `live`.

    >>> leader_for_controlled_shutdown(replicas=(1, 2, 3), isr=(1, 2, 3), live={1, 3}, shutting_down={1})
    ElectionResult(leader=3, isr=(2, 3), recipients=(1, 3), unclean=False)

    >>> leader_for_controlled_shutdown(replicas=(0,), isr=(0, 1), live={0}, shutting_down={1})
    ElectionResult(leader=0, isr=(0,), recipients=(0,), unclean=False)

    If all candidates are shutting down there is no leader: the partition keeps its old one, and the reply to the
    broker that asked says that it still leads [KafkaController.scala, 3.9].

    >>> leader_for_controlled_shutdown(replicas=(1, 2, 3), isr=(1, 2), live={1, 2, 3}, shutting_down={1, 2})
    ElectionResult(leader=None, isr=None, recipients=(), unclean=False)
    """
    assigned, in_sync = in_order("replicas", replicas), in_order("isr", isr)
    up, leaving = up_and_leaving(live, shutting_down)

    replicas_up = tuple(broker for broker in assigned if broker in up)
    staying_in_sync = tuple(broker for broker in in_sync if broker not in leaving)
    for broker in replicas_up:
        if broker in staying_in_sync:
            return ElectionResult(broker, staying_in_sync, replicas_up, unclean=False)
    return NO_ELIGIBLE_LEADER


def leader_for_controlled_shutdown_1_1(
    replicas: Sequence[Id],
    isr: Sequence[Id],
    live: Collection[Id],
    *,
    shutting_down: Collection[Id] = (),
    unclean: bool = False,
) -> ElectionResult[Id]:
    """Elect in place of a leader that is shutting down, as in 1.1 to 2.0 [PartitionStateMachine.scala, 1.1].

    Brokers that are shutting down receive nothing, and the old leader continues to lead [KAFKA-7482].

    >>> leader_for_controlled_shutdown_1_1(replicas=(1, 2, 3), isr=(1, 2, 3), live={1, 3}, shutting_down={1})
    ElectionResult(leader=3, isr=(2, 3), recipients=(3,), unclean=False)
    """
    elected = leader_for_controlled_shutdown(replicas, isr, live, shutting_down=shutting_down, unclean=unclean)
    recipients = tuple(broker for broker in elected.recipients if broker not in shutting_down)
    return elected._replace(recipients=recipients)


STRATEGIES: Final[Mapping[str, Strategy]] = MappingProxyType(
    {
        "offline": leader_for_offline,
        "reassign": leader_for_reassign,
        "preferred": leader_for_preferred_replica,
        "controlled-shutdown": leader_for_controlled_shutdown,
    }
)
"""The strategies by Kafka's names [PartitionStateMachine.scala, 3.9]."""
