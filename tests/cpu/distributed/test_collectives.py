"""Collectives as ops: what they give, when they run, what they borrow; ranks are threads here."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
import weakref
from unittest import mock

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from support.ranks import groups, in_ranks
from tilewright import f32
from tilewright.distributed import (
    RankError,
    all_gather,
    all_reduce,
    all_to_all,
    broadcast,
    recv,
    reduce_scatter,
    send,
)
from tilewright.distributed.exchange import DATA
from tilewright.distributed.pulse import Pulses, Seen
from tilewright.distributed.store import Patience

pytestmark = pytest.mark.cpu_alone


@tw.entry
def doubled(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    out.store(tl.load_tile_like(x, out) * 2.0)


@pytest.fixture(params=[1, 2, 3])
def size(request):
    return request.param


@pytest.fixture
def ranks(size):
    made, hub, _ = groups(size)
    yield made, hub
    for group in made:
        group.close()


@pytest.fixture
def pair():
    made, hub, _ = groups(2)
    yield made, hub
    if hub.held is not None:
        hub.held.set()
    for group in made:
        group.close()


def data_of(size, shape=(6, 4)):
    rng = fresh_rng()
    return [np.asarray(rng.standard_normal(shape) + n, np.float32) for n in range(size)]


COLLECTIVES = {
    "all_reduce": (lambda x, g: all_reduce(x, group=g), lambda d, r: sum(d)),
    "mean": (lambda x, g: all_reduce(x, "mean", group=g), lambda d, r: np.mean(d, axis=0)),
    "max": (lambda x, g: all_reduce(x, "max", group=g), lambda d, r: np.max(d, axis=0)),
    "all_gather": (lambda x, g: all_gather(x, group=g), lambda d, r: np.concatenate(d)),
    "reduce_scatter": (
        lambda x, g: reduce_scatter(x, group=g),
        lambda d, r: np.split(np.sum(d, axis=0), len(d))[r],
    ),
    "all_to_all": (
        lambda x, g: all_to_all(x, group=g),
        lambda d, r: np.concatenate([np.split(each, len(d))[r] for each in d]),
    ),
    "broadcast": (lambda x, g: broadcast(x, 0, group=g), lambda d, r: d[0]),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_what_they_give(ranks, size, name):
    made, _ = ranks
    build, expected = COLLECTIVES[name]
    data = data_of(size)

    def run(rank):
        return build(tw.from_numpy(data[rank]).sync(), made[rank]).sync().to_numpy()

    for rank, found in enumerate(in_ranks(size, run)):
        np.testing.assert_allclose(found, expected(data, rank), rtol=1e-6)


def test_ops_and_borrows_enter_and_chains_go_on(ranks, size):
    made, _ = ranks

    def run(rank):
        group = made[rank]
        chain = all_reduce(tw.full((8,), float(rank + 1)), group=group)
        total = chain.then(lambda t: doubled(tw.empty((8,)).partition((4,)), t).out()).sync()
        whole = tw.full((8,), float(rank)).sync()
        all_reduce(whole.borrow_mut()[2:5], group=group).sync()
        return total.to_numpy(), whole.to_numpy(), rank

    total = size * (size + 1) // 2
    for found, part, rank in in_ranks(size, run):
        np.testing.assert_array_equal(found, np.full(8, 2.0 * total))
        expected = np.full(8, float(rank))
        expected[2:5] = total - size
        np.testing.assert_array_equal(part, expected)


SHAPES = {"little": [(3,), (), (0, 4), (5, 2)], "much": [(7,), (61, 31), (), (0,), (2, 3)]}


@pytest.mark.parametrize("messages", [False, True])
@pytest.mark.parametrize("shapes", SHAPES)
def test_several_tensors_move_together(shapes, messages):
    made, hub, _ = groups(3, messages=messages)
    data = [data_of(3, shape) for shape in SHAPES[shapes]]

    def run(rank):
        whole = tw.from_numpy(np.full((4, 3), 10.0 * rank, np.float32)).sync()
        xs = [tw.from_numpy(each[rank]).sync() for each in data]
        found = all_reduce((*xs, whole.borrow_mut()[1:3]), "mean", group=made[rank]).sync()
        assert isinstance(found, tuple) and found[:-1] == tuple(xs)
        both = tw.zip(tw.full((2,), 1.0), tw.full((3,), 2.0))
        chained = all_reduce(both, group=made[rank])
        one = all_reduce([tw.full((2,), float(rank)).sync()], "max", group=made[rank]).sync()
        return [x.to_numpy() for x in (*xs, whole, *chained.sync(), *one)]

    for rank, found in enumerate(in_ranks(3, run)):
        *found, whole, a, b, one = found
        for mine, each in zip(found, data, strict=True):
            np.testing.assert_allclose(mine, np.mean(each, axis=0), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(whole[:, 0], [10 * rank, 10, 10, 10 * rank])
        np.testing.assert_array_equal([*a, *b, *one], [3, 3, 6, 6, 6, 2, 2])
    assert len(hub.ran) == {"little": 0, "much": 3}[shapes] if messages else 9
    for group in made:
        group.close()


def test_several_tensors_are_lent_until_they_have_moved(pair):
    made, hub = pair
    hub.held, outs = threading.Event(), []
    for rank, group in enumerate(made):
        xs = [tw.full((4,), float(rank + n)).sync() for n in range(2)]
        all_reduce(xs, group=group).start()
        outs += [doubled(tw.empty((4,)).partition((4,)), x).out() for x in xs]
    hub.held.set()
    for out, expected in zip(outs, [2, 6, 2, 6], strict=True):
        np.testing.assert_array_equal(out.sync().to_numpy(), [expected] * 4)


def test_ranks_that_disagree_about_one_of_several(pair):
    made, _ = pair

    def run(rank):
        xs = [tw.ones((4,)).sync(), tw.ones((2 + rank,)).sync()]
        with pytest.raises(RankError) as error:
            all_reduce(xs, group=made[rank]).sync()
        return str(error.value)

    for said in in_ranks(2, run):
        assert "f32 ((4,), (2,))" in said and "f32 ((4,), (3,))" in said


def test_messages_between_two(pair):
    made, _ = pair
    data = data_of(1)[0]

    def run(rank):
        if rank == 0:
            return send(tw.from_numpy(data), 1, group=made[0]).sync()
        return recv(tw.zeros(data.shape), 0, group=made[1]).sync().to_numpy()

    np.testing.assert_array_equal(in_ranks(2, run)[1], data)


def test_they_are_lazy_and_the_host_goes_on(pair):
    made, hub = pair
    hub.held = threading.Event()
    results = []
    op = all_reduce(tw.ones((4,)), group=made[0])
    time.sleep(0.05)
    assert hub.ran == []
    op.close()
    for group in made:
        results.append(all_reduce(tw.ones((4,)).sync(), group=group).start())
    assert all("in flight" in repr(t) for t in results)
    own = tw.default_device().new_stream()  # what follows on the others waits
    other = doubled(tw.empty((4,)).partition((4,)), tw.ones((4,))).out().sync_on(own)
    np.testing.assert_array_equal(other.to_numpy(), [2] * 4)
    hub.held.set()
    for tensor in results:
        np.testing.assert_array_equal(tensor.to_numpy(), [2] * 4)


def test_kernels_and_collectives_are_ordered_by_memory(pair):
    made, hub = pair
    hub.held = threading.Event()
    xs = [tw.full((4,), float(rank)).sync() for rank in range(2)]
    outs = [tw.full((4,), np.nan).sync() for _ in range(2)]
    for rank in range(2):
        all_reduce(xs[rank], group=made[rank]).start()
        doubled(outs[rank].partition_mut((4,)), xs[rank]).start()  # reads what was reduced
        tw.fill(xs[rank], 7.0).start()  # comes after both
    hub.held.set()
    for rank in range(2):
        np.testing.assert_array_equal(outs[rank].to_numpy(), [2] * 4)
        np.testing.assert_array_equal(xs[rank].to_numpy(), [7] * 4)


def test_a_conflicting_use_ends_the_borrow(pair):
    made, _ = pair
    x = tw.ones((4,)).sync()
    op = all_reduce(x, group=made[0])
    tw.fill(x, 2.0).sync()
    with pytest.raises(tw.BorrowError, match="its exclusive borrow"):
        op.sync()
    op.close()


def test_collectives_run_in_the_order_they_were_started(pair):
    made, hub = pair
    xs = [tw.ones((4,)).sync() for _ in range(6)]
    for number, group in enumerate(made):
        for x in xs[3 * number :][:3]:
            all_reduce(x, group=group).start()
            all_gather(x, group=group).start()
    tw.synchronize()
    for rank in range(2):
        assert [op for r, op in hub.ran if r == rank] == ["all_reduce", "all_gather"] * 3


def test_they_are_awaited(pair):
    made, _ = pair

    async def both():
        return await asyncio.gather(*[all_gather(tw.ones((2,)), group=g) for g in made])

    for tensor in asyncio.run(both()):
        np.testing.assert_array_equal(tensor.to_numpy(), np.ones(4))


def test_a_trace_shows_that_they_overlap_with_kernels(pair):
    made, hub = pair
    hub.held = threading.Event()
    own, x = tw.default_device().new_stream(), tw.ones((4,)).sync()
    xs = [tw.ones((4,)).sync() for _ in made]
    with tw.trace() as trace:
        started = [all_reduce(x, group=g).start() for x, g in zip(xs, made, strict=True)]
        assert all(hub.begun.acquire(timeout=20) for _ in made)
        doubled(tw.empty((4,)).partition((4,)), x).sync_on(own)
        hub.held.set()
        for tensor in started:
            tensor.to_numpy()
        tw.synchronize()
    work = {e.name: e for e in trace.entries if e.kind == "work"}
    moving, kernel = work["all_reduce"], work["doubled"]
    assert moving.start <= kernel.start <= kernel.end <= moving.end
    assert moving.traffic.written == 16


def test_a_group_is_split_by_rows_and_by_columns():
    made, _, _ = groups(4)

    def run(rank):
        row, column = made[rank].split(rank // 2), made[rank].split(f"column {rank % 2}")
        assert (row.rank, row.size, column.rank, column.size) == (rank % 2, 2, rank // 2, 2)
        x, y = (tw.full((2,), 10.0**rank).sync() for _ in range(2))
        all_reduce(x, group=row).start()
        if rank % 2:  # another order than the other row: groups are independent
            all_reduce(y, group=column).sync()
            return row.ranks, column.ranks, x.to_numpy()[0], y.to_numpy()[0]
        total = x.to_numpy()[0]
        return row.ranks, column.ranks, total, all_reduce(y, group=column).sync().to_numpy()[0]

    for rank, found in enumerate(in_ranks(4, run)):
        row, column = (2 * (rank // 2), 2 * (rank // 2) + 1), (rank % 2, rank % 2 + 2)
        assert found == (row, column, sum(10.0**r for r in row), sum(10.0**r for r in column))
    for group in made:
        group.close()
    with pytest.raises(tw.SchedulingError, match="not usable"):
        all_reduce(tw.ones((2,)), group=made[0]._parts[0]).sync()


def test_errors_of_a_part_say_which_rank_of_all_is_meant():
    made, _, _ = groups(3, Patience(late=0.3, gone=60, beat=0.05))

    def run(rank):
        part = made[rank].split("a" if rank else "b")
        if rank != 2:
            return all_reduce(tw.ones((2,)), group=part).sync()
        return None

    error = in_ranks(3, run)[1]
    assert isinstance(error, RankError) and error.rank == 1
    assert "rank 1 of group[a] is rank 2 of all" in error.got
    for group in made:
        group.close()


def test_a_split_waits_for_all_members():
    made, _, _ = groups(2, Patience(late=0.3, gone=60, beat=0.05))
    with pytest.raises(RankError, match="rank 1 is late: `split` cannot begin"):
        made[0].split(0)
    for group in made:
        group.close()


LARGE = DATA // 4 + 1
"""Floats that do not fit into a message."""


def test_little_data_travels_with_the_agreement():
    made, hub, _ = groups(3, messages=True)

    def run(rank):
        few, many = tw.full((8,), rank + 1.0).sync(), tw.full((LARGE,), rank + 1.0).sync()
        return (
            all_reduce(few, group=made[rank]).sync().to_numpy(),
            all_reduce(many, group=made[rank]).sync().to_numpy(),
        )

    for few, many in in_ranks(3, run):
        np.testing.assert_array_equal(few, np.full(8, 6.0))
        np.testing.assert_array_equal(many, np.full(LARGE, 6.0))
    assert hub.ran == [(rank, "all_reduce") for rank, _ in hub.ran] and len(hub.ran) == 3
    assert [swap.count for swap in hub.swaps] == [2] * 3
    for group in made:
        group.close()


def test_collectives_started_together_are_agreed_on_together():
    made, hub, _ = groups(2, messages=True)
    xs = [[tw.full((LARGE,), 1.0).sync() for _ in range(6)] for _ in made]
    hub.held = threading.Event()
    for rank, group in enumerate(made):
        for x in xs[rank]:
            all_reduce(x, group=group).start()
    hub.held.set()
    for x in [*xs[0], *xs[1]]:
        np.testing.assert_array_equal(x.to_numpy(), np.full(LARGE, 2.0))
    assert hub.swaps[0].count <= 3  # the first alone, if its rank was first; the others with it
    for group in made:
        group.close()


def test_ranks_that_disagree_by_messages_raise_and_the_process_goes_on():
    made, hub, _ = groups(3, messages=True)

    def run(rank):
        return all_reduce(tw.ones((4 + (rank == 2),)), group=made[rank]).sync()

    for error in in_ranks(3, run):
        assert isinstance(error, RankError) and error.rank == 2
        assert (error.expected, error.got) == (
            "rank 0 calls `all_reduce` of f32 (4,), sum",
            "rank 2 calls `all_reduce` of f32 (5,), sum",
        )
    assert not hub.ran and tw.ones((3,)).sync().to_numpy().sum() == 3
    for group in made:
        group.close()


def test_who_is_late_for_messages_is_named():
    made, hub, _ = groups(3, Patience(late=0.3, gone=60, beat=0.05), messages=True)
    xs = [tw.ones((4,)).sync() for _ in made]

    def run(rank):
        if rank != 1:
            return all_reduce(xs[rank], group=made[rank]).sync()
        return None

    for rank, error in enumerate(in_ranks(3, run)):
        if rank != 1:
            assert isinstance(error, RankError), rank
            assert (error.rank, error.op) == (1, "all_reduce") and "is late" in error.message
    with pytest.raises(RankError, match="rank 1 is late"):
        all_reduce(xs[1], group=made[1]).sync()
    hub.swaps[0]._barrier.abort()  # ends what hangs
    for group in made:
        group.close()


# What goes wrong


def test_ranks_that_disagree_raise_and_the_process_goes_on(pair):
    made, hub = pair
    xs = [tw.ones((4 + rank,)).sync() for rank in range(2)]
    for error in in_ranks(2, lambda rank: all_reduce(xs[rank], group=made[rank]).sync()):
        assert isinstance(error, RankError)
        assert "`all_reduce` of f32 (4,), sum" in str(error)
        assert "`all_reduce` of f32 (5,), sum" in str(error)
    assert hub.ran == []  # nothing moved
    with pytest.raises(RankError, match=r"disagree.*`all_gather` cannot begin"):
        all_gather(tw.ones((2,)), group=made[0]).sync()
    fresh = doubled(tw.empty((4,)).partition((4,)), tw.ones((4,))).out().sync()
    np.testing.assert_array_equal(fresh.to_numpy(), [2] * 4)


def test_who_reads_what_a_failed_collective_writes_hears_of_it(pair):
    made, _ = pair
    xs = [tw.ones((4 + rank,)).sync() for rank in range(2)]
    for x, group in zip(xs, made, strict=True):
        all_reduce(x, group=group).start()
    for x in xs:
        with pytest.raises(RankError, match="disagree"):
            x.to_numpy()


def test_a_backend_that_breaks_off_names_who_is_gone(pair):
    made, _ = pair
    dead = threading.Event()
    made[1]._pulse._ended.set()  # as when its process dies
    made[1]._backend.run = lambda *given: dead.wait(20)
    made[0]._backend.broken = RuntimeError("Connection closed by peer\nand more")

    def run(rank):
        try:
            all_reduce(tw.ones((4,)), group=made[rank]).sync()
        finally:
            dead.set()

    error = in_ranks(2, run)[0]
    assert isinstance(error, RankError)
    assert (error.rank, error.op) == (1, "all_reduce")
    assert "Connection closed by peer" in error.got and "and more" not in error.got


def test_a_backend_that_breaks_off_lets_go_of_its_connections_at_once(pair):
    """Others wait for these, and to connect to a store that is gone takes minutes."""
    made, _ = pair
    kept, at_the_look = [], []

    class Connection:
        """What a frame of the engine holds."""

    def broken(*given):
        connection = Connection()
        kept.append(weakref.ref(connection))
        raise RuntimeError("Connection closed by peer")

    def connect(name):
        raise AssertionError(f"connects again: {name!r}")

    def look(rank):
        at_the_look.append(kept[0]())
        return Seen(False, False, 60.0, "nothing", {})

    all_reduce(tw.ones((4,)), group=made[0]).start()
    all_reduce(tw.ones((4,)), group=made[1]).sync()
    made[0]._backend.run, made[0]._connect = broken, connect
    made[1]._backend.run = lambda *given: None
    with mock.patch.object(Pulses, "look", lambda pulses, rank: look(rank)):
        error = in_ranks(2, lambda rank: all_reduce(tw.ones((4,)), group=made[rank]).sync())[0]
    assert isinstance(error, RankError) and error.rank == 1, error
    assert at_the_look and at_the_look[0] is None


def test_what_hangs_ends_when_another_rank_has_found_why():
    """As where a rank has died that is no neighbour: here nothing would ever break off."""
    made, _, _ = groups(3)
    dead, xs = threading.Event(), [tw.ones((4,)).sync() for _ in made]
    made[2]._pulse._ended.set()
    made[2]._backend.run = made[1]._backend.run = lambda *given: dead.wait(20)
    made[0]._backend.broken = RuntimeError("Connection closed by peer")

    def run(rank):
        if rank == 2:
            return all_reduce(xs[rank], group=made[rank]).start()
        queued = tw.ones((2,)).sync()
        all_reduce(xs[rank], group=made[rank]).start()
        all_reduce(queued, group=made[rank]).start()
        with pytest.raises(RankError, match="rank 2 is gone: `all_reduce` cannot complete") as said:
            xs[rank].to_numpy()
        with pytest.raises(RankError, match="rank 2 is gone: `all_reduce` cannot begin"):
            queued.to_numpy()
        assert tw.zeros((3,)).sync().to_numpy().sum() == 0
        made[rank].close()  # which does not wait for what hangs
        return said.value.rank

    try:
        assert in_ranks(3, run)[:2] == [2, 2]
    finally:
        dead.set()
        made[2].close()


def test_a_rank_that_stops_in_the_middle_is_found_by_its_pulse():
    made, _, _ = groups(2)
    dead = threading.Event()
    made[1]._pulse._ended.set()  # as when its process is stopped
    for group in made:
        group._backend.run = lambda *given: dead.wait(20)

    def run(rank):
        try:
            all_reduce(tw.ones((4,)), group=made[rank]).sync()
        finally:
            dead.set()

    error = in_ranks(2, run)[0]
    assert isinstance(error, RankError) and error.rank == 1
    assert "what it writes is undefined" in error.expected
    for group in made:
        group.close()


def test_kernels_are_not_put_behind_collectives(pair):
    made, hub = pair
    hub.held, x = threading.Event(), tw.ones((4,)).sync()
    xs = [[tw.ones((4,)).sync() for _ in range(6)] for _ in made]
    for number in range(6):
        for rank, group in enumerate(made):
            all_reduce(xs[rank][number], group=group).start()
    for _ in range(8):  # on each stream of the policy
        out = doubled(tw.empty((4,)).partition((4,)), x).out().sync()
        np.testing.assert_array_equal(out.to_numpy(), [2] * 4)
    assert not hub.ran
    hub.held.set()


BAD = {
    "rank": (lambda g: broadcast(tw.ones((4,)).sync(), 9, group=g), "the rank 9, and the group"),
    "self": (lambda g: send(tw.ones((4,)).sync(), 0, group=g), "0 is this one"),
    "odd": (lambda g: reduce_scatter(tw.ones((5,)).sync(), group=g), "divides the first axis"),
    "scalar": (lambda g: all_gather(tw.ones(()).sync(), group=g), "needs an axis"),
    "gaps": (lambda g: all_reduce(tw.ones((4, 4)).sync().borrow_mut()[:, ::2], group=g), "dup"),
    "types": (
        lambda g: all_reduce([tw.ones((4,)).sync(), tw.ones((4,), tw.i32).sync()], group=g),
        "of one element type",
    ),
    "devices": (
        lambda g: all_reduce(
            [tw.ones((4,)).sync(), tw.ones((4,), device="reference").sync()], group=g
        ),
        "of one device",
    ),
    "none": (lambda g: all_reduce([], group=g), "needs a tensor"),
    "reduction": (lambda g: all_reduce(tw.ones((4,)).sync(), "avg", group=g), "'avg'"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_calls_are_refused_when_built(pair, what):
    made, _ = pair
    build, message = BAD[what]
    with pytest.raises(tw.Error, match=message):
        build(made[0])


def test_what_is_no_tensor_is_refused(pair):
    made, _ = pair
    with pytest.raises(TypeError, match="takes a tensor"):
        all_reduce(np.ones(4, np.float32), group=made[0])
    with pytest.raises(TypeError, match=r"one op that gives them: tw\.zip\(a, b\)"):
        all_reduce([tw.ones((4,)), tw.ones((4,))], group=made[0])
    x = tw.ones((4,)).sync()
    with pytest.raises(tw.BorrowError):
        all_reduce([x, x], group=made[0]).sync()


def test_what_is_no_group_or_rank_is_refused(pair):
    made, _ = pair
    x = tw.ones((4,)).sync()
    with pytest.raises(TypeError, match=r"one of tw\.distributed\.init\(\) .*, got int"):
        all_reduce(x, group=5)
    with pytest.raises(TypeError, match="`broadcast` takes the number of a rank, got '0'"):
        broadcast(x, "0", group=made[0])
    with pytest.raises(TypeError, match="each process joins by itself"):
        pickle.dumps(made[0])


def test_what_nothing_has_written_is_not_reduced(pair):
    made, _ = pair
    for build in (all_reduce, broadcast):
        with pytest.raises(tw.BorrowError, match="which nothing has written"):
            build(tw.empty((4,)), group=made[0]).sync()

    def run(rank):
        x = tw.full((4,), 3.0) if rank == 0 else tw.empty((4,))
        return broadcast(x, 0, group=made[rank]).sync().to_numpy().tolist()

    assert in_ranks(2, run) == [[3.0] * 4] * 2


def test_without_a_group():
    with pytest.raises(tw.ContextError, match=r"call tw.distributed.init\(\) first"):
        all_reduce(tw.ones((4,)).sync())


def test_ranks_whose_collectives_never_return_end_one_after_the_other():
    made, _, _ = groups(3)
    waited = []
    for group in made:
        group._abandoned.append(mock.Mock(outlast=waited.append))
        group.leave()
    assert waited == [0.5, 2.5, 4.5]


def test_a_closed_group():
    (group,), _, _ = groups(1)
    group.close()
    with pytest.raises(tw.SchedulingError, match="not usable"):
        all_reduce(tw.ones((4,)), group=group).sync()
    group.close()
