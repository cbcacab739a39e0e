"""Possible next steps of a cluster, as values that print as lines; `cluster` explains each.

>>> print(TakeRequest(1, 2, "LeaderAndIsr"))
broker 2 takes LeaderAndIsr of controller 1
"""

from typing import NamedTuple, TypeAlias

from election.ids import BrokerId
from statemachines.controller.channel_manager import send_thread_name
from statemachines.messages.topic_partition import TopicPartition, named


class TakeRequest(NamedTuple):
    """A broker takes the next request of a controller."""

    controller: BrokerId
    broker: BrokerId
    request: str

    def __str__(self) -> str:
        return f"broker {self.broker} takes {self.request} of controller {self.controller}"

    @property
    def thread(self) -> str:
        """The name of the controller's thread that sends it."""
        return send_thread_name(self.controller, self.broker)


class AdvanceController(NamedTuple):
    """The controller on a broker takes its next step."""

    broker: BrokerId
    event: str

    def __str__(self) -> str:
        return f"the controller on broker {self.broker} goes on: {self.event}"


class AdvanceShutdown(NamedTuple):
    """A broker that is shutting down takes its next step."""

    broker: BrokerId
    due: str

    def __str__(self) -> str:
        return f"broker {self.broker} shuts down: {self.due}"


class SendFetch(NamedTuple):
    """A follower's fetcher thread asks a leader, for all partitions for which that would change something."""

    follower: BrokerId
    leader: BrokerId
    partitions: tuple[TopicPartition, ...]

    def __str__(self) -> str:
        return f"broker {self.follower} fetches from broker {self.leader}: {named(self.partitions)}"

    @property
    def thread(self) -> str:
        """The name of the follower's thread, with one fetcher for each leader [num.replica.fetchers]."""
        return f"ReplicaFetcherThread-0-{self.leader}"


class TakeFetch(NamedTuple):
    """A leader answers a follower's fetcher thread."""

    follower: BrokerId
    leader: BrokerId

    def __str__(self) -> str:
        return f"broker {self.leader} answers broker {self.follower}"


class TakeFetchResponse(NamedTuple):
    """A follower's fetcher thread processes its leader's answer."""

    follower: BrokerId
    leader: BrokerId

    def __str__(self) -> str:
        return f"broker {self.follower} takes the answer of broker {self.leader}"


class RunTask(NamedTuple):
    """A task of a broker that is due by the clock runs; `cluster_clock` lists them."""

    broker: BrokerId
    name: str

    def __str__(self) -> str:
        return f"broker {self.broker} runs {self.name}"


class ChangeIsr(NamedTuple):
    """A leader asks the controller for ISRs, or notifies it of them."""

    leader: BrokerId

    def __str__(self) -> str:
        return f"broker {self.leader} reports ISRs to the controller"


Fetch: TypeAlias = SendFetch | TakeFetch | TakeFetchResponse
"""A step of a fetcher thread."""
Step: TypeAlias = TakeRequest | AdvanceController | AdvanceShutdown | Fetch | RunTask | ChangeIsr
"""A possible next step."""
