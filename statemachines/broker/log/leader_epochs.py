"""The leader-epoch cache: at which offset of a replica's log each leader epoch began.

Every record carries the epoch of the leader that wrote it, and along a log these epochs never decrease. So the
offsets where they change describe all the epochs of a log. The cache holds those: one entry for each epoch, with the
offset of the epoch's first record, epochs and start offsets both strictly increasing. (Until 2.0.0 start offsets only
never decrease: see below.) An epoch ends where the next one starts, the latest at the log end offset.

Its use: two logs agree up to the end of the last epoch that they share. A follower asks its leader where an epoch of
its own ended, and truncates its log there (KIP-101). The rules changed twice, and each change is a method:

============  ================  ==========================================  =============================  ==========
releases      `assign`          end of an epoch                             cut from the start             because of
============  ================  ==========================================  =============================  ==========
0.11 to 1.1   `assign_kip_101`  `end_offset_for_kip_101`: an offset         `truncate_from_start_kip_101`  KIP-101
2.0.0         `assign_kip_101`  `end_offset_for_kip_279`: with its epoch    `truncate_from_start_kip_101`  KIP-279
2.0.1 to 3.9  `assign`          `end_offset_for`: also below the first one  `truncate_from_start`          KAFKA-7415
============  ================  ==========================================  =============================  ==========

Until 2.0.0 the cache may note an epoch that never gets a record, and the next one at the same offset. Up to 1.1 a new
leader assigns its epoch for a retry of an idempotent producer before it finds that this is a duplicate, and appends
nothing [Log.append, 1.1.1, 720-741]. Both entries stay, and such a cache is written to disk.

Since 2.0.1 a broker also assigns its epoch, at its log end offset, when it becomes leader, before it has written
anything [Partition.makeLeader, 2.0.1; KAFKA-7415]. Such an entry has no record yet. It must go when the broker
becomes a follower, even if there is no record to truncate: since 2.6.1 every truncation of the log, even of nothing,
ends in `truncate_from_end` [Log.truncateTo, 2.6.1; KAFKA-10706].

All of it is LeaderEpochFileCache: .scala from 0.11 to 3.4, .java since. `leader_epoch_checkpoint` has its file. Left
out: the old message formats, whose records have no epoch. (Only with them could one difference matter: up to
0.11.0.2, 1.0.1 and 1.1.0 an empty cache answered a question about epoch -1 with the log end offset [KAFKA-6857].)
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from election.ids import LeaderEpoch
from statemachines.messages.records import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET, EpochEndOffset, Offset

__all__ = [
    "UNDEFINED",
    "UNDEFINED_EPOCH",
    "UNDEFINED_EPOCH_OFFSET",
    "EpochEndOffset",
    "EpochEntry",
    "LeaderEpochs",
    "Offset",
]


class EpochEntry(NamedTuple):
    """A leader epoch, and the offset of the first record that was, or will be, written in it."""

    epoch: LeaderEpoch
    start_offset: Offset


UNDEFINED: Final = EpochEndOffset(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)
"""The answer of a cache that does not know. The follower that receives it falls back to its high watermark."""


class LeaderEpochs(NamedTuple):
    """The leader-epoch cache of one replica, an immutable value: methods that change it return another.

    `entries` are in the order of the log. Build a cache with its methods, from an empty one; entries passed in are
    not checked. Where the cache may not know, it answers with Kafka's -1.
    """

    entries: tuple[EpochEntry, ...] = ()

    @classmethod
    def of(cls, epochs: Iterable[LeaderEpoch]) -> "LeaderEpochs":
        """The cache of a log that starts at offset 0 and whose records have these leader epochs, in order.

        >>> LeaderEpochs.of([0, 0, 3]).entries
        (EpochEntry(epoch=0, start_offset=0), EpochEntry(epoch=3, start_offset=2))

        Raises ValueError for a negative epoch.
        """
        cache = cls()
        for offset, epoch in enumerate(epochs):
            cache = cache.assign(epoch, offset)
        return cache

    @property
    def latest_epoch(self) -> LeaderEpoch:
        """The epoch of the last entry, -1 if there is none."""
        return self.entries[-1].epoch if self.entries else UNDEFINED_EPOCH

    def epoch_at(self, offset: Offset) -> LeaderEpoch:
        """The epoch of a record at `offset`, -1 below the first entry [epochForOffset, 3.5].

        The cache does not know where the log ends: beyond it, the answer is the latest epoch.
        """
        for entry in reversed(self.entries):
            if entry.start_offset <= offset:
                return entry.epoch
        return UNDEFINED_EPOCH

    def assign(self, epoch: LeaderEpoch, start_offset: Offset) -> "LeaderEpochs":
        """Note that `epoch` has a record at `start_offset`, or will [assign, 2.0.1; KAFKA-7415].

        The latest epoch again, at the same or a later offset, changes nothing. Otherwise the new entry wins: entries
        that do not lie below it, in both epoch and start offset, contradict it and are dropped.

        >>> LeaderEpochs.of([0, 1, 2, 2]).assign(epoch=1, start_offset=4).entries
        (EpochEntry(epoch=0, start_offset=0), EpochEntry(epoch=1, start_offset=4))

        Raises ValueError if either is negative (in Kafka a negative start offset is refused only since 2.7).
        """
        _refuse_negative(epoch, start_offset)
        if self.entries:
            latest = self.entries[-1]
            if epoch == latest.epoch and start_offset >= latest.start_offset:
                return self
        below = tuple(entry for entry in self.entries if entry.epoch < epoch and entry.start_offset < start_offset)
        return LeaderEpochs(below + (EpochEntry(epoch, start_offset),))

    def assign_kip_101(self, epoch: LeaderEpoch, start_offset: Offset) -> "LeaderEpochs":
        """Note that `epoch` has a record at `start_offset`, as before 2.0.1 [assign, 0.11.0.0].

        Here the cache wins: a new entry that contradicts it only leaves a warning in the broker's log. Two epochs may
        start at one offset. As long as the epochs of a log do not decrease, and each has a record, both rules give
        the same result.

        Raises ValueError if either is negative (in Kafka, a failed assertion for the epoch).
        """
        _refuse_negative(epoch, start_offset)
        if self.entries and (epoch <= self.entries[-1].epoch or start_offset < self.entries[-1].start_offset):
            return self
        return LeaderEpochs(self.entries + (EpochEntry(epoch, start_offset),))

    def end_offset_for(self, epoch: LeaderEpoch, log_end_offset: Offset) -> EpochEndOffset:
        """Where `epoch` ended in a log that ends at `log_end_offset` [endOffsetFor, 2.0.1 to 3.9; KAFKA-7415].

        The answer names an epoch too, because the log may have nothing of the requested one. Then it is the last
        epoch before it, which ended where the next one starts:

        >>> LeaderEpochs.of([0, 0, 3, 3]).end_offset_for(epoch=2, log_end_offset=4)
        EpochEndOffset(epoch=0, end_offset=2)

        If all known epochs are higher, the answer is the requested epoch, with the start of the first. If all are
        lower, or the request is for -1, the answer is UNDEFINED.
        """
        if epoch == UNDEFINED_EPOCH:
            return UNDEFINED
        if epoch == self.latest_epoch:
            return EpochEndOffset(epoch, log_end_offset)
        found = epoch
        for entry in self.entries:
            if entry.epoch > epoch:
                return EpochEndOffset(found, entry.start_offset)
            found = entry.epoch
        return UNDEFINED

    def end_offset_for_kip_279(self, epoch: LeaderEpoch, log_end_offset: Offset) -> EpochEndOffset:
        """Where `epoch` ended, as in 2.0.0: UNDEFINED if all known epochs are higher [endOffsetFor, 2.0.0]."""
        if self.entries and epoch < self.entries[0].epoch:
            return UNDEFINED
        return self.end_offset_for(epoch, log_end_offset)

    def end_offset_for_kip_101(self, epoch: LeaderEpoch, log_end_offset: Offset) -> Offset:
        """Where `epoch` ended, as from 0.11 to 1.1: the offset alone, -1 if undefined [endOffsetFor, 0.11.0.0].

        It does not say which epoch ended there. A follower with records that the leader never had may take the
        offset for an end of its own and keep them [KAFKA-6361].
        """
        return self.end_offset_for_kip_279(epoch, log_end_offset).end_offset

    def truncate_from_end(self, end_offset: Offset) -> "LeaderEpochs":
        """The cache after the log is truncated to end at `end_offset`: the entries that start before it.

        An entry that starts right there has no record left. A negative offset changes nothing
        [truncateFromEnd, 2.0.1; clearAndFlushLatest, 0.11.0.0].
        """
        if end_offset < 0 or not self.entries or self.entries[-1].start_offset < end_offset:
            return self
        return LeaderEpochs(tuple(entry for entry in self.entries if entry.start_offset < end_offset))

    def truncate_from_start(self, start_offset: Offset) -> "LeaderEpochs":
        """The cache after the log is made to start at `start_offset`.

        The epoch of that offset now begins there, even if all its records are gone; earlier epochs are forgotten.
        Nothing changes if all entries start later [truncateFromStart, 2.0.1].

        >>> LeaderEpochs.of([0, 1, 1, 2]).truncate_from_start(2).entries
        (EpochEntry(epoch=1, start_offset=2), EpochEntry(epoch=2, start_offset=3))
        """
        epoch = self.epoch_at(start_offset)
        if epoch == UNDEFINED_EPOCH:
            return self
        later = tuple(entry for entry in self.entries if entry.start_offset > start_offset)
        return LeaderEpochs((EpochEntry(epoch, start_offset),) + later)

    def truncate_from_start_kip_101(self, start_offset: Offset) -> "LeaderEpochs":
        """The cache after the log is made to start at `start_offset`, as before 2.0.1.

        [clearAndFlushEarliest, 0.11.0.0; truncateFromStart, 2.0.0]

        All entries that start right there stay: of several epochs with one start offset the later rule would keep
        only the last.

        >>> cache = LeaderEpochs.of([0, 1]).assign_kip_101(epoch=2, start_offset=1)
        >>> cache.truncate_from_start_kip_101(1).entries
        (EpochEntry(epoch=1, start_offset=1), EpochEntry(epoch=2, start_offset=1))
        """
        gone = tuple(entry for entry in self.entries if entry.start_offset < start_offset)
        kept = tuple(entry for entry in self.entries if entry.start_offset >= start_offset)
        if not gone:
            return self
        if kept and kept[0].start_offset == start_offset:
            return LeaderEpochs(kept)
        return LeaderEpochs((EpochEntry(gone[-1].epoch, start_offset),) + kept)


def _refuse_negative(epoch: LeaderEpoch, start_offset: Offset) -> None:
    if epoch < 0 or start_offset < 0:
        raise ValueError(f"leader epoch {epoch} from offset {start_offset}: neither may be negative")
