"""The rest of an unfinished event, as a part: its domain is neither too large nor too small."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spec.checking import check
from spec.checking.local import LocalEngine
from spec.language import SpecificationError
from spec.parts.event_thread import EventThreadPart, in_order
from spec.systems.partitions import Partitions
from statemachines.controller.calls import Call, Frame, RunsAfter, StackFrames, call_of
from statemachines.controller.event_processor import ControllerEventProcessor as Controller
from statemachines.controller.zk_client import ControllerZkClient
from statemachines.messages.topic_partition import TopicPartition
from tests.tiers import long_unless

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def thread() -> EventThreadPart:
    """The event thread of a system with two brokers and two partitions."""
    return Partitions(partitions=2).thread


def test_tuples_in_order() -> None:
    """Each value at most once, the shorter tuples first."""
    assert list(in_order((3, 1, 2)))[:5] == [(), (3,), (1,), (2,), (3, 1)]
    assert in_order(range(5)).size == 32


# Arguments


@pytest.mark.parametrize(
    ("frame", "calls"),
    [
        pytest.param(Frame(Controller.try_topic_deletion), [()], id="none"),
        pytest.param(Frame(Controller._answer_controlled_shutdown), [(0,), (1,)], id="a type that has a size"),
        pytest.param(Frame(Controller._fail_brokers), [((),), ((0,),), ((1,),), ((0, 1),)], id="Sequence"),
        pytest.param(Frame(Controller._resume_deletions_on_new_brokers), [((),), (("t",),)], id="Iterable"),
        pytest.param(
            Frame(Controller._stop_replicas, {"broker": (1,)}),
            [(1, ()), (1, (T0,)), (1, (T1,)), (1, (T0, T1))],
            id="tuple",
        ),
        pytest.param(Frame(Controller.trigger_online_partition_state_change), [()], id="by default"),
        pytest.param(
            Frame(Controller.trigger_online_partition_state_change, {"topic": (None, "t")}),
            [(None,), ("t",)],
            id="narrowed",
        ),
    ],
)
def test_argument_domains_follow_from_annotations(
    thread: EventThreadPart, frame: Frame, calls: list[tuple[Any, ...]]
) -> None:
    """And from the sizes of the types in the system."""
    assert list(thread.calls_of(frame)) == [Call(frame.method.__name__, arguments) for arguments in calls]


def test_a_call_that_receives_an_answer(thread: EventThreadPart) -> None:
    """The answer is not among the remaining arguments."""
    frame = Frame(Controller._controlled_shutdown_failed, takes_answer=True, runs_after=RunsAfter.CaughtFailure)
    assert list(thread.calls_of(frame)) == [Call("_controlled_shutdown_failed", (), RunsAfter.CaughtFailure)]


def test_a_call_may_be_an_argument(thread: EventThreadPart) -> None:
    """As the frame declares."""
    resumed = Frame(Controller._resume_preferred_replica_elections, takes_answer=True)
    (call,) = thread.calls_of(Frame(Controller.get_preferred_replica_election, {"following": resumed}))
    assert call.arguments == (Call("_resume_preferred_replica_elections"),)


def test_a_narrowed_argument_must_exist(thread: EventThreadPart) -> None:
    """A name that is no argument is reported."""
    with pytest.raises(SpecificationError, match="_fail_brokers has no argument broker"):
        thread.calls_of(Frame(Controller._fail_brokers, {"broker": (0,)}))


def test_a_system_narrows_a_frames_arguments(thread: EventThreadPart) -> None:
    """By method, wherever the frame stands."""
    narrow = replace(thread, narrowed_arguments={Controller._fail_brokers: {"brokers": ((1,),)}})
    assert list(narrow.calls_of(Frame(Controller._fail_brokers))) == [call_of(Controller._fail_brokers, (1,))]


@pytest.mark.parametrize("of", [each for each in Controller.__mro__ if "STACK_FRAMES" in vars(each)])
def test_a_frame_belongs_to_the_method_that_its_name_calls(of: Any) -> None:
    """An overridden method has no frame."""
    for frame in (*of.RESUME_FRAMES, *(each for row in of.STACK_FRAMES for each in row)):
        if isinstance(frame, Frame):
            name = frame.method.__name__
            assert frame.method is (getattr(Controller, name, None) or getattr(ControllerZkClient, name))


# Stacks


def test_the_end_of_a_stack_may_be_left(thread: EventThreadPart) -> None:
    """Two stacks with a common end become one."""
    first, second, last = (
        Frame(Controller.try_topic_deletion),
        Frame(Controller.resume_deletions),
        Frame(Controller._fail_brokers),
    )
    stacks = replace(thread, stack_frames=((first, last), (second, last))).following_stacks
    go = [Call("_fail_brokers", (brokers,)) for brokers in ((), (0,), (1,), (0, 1))]
    rows: list[tuple[Call, ...]] = [()]
    rows += [(Call("try_topic_deletion"), each) for each in go]
    rows += [(each,) for each in go]
    rows += [(Call("resume_deletions"), each) for each in go]
    assert list(stacks) == rows


def without(at: int) -> Partitions:
    """Return the system without one of its stacks."""

    class Without(Partitions):
        """One is missing."""

        @property
        def stack_frames(self) -> StackFrames:
            every = super().stack_frames
            return (*every[:at], *every[at + 1 :])

    return Without(clear_batch=True)


STACKS = Partitions().stack_frames


@pytest.mark.parametrize(
    "at", long_unless((1).__eq__, range(len(STACKS))), ids=[str(at) for at in range(len(STACKS))]
)
def test_a_stack_that_is_missing_is_found(at: int) -> None:
    """The variable's type is violated, so each stack is needed."""
    result = check(without(at), properties=["type_ok"], engine=LocalEngine())
    assert result.counterexample is not None
    assert result.counterexample.broken == "type_ok"
