"""Replay a script on real processes: a ZooKeeper server, brokers, and proxies between them that hold requests.

Each broker request that is a step of the specification is held until the script reaches it. The operator does to
brokers what the script says. Each step is printed with the broker's request and log lines. At the end, and again some
time later, znodes, the server's watches and JMX are compared with the specification.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self, TypeVar

from election.ids import BrokerId, ControllerEpoch
from spec.checking.traces.replay import Replay
from spec.checking.traces.trace import NotebookDisplay, TraceStep
from spec.kafka.broker_processes import (
    BrokerProcess,
    LogLine,
    Processes,
    ZooKeeperOperator,
    ZooKeeperProcess,
    end_session,
    watchers,
)
from spec.kafka.proxy import NOAUTH, HeldRequest, Notification, Proxy, ReplyFrame, RequestFrame
from spec.kafka.script import OWN, SILENT, Script, actions_of, is_partial_step, steps_of_broker
from spec.language import Step
from spec.language.errors import EnvironmentFailed
from statemachines.controller.controller_process import ControllerProcess
from statemachines.controller.design import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH, PARTITION_STATE, registration
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.zk_data import TopicAssignment, TopicPartitionState
from statemachines.znodes.codec import decode, encode
from statemachines.znodes.values import TopicIdReplicaAssignment
from statemachines.zookeeper.tree import Code, ZkVersion

PATIENCE: Final = 120.0
"""Seconds to wait for an expected event. The length matters only when the event does not come."""
AFTERWARDS: Final = 10.0
"""Seconds after the last step in which nothing may happen."""
LAST_GASP: Final = 5.0
"""Seconds between the end of a process's connections and its own end."""
DEAD_BROKER: Final = 99
"""The id of a broker that never existed."""
LOOK_AGAIN: Final = 0.1
"""Seconds between two polls of JMX and the server's watches."""
CONTROLLER_LOGGER: Final = "kafka.controller.KafkaController"
"""The logger whose lines are printed; of others only the line that the broker has started."""
ACTIVE: Final = "kafka.controller:type=KafkaController,name=ActiveControllerCount"
SESSION_STATE: Final = "kafka.server:type=SessionExpireListener,name=SessionState"

T = TypeVar("T")


class Comparison(NamedTuple):
    """A value at the end: specified and observed."""

    what: str
    specified: str
    seen: str


@dataclass(frozen=True, kw_only=True, repr=False)
class ReplayOutcome(NotebookDisplay):
    """The result of a replay."""

    script: Script
    about: Mapping[str, str]
    """The versions of Kafka, ZooKeeper and Java."""
    steps: tuple[TraceStep, ...]
    """The completed steps."""
    compared: tuple[Comparison, ...]
    """The values compared after them; empty if not all steps were completed."""
    afterwards: float
    """Seconds in which nothing happened after them; 0 if something did."""
    departure: str
    """Its first difference from the specification; empty if there is none."""

    @property
    def as_specified(self) -> bool:
        """Whether everything went as specified."""
        return not self.departure

    @property
    def exit_code(self) -> int:
        """0 if everything went as specified, 12 otherwise."""
        return 0 if self.as_specified else 12

    def to_json(self) -> dict[str, Any]:
        """One JSON object, see docs/kafka.md."""
        return {
            "anomaly": self.script.anomaly.id,
            "release": self.script.release,
            "versions": dict(self.about),
            "specified": self.script.result.headline,
            "happens": self.script.happens,
            "steps": [each.to_json() for each in self.steps],
            "compared": [each._asdict() for each in self.compared],
            "afterwards": self.afterwards,
            "as_specified": self.as_specified,
            "departure": self.departure,
        }

    def __repr__(self) -> str:
        return f"<ReplayOutcome of {self.script.anomaly.id} on {self.script.release}: {self._verdict()}>"

    def __str__(self) -> str:
        return "\n".join([*self._table(), "", self._verdict()])

    def _table(self) -> Iterator[str]:
        rows = [Comparison("", "specification", f"Kafka {self.script.release}"), *self.compared]
        widths = [max(len(row[column]) for row in rows) for column in range(2)]
        for what, specified, seen in rows if self.compared else ():
            yield f"  {what:{widths[0]}}   {specified:{widths[1]}}   {seen}".rstrip()

    def _verdict(self) -> str:
        if self.departure:
            return f"Differs: {self.departure}"
        happens = "happens" if self.script.happens else "does not happen"
        verdict = f"As specified: {self.script.anomaly.id} {happens} on Kafka {self.script.release}"
        quiet = f"; no further request for {self.afterwards:g} s" if self.afterwards else ""
        return verdict + quiet


