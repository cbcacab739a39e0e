"""Where Kafka is known to go another way than the system `controller`, and why.

What is listed here is no difference that conformance reports: what lies behind such a step is not followed. But each
is told to Kafka's own classes, too, by the shortest path there is to it, and if they do what the specification says
after all, that is reported: then the entry is wrong, or has been mended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from spec.language import Step
from spec.systems.controller import ClusterAtWork, ControllerLife
from statemachines.agenda import Do
from statemachines.controller import BROKER_IDS, CONTROLLER_EPOCH, Controller, LiveBroker, registration
from statemachines.controller_event import ControllerEvent
from statemachines.releases import Release, line_of

__all__ = ["DIVERGENCES", "Divergence", "divergence_at", "divergences_of"]


class BrokerStep(NamedTuple):
    """A step that a broker takes, with what it knew before and knows then."""

    broker: int
    action: str
    reply: str
    before: ClusterAtWork
    me: Controller
    after: Controller

    @property
    def has_session(self) -> bool:
        """Whether the servers keep its session alive."""
        return self.me.session in self.before.zk.sessions


class Divergence(NamedTuple):
    """A rule that Kafka does not keep, or keeps in another order.

    Args:
        id: by which it is named.
        kafka: what Kafka does instead.
        source: where, in Kafka 3.9.1 or in the one release that does so.
        at: whether a step is one of them.
        silent: it follows from the source, and cannot be driven from outside.
        only: the line of the releases that do so, if they do not all.
        since: the first line that does so, if not all do.
        seen_with: the constant without which it is not to be seen, if there is one.
    """

    id: str
    kafka: str
    source: str
    at: Callable[[BrokerStep], bool]
    silent: bool = False
    only: str = ""
    since: str = ""
    seen_with: str = ""

    def concerns(self, release: str, system: ControllerLife) -> bool:
        """Whether this release does so, and this system shows it."""
        line = Release(line_of(release))
        does_so = self.only in ("", str(line)) and (not self.since or line >= Release(self.since))
        return does_so and (not self.seen_with or getattr(system, self.seen_with))


def _start_in_ended_session(step: BrokerStep) -> bool:
    registers = step.action in ("register_broker", "check_registration")
    return registers and not step.has_session and Do.MaybeResign not in step.me.doing


def _fails_in_the_state_machine(step: BrokerStep) -> bool:
    return step.action == "fail" and step.me.doing[0] in (Do.ReadPartitionState, Do.UpdateLeaderAndIsr)


def _ends_a_failover_deposed(step: BrokerStep) -> bool:
    ends = step.action in ("read_states", "read_partition_state") and step.after.started and not step.me.started
    return ends and step.me.epoch_zk_version != step.before.zk.nodes[CONTROLLER_EPOCH].version


def _looks_for_a_registration_that_is_gone(step: BrokerStep) -> bool:
    gone = registration(step.broker) not in step.before.zk.nodes
    return step.action == "check_registration" and gone and step.has_session


def _resigns_with_an_event_coming(step: BrokerStep) -> bool:
    listens = step.me.listens and Do.IncrementEpoch not in step.me.doing  # D8: until then Kafka does not, in 2.0
    answered = step.action not in ("crash", "fail") and step.has_session
    resigns = answered and listens and not step.after.listens
    return resigns and any(event.path == BROKER_IDS for event in step.before.zk.events[step.me.session])


def _finds_a_bounced_broker(step: BrokerStep) -> bool:
    if step.action != "read_brokers" or step.me.in_elect or not step.me.active:
        return False
    old, new = (
        {each.name: each.epoch if isinstance(each, LiveBroker) else 0 for each in map(_live, knows.live)}
        for knows in (step.me, step.after)
    )
    bounced = any(name in new and new[name] != epoch for name, epoch in old.items())
    return bounced or bool(new.keys() - old.keys() and old.keys() - new.keys())


def _ends_with_isr_changes(step: BrokerStep) -> bool:
    return step.action == "read_states" and not step.me.in_elect and step.has_session


def _ends_with_isr_changes_deposed(step: BrokerStep) -> bool:
    deposed = step.me.epoch_zk_version != step.before.zk.nodes[CONTROLLER_EPOCH].version
    return _ends_with_isr_changes(step) and deposed


def _handles_isr_changes(step: BrokerStep) -> bool:
    handled = step.me.queue[:1] if step.action == "handle_event" else ()
    return [each.event for each in handled] == [ControllerEvent.IsrChangeNotification]


def _drops_isr_changes(step: BrokerStep) -> bool:
    return _handles_isr_changes(step) and not step.me.active and step.me.listens and step.has_session


def _reads_isr_changes_in_an_ended_session(step: BrokerStep) -> bool:
    return _handles_isr_changes(step) and step.me.active and not step.has_session


def _hears_of_brokers(step: BrokerStep) -> bool:
    before, after = (
        sum(each.event is ControllerEvent.BrokerChange for each in knows.queue) for knows in (step.me, step.after)
    )
    return after > before


def _is_told_before_it_listens(step: BrokerStep) -> bool:
    told = step.action == "announce_isr" or _hears_of_brokers(step)
    return told and Do.IncrementEpoch in step.me.doing


def _is_elected_with_an_event_coming(step: BrokerStep) -> bool:
    return _hears_of_brokers(step) and not step.me.listens


def _tells_of_a_new_broker(step: BrokerStep) -> bool:
    if step.action != "read_brokers" or step.me.in_elect or step.me.epoch in step.before.receiver.requests:
        return False
    return bool(step.after.live - step.me.live)


def _live(broker: LiveBroker | str) -> LiveBroker:
    return broker if isinstance(broker, LiveBroker) else LiveBroker(broker, 0)


def _fails_while_away(step: BrokerStep) -> bool:
    return step.action == "fail" and step.me.session in step.before.zk.away


def _waits_for_a_lost_multi(step: BrokerStep) -> bool:
    if step.action in ("update_leader_and_isr", "delete_controller"):
        return step.reply == "lost" or not step.has_session
    return step.action == "read_partition_state" and not step.has_session


DIVERGENCES: Final = (
    Divergence(
        "D1",
        "a start whose registration finds its session ended fails, and the process ends",
        "KafkaServer.scala 407, 677",
        _start_in_ended_session,
    ),
    Divergence(
        "D7",
        "a request that waits for its connection, to be made once more, does not fail",
        "ZooKeeperClient.scala waitUntilConnected",
        _fails_while_away,
        silent=True,
    ),
    Divergence(
        "D2",
        "the partition state machine catches what fails in it, and the failover ends as if nothing had happened",
        "PartitionStateMachine.scala 170",
        _fails_in_the_state_machine,
    ),
    Divergence(
        "D3",
        "a failover ends with a fenced delete of /admin/preferred_replica_election, by which a deposed controller "
        "learns that it is one, and resigns",
        "KafkaController.scala 946, 1223",
        _ends_a_failover_deposed,
        since="2.1",
    ),
    Divergence(
        "D4",
        "a registration that is gone when it is looked at is a NullPointerException",
        "KafkaZkClient.scala 2221",
        _looks_for_a_registration_that_is_gone,
        since="2.2",
    ),
    Divergence(
        "D6",
        "a bounced broker leaves the live ones first, an election runs, and then it is added again",
        "KafkaController.scala 1643-1659",
        _finds_a_bounced_broker,
    ),
    Divergence(
        "D5",
        "a BrokerChange that comes with the answer is queued before the controller resigns",
        "KafkaController.scala 533, 2678",
        _resigns_with_an_event_coming,
    ),
    Divergence(
        "D9",
        "the answer to a multi whose connection or session is lost is a NullPointerException in ZooKeeper's event "
        "thread, and the controller's thread waits for ever",
        "2.1.1, ZooKeeperClient.scala 217",
        _waits_for_a_lost_multi,
        only="2.1",
    ),
    Divergence(
        "D10",
        "brokers are told of a new broker at once, before an election, not only when a leader was elected",
        "KafkaController.scala 579, 583",
        _tells_of_a_new_broker,
        seen_with="receives",
    ),
    Divergence(
        "D8",
        "handlers are registered after the increment of the epoch, and until then nobody is told anything",
        "2.0.1, KafkaController.scala onControllerFailover",
        _is_told_before_it_listens,
    ),
    Divergence(
        "D15",
        "a BrokerChange that comes with the answer by which a broker becomes controller finds no handler",
        "KafkaController.scala 291",
        _is_elected_with_an_event_coming,
    ),
    Divergence(
        "D11",
        "an IsrChangeNotification ends with a fenced deletion of what was told, by which a deposed controller learns "
        "that it is one, and resigns",
        "KafkaController.scala 2174",
        _ends_with_isr_changes_deposed,
        since="2.1",
    ),
    Divergence(
        "D12",
        "the deletion of what was told is told, too: another IsrChangeNotification, which finds nothing",
        "KafkaController.scala 2155, 2174",
        _ends_with_isr_changes,
    ),
    Divergence(
        "D13",
        "a broker that is not controller drops an IsrChangeNotification without a look, and is told of no other",
        "KafkaController.scala 2154",
        _drops_isr_changes,
    ),
    Divergence(
        "D14",
        "what was told is read before the states are, by a request that finds the session ended",
        "KafkaController.scala 2155",
        _reads_isr_changes_in_an_ended_session,
    ),
)
"""In the order in which they are asked: a step is of the first that fits."""


def divergences_of(release: str, system: ControllerLife) -> tuple[Divergence, ...]:
    """The divergences of a release from a system."""
    return tuple(each for each in DIVERGENCES if each.concerns(release, system))


def divergence_at(
    before: ClusterAtWork, step: Step, after: ClusterAtWork, among: Iterable[Divergence]
) -> Divergence | None:
    """Of some divergences the one that a step is; None if Kafka should do what the specification says."""
    broker = step.parameters.get("broker")
    if broker is None:
        return None
    me, reply = before.controllers[broker], step.parameters.get("reply", "answered")
    its = BrokerStep(broker, step.action, reply, before, me, after.controllers[broker])
    return next((each for each in among if each.at(its)), None)
