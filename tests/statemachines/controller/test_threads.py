"""The events of a broker and their rows: each event has a row, and each row its names."""

from __future__ import annotations

import pytest

from statemachines.controller.agenda import Agenda, ControllerStep
from statemachines.controller.threads import (
    BROKER_CHANGE,
    EVENTS,
    HANDLING,
    HEALTHCHECK,
    LEADER_AND_ISR,
    LISTENERS,
    MAYBE_RESIGN,
    NEW_SESSION,
    WATCH_EVENTS,
    ControllerEvent,
    Queued,
    Threads,
)
from statemachines.zookeeper.tree import EventType
from tests.rows import rows

every_generation = pytest.mark.parametrize("threads", list(Threads), ids=[each.name for each in Threads])
until_1_0 = pytest.mark.parametrize("threads", [Threads.lock, Threads.queue], ids=["lock", "queue"])


@every_generation
def test_a_thread_handles_only_its_events(threads: Threads) -> None:
    """Events of watches, new sessions and listeners; and in every generation the event of a changed ISR."""
    own = {ControllerEvent.IsrChangeNotification, *([ControllerEvent.Healthcheck] if threads is Threads.lock else [])}
    assert set(EVENTS[threads]) == handled(threads) | own


@until_1_0
def test_listeners_handle_starts_sessions_and_watch_events(threads: Threads) -> None:
    """A start and a new session are `HEALTHCHECK` and `NEW_SESSION`."""
    assert {HEALTHCHECK, *NEW_SESSION} == {Queued(event) for event in LISTENERS}
    assert set(WATCH_EVENTS[threads].values()) <= set(LISTENERS)


# The event of a watch.


@every_generation
def test_every_watch_event_has_a_handler(threads: Threads) -> None:
    """For each kind of event."""
    assert set(WATCH_EVENTS[threads]) == set(EventType)


@until_1_0
def test_until_1_0_a_listener_receives_only_the_path(threads: Threads) -> None:
    """Its following read decides: created, changed and deleted are the same."""
    assert {WATCH_EVENTS[threads][kind] for kind in EventType if kind is not EventType.NodeChildrenChanged} == {
        ControllerEvent.LeaderChangeListener
    }
    assert WATCH_EVENTS[threads][EventType.NodeChildrenChanged] is ControllerEvent.BrokerChangeListener


@pytest.mark.parametrize(
    ("kind", "event"),
    [
        (EventType.NodeCreated, ControllerEvent.ControllerChange),
        (EventType.NodeDataChanged, ControllerEvent.ControllerChange),
        (EventType.NodeDeleted, ControllerEvent.Reelect),
        (EventType.NodeChildrenChanged, ControllerEvent.BrokerChange),
    ],
)
def test_since_1_1_the_kind_of_change_decides(kind: EventType, event: ControllerEvent) -> None:
    """A deletion is a Reelect, any other change a ControllerChange. [ControllerChangeHandler]"""
    assert WATCH_EVENTS[Threads.barrier][kind] is event


# The row of an event.


def handled(threads: Threads) -> set[ControllerEvent]:
    """The events that a generation may have to handle because of a watch or a new session."""
    events = set(WATCH_EVENTS[threads].values())
    if threads is Threads.lock:
        return events.union(LISTENERS) - {ControllerEvent.Healthcheck}
    if threads is Threads.queue:
        return {ControllerEvent.ControllerChange, ControllerEvent.Reelect, ControllerEvent.BrokerChange}
    return events


@every_generation
def test_an_event_has_a_row_or_carries_its_read(threads: Threads) -> None:
    """Only the ControllerChange of 0.11 and 1.0 needs no request: it carries the controller."""
    without = handled(threads) - set(HANDLING[threads])
    assert without == ({ControllerEvent.ControllerChange} if threads is Threads.queue else set())


@every_generation
def test_no_row_is_of_another_generation(threads: Threads) -> None:
    """Besides its own events: the start, the first registration until 1.0, and ISR changes by leaders."""
    more = {ControllerEvent.Startup, ControllerEvent.IsrChangeNotification}
    if threads is not Threads.barrier:
        more |= {ControllerEvent.Healthcheck, ControllerEvent.SessionExpireListener}
    assert set(HANDLING[threads]) - handled(threads) - more == set()


