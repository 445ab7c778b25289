"""Collectives of real processes, over Gloo."""

from __future__ import annotations

import pytest

from support import processes

pytest.importorskip("torch")

ALL_OF_THEM = """
    with join(timeout=30) as group:
        assert (group.rank, group.size) == (RANK, SIZE) and default_group() is group
        n, rng = 2 * SIZE, np.random.default_rng(5)
        for dtype in {dtypes}:
            data = [rng.integers(0, 9, (n, 3)).astype(dtype.np) for _ in range(SIZE)]
            x = tw.from_numpy(data[RANK]).sync()
            wide = [each.astype(np.float64) for each in data]
            def same(found, expected):
                np.testing.assert_array_equal(
                    found.to_numpy().astype(np.float64), expected, f"{dtype}")
            same(all_reduce(x.dup()).sync(), sum(wide))
            same(all_reduce(x.dup(), "max").sync(), np.max(wide, axis=0))
            same(all_reduce(x.dup(), "min").sync(), np.min(wide, axis=0))
            same(all_gather(x).sync(), np.concatenate(wide))
            same(reduce_scatter(x).sync(), np.split(sum(wide), SIZE)[RANK])
            same(all_to_all(x).sync(), np.concatenate([np.split(w, SIZE)[RANK] for w in wide]))
            same(broadcast(x.dup(), SIZE - 1).sync(), wide[-1])
            same(all_reduce(x.dup().sync().borrow_mut()).sync().tensor, sum(wide))
        same = np.testing.assert_allclose
        halves = all_reduce(tw.full((3,), RANK + 0.5), "mean").sync()
        same(halves.to_numpy(), np.full(3, SIZE / 2))
        ring = tw.full((4,), float(RANK)).sync()
        came = tw.zeros((4,)).sync()
        if SIZE > 1:  # all around, at the same time
            sent = send(ring, (RANK + 1) % SIZE).start()
            recv(came, (RANK - 1) % SIZE).sync()
            same(came.to_numpy(), np.full(4, (RANK - 1) % SIZE))
        for kind in ((0, 3), (2, 0)):
            assert all_reduce(tw.zeros(kind)).sync().shape == kind
        with tw.device("reference"):
            same(all_reduce(tw.ones((2,))).sync().to_numpy(), [SIZE, SIZE])
        try:
            all_reduce(tw.ones((4,), tw.i16).sync())
        except tw.ShapeError as error:
            assert "cannot make a sum of i16" in error.message
        else:
            raise AssertionError("i16")
        x, out = tw.ones((4,)).sync(), tw.zeros((4,)).sync()
        try:
            with tw.CudaGraph.scope(tw.default_device().new_stream()) as scope:
                scope.record(all_reduce(x))
        except tw.SchedulingError as error:
            assert "cannot be captured" in error.message, error
        else:
            raise AssertionError("captured")
        # Ranks that disagree: nothing hangs, both sides are named, the process goes on.
        try:
            all_reduce(tw.ones((4 + (RANK == SIZE - 1),))).sync()
        except RankError as error:
            assert "f32 (4,)" in str(error) and "f32 (5,)" in str(error), error
        else:
            assert SIZE == 1
        same(tw.ones((4,)).sync().to_numpy(), np.ones(4))
    print("done", RANK)
"""


SOME, ALL = "(tw.f32, tw.bf16)", "(tw.f32, tw.f64, tw.f16, tw.bf16, tw.i32, tw.i64, tw.i8, tw.u8)"


def test_two_processes():
    body = ALL_OF_THEM.replace("{dtypes}", SOME)
    assert processes.expect(body, 2) == ["done 0\n", "done 1\n"]


@pytest.mark.full
@pytest.mark.parametrize("size", [1, 3, 4])
def test_other_numbers_of_processes(size):
    expected = [f"done {rank}\n" for rank in range(size)]
    assert processes.expect(ALL_OF_THEM.replace("{dtypes}", ALL), size) == expected


DYING = """
    group = join(timeout=90, pulse=0.5)
    x = tw.ones((1 << 20,)).sync()
    all_reduce(x).sync()
    if RANK == 1:
        {death}
    began = time.monotonic()
    try:
        for _ in range(200):
            all_reduce(x).sync()
    except RankError as error:
        assert error.op == "all_reduce", error
        print(error.rank, time.monotonic() - began < 60)
    except tw.SchedulingError as error:
        print(error)
    print(tw.ones((2,)).sync().to_numpy(), flush=True)
    if RANK == 0:
        time.sleep(10)  # it keeps the store that others ask who is gone
    os._exit(0)
"""


@pytest.mark.full
@pytest.mark.parametrize("death", ["os._exit(9)", "time.sleep(0.3); os.kill(os.getpid(), 9)"])
def test_a_rank_that_dies_is_named_everywhere(death):
    """It dies before a collective; rank 0, which keeps the store, lives on."""
    ended = processes.run(DYING.format(death=death), 3)
    for rank in (0, 2):
        assert ended[rank].out == "1 True\n[1. 1.]\n", ended[rank]


@pytest.mark.full
def test_a_rank_that_dies_in_the_middle_is_named():
    """A thread of rank 1 ends its process while a long collective is under way."""
    death = (
        "import threading; threading.Timer(1.0, lambda: os._exit(9)).start();"
        " [all_reduce(x).sync() for _ in range(100000)]"
    )
    body = DYING.replace("range(200)", "range(100000)").format(death=death)
    ended = processes.run(body, 3)
    for rank in (0, 2):
        assert ended[rank].out == "1 True\n[1. 1.]\n", ended[rank]


@pytest.mark.full
def test_a_rank_that_is_late_is_named_everywhere():
    body = """
        group = join(timeout=10, pulse=0.5)
        x = tw.ones((4,)).sync()
        all_reduce(x).sync()
        if RANK == 1:
            time.sleep(16)
        try:
            all_gather(x).sync()
        except RankError as error:
            print(error.rank, error.op, error.message)
        group.close()
    """
    said = "1 all_gather rank 1 is late: `all_gather` cannot begin\n"
    assert processes.expect(body, 3) == [said] * 3


@pytest.mark.full
def test_groups_come_one_after_the_other_and_take_over_those_of_torch():
    body = """
        import torch.distributed as dist
        dist.init_process_group(
            "gloo", init_method=f"tcp://127.0.0.1:{PORT}", rank=RANK, world_size=SIZE)
        for _ in range(2):
            with init() as group:
                assert (group.rank, group.size) == (RANK, SIZE)
                print(all_reduce(tw.ones((2,))).sync().to_numpy())
                try:
                    init()
                except tw.ContextError as error:
                    assert "joined a group already" in error.message
        dist.destroy_process_group()
    """
    assert processes.expect(body, 2) == ["[2. 2.]\n[2. 2.]\n"] * 2


@pytest.mark.full
def test_nobody_to_meet_says_how_to_start():
    body = """
        try:
            init()
        except tw.ContextError as error:
            print(error.hint)
    """
    (out,) = processes.expect(body, 1)
    assert "torchrun" in out


def test_torch_is_imported_when_it_is_asked_for():
    body = """
        tw.distributed, tw.Mesh, tw.shard
        print({"torch", "ray", "dask"} & set(sys.modules))
    """
    assert processes.expect(body, 1) == ["set()\n"]
