"""Where Kafka is known to differ from the system `controller`, and why.

Conformance does not report these steps as differences, and does not follow paths beyond them. But Kafka's own classes
run each of them, by the shortest path to it. If they then do what the specification says, that is reported: the entry
is wrong, or its cause has been corrected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from spec.language import Step
from spec.systems.controller import ClusterAtWork
from statemachines.controller.controller_process import ControllerProcess
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.controller.threads import ControllerEvent, ControllerStep
from statemachines.releases import Release, line_of


class BrokerStep(NamedTuple):
    """A step of a broker, with the broker's state before and after."""

    broker: int
    action: str
    reply: str
    before: ClusterAtWork
    me: ControllerProcess
    after: ControllerProcess

    @property
    def has_session(self) -> bool:
        """Whether ZooKeeper's servers keep its session alive."""
        return self.me.session in self.before.zk.sessions

    def is_deposed(self, me: ControllerProcess) -> bool:
        """Whether its epoch is over: another controller was elected before this step."""
        epoch = self.before.zk.nodes.get(CONTROLLER_EPOCH)
        return epoch is None or me.context.epoch_zk_version != epoch.version


class Divergence(NamedTuple):
    """A rule that Kafka breaks, or applies in another order.

    Args:
        id: its name.
        kafka: what Kafka does instead.
        source: where, in Kafka 3.9.1, or in the one release concerned.
        at: whether a step diverges in this way.
        stays: why the specification does not follow Kafka.
        shortest: the number of steps up to and including the first such step: with one broker, or with two where the
            divergence needs a controller that has been replaced (D11, D23).
        silent: known from the source; it cannot be provoked from outside.
        only: the one line of releases concerned; empty if there are others.
        since: the first line concerned, if not all are.
        until: the last line concerned, if later ones are not.
    """

    id: str
    kafka: str
    source: str
    at: Callable[[BrokerStep], bool]
    stays: str
    shortest: int
    silent: bool = False
    only: str = ""
    since: str = ""
    until: str = ""

    def concerns(self, release: str) -> bool:
        """Whether it concerns this release."""
        line = Release(line_of(release))
        begun = not self.since or line >= Release(self.since)
        return self.only in ("", str(line)) and begun and (not self.until or line <= Release(self.until))


def _fails_between_the_states_and_the_election(step: BrokerStep) -> bool:
    return step.action == "fail" and step.me.about_to(ControllerStep.ReadPartitionState)


def _ends_with_isr_changes(step: BrokerStep) -> bool:
    return step.action == "read_states" and not step.me.in_elect and step.has_session


def _ends_with_isr_changes_deposed(step: BrokerStep) -> bool:
    return _ends_with_isr_changes(step) and step.is_deposed(step.me)


def _handles_isr_changes(step: BrokerStep) -> bool:
    handled = step.me.queue[:1] if step.action == "handle_event" else ()
    return [each.event for each in handled] == [ControllerEvent.IsrChangeNotification]


def _drops_isr_changes(step: BrokerStep) -> bool:
    return _handles_isr_changes(step) and not step.me.active and step.me.handlers_registered and step.has_session


def _reads_isr_changes_in_an_ended_session(step: BrokerStep) -> bool:
    return _handles_isr_changes(step) and step.me.active and not step.has_session


def _waits_for_a_lost_multi(step: BrokerStep) -> bool:
    if step.action in ("update_leader_and_isr", "delete_controller"):
        return step.reply == "lost" or not step.has_session
    if step.action == "read_states":  # ISR changes' states; their nodes are then deleted, whatever the read returned
        return not step.me.in_elect and not step.has_session
    return step.action in ("read_partition_state", "delete_preferred_election") and not step.has_session


def _ends_its_failover_deposed(step: BrokerStep) -> bool:
    before, after = (each.about_to(ControllerStep.DeletePreferredElection) for each in (step.me, step.after))
    return after and not before and step.is_deposed(step.after)


def _renews_before_a_create(step: BrokerStep) -> bool:
    creates = step.me.about_to(ControllerStep.CreateController) or step.me.as_zk_event_thread().about_to(
        ControllerStep.RegisterBroker
    )
    return step.action == "learn_of_expiry" and creates


def _is_named_again(step: BrokerStep) -> bool:
    became = step.after.active and not step.me.active
    return became and step.action in ("maybe_resign", "elect") and step.me.has_context


def _asks_nothing_where_events_wait(step: BrokerStep) -> bool:
    delivered = step.me.posted[:1] if step.action == "listen" else ()
    asks_nothing = [each.event for each in delivered] == [ControllerEvent.SessionExpirationListener]
    return asks_nothing and bool(step.before.zk.events[step.me.session])


