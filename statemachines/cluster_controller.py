"""The controller on one broker of a cluster in memory: a `KafkaController` that records its actions and replies.

In addition to a `KafkaController` it has channels to the brokers, records its election and its requests in the
cluster's history, and passes replies to their callers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from election.ids import BrokerId
from statemachines.cluster_history import Effect, Elected, Failed, Sent
from statemachines.controller.calls import Call, call
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.controller_process import Answer, ControllerProcess
from statemachines.controller.design import Design
from statemachines.controller.event_driver import ReleaseChannels
from statemachines.controller.event_processor import event_processor
from statemachines.controller.kafka_controller import KafkaController, QueuedEvent
from statemachines.controller.metrics import CountingChannels, Meter, context_of, update_metrics
from statemachines.controller.state_change import EventDone
from statemachines.controller.threads import BEGIN, ControllerStep
from statemachines.messages.control_requests import ControlRequest
from statemachines.zookeeper.server import ZooKeeper

Reply = Callable[[Any], object]
"""A callback that receives a reply."""
REGISTERING: Final = frozenset(
    {
        ControllerStep.Connect,
        ControllerStep.RegisterBroker,
        ControllerStep.CheckRegistration,
        ControllerStep.DeleteRegistration,
    }
)


class ClusterController(KafkaController):
    """The controller on one broker, active or not.

    Args:
        broker: its id.
        zookeeper: the servers.
        release: the release of its broker.
        note: called with each effect.
        unclean: returns, at each election, whether unclean elections are permitted unless a topic says otherwise.
        auto_leader_rebalance: whether it checks by itself whether preferred replicas lead.
        delete_topic_enable: whether topics can be deleted.
        now: returns the time, in milliseconds.
    """

    def __init__(
        self,
        broker: BrokerId,
        zookeeper: ZooKeeper,
        release: str,
        note: Callable[[Effect], object],
        unclean: Callable[[], bool],
        auto_leader_rebalance: bool,
        delete_topic_enable: bool,
        now: Callable[[], int],
    ) -> None:
        design = ControlDesign(release)
        context = context_of(design, release)
        self.channels = CountingChannels(context, design, now)
        self._release, self._note, self._unclean = release, note, unclean
        self._asked: list[tuple[Call, Reply]] = []
        """Requests that wait, or are being processed, for a caller."""
        channels = ReleaseChannels(self.channels, design)
        events = event_processor(broker, self._send, context, design, channels, log=note)
        events.delete_topic_enable = delete_topic_enable
        super().__init__(
            Design(release),
            zookeeper,
            broker,
            events,
            answer=self._reply,
            auto_leader_rebalance=auto_leader_rebalance,
            now=now,
        )

    @property
    def metrics(self) -> dict[str, int | Meter]:
        """Its JMX metrics, by Kafka's names (see `statemachines.controller.metrics`)."""
        shown: dict[str, int] = {}
        update_metrics(shown, self.context, self.active, self.events.design, self._release)
        return {**shown, **self.channels.metrics(self._release), **self.stats.metrics()}

    # Requests of callers.

    def ask(self, event: Call, reply: Reply) -> None:
        """Put an event into the queue, on behalf of a caller.

        Args:
            event: the call of its handler.
            reply: called once with the reply; with None if there is none, because the broker is not controller, or no
                longer.
        """
        self._asked.append((event, reply))
        self.put(event)

    def _reply(self, event: Call, answer: Any) -> None:
        for at, (asked, reply) in enumerate(self._asked):
            if asked is event:
                del self._asked[at]
                reply(answer)
                return

    def _refuse(self, event: Call) -> None:
        self._reply(event, None)

    def _forget(self) -> None:
        super()._forget()
        asked, self._asked = self._asked, []
        for _, reply in asked:
            reply(None)

    # Steps.

    @property
    def next_step(self) -> str:
        """The subject of its next step; empty if there is none."""
        if not self.has_work:
            return ""
        if self.event is not None:
            return self.event.method
        for agenda in (self.me.listener_agenda, self.me.agenda):
            if agenda:
                return agenda[0].name
        if self.has_lost_session:
            return "begin anew"
        events = self.zookeeper.state.events[self.me.session]
        if events:
            return f"{events[0].type.name} {events[0].path}"
        waits: QueuedEvent = (*self.posted, *self.queue)[0]
        name = waits.method if isinstance(waits, Call) else str(waits)
        return f"ZkEventThread reads for {name}" if self.posted and isinstance(waits, Call) else name

    @property
    def has_session(self) -> bool:
        """Whether its session is live."""
        return self.me.session in self.zookeeper.state.sessions

    def begin(self) -> None:
        """Its broker is up and registered, and the controller starts."""
        session = self._new_session()
        self.zookeeper.connect(session)
        created = self.zookeeper.create(session, self.registration, ephemeral=True)
        epoch = created.stat.czxid if self.design.broker_epoch else 0
        self.me = ControllerProcess(BEGIN, session, registration=session, broker_epoch=epoch)

    @property
    def registers_first(self) -> bool:
        """Whether its broker registers before it accepts requests, since 1.1, and has not done so yet."""
        return ControllerStep.RegisterBroker in self.me.agenda or any(
            map(self.me.about_to, REGISTERING - {ControllerStep.Connect})
        )

    def stop_with_session(self) -> None:
        """Its broker stops, and its session ends with it."""
        session, had = self.me.session, self.has_session
        self.crash()
        if had:
            self.zookeeper.close(session)

    def configure_unclean(self, allowed: bool, at_once: bool) -> None:
        """The default has changed; `at_once` also elects leaders where that has become possible."""
        self._configure(allowed)
        if at_once:
            self.put(call(self.events.process_unclean_leader_election_enable))

    def _configure(self, unclean: bool) -> None:
        """Configure both state machines; until 1.0 the flag also decides whether an ISR may become empty."""
        for machine in (self.events.partition_state_machine, self.events.replica_state_machine):
            machine.unclean_leader_election_enable = unclean

    def _failover_goes_through(self, me: ControllerProcess, said: str) -> Answer:
        self._configure(self._unclean())
        self._note(Elected(self.broker, me.epoch))
        return super()._failover_goes_through(me, said)

    def _went_on(self, step: Any) -> None:
        event = self.event
        super()._went_on(step)
        if isinstance(step, EventDone) and step.failure is not None and event is not None:
            self._note(Failed(f"{event.method} was cut short: {step.failure}"))

    def _send(self, broker: BrokerId, request: ControlRequest) -> None:
        self._note(Sent(broker, request))
        self.channels.send_request(broker, request)
