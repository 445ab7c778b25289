"""Tuned kernels: what is chosen, when, and what becomes of arguments."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from tilewright import f32, i32, simt
from tilewright.base import config
from tilewright.base.errors import BorrowError, LaunchError, SchedulingError
from tilewright.tune import records
from tilewright.tune.clock import DeviceClock, HostClock

TILES = tw.search(tile=[(4, 4), (64, 64)])


@pytest.fixture(autouse=True)
def cache(tmp_path):
    records.forget_imported()
    with config.override(cache_dir=str(tmp_path / "cache"), autotune="full"):
        yield tmp_path / "cache"


@pytest.fixture
def measured(monkeypatch):
    """How many samples were taken."""
    taken = []

    def watch(clock):
        sample = clock.sample

        def look(self):
            taken.append(self)
            return sample(self)

        monkeypatch.setattr(clock, "sample", look)

    watch(HostClock)
    watch(DeviceClock)
    return taken


def repeated(space=None, **options):
    """A kernel that computes a tile as many times as `TIMES` says."""
    if space is None:
        space = tw.search(tile=(16, 16), TIMES=[2000, 1])

    @tw.autotune(space, **options)
    @tw.entry
    def work(z: tl.TensorMut[f32], x: tl.Tensor[f32], *, TIMES: tl.Const[int] = 1) -> None:
        tile = tl.load_tile_like(x, z)
        for _ in range(TIMES):
            tile = tl.sin(tile) * 0.0 + tl.load_tile_like(x, z)
        z.store(tile)

    return work


def plain(space=TILES, **options):
    @tw.autotune(space, **options)
    @tw.entry
    def double(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        z.store(tl.load_tile_like(x, z) * 2.0)

    return double


def pair(shape=(37, 41)):
    x = fresh_rng().standard_normal(shape, dtype=np.float32)
    return x, tw.from_numpy(x).sync(), tw.zeros(shape).sync()


@pytest.mark.cpu_alone  # an interpreter has no speed
def test_the_faster_of_two_very_different_ones_is_found():
    work = repeated()
    x, dx, dz = pair()
    work(dz.borrow_mut(), dx).sync()
    np.testing.assert_array_equal(dz.to_numpy(), x)
    report = work.report()
    assert report.chosen == "tile=(16, 16), TIMES=1"
    first, second = report.tried
    assert first.seconds < second.seconds
    assert second.dropped.startswith("slower by")


def test_where_no_thread_can_be_started_the_caller_compiles_all_candidates(monkeypatch):
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    double = plain()
    x, dx, dz = pair()
    with monkeypatch.context() as refused:
        refused.setattr(threading.Thread, "start", refuse)
        double(dz.borrow_mut(), dx).sync()
    np.testing.assert_array_equal(dz.to_numpy(), x * 2)
    assert len(double.report().tried) == 2


@pytest.mark.parametrize("shape", [(1, 1), (64, 64), (65, 63), (127, 131)])
def test_shapes_that_tiles_do_not_fit(shape):
    double = plain()
    x, dx, dz = pair(shape)
    double(dz.borrow_mut(), dx).sync()
    np.testing.assert_array_equal(dz.to_numpy(), x * 2)
    assert len(double.report().tried) == 2
    assert not any(t.dropped.startswith("wrong") for t in double.report().tried)


def test_nothing_is_measured_for_an_empty_tensor(measured):
    double = plain()
    _, dx, dz = pair((0, 5))
    double(dz.borrow_mut(), dx).sync()
    assert not measured


def test_a_wrong_candidate_is_dropped():
    @tw.autotune(tw.search(tile=(16, 16), EXACT=[True, False]))
    @tw.entry
    def maybe(z: tl.TensorMut[f32], x: tl.Tensor[f32], *, EXACT: tl.Const[bool]) -> None:
        tile = tl.load_tile_like(x, z)
        z.store(tile * 2.0 if EXACT else tile)

    x, dx, dz = pair()
    maybe(dz.borrow_mut(), dx).sync()
    np.testing.assert_array_equal(dz.to_numpy(), x * 2)
    dropped = {t.config: t.dropped for t in maybe.report().tried}
    assert dropped["tile=(16, 16), EXACT=False"].startswith("wrong: `z` differs from the first by")


@pytest.mark.cpu_alone  # an interpreter has no speed
def test_a_tolerance_lets_it_pass():
    @tw.autotune(tw.search(tile=(16, 16), SLOW=[True, False]), tolerance=0.5)
    @tw.entry
    def rough(z: tl.TensorMut[f32], x: tl.Tensor[f32], *, SLOW: tl.Const[bool]) -> None:
        tile = tl.load_tile_like(x, z)
        if SLOW:
            for _ in range(2000):
                tile = tl.sin(tile) * 0.0 + tl.load_tile_like(x, z)
        z.store(tile if SLOW else tile * 1.1)

    _, dx, dz = pair()
    assert rough.tune(dz.borrow_mut(), dx).chosen == "tile=(16, 16), SLOW=False"


def test_integers_must_be_equal():
    @tw.autotune(tw.search(tile=8, MORE=[0, 1]))
    @tw.entry
    def add(z: tl.TensorMut[i32], x: tl.Tensor[i32], *, MORE: tl.Const[int]) -> None:
        z.store(tl.load_tile_like(x, z) + MORE)

    dx, dz = tw.full((13,), 1 << 29, i32).sync(), tw.zeros((13,), i32).sync()
    report = add.tune(dz.borrow_mut(), dx)
    assert report.tried[-1].dropped.startswith("wrong: `z` differs")


def test_candidates_that_do_not_compile_or_launch_are_dropped():
    @tw.autotune(tw.search(tile=[(3, 3), (4, 8), (4, 4)]))
    @tw.entry
    def squares(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        assert z.shape[0] == z.shape[1], "tiles are square"
        z.store(tl.load_tile_like(x, z))

    _, dx, dz = pair()
    report = squares.tune(dz.borrow_mut(), dx)
    assert report.chosen == "tile=(4, 4)"
    reasons = {t.config: t.dropped for t in report.tried}
    assert reasons["tile=(3, 3)"].startswith("CompileError: [not-a-power")
    assert "tiles are square" in reasons["tile=(4, 8)"]


def test_if_all_fail_the_error_names_them(golden):
    double = plain(tw.search(tile=[(3, 3), (5, 5)]))
    x, dx, dz = pair()
    with pytest.raises(LaunchError) as caught:
        double(dz.borrow_mut(), dx).sync()
    golden(str(caught.value))
    np.testing.assert_array_equal(dz.to_numpy(), np.zeros_like(x))


def test_outputs_that_are_read_are_as_they_were():
    @tw.autotune(TILES)
    @tw.entry
    def add_to(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        z.store(z.load() + tl.load_tile_like(x, z))

    x, dx, dz = pair()
    add_to.tune(dz.borrow_mut(), dx)
    np.testing.assert_array_equal(dz.to_numpy(), np.zeros_like(x))
    for times in (1, 2):
        add_to(dz.borrow_mut(), dx).sync()
        np.testing.assert_allclose(dz.to_numpy(), x * times, rtol=1e-6)


def test_accumulators_are_added_to_once():
    @tw.autotune(tw.search(BLOCK=[16, 64]), grid=lambda x, BLOCK: (tw.cdiv(x.shape[0], BLOCK),))
    @tw.entry
    def histogram(counts: tl.Accumulator, x: tl.Tensor[i32], *, BLOCK: tl.Const[int]) -> None:
        counts.add(1, x.load_tile(BLOCK, tl.block_id(0), padding=-1), clip=True)

    x = fresh_rng().integers(0, 10, 1000, dtype=np.int32)
    dx, counts = tw.from_numpy(x).sync(), tw.zeros((10,), i32).sync()
    for times in (1, 2):
        histogram(counts.borrow_mut(), dx).sync()
        np.testing.assert_array_equal(counts.to_numpy(), np.bincount(x, minlength=10) * times)
    assert not any(t.dropped.startswith("wrong") for t in histogram.report().tried)


def test_parts_of_tensors_and_what_surrounds_them():
    double = plain()
    x, dx, _ = pair((20, 30))
    around = tw.ones((40, 60)).sync()
    part = around.borrow_mut()[5:25, 7:37]
    double(part, dx).sync()
    expected = np.ones((40, 60), "f4")
    expected[5:25, 7:37] = x * 2
    np.testing.assert_array_equal(around.to_numpy(), expected)


def test_a_borrow_may_be_given_again():
    double = plain()
    x, dx, dz = pair()
    borrow = dz.borrow_mut()
    for _ in range(3):
        double(borrow, dx).sync()
    np.testing.assert_array_equal(dz.to_numpy(), x * 2)


def test_a_tensor_is_taken_over():
    double = plain()
    x, dx, dz = pair()
    made = double(dz, dx).out().sync()
    np.testing.assert_array_equal(made.to_numpy(), x * 2)
    again = double(made, dx).out().sync()
    np.testing.assert_array_equal(again.to_numpy(), x * 2)
    with pytest.raises(BorrowError):
        dz.to_numpy()


def test_the_key_decides_what_is_shared(measured):
    double = plain(key=lambda x: x.shape[0] // 100)
    for rows, is_new in ((10, True), (20, False), (110, True), (190, False)):
        before = len(measured)
        x, dx, dz = pair((rows, 8))
        double(dz.borrow_mut(), dx).sync()
        np.testing.assert_array_equal(dz.to_numpy(), x * 2)
        assert (len(measured) > before) == is_new


def test_a_number_may_be_in_the_key(measured):
    @tw.autotune(TILES, key=["n"])
    @tw.entry
    def scale(z: tl.TensorMut[f32], x: tl.Tensor[f32], n: f32) -> None:
        z.store(tl.load_tile_like(x, z) * n)

    x, dx, dz = pair()
    for n, is_new in ((2.0, True), (2.0, False), (3.0, True)):
        before = len(measured)
        scale(dz.borrow_mut(), dx, n).sync()
        np.testing.assert_array_equal(dz.to_numpy(), x * n)
        assert (len(measured) > before) == is_new


def test_constants_of_the_call_are_part_of_the_key(measured):
    work = repeated(tw.search(tile=[(8, 8), (16, 16)]))
    x, dx, dz = pair()
    for times, is_new in ((1, True), (2, True), (1, False)):
        before = len(measured)
        work(dz.borrow_mut(), dx, TIMES=times).sync()
        np.testing.assert_array_equal(dz.to_numpy(), x)
        assert (len(measured) > before) == is_new


def test_arguments_by_name():
    double = plain()
    x, dx, dz = pair()
    double(x=dx, z=dz.borrow_mut()).sync()
    np.testing.assert_array_equal(dz.to_numpy(), x * 2)


# -------------------------------------------------------------------------------------------------
# Endings.


def test_started_and_awaited():
    x, dx, dz = pair()
    double = plain()
    double(dz.borrow_mut(), dx).start()
    np.testing.assert_array_equal(dz.to_numpy(), x * 2)

    async def run(kernel, out):
        await kernel(out.borrow_mut(), dx)

    for kernel in (double, plain()):
        out = tw.zeros(x.shape).sync()
        asyncio.run(run(kernel, out))
        np.testing.assert_array_equal(out.to_numpy(), x * 2)


def test_it_runs_where_its_tensors_are():
    double = plain()
    x, dx, dz = pair()
    with tw.device("reference"):
        double(dz.borrow_mut(), dx).sync()
    np.testing.assert_array_equal(dz.to_numpy(), x * 2)


def test_in_a_chain():
    double = plain()
    x, dx, _ = pair()
    for _ in range(2):
        op = double(tw.empty(x.shape), dx).out().then(lambda y: double(tw.empty(x.shape), y).out())
        np.testing.assert_array_equal(op.sync().to_numpy(), x * 4)


def test_a_capture_needs_a_choice(golden):
    double = plain()
    x, dx, dz = pair()
    with pytest.raises(SchedulingError) as caught:
        double(dz.borrow_mut(), dx).graph()
    golden(re.sub(r"here: .*?:\d+:", "here: test_kernel.py:", str(caught.value)))
    double.tune(dz.borrow_mut(), dx)
    graph = double(dz.borrow_mut(), dx).graph()
    graph.launch().sync()
    np.testing.assert_array_equal(dz.to_numpy(), x * 2)


def test_an_op_that_is_dropped_gives_back_what_it_was_given():
    double = plain()
    x, dx, dz = pair()
    with pytest.warns(RuntimeWarning, match="was never run"):
        double(dz.borrow_mut(), dx)
    double(dz.borrow_mut(), dx).sync()
    np.testing.assert_array_equal(dz.to_numpy(), x * 2)


# -------------------------------------------------------------------------------------------------
# Records and modes.


def test_a_record_is_reused_without_measuring(measured):
    _, dx, dz = pair()
    chosen = plain().tune(dz.borrow_mut(), dx).chosen
    del measured[:]
    report = plain().tune(dz.borrow_mut(), dx)
    assert report.chosen == chosen
    assert report.seconds is None
    assert not measured


def test_a_record_that_chooses_what_is_no_candidate_is_ignored(cache, measured):
    _, dx, dz = pair()
    plain().tune(dz.borrow_mut(), dx)
    (file,) = [f for f in (cache / "tune").iterdir() if f.suffix == ".json"]
    found = json.loads(file.read_text())
    file.write_text(json.dumps({**found, "config": "tile=(1, 1)"}))
    del measured[:]
    assert plain().tune(dz.borrow_mut(), dx).chosen in [c.text for c in TILES]
    assert measured


def test_a_damaged_record_is_replaced(cache, measured):
    _, dx, dz = pair()
    plain().tune(dz.borrow_mut(), dx)
    (file,) = [f for f in (cache / "tune").iterdir() if f.suffix == ".json"]
    file.write_bytes(b"\0\1")
    del measured[:]
    with pytest.warns(RuntimeWarning, match="is ignored"):
        plain().tune(dz.borrow_mut(), dx)
    assert measured
    del measured[:]
    plain().tune(dz.borrow_mut(), dx)
    assert not measured


def test_another_search_space_is_another_record(measured):
    _, dx, dz = pair()
    plain().tune(dz.borrow_mut(), dx)
    del measured[:]
    plain(tw.search(tile=[(4, 4), (32, 32)])).tune(dz.borrow_mut(), dx)
    assert measured


@pytest.mark.cpu_alone  # an interpreter has no speed
def test_off_uses_the_first_and_cached_measures_nothing(measured):
    x, dx, dz = pair()
    for mode in ("off", "cached"):
        work = repeated(tw.search(tile=(16, 16), TIMES=[3, 1]))
        with config.override(autotune=mode):
            work(dz.borrow_mut(), dx).sync()
            np.testing.assert_array_equal(dz.to_numpy(), x)
            assert not measured
            with pytest.raises(LookupError):
                work.report(dz.borrow_mut(), dx)
    repeated().tune(dz.borrow_mut(), dx)
    del measured[:]
    with config.override(autotune="cached"):
        assert repeated().tune(dz.borrow_mut(), dx).chosen == "tile=(16, 16), TIMES=1"
    assert not measured


PROGRAM = """
import numpy as np
import tilewright as tw
import tilewright.lang as tl
from tilewright import f32
from tilewright.tune.clock import HostClock