DIVERGENCES: Final = (
    Divergence(
        "D2",
        "a request fused with ReadPartitionState fails, such as that of topic deletions; if ReadPartitionState "
        "itself fails, no leader is elected, and nothing is moved (`fail_to_elect`)",
        "KafkaController.scala 304, PartitionStateMachine.scala 170",
        _fails_between_the_states_and_the_election,
        "fused requests are one step, and either may fail; they cannot be made to fail alone",
        shortest=10,
        silent=True,
    ),
    Divergence(
        "D9",
        "a multi whose connection or session is lost ends in a NullPointerException in ZooKeeper's event thread, and "
        "the controller's thread waits for ever",
        "2.1.1, ZooKeeperClient.scala 217",
        _waits_for_a_lost_multi,
        "a bug of 2.1 alone, after which a controller does nothing: no further property is at stake",
        shortest=10,
        only="2.1",
    ),
    Divergence(
        "D11",
        "an IsrChangeNotification ends with a fenced deletion of the notifications; a deposed controller learns "
        "from it that it is deposed, and resigns",
        "KafkaController.scala 2174",
        _ends_with_isr_changes_deposed,
        "the content of notifications is not modelled, only that they happen (`isr_changes`), so neither is their "
        "deletion; a deposed controller learns of it by its next write, or by the event for /controller",
        shortest=24,
        since="2.1",
    ),
    Divergence(
        "D12",
        "the deletion of the notifications causes another IsrChangeNotification, which finds nothing",
        "KafkaController.scala 2155, 2174",
        _ends_with_isr_changes,
        "the nodes that leaders create are not modelled; the second notification reads nothing, and changes nothing",
        shortest=16,
    ),
    Divergence(
        "D13",
        "a broker that is not controller drops an IsrChangeNotification unread, and its watch stays unarmed",
        "KafkaController.scala 2154",
        _drops_isr_changes,
        "the nodes that leaders create are not modelled; more notifications than in Kafka leave nothing out",
        shortest=15,
    ),
    Divergence(
        "D14",
        "the notifications are read before the states, by a request that finds the session ended",
        "KafkaController.scala 2155",
        _reads_isr_changes_in_an_ended_session,
        "that read is not modelled; the next request finds the session ended anyway",
        shortest=16,
    ),
    Divergence(
        "D23",
        "a failover deletes /admin/reassign_partitions, even if it does not exist, before it deletes the requested "
        "preferred elections; this deletion is fenced too, so a deposed controller learns of it one request earlier",
        "2.1.1, KafkaController.scala 845, KafkaZkClient.scala 828",
        _ends_its_failover_deposed,
        "one request, of 2.1 alone: until 2.0 that deletion is not fenced, and since 2.2 there is nothing to delete",
        shortest=17,
        only="2.1",
    ),
    Divergence(
        "D24",
        "a broker reads that it is no longer controller, then reads that it is controller again, and acts under the "
        "epoch of its last term",
        "KafkaController.scala 1522, 1548",
        _is_named_again,
        "it needs a client other than a broker, which sets /controller back; here such a broker forgets its epoch, "
        "since among brokers alone it reads the epoch again before it uses it",
        shortest=14,
    ),
    Divergence(
        "D21",
        "the creation of an ephemeral node stays with the session in which it began, and fails with it",
        "1.0.2, ZkUtils.scala, ZKCheckedEphemeral",
        _renews_before_a_create,
        "here a creation begins when it is sent; a thread that is about to begin it cannot be held there",
        shortest=5,
        silent=True,
        until="1.0",
    ),
    Divergence(
        "D25",
        "SessionExpirationListener sends ZooKeeper no request, so no watch event reaches the client with a reply",
        "1.0.2, KafkaController.scala 1825",
        _asks_nothing_where_events_wait,
        "the arrival of an event is also a step of its own (`deliver_event`): here each listener is fused with one",
        shortest=11,
        until="1.0",
    ),
)
"""In order of precedence: the first one that matches a step applies."""


def divergences_of(release: str) -> tuple[Divergence, ...]:
    """The divergences of a release."""
    return tuple(each for each in DIVERGENCES if each.concerns(release))


def divergence_at(
    before: ClusterAtWork, step: Step, after: ClusterAtWork, among: Iterable[Divergence]
) -> Divergence | None:
    """The first of these divergences that a step matches; None if Kafka should do what the specification says."""
    broker = step.parameters.get("broker")
    if broker is None:
        return None
    me, reply = before.controllers[broker], step.parameters.get("reply", "answered")
    its = BrokerStep(broker, step.action, reply, before, me, after.controllers[broker])
    return next((each for each in among if each.at(its)), None)