def replay(
    script: Script,
    *,
    tell: Callable[[str], None] = lambda line: None,
    afterwards: float = AFTERWARDS,
    patience: float = PATIENCE,
    patch: str = "",
) -> ReplayOutcome:
    """Replay a script on processes of its release. All of them have ended when this returns or raises.

    Args:
        script: what to do.
        tell: receives each line of the report at once.
        afterwards: seconds after the last step in which nothing may happen.
        patience: seconds to wait for an expected event.
        patch: the name of a patch of Kafka's source (`spec.kafka.patches`); none by default.

    Raises:
        UsageError: no Java, no compiler, or a jar cannot be downloaded.
        EnvironmentFailed: a process ended unexpectedly.
    """

    async def replayed() -> ReplayOutcome:
        async with BrokerReplay(script, tell, patience, patch) as replaying:
            return await replaying.run(afterwards)

    return asyncio.run(replayed())


class Departure(Exception):
    """Something differs from the specification."""


class BrokerReplay:
    """A script and its processes, from `__aenter__` to `__aexit__`, even if the body fails."""

    def __init__(
        self, script: Script, tell: Callable[[str], None], patience: float = PATIENCE, patch: str = ""
    ) -> None:
        self.script, self.tell, self.patience, self.patch = script, tell, patience, patch
        self.specified = Replay(script.specification)
        self._done: list[TraceStep] = []
        self._followed = 0
        self._holding = False
        self._leader_is_dead = False
        self._starting = set[BrokerId]()
        self._proxies: dict[BrokerId, Proxy] = {}
        self._brokers: dict[BrokerId, BrokerProcess] = {}
        self._heads: dict[BrokerId, asyncio.Task[HeldRequest]] = {}
        self._ends: dict[BrokerId | None, asyncio.Task[EnvironmentFailed]] = {}  # None stands for ZooKeeper

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            self._processes = await stack.enter_async_context(Processes(self.script.release, self.patch))
            stack.push_async_callback(self._await_nothing)
            self._zookeeper: ZooKeeperProcess = await self._processes.zookeeper()
            self._ends[None] = asyncio.create_task(self._zookeeper.ended())
            self._operator = await stack.enter_async_context(ZooKeeperOperator(self._zookeeper.address))
            for broker in self._controllers:
                proxy = Proxy(self._zookeeper.address, self._holds, self._report_step(broker, "hears"))
                self._proxies[broker] = await stack.enter_async_context(proxy)
                self._hold_next(broker)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def run(self, afterwards: float) -> ReplayOutcome:
        """Run the script, compare, and check that nothing happens afterwards."""
        departure, compared = "", tuple[Comparison, ...]()
        about = {
            "kafka": self.script.release,
            "zookeeper": self._processes.zookeeper_version,
            "java": self._processes.java_version,
        }
        self.tell(
            f"{self.script.anomaly.id} on Kafka {self.script.release} (ZooKeeper {about['zookeeper']}, "
            f"Java {about['java']}). Its specification: {self.script.result.headline}"
        )
        self.tell(f"        ZooKeeper is process {self._zookeeper.pid}")
        try:
            await self._lay_out()
            await self._begin()
            while not self.script.is_over(self.specified, self._followed):
                await self._go_on()
            compared = await self._settled()
            if any(step.action in OWN for step in self.specified.enabled):  # brokers would go on, but are held
                afterwards = 0
            else:
                await self._nothing_happens(afterwards)
                compared = await self._compared()
            require_equal(compared)
        except Departure as found:
            departure = str(found)
        except EnvironmentFailed:  # a connection may end before the end of its process is noticed
            await self._await_an_end()
            raise
        return ReplayOutcome(
            script=self.script,
            about=about,
            steps=tuple(self._done),
            compared=compared,
            afterwards=afterwards,
            departure=departure,
        )

    # Steps.

    async def _begin(self) -> None:
        """Start the brokers that must be up before the script begins, and let their requests pass until all is quiet.

        Until a controller requests /controller, its further requests may still belong to the start.
        """
        for step in self.script.prelude:
            self._do(step)
            await self._start(step)
        while own := [step for step in self.specified.enabled if step.action in OWN]:
            self._do(own[0])
        if self.script.prelude:
            require_equal(await self._settled())
        self._starting = {step.parameters["broker"] for step in self.script.prelude}
        self._holding = True

    async def _go_on(self) -> None:
        """Do the next step: the script's, or the next one that a broker requests."""
        step = self.script.following(self.specified, self._followed)
        if step is None:
            await self._let_a_broker_go_on()
            return
        if step.action == "fail":
            await self._fail(step)
        elif step.action in INTERFERENCE:
            self._do(step)
            await INTERFERENCE[step.action](self, step)
        else:
            broker = step.parameters["broker"]
            held = await self._head(broker, step)
            if step.action in SILENT:  # already done, or it would send no request
                self._do(step)
            elif step.action in actions_of(held.request):
                await self._release(broker, held, step)
            elif self.script.steps:
                raise Departure(f"broker {broker} sends {held}; the specification's next step is {step}")
            else:
                await self._let_a_broker_go_on()
                return
        self._followed += 1

    async def _head(self, broker: BrokerId, step: Step) -> HeldRequest:
        """The broker's next request, which should be this step."""
        head = asyncio.shield(self._heads[broker])
        return await self._within(head, f"broker {broker} does not reach {step}")

    async def _let_a_broker_go_on(self) -> None:
        """Wait for a request of any broker, find its step, and do that."""
        own = [step for step in self.specified.enabled if step.action in OWN]
        if own and all(step.action in SILENT for step in own):  # no request will show that it is done
            self._do(own[0])
            return
        asked = asyncio.wait(self._heads.values(), return_when=asyncio.FIRST_COMPLETED)
        await self._within(asked, "no broker sends a request")
        broker, held = next((broker, head.result()) for broker, head in self._heads.items() if head.done())
        if broker in self._starting and held.request.path != CONTROLLER:
            await self._pass(broker, held)
            return
        while not (enabled := steps_of_broker(self.specified, broker, actions_of(held.request))):
            if silent := steps_of_broker(self.specified, broker, SILENT):
                self._do(silent[0])
            elif is_partial_step(held.request, self.script.specification.design.threads):
                await self._pass(broker, held)
                return
            else:
                doing = self._controllers[broker].agenda
                raise Departure(f"broker {broker} sends {held}; the specification's next step is: {doing}")
        if enabled[0].action != "listen":
            self._starting.discard(broker)
        await self._release(broker, held, enabled[0])

    async def _release(self, broker: BrokerId, held: HeldRequest, step: Step) -> None:
        self._do(step)
        if finds_dead(step):
            await self._kill_the_leader()
        self.tell(f"        broker {broker} sends {held}")
        if step.parameters.get("reply") == "lost":
            await self._pass(broker, held, held.lose)
            self.tell("        the reply is lost with the connection")
        else:
            await self._pass(broker, held, held.release)

    async def _fail(self, step: Step) -> None:
        """Have the proxy answer a broker's next request as a server does whose ACLs forbid it."""
        broker = step.parameters["broker"]
        held = await self._head(broker, step)
        doing = self._controllers[broker].agenda
        if not steps_of_broker(self.specified, broker, actions_of(held.request)):
            raise Departure(f"broker {broker} sends {held}; the specification's next step is: {doing}")
        self._do(step)
        self.tell(f"        broker {broker} sends {held}; the proxy answers NOAUTH")
        await self._pass(broker, held, lambda: held.refuse(NOAUTH))

    async def _pass(
        self, broker: BrokerId, held: HeldRequest, answered: Callable[[], Awaitable[ReplyFrame]] | None = None
    ) -> None:
        self._hold_next(broker)
        try:
            reply = await self._within((answered or held.release)(), f"broker {broker} receives no answer: {held}")
        except ConnectionError as ended:
            await self._await_an_end()
            raise EnvironmentFailed(f"broker {broker}: {ended}", "nothing was kept") from None
        if reply.error not in (0, NOAUTH):
            self.tell(f"        ZooKeeper answers {Code(reply.error).name}")

    def _do(self, step: Step) -> None:
        """Do a step in the specification, and print it."""
        done = self.specified.do(step)
        self._done.append(done)
        self.tell(f"  {self.specified.number:2}  {step}" + "".join(f"   {said}" for said in done.sentences))
        for sentence in done.views:
            self.tell(f"      * {sentence}")

    # Interference with brokers.

    async def _lay_out(self) -> None:
        """Set up ZooKeeper's initial state: an epoch, and a partition led by its only replica.

        The replica is the broker whose controller will find the leader dead, if there is such a step.
        """
        steps = (*self.script.steps, *self.script.interference)
        self._replica = next((step.parameters["broker"] for step in steps if finds_dead(step)), 0)
        topic, _, _ = PARTITION_STATE.partition("/partitions")
        assignment = TopicAssignment(((0, ReplicaAssignment((self._replica,))),))
        for path, data in {
            CONTROLLER_EPOCH: "0",
            "/brokers": "",
            "/brokers/topics": "",
            topic: encode(topic, TopicIdReplicaAssignment(assignment)).decode(),
            f"{topic}/partitions": "",
            f"{topic}/partitions/0": "",
            PARTITION_STATE: self._state_led_by(self._replica),
        }.items():
            await self._operator.create(path, data)

    def _state_led_by(self, leader: BrokerId) -> str:
        state = TopicPartitionState(LeaderAndIsr(leader, 0, (self._replica,)), controller_epoch=0)
        return encode(PARTITION_STATE, state).decode()

    async def _kill_the_leader(self) -> None:
        """Make a broker that never existed the partition's leader, in a state not yet written by a controller."""
        self._leader_is_dead = True
        await self._operator.delete(PARTITION_STATE)
        await self._operator.create(PARTITION_STATE, self._state_led_by(DEAD_BROKER))

    async def _start(self, step: Step) -> None:
        broker = step.parameters["broker"]
        process = await self._processes.broker(broker, self._proxies[broker].address, self._logging(broker))
        self._brokers[broker] = process
        if broker not in self._heads:
            self._hold_next(broker)
        self._ends[broker] = asyncio.create_task(process.ended())
        self.tell(f"        broker {broker} is process {process.pid}")

    async def _operator_deletes_controller(self, step: Step) -> None:
        gone = await self._operator.delete(CONTROLLER)
        self.tell(f"        the operator deletes {CONTROLLER}: {'OK' if gone else 'NONODE'}")

    async def _crash(self, step: Step) -> None:
        broker = step.parameters["broker"]
        self._ends.pop(broker).cancel()
        self._heads.pop(broker).cancel()
        process = self._brokers.pop(broker)
        await process.stop()
        self.tell(f"        broker {broker}, process {process.pid}, is killed")

    async def _expire(self, step: Step) -> None:
        session = step.parameters["session"]
        greeting = self._proxies[session.client].greeting
        await end_session(self._zookeeper.address, greeting)
        self.tell(f"        ZooKeeper ends session {greeting} of broker {session.client}")

    # Observation.

    async def _settled(self) -> tuple[Comparison, ...]:
        """Compare after brokers have acted on their last answer: once all is as specified, or after a timeout."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self.patience
        while True:
            compared = await self._compared()
            if all(each.specified == each.seen for each in compared) or loop.time() > until:
                return compared
            await asyncio.sleep(LOOK_AGAIN)

    async def _nothing_happens(self, seconds: float) -> None:
        """Check that for so many seconds no broker sends a request that would be a step."""
        heads = self._heads.values()
        await asyncio.wait({*heads, *self._ends.values()}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        self._raise_ended()
        for broker, head in self._heads.items():
            if head.done():
                raise Departure(
                    f"broker {broker} sends {head.result()}; the specification expects no further request"
                )

    async def _compared(self) -> tuple[Comparison, ...]:
        return tuple([each async for each in self._comparisons()])

    async def _comparisons(self) -> AsyncIterator[Comparison]:
        nodes = self.specified.value("zk.nodes")
        controller, epoch = await self._operator.get(CONTROLLER), await self._operator.get(CONTROLLER_EPOCH)
        yield Comparison(
            CONTROLLER,
            f"broker {nodes[CONTROLLER].data}" if CONTROLLER in nodes else "absent",
            f"broker {decode(CONTROLLER, controller.data.encode()).broker}" if controller else "absent",
        )
        yield Comparison(CONTROLLER_EPOCH, str(nodes[CONTROLLER_EPOCH].data), epoch.data if epoch else "absent")
        if self._leader_is_dead:
            specified, seen = nodes[PARTITION_STATE], await self._operator.get(PARTITION_STATE)
            written: TopicPartitionState | None = seen and decode(PARTITION_STATE, seen.data.encode())
            yield Comparison(
                "the partition's state",
                state_of(specified.data.controller_epoch, specified.version),
                state_of(written.controller_epoch, seen.version) if seen and written else "absent",
            )
        watching = await watchers(self._zookeeper.address, CONTROLLER)
        armed = self.specified.value("zk.data_watches")[CONTROLLER]
        for broker, process in self._brokers.items():
            me, session = self._controllers[broker], self._proxies[broker].greeting.session
            node = await self._operator.get(registration(broker))
            yield Comparison(
                f"{BROKER_IDS}/{broker}",
                "by its session" if registration(broker) in nodes else "absent",
                "absent" if node is None else "by its session" if node.owner == session else "by another session",
            )
            yield Comparison(f"broker {broker}: session", "CONNECTED", await process.value(SESSION_STATE))
            yield Comparison(
                f"broker {broker}: ActiveControllerCount", str(int(me.active)), await process.value(ACTIVE)
            )
            yield Comparison(
                f"broker {broker}: watch on {CONTROLLER}",
                armed_watch(me.session in armed),
                armed_watch(session in watching),
            )

    @property
    def _controllers(self) -> Mapping[BrokerId, ControllerProcess]:
        """Each broker's knowledge, by the specification."""
        found: Mapping[BrokerId, ControllerProcess] = self.specified.value("controllers")
        return found

    # Waiting.

    def _holds(self, request: RequestFrame) -> bool:
        """Whether to hold a request: it may be a step of the specification."""
        return self._holding and bool(actions_of(request))

    def _hold_next(self, broker: BrokerId) -> None:
        self._heads[broker] = asyncio.create_task(self._proxies[broker].next_held())

    async def _within(self, wanted: Awaitable[T], otherwise: str) -> T:
        """The awaited result.

        Raises:
            EnvironmentFailed: a process ended.
            Departure: it does not arrive.
        """
        task = asyncio.ensure_future(wanted)
        try:
            await asyncio.wait(
                [task, *self._ends.values()], timeout=self.patience, return_when=asyncio.FIRST_COMPLETED
            )
            self._raise_ended()
            if not task.done():
                raise Departure(f"{otherwise}, for {self.patience:g} s")
            return task.result()
        finally:
            task.cancel()

    async def _await_an_end(self) -> None:
        """Raise the error of a process that has ended, or is about to."""
        await asyncio.wait(self._ends.values(), timeout=LAST_GASP, return_when=asyncio.FIRST_COMPLETED)
        self._raise_ended()

    def _raise_ended(self) -> None:
        """Raise the error of a process that has ended."""
        for end in self._ends.values():
            if end.done():
                raise end.result()

    async def _await_nothing(self) -> None:
        """Cancel everything still awaited."""
        waiting = [*self._heads.values(), *self._ends.values()]
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    # The report.

    def _report_step(self, broker: BrokerId, verb: str) -> Callable[[Notification], None]:
        def tell(event: Notification) -> None:
            if event.path in (CONTROLLER, BROKER_IDS):
                self.tell(f"        broker {broker} {verb} {event}")

        return tell

    def _logging(self, broker: BrokerId) -> Callable[[LogLine], None]:
        def tell(line: LogLine) -> None:
            if line.logger == CONTROLLER_LOGGER or line.text.endswith("started"):
                self.tell(f"        broker {broker} logs {line}")

        return tell


INTERFERENCE: Final[Mapping[str, Callable[[BrokerReplay, Step], Awaitable[None]]]] = {
    "start": BrokerReplay._start,
    "crash": BrokerReplay._crash,
    "zk.expire": BrokerReplay._expire,
    "operator_deletes_controller": BrokerReplay._operator_deletes_controller,
}
"""Interference with brokers -> the method that carries it out."""


def finds_dead(step: Step) -> bool:
    """Whether a controller reads that the partition's leader is dead."""
    return step.parameters.get("leader") == "dead"


def state_of(epoch: ControllerEpoch, version: ZkVersion) -> str:
    """A partition's state in the table."""
    return f"of epoch {epoch}, at version {version}"


def armed_watch(yes: bool) -> str:
    """A truth value in the table."""
    return "armed" if yes else "none"


def require_equal(compared: tuple[Comparison, ...]) -> None:
    """Raise a departure if an observed value is not as specified."""
    for what, specified, seen in compared:
        if specified != seen:
            raise Departure(f"{what} is {seen}; the specification says {specified}")
