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
        for extents in ((3, 0, 5), (3000, 1, 70000)):
            several = [tw.full((n,), float(RANK + n)).sync() for n in extents]
            for x, n in zip(all_reduce(several).sync(), extents, strict=True):
                same(x.to_numpy(), np.full(n, sum(range(n, n + SIZE))))
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
        large = tw.from_numpy(np.array([2**32 - 2, 7], np.uint32)).sync()
        same(all_reduce(large).sync().to_numpy(), np.array([2**32 - 2, 7], np.uint32) * SIZE)
        bools = tw.from_numpy(np.array([RANK == 0, False, True])).sync()
        same(all_reduce(bools.dup(), "max").sync().to_numpy(), [True, False, True])
        same(all_reduce(bools, "min").sync().to_numpy(), [SIZE == 1, False, True])
        for dtype, reduction in ((tw.u32, "max"), (tw.bool_, "sum"), (tw.i32, "mean")):
            try:
                all_reduce(tw.ones((4,), dtype).sync(), reduction)
            except tw.ShapeError as error:
                assert f"cannot make a {reduction} of {dtype.name}" in error.message, error
            else:
                raise AssertionError(reduction)
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


TOGETHER = """
    import asyncio, signal, threading
    same = np.testing.assert_array_equal
    with join(timeout=60) as group:
        row, column = group.split(RANK // 2), group.split(RANK % 2)
        assert (row.rank, row.size, column.rank, column.size) == (RANK % 2, 2, RANK // 2, SIZE // 2)
        errors = []
        def work(group, values):
            try:
                for n in range(20):
                    x = tw.full((64,), float(values[group.rank] + n)).sync()
                    total = sum(values) + n * group.size
                    same(all_reduce(x, group=group).sync().to_numpy(), np.full(64, total))
                    mine = tw.full((1,), float(values[group.rank]))
                    same(all_gather(mine, group=group).sync().to_numpy(), values)
            except BaseException as error:
                errors.append(error)
        threads = [threading.Thread(target=work, args=(g, list(g.ranks)))
                   for g in (group, row, column)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        x = tw.full((8,), 1.0).sync()
        async def impatient():
            if RANK:
                await asyncio.sleep(0.5)
                return await all_reduce(x)
            try:
                await asyncio.wait_for(all_reduce(x), 0.1)
            except asyncio.TimeoutError:
                return
        asyncio.run(impatient())
        same(x.to_numpy(), np.full(8, SIZE))  # who does not wait takes part all the same
        if RANK == 0:
            def interrupt(*given):
                raise KeyboardInterrupt
            signal.signal(signal.SIGALRM, interrupt)
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            try:
                all_reduce(x, "max").sync()
            except KeyboardInterrupt:
                pass
            else:
                raise AssertionError("not interrupted")
        else:
            time.sleep(1)
            all_reduce(x, "max").sync()
        same(x.to_numpy(), np.full(8, SIZE))
        for number in range(10):
            if RANK == 0:
                send(tw.full((3,), float(number)), 1, group=row).start()
            elif RANK == 1:
                same(recv(tw.zeros((3,)), 0, group=row).sync().to_numpy(), np.full(3, number))
        all_reduce(x).start()  # nobody waits for it: closing does
    print("done")
"""


@pytest.mark.full
def test_groups_of_groups_threads_tasks_and_interrupts():
    assert processes.expect(TOGETHER, 4) == ["done\n"] * 4


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
    print(tw.ones((2,)).sync().to_numpy(), flush=True)
    group.close()
    os._exit(0)
"""


@pytest.mark.full
@pytest.mark.parametrize("death", ["os._exit(9)", "time.sleep(0.3); os.kill(os.getpid(), 9)"])
def test_a_rank_that_dies_is_named_everywhere(death):
    ended = processes.run(DYING.format(death=death), 3)
    for rank in (0, 2):
        assert ended[rank].out == "1 True\n[1. 1.]\n", ended[rank]


@pytest.mark.full
def test_a_rank_that_dies_in_the_middle_is_named():
    """A thread of rank 1 ends its process while a collective is under way; rank 3 is no
    neighbour of rank 1, and is not to blame for what it does then.
    """
    death = (
        "import threading; threading.Timer(1.0, lambda: os._exit(9)).start();"
        " [all_reduce(x).sync() for _ in range(100000)]"
    )
    body = DYING.replace("range(200)", "range(100000)").format(death=death)
    ended = processes.run(body, 4)
    for rank in (0, 2, 3):
        assert ended[rank].out == "1 True\n[1. 1.]\n", ended[rank]


@pytest.mark.full
def test_rank_0_which_holds_the_store_is_named_too():
    body = DYING.replace("RANK == 1", "RANK == 0").format(death="os.kill(os.getpid(), 9)")
    ended = processes.run(body, 3)
    for rank in (1, 2):
        assert ended[rank].out == "0 True\n[1. 1.]\n", ended[rank]


@pytest.mark.full
def test_who_survives_rank_0_in_the_middle_ends_as_usual():
    """No thread is left in the engine then: one that came back while Python ends would end the
    process with an error. Rank 2 of four is no neighbour of rank 0.
    """
    body = """
        import atexit, threading
        from tilewright.distributed import ambient
        atexit.unregister(ambient._leave)  # what is registered last is called first
        atexit.register(lambda: print(
            {t.name for t in threading.enumerate() if "world" in t.name}, flush=True))
        atexit.register(ambient._leave)
        group = join(timeout=90, pulse=0.5)
        x = tw.ones((1 << 18,)).sync()
        all_reduce(x).sync()
        if RANK == 0:
            threading.Timer(0.5, lambda: os.kill(os.getpid(), 9)).start()
        try:
            while True:
                all_reduce(x).sync()
        except RankError as error:
            print(error.rank, error.op)
    """
    ended = processes.run(body, 4)
    for each in ended[1:]:
        assert (each.code, each.out) == (0, "0 all_reduce\nset()\n"), ended


@pytest.mark.full
def test_a_program_that_ends_with_an_error_leaves():
    body = """
        group = join(timeout=90, pulse=0.3)
        x = tw.ones((4,)).sync()
        all_reduce(x).sync()
        if RANK == 1:
            all_gather(x).start()
            raise SystemExit(3)
        try:
            while True:
                all_reduce(x).sync()
        except RankError as error:
            print(error.rank, error.op)
    """
    ended = processes.run(body, 3)
    assert [each.code for each in ended] == [0, 3, 0], ended
    for rank in (0, 2):
        assert ended[rank].out == "1 all_reduce\n", ended[rank]


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


def test_places_that_no_process_has_are_refused_at_once():
    body = """
        for given in (dict(rank=2, size=2), dict(rank=-1, size=2), dict(rank=0, size=0),
                      dict(backend="mpi", rank=0, size=1)):
            try:
                init(address=f"tcp://127.0.0.1:{PORT}", **given)
            except tw.ContextError as error:
                print(error.message)
    """
    said = "no process has the rank 2\nno process has the rank -1\nno process has the rank 0\n"
    assert processes.expect(body, 1) == [f"{said}no group of processes has the backend 'mpi'\n"]


def test_torch_is_imported_when_it_is_asked_for():
    body = """
        tw.distributed, tw.Mesh, tw.shard
        print({"torch", "ray", "dask"} & set(sys.modules))
    """
    assert processes.expect(body, 1) == ["set()\n"]
