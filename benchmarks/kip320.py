"""The replication model in its kip-320 version, written by hand for speed in plain CPython: a yardstick for engines.

It does not use `spec`. A state is one integer, a successor is that integer plus a difference, a level is a set:

    each broker  its log, its high watermark, and its view of leader epoch, leader and ISR
    ZooKeeper    leader epoch, leader and ISR of the partition
    requests     leader and ISR of each epoch's LeaderAndIsr request, 0 until it is sent
    next id      the id of the next record

Epochs and leaders are stored plus one, 0 is none. An ISR is a bit for each broker. A log is a digit for each offset,
the lowest first: 0 after its end, else 1 + the record's epoch * max_records + its id.

Results that depend on one of these fields alone are computed once for each of its values. All four properties are
checked: weak_isr, strong_isr and leader_in_isr in every state, no_hw_regression in every step.
"""

from __future__ import annotations

from typing import NamedTuple


class Counts(NamedTuple):
    """The counts of an exploration."""

    distinct: int
    depth: int
    generated: int


class PropertyBroken(Exception):
    """A property does not hold: its name, and the number of states on the shortest path to the violation."""


class Broker(NamedTuple):
    """A broker's field, decoded."""

    log: int
    end: int
    high_watermark: int
    leadership: int
    """Leader epoch and leader in one; equal for two brokers in the same leader epoch."""
    epoch: int
    leader: int
    """The leader that it follows; -1 for none."""
    isr: int
    at_epoch_start: bool
    """Whether its high watermark has reached the first record of its epoch, or the end of its log."""


