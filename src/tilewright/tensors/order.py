"""Orders work by the memory it uses: the last writer, the readers, and who must wait for whom.

Each piece of started work is listed as pending with the memory it uses, from just before it is
enqueued until the device has passed it. Conflicting work waits: on another stream by event, on the
host by blocking. So streams cannot race, whatever the policy that chose them.

Launches of kernels are ordered by the core: the memory itself notes the number of each in the
timeline of its stream. All other work is listed here.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVarTuple
from weakref import ref

from .._core import BEHIND_REGIONS, Reported, Started
from ..base.shapes import size
from ..devices.native_records import SlowPath
from ..devices.timeline import OVER, Timeline
from ..op.trace import Tracing, Traffic, trace_begin, trace_wait
from .borrow import LOCK, BorrowState
from .pending_work import NumberedWork, PendingWork, ReportedWork, notify_submitted

if TYPE_CHECKING:
    from ..devices.protocol import Stream
    from .region import Region

Ts = TypeVarTuple("Ts")

Span: TypeAlias = tuple[PendingWork, int, int, bool]
"""Pending work, the first byte it uses and the one behind the last, whether it writes them.

A plain tuple: each launch makes one per argument.
"""


MOST_OVER = 32
"""Superseded work, or streams of readers, that are kept before it is asked which are over."""


class Order:
    """The pending work over a piece of memory; pieces that overlap share one.

    What a launch costs does not depend on how many streams have used the memory: who reads looks
    at those who write, and who writes comes after all it finds, so that who follows looks at it
    alone.
    """

    __slots__ = (
        "joined", "members", "most_readers", "most_superseded", "reads", "state", "superseded",
        "writes",
    )  # fmt: skip

    def __init__(self, state: BorrowState | None = None) -> None:
        self.state = BorrowState() if state is None else state
        """Notes plain launches, and whether there are any others."""
        self.writes: list[Span] = []
        """Some may be of work that is over."""
        self.reads: OrderedDict[Stream | None, list[Span]] = OrderedDict()
        """By stream, the one that has read last at the end; some may be over."""
        self.superseded: deque[Span] = deque()
        """What later work supersedes, on the same stream or ordered behind it: streams need not
        wait for it, but the host may have to hear how it ended."""
        self.most_superseded = self.most_readers = MOST_OVER
        self.joined: Order | None = None
        """The one that stands for this one, if it was joined with another."""
        self.members: list[ref[BorrowState]] = [ref(self.state)]
        """The states of memory that it stands for; some may be gone."""

    def join(self, other: Order) -> None:
        """Merge the two orders."""
        with LOCK:
            mine, its = self.root(), other.root()
            if mine is not its:
                its.writes += mine.writes
                for span in [span for spans in mine.reads.values() for span in spans]:
                    its.reads.setdefault(span[0].stream, []).append(span)
                its.superseded += mine.superseded
                its.members = [each for each in (*its.members, *mine.members) if each() is not None]
                mine.joined, mine.writes, mine.superseded = its, [], deque()
                mine.reads.clear()
                mine.members = []
                its.mark()

    def root(self) -> Order:
        """Return the representative of all joined orders. Call it with the lock held."""
        order = self
        while order.joined is not None:
            order = order.joined
        return order

    def mark(self) -> None:
        """Set the flag that has launches examined."""
        listing = self.is_listing()
        for state in self._states():
            state.mark(SlowPath.PENDING, listing)

    def is_listing(self) -> bool:
        """Return whether launches must look through this: their memory alone does not tell."""
        return bool(self.writes or self.reads or self.superseded) or len(self.members) > 1

    def _states(self) -> list[BorrowState]:
        return [state for each in self.members if (state := each()) is not None]

    def is_free(self) -> bool:
        """Return whether the only listed work, if any, is known to be over."""
        writes = self.writes
        if self.reads or self.superseded or (writes and not writes[0][0].is_over):
            return False
        return len(writes) < 2 and not self.has_plain()

    def tidy(self) -> None:
        """Drop finished work. Call it with the lock held.

        Most of what is superseded is behind its first one, so that while this runs it would be
        asked for in vain: with hundreds of launches in flight, that is what each took longest.
        """
        self.writes = _not_over(self.writes)
        self._forget_first_readers()
        if len(self.members) > 1:
            self.members = [each for each in self.members if each() is not None]
        while self.superseded and self.superseded[0][0].over():
            self.superseded.popleft()
        self.mark()

    def has_plain(self) -> bool:
        """Return whether plain launches may still use the memory.

        Any slot may hold the only read: native code takes whichever is free.
        """
        return any(state.has_noted_work() for state in self._states())

    def noted(self) -> list[Span]:
        """Return the plain launches that others must wait for."""
        return _noted([work for state in self._states() for work in state.noted_work()])

    def conflicts(self, start: int, end: int, *, writes: bool, on_host: bool) -> list[PendingWork]:
        """Return the pending work that a use of these bytes follows. Call it with the lock held."""
        self.writes = spans = _not_over(self.writes)
        if writes:
            self._forget_readers()
            spans = [*spans, *(span for each in self.reads.values() for span in each)]
        else:
            self._forget_first_readers()
        if self.superseded and (on_host or self._has_lost_successor()):
            self._forget_covered()
            spans = [*self.superseded, *spans]
        if self.has_plain():
            noted = self.noted()
            if not noted:
                for state in self._states():
                    state.forget_noted_work()
            spans = [*spans, *noted]
        return [
            pending
            for pending, its_start, its_end, it_writes in spans
            if its_start < end and start < its_end and (writes or it_writes)
        ]

    def add(self, span: Span) -> None:
        """Note more pending work, so that however many are started, few are looked at.

        What certainly precedes it on its stream passes before it. Call it with the lock held.
        """
        pending, _, _, writes = span
        stream = pending.stream
        before = self.reads.pop(stream, ())
        if writes:
            self.writes = self._supersede(self.writes, span, pending.follows)
            self.writes.append(span)
        readers = self._supersede(before, span, pending.follows)
        if not writes:
            readers.append(span)
        if readers:
            self.reads[stream] = readers
            if len(self.reads) > self.most_readers:
                self._forget_readers()
        if len(self.superseded) > self.most_superseded:
            self._forget_covered()
        self.mark()

    def take(self, span: Span) -> None:
        """Note pending work where the order is free. Call it with the lock held."""
        self.writes = []
        if span[3]:
            self.writes.append(span)
        else:
            self.reads[span[0].stream] = [span]
        self.mark()

    def supersede(self, span: Span, found: Collection[PendingWork]) -> None:
        """Replace work that a write has been ordered after: later users wait for the write alone.

        Call it with the lock held. Until now they waited for both: ordering may fail, and other
        threads come in between.
        """
        known = {id(other) for other in found if other is not span[0]}  # it may use memory twice

        def is_found(other: PendingWork) -> bool:
            return id(other) in known

        self.writes = self._supersede(self.writes, span, is_found)
        for stream, spans in tuple(self.reads.items()):
            if left := self._supersede(spans, span, is_found):
                self.reads[stream] = left
            else:
                del self.reads[stream]

    def _supersede(
        self, spans: Iterable[Span], span: Span, is_passed: Callable[[PendingWork], bool]
    ) -> list[Span]:
        """Supersede the spans within `span` that pass with its work; return the others."""
        _, start, end, writes = span
        kept: list[Span] = []
        for each in spans:
            other, its_start, its_end, it_writes = each
            within = start <= its_start and its_end <= end and (writes or not it_writes)
            (self.superseded if within and is_passed(other) else kept).append(each)
        return kept

    def forget(self, pending: PendingWork) -> None:
        """Drop pending work that is over, if it is the only one. Call it with the lock held."""
        readers = self.reads.get(pending.stream, ())
        spans = (*self.writes, *readers)
        if len(spans) == 1 and spans[0][0] is pending and len(self.reads) < 2:
            self.writes = []
            self.reads.clear()
            self.mark()

    def _has_lost_successor(self) -> bool:
        """Return whether the successor is gone without having passed: its device was lost."""
        return not (self.writes or self.reads or self.superseded[-1][0].is_passed())

    def _forget_covered(self) -> None:
        self.superseded = deque(_not_over(self.superseded))
        self.most_superseded = max(MOST_OVER, 2 * len(self.superseded))

    def _forget_readers(self) -> None:
        for stream, spans in tuple(self.reads.items()):
            if left := _not_over(spans):
                self.reads[stream] = left
            else:
                del self.reads[stream]
        self.most_readers = max(MOST_OVER, 2 * len(self.reads))

    def _forget_first_readers(self) -> None:
        """Forget those that are over and have read first; mostly others are not over either."""
        reads = self.reads
        while reads:
            stream, spans = next(iter(reads.items()))
            if left := _not_over(spans):
                reads[stream] = left
                return
            del reads[stream]


def _not_over(spans: Iterable[Span]) -> list[Span]:
    return [span for span in spans if not span[0].over()]


def _noted(work: list[tuple[int, int, int, int, bool]]) -> list[Span]:
    """Return the pending work noted by memory, as (timeline, number) pairs that are not over."""
    found: list[Span] = []
    for address, number, start, end, writes in work:
        timeline = Timeline.by_address[address]
        pending = timeline.pending.get(number)
        if isinstance(pending, Reported | Started):
            pending = ReportedWork(timeline.stream, timeline, pending)
        elif (
            pending is None
            and number > timeline.words[OVER]
            and (stream := timeline.stream) is not None
        ):
            pending = NumberedWork(stream, timeline, number)
        if pending is not None:
            found.append((pending, start, end, writes))
    return found


def regions_of(held: tuple[Any, ...]) -> tuple[Region, ...]:
    """Return the memory of a bound call, of which the first regions are written."""
    return held[:-BEHIND_REGIONS]


def tidy(regions: Iterable[Region]) -> bool:
    """Drop finished work from the memory of refused work; return whether that helped."""
    with LOCK:
        listing = [order for r in regions if (order := r.storage.order.root()).is_listing()]
        for order in listing:
            order.tidy()
        return any(not order.is_listing() for order in listing)


def reserve(
    pending: PendingWork,
    stream: Stream,
    writes: Sequence[Region],
    reads: Sequence[Region],
    check: Callable[[*Ts], None] | None = None,
    *arguments: *Ts,
) -> None:
    """Note work that is about to be enqueued, and make the stream wait for what it follows.

    The caller must mark it as submitted in any case, also if this is interrupted: others wait for
    that. `check` may still refuse; no other thread can use the memory between it and this.
    """
    found: list[PendingWork] = []
    with LOCK:
        if check is not None:
            check(*arguments)
        if writes:
            _take(pending, writes, True, found)
        if reads:
            _take(pending, reads, False, found)
    told = False
    for other in found:
        if other.stream is not stream and (event := other.event()) is not None:
            stream.wait_for(event)
            trace_wait(stream, event)
            told = True
    if told and writes:
        _supersede(pending, writes, found)
    if Tracing.active is not None:
        pending.traffic = Traffic(bytes_of(reads), bytes_of(writes))
        pending.begun = trace_begin(stream)


def bytes_of(regions: Sequence[Region]) -> int:
    """Return how many bytes of elements regions have."""
    return sum(size(region.layout.shape) * region.layout.dtype.itemsize for region in regions)


def _take(
    pending: PendingWork, regions: Sequence[Region], writes: bool, found: list[PendingWork]
) -> None:
    """Note pending work over regions, and find those that it comes after."""
    for region in regions:
        order = region.storage.order
        if order.joined is not None:
            order = order.root()
        span = pending, region.start, region.end, writes
        # Most memory was last used by work that is long over; asking that takes little.
        if order.is_free():
            order.take(span)
        else:
            on_host = pending.stream is None
            found += order.conflicts(region.start, region.end, writes=writes, on_host=on_host)
            order.add(span)


def _supersede(
    pending: PendingWork, regions: Iterable[Region], found: Collection[PendingWork]
) -> None:
    """Order later users of the regions after this work alone, which waits for the earlier."""
    with LOCK:
        for region in regions:
            order = region.storage.order.root()
            order.supersede((pending, region.start, region.end, True), found)


def forget_over(pending: PendingWork, regions: Iterable[Region]) -> None:
    """Drop enqueued work that is over already, unless other work is listed as well."""
    with LOCK:
        for region in regions:
            region.storage.order.forget(pending)


def wait_on_host(regions: Iterable[Region], *, writes: bool = False) -> None:
    """Block until the host may read memory, or write it; raises if what wrote it failed."""
    some = list(regions)
    found = pending_over(some, writes=writes)
    for pending in found:
        pending.wait()
    check_pending(found, some, writes=writes)


@contextmanager
def hosts_turn(regions: Sequence[Region], *, writes: bool = False) -> Generator[None, None, None]:
    """Enter a block in which the host reads or writes memory, ordered against conflicting work.

    Raise if the work that wrote the memory failed.
    """
    pending = PendingWork(None)
    found: list[PendingWork] = []
    try:
        with LOCK:
            _take(pending, regions, writes, found)
        for other in found:
            other.wait()
        check_pending(found, regions, writes=writes)
        yield
    finally:
        # As `mark_submitted`, without a call that can be interrupted.
        pending.is_over = pending.is_submitted = True
        notify_submitted()


def pending_over(regions: Iterable[Region], *, writes: bool = False) -> list[PendingWork]:
    """Return the pending work that a reader or writer of this memory follows."""
    with LOCK:
        return [
            pending
            for region in regions
            for pending in region.storage.order.root().conflicts(
                region.start, region.end, writes=writes, on_host=True
            )
        ]


def check_pending(
    passed: Sequence[PendingWork], regions: Iterable[Region], *, writes: bool = False
) -> None:
    """Raise the first error of work that a reader of memory, or a writer, came after.

    Those before the last one on a timeline were not found; if they failed, the memory lists them
    now.
    """
    if passed:
        listed = pending_over(regions, writes=writes)
        before = [f for f in listed if any(f.precedes(other) for other in passed)]
        for pending in (*before, *passed):
            pending.check()


def conflicts_of(writes: Sequence[Region], reads: Sequence[Region]) -> list[PendingWork]:
    """Return the pending work that work on a stream follows which uses this memory."""
    found: list[PendingWork] = []
    with LOCK:
        for regions, written in ((writes, True), (reads, False)):
            for region in regions:
                order = region.storage.order.root()
                start, end = region.start, region.end
                found += order.conflicts(start, end, writes=written, on_host=False)
                order.mark()  # of what is over, some is forgotten
    return found


def is_in_flight(region: Region) -> bool:
    """Return whether work that writes this memory is in flight."""
    return any(not pending.over() for pending in pending_over([region]))
