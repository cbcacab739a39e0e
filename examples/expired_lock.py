"""A lock whose holder's session expires: the holder goes on as if it held the lock, and only a fence stops it.

While the first client is busy, say with a pause of its garbage collector, its session ends. kazoo opens another by
itself, the lock object does not notice, and a write goes through. A write is refused if it checks the version of a
node that each new holder of the lock increments first.

    one takes the lock, with epoch 1
    two takes the lock, with epoch 2
    does one believe that it holds the lock? True
    one writes: b'by one'
    two writes under its epoch: True
    one writes under its epoch: BadVersionError()
"""

import logging
from typing import Any

from kazoo.client import KazooClient

from statemachines.zookeeper.serving import ServedZooKeeper

SILENT = logging.Logger("kazoo", logging.CRITICAL)


def take_lock(client: Any, name: str) -> tuple[Any, int]:
    """Wait for the lock, and begin an epoch."""
    lock = client.Lock("/lock", name)
    lock.acquire()
    epoch = client.set("/epoch", name.encode()).version
    print(f"{name} takes the lock, with epoch {epoch}")
    return lock, epoch


def write_under(client: Any, epoch: int, data: bytes) -> str:
    """Write, if no other epoch has begun: True, or the error."""
    transaction = client.transaction()
    transaction.check("/epoch", epoch)
    transaction.set_data("/account", data)
    return repr(transaction.commit()[0])


with ServedZooKeeper() as zookeeper:
    one, two = (KazooClient(zookeeper.hosts, logger=SILENT) for _ in range(2))
    one.start()
    two.start()
    two.create("/epoch")
    two.create("/account")
    lock, epoch_of_one = take_lock(one, "one")
    zookeeper.expire(one)
    _, epoch_of_two = take_lock(two, "two")
    print("does one believe that it holds the lock?", lock.is_acquired)
    zookeeper.wait_until(lambda: len(zookeeper.sessions()) == 2)  # one is back, in another session
    one.set("/account", b"by one")
    print("one writes:", zookeeper.tree()["/account"].data)
    print("two writes under its epoch:", write_under(two, epoch_of_two, b"by two"))
    print("one writes under its epoch:", write_under(one, epoch_of_one, b"by one"))
    for each in (one, two):
        each.stop()
        each.close()
