"""ClusterFetches: which fetcher threads of a cluster have something to do.

A follower fetches all the time. Most of its fetches change nothing, neither at the follower nor at its leader. Those
are no steps here, so that a cluster comes to rest. To find the others, an exchange is tried on values; it is tried
again only when the broker, or its leader, has changed something that may matter (`Changes`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from election.ids import BrokerId
from statemachines.broker.broker import Broker
from statemachines.cluster_steps import SendFetch, TakeFetch, TakeFetchResponse
from statemachines.messages.topic_partition import TopicPartition


class ClusterFetches:
    """The fetches of all brokers of a cluster; `may_write_isr` says whether a leader can change an ISR now."""

    def __init__(self, brokers: Mapping[BrokerId, Broker], may_write_isr: Callable[[BrokerId], bool]) -> None:
        self._brokers, self._may_write_isr = brokers, may_write_isr
        self._held: dict[BrokerId, set[TopicPartition] | None] = {}
        """The followers that do not fetch some partitions; None: any."""
        self._candidates: defaultdict[BrokerId, dict[TopicPartition, None]] = defaultdict(dict)
        """By follower, the partitions to try."""
        self._due: dict[BrokerId, dict[TopicPartition, BrokerId]] = {}
        """By follower, the partitions for which an exchange would change something, with their leaders."""

    # Events.

    def hold(self, follower: BrokerId, partitions: Iterable[TopicPartition] | None) -> None:
        """A follower sends no fetches for these partitions, or for any."""
        held = self._held.get(follower, set())
        self._held[follower] = None if partitions is None or held is None else {*held, *partitions}
        self._look_at_all_of(follower)

    def resume(self, follower: BrokerId, partitions: Iterable[TopicPartition] | None) -> None:
        """A follower fetches again."""
        held = self._held.pop(follower, set())
        if partitions is not None and held:
            self._held[follower] = held - {*partitions}
        self._look_at_all_of(follower)

    def look_at_all(self) -> None:
        """Time has passed: every follower has something to fetch, since its leader forgets it otherwise."""
        for follower in self._brokers:
            self._look_at_all_of(follower)

    def forget(self, broker: BrokerId) -> None:
        """A broker has stopped: the requests to it are lost."""
        for follower, each in self._brokers.items():
            exchange = each.data_plane.exchanges.get(broker)
            if exchange is not None and exchange.response is None:
                del each.data_plane.exchanges[broker]
                self._candidates[follower].update((partition, None) for partition, _ in exchange.request.questions)

    # Steps.

    def responses(self) -> list[TakeFetchResponse]:
        """The threads that have a response."""
        return [TakeFetchResponse(*pair) for pair, answered in self._under_way() if answered]

    def requests(self) -> list[TakeFetch]:
        """The requests under way to a leader that runs."""
        return [TakeFetch(*pair) for pair, answered in self._under_way() if not answered]

    def sends(self) -> list[SendFetch]:
        """The threads that have something to ask: by partition, the preferred replicas first."""
        self._look()
        busy = {pair for pair, _ in self._under_way()}
        by_pair: dict[tuple[BrokerId, BrokerId], list[TopicPartition]] = {}
        for follower, due in self._due.items():
            for partition, leader in due.items():
                by_pair.setdefault((follower, leader), []).append(partition)
        found = [SendFetch(*pair, tuple(sorted(due))) for pair, due in by_pair.items() if pair not in busy]
        return sorted(found, key=self._urgency)

    def send(self, which: SendFetch) -> None:
        """A thread asks."""
        self._brokers[which.follower].data_plane.send(which.leader, which.partitions)
        for partition in which.partitions:
            self._due[which.follower].pop(partition, None)
            self._candidates[which.follower][partition] = None

    def take(self, which: TakeFetch) -> None:
        """A leader answers."""
        exchanges = self._brokers[which.follower].data_plane.exchanges
        leader = self._brokers[which.leader]
        may_write = self._may_write_isr(which.leader)

        def expand_isr(partition: TopicPartition, replica: BrokerId) -> None:
            if may_write and leader.may_expand_isr(partition, replica):
                leader.expand_isr(partition, replica)

        exchange = exchanges.get(which.leader)
        if exchange is not None and exchange.response is None:
            answered = leader.data_plane.answer(exchange.request, expand_isr)
            exchanges[which.leader] = exchange._replace(response=answered)

    def receive(self, which: TakeFetchResponse) -> bool:
        """A thread processes its response. Returns whether its broker halts."""
        return self._brokers[which.follower].data_plane.receive(which.leader)

    # What is due.

    def _under_way(self) -> Iterator[tuple[tuple[BrokerId, BrokerId], bool]]:
        """The follower and the leader of each exchange, and whether it has its response."""
        for follower, each in self._brokers.items():
            for leader, exchange in each.data_plane.exchanges.items():
                yield (follower, leader), exchange.response is not None

    def _urgency(self, which: SendFetch) -> tuple[TopicPartition, int]:
        first = which.partitions[0]
        hosted = self._brokers[which.leader].replica_manager.state.all_partitions.get(first)
        replicas = () if hosted is None else hosted.assignment.replicas
        return first, replicas.index(which.follower) if which.follower in replicas else len(replicas)

    def _look_at_all_of(self, follower: BrokerId) -> None:
        self._candidates[follower].update(dict.fromkeys(self._brokers[follower].data_plane.fetching))

    def _look(self) -> None:
        """Try the exchanges that may have something to do."""
        for broker, each in self._brokers.items():
            changes, hosted = each.changes, each.replica_manager.state.all_partitions
            fetching = each.data_plane.fetching
            for partition in changes.partitions:
                if partition in fetching:
                    self._candidates[broker][partition] = None
                its = hosted.get(partition)
                if its is not None and its.is_led_by(broker):
                    for replica in its.assignment.replicas:
                        self._candidates[replica][partition] = None
            for partition in changes.isrs:
                its = hosted.get(partition)
                if its is not None and its.is_led_by(broker):
                    for replica in its.assignment.replicas:
                        if replica not in its.state.isr:
                            self._candidates[replica][partition] = None
            for follower, partition in changes.followers:
                self._candidates[follower][partition] = None
            for noted in (changes.partitions, changes.isrs, changes.followers):
                noted.clear()
        tried, self._candidates = self._candidates, defaultdict(dict)
        for follower, partitions in tried.items():
            self._try(follower, partitions)

    def _try(self, follower: BrokerId, partitions: Iterable[TopicPartition]) -> None:
        due, its, held = self._due.setdefault(follower, {}), self._brokers.get(follower), self._held.get(follower, ())
        for partition in partitions:
            due.pop(partition, None)
            if its is None or not its.is_running or partition not in its.data_plane.fetching:
                continue
            leader = its.replica_manager.state.fetchers[partition].leader
            led_by = self._brokers.get(leader)
            if led_by is None or not led_by.is_running or held is None or partition in held:
                continue
            would_join = led_by.may_expand_isr(partition, follower)
            may_join = would_join and self._may_write_isr(leader)
            if would_join and not may_join:  # the leader waits for a session
                self._candidates[follower][partition] = None
            if its.data_plane.changes_something(partition, led_by.data_plane, may_join):
                due[partition] = leader