@every_generation
def test_every_event_belongs_to_a_generation(threads: Threads) -> None:
    """And a generation names each event that it receives, from a watch or from the thread that is notified first."""
    known = {event for rows in HANDLING.values() for event in rows} | set(WATCH_EVENTS[threads].values())
    assert known | {ControllerEvent.ControllerChange, *LISTENERS} == set(ControllerEvent)


@rows(
    "threads, event, row",
    [
        (
            Threads.lock,
            ControllerEvent.LeaderChangeListener,
            (ControllerStep.WatchController, ControllerStep.MaybeResign, ControllerStep.Elect),
        ),
        (
            Threads.lock,
            ControllerEvent.SessionExpirationListener,
            (ControllerStep.GetControllerId, ControllerStep.Elect),
        ),
        (Threads.lock, ControllerEvent.SessionExpireListener, (ControllerStep.RegisterBroker,)),
        (Threads.lock, ControllerEvent.Healthcheck, (ControllerStep.RegisterBroker, ControllerStep.Serve)),
        (Threads.queue, ControllerEvent.SessionExpireListener, (ControllerStep.RegisterBroker,)),
        (Threads.queue, ControllerEvent.Healthcheck, (ControllerStep.RegisterBroker, ControllerStep.Serve)),
        (Threads.queue, ControllerEvent.Reelect, (ControllerStep.MaybeResign, ControllerStep.Elect)),
        (
            Threads.barrier,
            ControllerEvent.ControllerChange,
            (ControllerStep.WatchController, ControllerStep.MaybeResign),
        ),
        (
            Threads.barrier,
            ControllerEvent.Reelect,
            (ControllerStep.WatchController, ControllerStep.MaybeResign, ControllerStep.Elect),
        ),
    ],
)
def test_requests_that_read_the_controller(
    threads: Threads, event: ControllerEvent, row: tuple[ControllerStep, ...]
) -> None:
    """0.11 does not watch first: its ZkEventThread set the watch when it read."""
    assert HANDLING[threads][event] == row


@pytest.mark.parametrize(
    ("threads", "event"),
    [
        (Threads.lock, ControllerEvent.BrokerChangeListener),
        (Threads.queue, ControllerEvent.BrokerChange),
        (Threads.barrier, ControllerEvent.BrokerChange),
    ],
)
def test_a_broker_change_reads_live_brokers_and_may_write(threads: Threads, event: ControllerEvent) -> None:
    """In every generation: 0.11 too ignores the list in the event. [KAFKA-5502]"""
    assert HANDLING[threads][event] == (
        ControllerStep.ReadBrokers,
        ControllerStep.ReadPartitionState,
        ControllerStep.UpdateLeaderAndIsr,
    )
    assert (ControllerStep.ReadBrokers, *LEADER_AND_ISR) == BROKER_CHANGE


@every_generation
def test_a_changed_isr_is_read_and_nothing_written(threads: Threads) -> None:
    """The leader has written it already."""
    assert HANDLING[threads][ControllerEvent.IsrChangeNotification] == (ControllerStep.ReadStates,)


@every_generation
def test_only_until_1_0_a_broker_registers_on_an_event(threads: Threads) -> None:
    """Since then a new session is not an event: its row is among those of a start."""
    registers = any(ControllerStep.RegisterBroker in row for row in HANDLING[threads].values())
    assert registers is (threads is not Threads.barrier)


@every_generation
def test_every_row_is_an_agenda(threads: Threads) -> None:
    """None is empty, or has a request twice."""
    for row in (*HANDLING[threads].values(), MAYBE_RESIGN, BROKER_CHANGE, LEADER_AND_ISR):
        assert isinstance(row, Agenda)
        assert 0 < len(row) == len(set(row))


# Names.


@pytest.mark.parametrize(
    ("queued", "shown"),
    [
        (Queued(ControllerEvent.Reelect), "Reelect"),
        (Queued(ControllerEvent.ControllerChange), "ControllerChange"),
        (Queued(ControllerEvent.ControllerChange, 0), "ControllerChange(0)"),
        (Queued(ControllerEvent.ControllerChange, -1), "ControllerChange(-1)"),
    ],
)
def test_an_event_prints_its_content(queued: Queued, shown: str) -> None:
    """Broker 0 is a broker, too."""
    assert str(queued) == shown


def test_events_print_as_kafkas_names() -> None:
    """A single event and a row of them."""
    assert str(ControllerEvent.Reelect) == "Reelect"
    assert str([ControllerEvent.BrokerChange]) == "[BrokerChange]"