def explore(brokers: int, log_size: int, max_records: int, max_leader_epoch: int) -> Counts:
    """Explore all states breadth-first.

    Raises:
        PropertyBroken: a property does not hold.
    """
    # One function, because local variables are the fastest in CPython.
    epochs = max_leader_epoch + 1
    digit = (max_records * epochs).bit_length()
    isr_bits, leader_bits, epoch_bits = brokers, brokers.bit_length(), epochs.bit_length()
    high_watermark_bits, log_bits = log_size.bit_length(), log_size * digit
    request_bits = leader_bits + isr_bits

    # Positions of the parts of a field; ZooKeeper's and a request's have only the first ones.
    leader_at = isr_bits
    epoch_at = leader_at + leader_bits
    high_watermark_at = epoch_at + epoch_bits
    log_at = high_watermark_at + high_watermark_bits
    broker_bits = log_at + log_bits

    # Positions of the fields.
    places = [broker_bits * broker for broker in range(brokers)]
    zookeeper_at = broker_bits * brokers
    requests_at = zookeeper_at + high_watermark_at
    next_id_at = requests_at + request_bits * epochs

    everybody = (1 << isr_bits) - 1
    in_digit = (1 << digit) - 1
    in_leader = (1 << leader_bits) - 1
    in_leadership = (1 << leader_bits + epoch_bits) - 1
    in_high_watermark = (1 << high_watermark_bits) - 1
    in_request = (1 << request_bits) - 1
    in_broker = (1 << broker_bits) - 1
    in_zookeeper = (1 << high_watermark_at) - 1
    in_requests = (1 << request_bits * epochs) - 1
    below = [(1 << digit * offset) - 1 for offset in range(log_size + 1)]
    members = [[broker for broker in range(brokers) if isr >> broker & 1] for isr in range(everybody + 1)]

    class Brokers(dict[int, Broker]):
        """A broker by its field."""

        def __missing__(self, field: int) -> Broker:
            log, high_watermark = field >> log_at, field >> high_watermark_at & in_high_watermark
            leadership = field >> leader_at & in_leadership
            epoch, leader = leadership >> leader_bits, (leadership & in_leader) - 1
            next_to_commit = log >> high_watermark * digit & in_digit
            at_epoch_start = not next_to_commit or (next_to_commit - 1) // max_records + 1 == epoch
            end = -(-log.bit_length() // digit)
            self[field] = it = Broker(
                log, end, high_watermark, leadership, epoch, leader, field & everybody, at_epoch_start
            )
            return it

    class Controller(dict[int, list[int]]):
        """By ZooKeeper's field: the differences of controller_shrink_isr and controller_elect_leader."""

        def __missing__(self, zookeeper: int) -> list[int]:
            isr, leader, sent = zookeeper & everybody, zookeeper >> leader_at & in_leader, zookeeper >> epoch_at
            to_send = []
            for broker in members[isr] if sent < epochs else ():
                rest = isr ^ 1 << broker
                if leader == broker + 1:
                    to_send.append(rest or isr)
                else:
                    to_send += [leader << leader_at | rest, (broker + 1) << leader_at | isr]
            self[zookeeper] = steps = [
                (((sent + 1) << epoch_at | request) - zookeeper << zookeeper_at)
                + (request << requests_at + request_bits * sent)
                for request in to_send
            ]
            return steps

    class Requests(dict[int, list[tuple[int, int, int]]]):
        """By the field of all requests: for each with a leader, epoch, leader and the view that it gives a broker."""

        def __missing__(self, field: int) -> list[tuple[int, int, int]]:
            self[field] = found = []
            for epoch in range(1, epochs + 1):
                request = field >> (epoch - 1) * request_bits & in_request
                if request >> leader_at:
                    found.append((epoch, (request >> leader_at) - 1, epoch << epoch_at | request))
            return found

    broker_of, controller, requests = Brokers(), Controller(), Requests()
    initial = everybody << zookeeper_at
    seen = level = {initial}
    generated, depth = 1, 0

    while level:
        depth += 1
        found: list[int] = []
        find = found.append
        for state in level:
            zookeeper = state >> zookeeper_at & in_zookeeper
            zookeeper_isr, zookeeper_leadership = zookeeper & everybody, zookeeper >> leader_at
            elected = zookeeper_leadership & in_leader
            if elected and not zookeeper_isr >> elected - 1 & 1:
                raise PropertyBroken("leader_in_isr", depth)

            for step in controller[zookeeper]:
                find(state + step)

            delivered = requests[state >> requests_at & in_requests]
            next_id = state >> next_id_at
            each = [broker_of[state >> place & in_broker] for place in places]

            for me, (log, end, high_watermark, leadership, my_epoch, leader, isr, at_epoch_start) in enumerate(each):
                place, found_before = places[me], len(found)

                for epoch, named, goes_by in delivered:
                    if epoch <= my_epoch:
                        continue
                    if named == me:  # become_leader
                        find(state + (goes_by - (leadership << leader_at | isr) << place))
                    elif each[named].leadership == goes_by >> leader_at:  # become_follower
                        differ, offset = log ^ each[named].log, end
                        while offset and differ >> (offset - 1) * digit & in_digit:
                            offset -= 1
                        kept = (log & below[offset]) << log_at | min(high_watermark, offset) << high_watermark_at
                        find(state + ((kept | goes_by) - (state >> place & in_broker) << place))

                if leader < 0:
                    continue

                if leader != me:  # follower_fetch
                    its = each[leader]
                    if its.leadership == leadership and end < its.end:
                        fetched = its.log & in_digit << end * digit
                        moved = min(its.high_watermark, end + 1) - high_watermark
                        find(state + ((fetched << log_at) + (moved << high_watermark_at) << place))
                    continue

                committed = below[high_watermark]
                for member in members[isr | zookeeper_isr]:
                    if high_watermark > end or (each[member].log ^ log) & committed:
                        raise PropertyBroken("weak_isr" if isr >> member & 1 else "strong_isr", depth)

                if next_id < max_records and end < log_size:  # leader_write
                    record = 1 + (my_epoch - 1) * max_records + next_id
                    find(state + (record << end * digit + log_at + place) + (1 << next_id_at))

                if high_watermark < end:  # leader_increment_high_watermark
                    for member in members[isr]:
                        its = each[member]
                        if its.leadership != leadership or its.end <= high_watermark:
                            break
                    else:
                        find(state + (1 << high_watermark_at + place))

                if leadership == zookeeper_leadership:
                    for replica, its in enumerate(each):
                        if isr >> replica & 1:  # leader_shrink_isr
                            if replica == me or (its.leadership == leadership and its.end >= end):
                                continue
                        elif its.leadership != leadership or its.end < high_watermark or not at_epoch_start:
                            continue  # no leader_expand_isr
                        isr_after = isr ^ 1 << replica
                        find(state + (isr_after - isr << place) + (isr_after - zookeeper_isr << zookeeper_at))

                # no_hw_regression: only the successors of this turn change this broker
                for after in found[found_before:]:
                    field = after >> place
                    led_on = field >> leader_at & in_leadership == leadership
                    if led_on and field >> high_watermark_at & in_high_watermark < high_watermark:
                        raise PropertyBroken("no_hw_regression", depth + 1)

        generated += len(found)
        level = set(found) - seen
        seen |= level

    return Counts(len(seen), depth, generated)