taken = []
sample = HostClock.sample
HostClock.sample = lambda self: (taken.append(self), sample(self))[1]

@tw.autotune(tw.search(tile=[(4, 4), (16, 16), (64, 64)]))
@tw.entry
def double(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) * 2.0)

x, z = tw.ones((200, 300)).sync(), tw.zeros((200, 300)).sync()
double(z.borrow_mut(), x).sync()
assert (z.to_numpy() == 2).all()
print(len(taken), double.report().chosen)
"""


def started(path):
    where = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TILEWRIGHT_DEVICE": "cpu"}
    where["TILEWRIGHT_CACHE_DIR"] = config.current().cache_dir
    return subprocess.Popen(
        [sys.executable, str(path)], env={**os.environ, **where}, stdout=subprocess.PIPE, text=True
    )


def test_processes_measure_once_though_they_begin_together(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    both = [started(path) for _ in range(2)]
    told = [process.communicate(timeout=120)[0].split(maxsplit=1) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    counts = sorted(int(count) for count, _ in told)
    assert counts[0] == 0 < counts[1]
    assert told[0][1] == told[1][1]
    again = started(path)
    count, chosen = again.communicate(timeout=120)[0].split(maxsplit=1)
    assert (int(count), chosen) == (0, told[0][1])


def test_threads_measure_once():
    double = plain()
    x, dx, _ = pair()
    made, errors = [], []

    def run():
        try:
            with config.override(cache_dir="off"):
                made.append(double(tw.zeros(x.shape), dx).out().sync())
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for out in made:
        np.testing.assert_array_equal(out.to_numpy(), x * 2)
    assert len(double.reports()) == 1


# -------------------------------------------------------------------------------------------------
# SIMT kernels, mapped outputs, functions.


def test_threads_by_their_blocks():
    @tw.autotune(tw.search(block=[32, 128], FACTOR=2))
    @simt.kernel
    def scale(out: simt.DisjointSlice[f32], x: simt.Slice[f32], *, FACTOR: tl.Const[int]) -> None:
        i = simt.index_1d()
        if i < len(out):
            out[i] = x[i] * FACTOR

    x, dx, dz = pair((1013,))
    for _ in range(2):
        scale(dz.borrow_mut(), dx).sync()
        np.testing.assert_array_equal(dz.to_numpy(), x * 2)
    assert len(scale.report().tried) == 2
    np.testing.assert_array_equal(scale(tw.zeros(x.shape), dx).out().sync().to_numpy(), x * 2)


def test_mapped_outputs():
    @tw.autotune(tw.search(tile=[(8, 8), (16, 16)], map=[(1, 1), (4, 1)]))
    @tw.entry
    def double(z: tl.MappedPartitionMut[f32], x: tl.Tensor[f32]) -> None:
        tiles = x.partition(z.shape)
        for index in z.iter_indices():
            z.store(tiles.load(index) * 2.0, index)

    x, dx, dz = pair()
    double(dz.borrow_mut(), dx).sync()
    np.testing.assert_array_equal(dz.to_numpy(), x * 2)
    assert len(double.report().tried) == 4


def test_several_outputs_have_tiles_by_name():
    @tw.autotune([tw.Config(tile={"s": (8,), "d": (8,)}), tw.Config(tile={"s": 16, "d": 16})])
    @tw.entry
    def both(s: tl.TensorMut[f32], d: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        tile = tl.load_tile_like(x, s)
        s.store(tile + 1.0)
        d.store(tile - 1.0)

    x, dx, ds = pair((29,))
    dd = tw.zeros((29,)).sync()
    both(ds.borrow_mut(), dd.borrow_mut(), dx).sync()
    np.testing.assert_array_equal(ds.to_numpy(), x + 1)
    np.testing.assert_array_equal(dd.to_numpy(), x - 1)


@pytest.mark.cpu_alone  # an interpreter has no speed
def test_partitions_where_tiles_are_not_chosen():
    work = repeated(tw.search(TIMES=[1, 500]))
    x, dx, dz = pair()
    work(dz.partition_mut((16, 16)), dx).sync()
    np.testing.assert_array_equal(dz.to_numpy(), x)
    assert work.report().chosen == "TIMES=1"


def test_functions_are_tuned():
    @tw.function(outputs="x", tune=tw.autotune(TILES))
    @tw.entry
    def double(y: tl.TensorMut, x: tl.Tensor) -> None:
        y.store(tl.load_tile_like(x, y) * 2.0)

    x, dx, _ = pair()
    np.testing.assert_array_equal(double(x), x * 2)
    assert double.tuned is not None
    assert len(double.tuned.report().tried) == 2
    np.testing.assert_array_equal(double(dx).sync().to_numpy(), x * 2)
    np.testing.assert_array_equal(double(tw.from_numpy(x)).sync().to_numpy(), x * 2)


def test_functions_give_the_other_constants():
    @tw.entry
    def scale(
        y: tl.TensorMut, x: tl.Tensor, *, TWICE: tl.Const[bool], WIDE: tl.Const[bool]
    ) -> None:
        tile = tl.load_tile_like(x, y)
        y.store(tile * 2.0 if TWICE else tile)

    tune = tw.autotune(tw.search(WIDE=[True, False]))
    function = tw.function(scale, outputs="x", tiles=8, constants={"TWICE": True}, tune=tune)
    x, _, _ = pair((29,))
    np.testing.assert_array_equal(function(x), x * 2)
    with pytest.raises(TypeError, match="gives its constants `TWICE`, got none"):
        tw.function(scale, outputs="x", tiles=8, tune=tune)
    with pytest.raises(TypeError, match="are chosen by `tune`"):
        tw.function(
            scale, outputs="x", tiles=8, constants={"TWICE": True},
            tune=tw.autotune(tw.search(tile=8, WIDE=True)),
        )  # fmt: skip


def test_functions_of_other_libraries_are_tuned():
    torch = pytest.importorskip("torch")

    @tw.function(outputs="x", tune=tw.autotune(TILES))
    @tw.entry
    def double(y: tl.TensorMut, x: tl.Tensor) -> None:
        y.store(tl.load_tile_like(x, y) * 2.0)

    x, _, _ = pair()
    for _ in range(3):
        np.testing.assert_array_equal(double(torch.from_numpy(x)).numpy(), x * 2)
    assert len(double.tuned.report().tried) == 2


# -------------------------------------------------------------------------------------------------
# Messages.


@simt.kernel
def threads(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = 1.0


@tw.entry
def constant(z: tl.TensorMut[f32], *, BK: tl.Const[int] = 1) -> None:
    z.store(tl.full(z.shape, BK, f32))


@tw.entry
def named_badly(z: tl.TensorMut[f32], *, tile: tl.Const[int]) -> None:
    z.store(tl.full(z.shape, tile, f32))


@tw.entry(unsafe=True)
def through_a_pointer(z: tl.TensorMut[f32], p: tl.Ptr[f32]) -> None:
    z.store(tl.zeros(z.shape, f32))


WRONG = {
    "a-pointer": lambda: tw.autotune(tw.search(tile=4))(through_a_pointer),
    "an-unknown-constant": lambda: tw.autotune(tw.search(tile=4, BN=[1, 2]))(constant),
    "tiles-of-threads": lambda: tw.autotune(tw.search(tile=4))(threads),
    "threads-of-tiles": lambda: tw.autotune(tw.search(block=4))(constant),
    "tiles-of-an-unknown-output": lambda: tw.autotune([tw.Config(tile={"y": 4})])(constant),
    "a-grid-of-something-else": lambda: tw.autotune(tw.search(tile=4), grid=lambda q: q)(constant),
    "a-map-without-tiles": lambda: tw.autotune(tw.search(map=(1,)))(constant),
    "a-constant-with-a-name-of-ours": lambda: tw.autotune(tw.search(tile=4))(named_badly),
    "no-kernel": lambda: tw.autotune(tw.search(tile=4))(len),
    "an-op-to-tune": lambda: plain().tune(tw.zeros((4, 4)), tw.zeros((4, 4))),
    "no-report": lambda: plain().report(),
    "a-chosen-constant-is-given": lambda: repeated()(*pair()[:0:-1], TIMES=3),
    "an-output-that-is-divided": lambda: plain()(
        tw.zeros((8, 8)).sync().partition_mut((4, 4)), tw.zeros((8, 8)).sync()
    ).sync(),
    "an-output-that-is-no-tensor": lambda: plain()(np.zeros((8, 8), "f4"), pair()[1]).sync(),
}


@pytest.mark.parametrize("name", WRONG)
def test_message(name, golden):
    with pytest.raises((TypeError, LaunchError, LookupError)) as caught:
        WRONG[name]()
    golden(f"{type(caught.value).__name__}: {caught.value}")
