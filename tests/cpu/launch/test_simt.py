"""Launches of SIMT kernels: what they take, give back and compose with."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from tilewright import f32, i32, simt


@simt.kernel
def scale(out: simt.DisjointSlice[f32], x: simt.Slice[f32], by: f32) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i] * by


@simt.kernel
def bump(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] += 1.0


@simt.kernel
def copy(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i]


@tw.entry
def double(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    out.store(tl.load_tile_like(x, out) * 2.0)


X = np.arange(12, dtype=np.float32)


class TestArguments:
    def test_the_very_objects_come_back(self):
        z, x = tw.zeros((12,)).sync(), tw.from_numpy(X).sync()
        borrow = z.borrow_mut()
        result = scale(borrow, x, 2.0).sync()
        assert result[0] is borrow
        assert result[1] is x
        assert result[2] == 2.0
        np.testing.assert_array_equal(z.to_numpy(), X * 2)

    def test_tensors_of_any_rank_are_their_elements(self):
        z = tw.zeros((2, 3, 2)).sync()
        scale(z.borrow_mut(), tw.from_numpy(X.reshape(4, 3)).sync(), 3.0).sync()
        np.testing.assert_array_equal(z.to_numpy().reshape(-1), X * 3)

    def test_a_part_is_written_alone(self):
        z = tw.full((4, 3), -1.0).sync()
        scale(z.borrow_mut()[1:3], X[:6], 1.0).sync()
        got = z.to_numpy()
        np.testing.assert_array_equal(got[1:3].reshape(-1), X[:6])
        assert (got[[0, 3]] == -1).all()

    def test_a_moved_tensor_is_gone_from_its_variable(self):
        z = tw.zeros((12,)).sync()
        moved = tw.move(z)
        result = scale(moved, X, 2.0).sync()
        assert result[0] is moved
        np.testing.assert_array_equal(moved.to_numpy(), X * 2)
        with pytest.raises(tw.BorrowError, match="moved"):
            z.to_numpy()

    def test_a_refused_launch_gives_a_moved_tensor_back(self):
        z = tw.zeros((12,)).sync()
        with pytest.raises(tw.ShapeError):
            scale(tw.move(z), X.astype(np.float64), 2.0)
        np.testing.assert_array_equal(z.to_numpy(), np.zeros(12))

    def test_a_failed_launch_gives_a_moved_tensor_back(self):
        z = tw.zeros((12,)).sync()
        with pytest.raises(tw.LaunchError, match="out of range"):
            scale(tw.move(z), X[:5], 2.0).sync()
        z.to_numpy()

    def test_an_op_is_written(self):
        result, *_ = scale(tw.empty((12,)), tw.from_numpy(X), 2.0).sync()
        np.testing.assert_array_equal(result.to_numpy(), X * 2)

    def test_an_arc_is_read(self):
        arc = tw.Arc(tw.from_numpy(X).sync())
        np.testing.assert_array_equal(
            scale(tw.empty((12,)), arc, 2.0).out().sync().to_numpy(), X * 2
        )

    def test_a_borrow_that_has_ended_is_refused(self):
        z = tw.zeros((12,)).sync()
        launch = scale(z.borrow_mut(), X, 2.0)
        z.to_numpy()
        with pytest.raises(tw.BorrowError, match="ended"):
            launch.sync()

    def test_memory_that_nothing_has_written_is_not_read(self):
        with pytest.raises(tw.BorrowError, match="nothing has written"):
            scale(tw.empty((12,)), tw.empty((12,)), 2.0).sync()

    def test_generics_and_constants(self):
        @simt.kernel
        def power(out: simt.DisjointSlice, x: simt.Slice, *, n: tl.Const[int] = 2) -> None:
            i = simt.index_1d()
            if i < len(out):
                value = x[i]
                for _ in tl.static_range(n - 1):
                    value *= x[i]
                out[i] = value

        for dtype in (np.int32, np.float64):
            x = np.arange(5, dtype=dtype)
            made = power(tw.empty((5,), dtype), x, n=3).out().sync()
            np.testing.assert_array_equal(made.to_numpy(), x**3)


class TestComposition:
    def test_a_chain_with_tile_kernels(self):
        chain = double(tw.empty((12,)).partition((4,)), X).then(
            lambda p, x: scale(tw.empty((12,)), p.unpartition(), 5.0)
        )
        np.testing.assert_array_equal(chain.first().sync().to_numpy(), X * 10)

    def test_awaited(self):
        async def run():
            result, *_ = await scale(tw.empty((12,)), X, 2.0)
            return result.to_numpy()

        np.testing.assert_array_equal(asyncio.run(run()), X * 2)

    def test_zipped_and_shared(self):
        z = tw.zeros((12,)).sync()
        both = tw.zip(scale(tw.empty((12,)), X, 2.0).out(), bump(z.borrow_mut()).out())
        a, b = both.sync()
        np.testing.assert_array_equal(a.to_numpy(), X * 2)
        np.testing.assert_array_equal(b.to_numpy(), np.ones(12))
        shared = scale(tw.empty((12,)), X, 3.0).out().shared()
        once, again = shared.clone().sync(), shared.sync()
        np.testing.assert_array_equal(once.to_numpy(), again.to_numpy())

    def test_on_its_own_stream(self):
        device = tw.default_device()
        stream = device.new_stream()
        z = tw.zeros((12,)).sync()
        bump(z.borrow_mut()).sync_on(stream)
        np.testing.assert_array_equal(z.to_numpy(), np.ones(12))

    def test_a_graph_is_replayed(self):
        x = tw.from_numpy(X).sync()
        z = tw.zeros((12,)).sync()

        def record(s):
            s.record(scale(z.borrow_mut(), x, 2.0))
            s.record(bump(z.borrow_mut()))

        graph = tw.CudaGraph.scope(tw.default_device().new_stream(), record)
        graph.launch().sync()
        np.testing.assert_array_equal(z.to_numpy(), X * 2 + 1)

    @pytest.mark.parametrize("device", ["cpu", "reference", "null"])
    def test_every_device(self, device):
        with tw.device(device):
            z = tw.zeros((12,)).sync()
            bump(z.borrow_mut()).sync()


def test_started_launches_of_one_tensor_are_ordered():
    z = tw.zeros((1 << 16,)).sync()
    pending = [bump(z.borrow_mut()).start() for _ in range(20)]
    del pending
    np.testing.assert_array_equal(z.to_numpy(), np.full(1 << 16, 20))


@simt.kernel
def needs(out: simt.DisjointSlice[f32], a: simt.Slice[f32], m: i32, k: i32) -> None:
    assert len(a) >= m * k
    i = simt.index_1d()
    if i < len(out):
        out[i] = a[i]


def test_shapes_asked_for_before_need_no_closer_look():
    x = tw.from_numpy(X).sync()

    def launched(count: int) -> None:
        """Only the first threads write."""
        z = tw.full((12,), -1.0).sync()
        copy(z.borrow_mut(), x).launch_config(grid=count, block=4).sync()
        expected = np.where(np.arange(12) < 4 * count, X, np.float32(-1))
        np.testing.assert_array_equal(z.to_numpy(), expected)

    for count in (1, 3, 1, 2, 3, 1):
        launched(count)
    with pytest.raises(tw.LaunchError):
        copy(tw.zeros((12,)).sync().borrow_mut(), x).launch_config(grid=1, block=2000)
    launched(2)


def test_a_size_requirement_shows_both_sides():
    with pytest.raises(tw.LaunchError) as caught:
        needs(tw.empty((4,)), np.zeros(8192, np.float32), 128, 128).sync()
    assert "len(a) = 8192, m * k = 16384" in str(caught.value)
    needs(tw.empty((4,)), np.zeros(16384, np.float32), 128, 128).sync()


def test_ptx_needs_no_gpu():
    assert ".target sm_80" in scale.ptx()
    assert ".target sm_90" in scale.ptx("sm_90")
    with pytest.raises(tw.ContextError, match="sm_1"):
        scale.ptx("sm_1")


def test_ptx_of_an_open_type_needs_arguments():
    @simt.kernel
    def copy(out: simt.DisjointSlice, x: simt.Slice) -> None:
        i = simt.index_1d()
        if i < len(out):
            out[i] = x[i]

    with pytest.raises(TypeError, match=r"tw\.meta"):
        copy.ptx("sm_80")
    meta = tw.meta((4,), tw.i8)
    assert ".entry copy(" in copy.ptx("sm_80", meta.borrow_mut(), meta)
    assert ".entry copy(" in copy.ptx("sm_80", x=meta, out=meta.borrow_mut())
    with pytest.raises(TypeError, match="`copy` needs `out` too"):
        copy.ptx("sm_80", x=meta)


def test_arguments_go_by_keyword():
    @simt.kernel
    def times(out: simt.DisjointSlice[tw.f32], x: simt.Slice[tw.f32], factor: tw.f32) -> None:
        i = simt.index_1d()
        if i < len(out):
            out[i] = x[i] * factor

    x = fresh_rng().random(37, np.float32)
    for device in ("cpu", "reference"):
        with tw.device(device):
            out = times(tw.empty((37,)), factor=3.0, x=x).out().sync()
            np.testing.assert_array_equal(out.to_numpy(), x * np.float32(3))


class TestConfigurationsAskedForAgain:
    """What `launch_config` was told before is known; what only equals that is looked at."""

    def test_each_gets_what_it_asked_for(self):
        x = tw.from_numpy(X).sync()
        for _ in range(3):
            for grid, written in ((1, 4), ((2,), 8), ((3,), 12), ((1, 1), 4)):
                z = tw.zeros((12,)).sync()
                copy(z.borrow_mut(), x).launch_config(grid=grid, block=(4,)).sync()
                np.testing.assert_array_equal(z.to_numpy(), np.where(written > X, X, 0))

    @pytest.mark.parametrize("wrong", [(3.0,), 3.0, ("3",), (-3,), (3, 2)])
    def test_what_is_wrong_is_refused_each_time(self, wrong):
        x, z = tw.from_numpy(X).sync(), tw.zeros((12,)).sync()
        for _ in range(3):
            copy(z.borrow_mut(), x).launch_config(grid=(3,), block=(4,)).sync()
            with pytest.raises((TypeError, tw.Error)):
                copy(z.borrow_mut(), x).launch_config(grid=wrong, block=(4,))
            for shared in ("0", 0.0, -1):
                op = copy(z.borrow_mut(), x)
                with pytest.raises((TypeError, tw.Error)):
                    op.launch_config(grid=(3,), block=(4,), shared_mem_bytes=shared)
        np.testing.assert_array_equal(z.to_numpy(), X)

    def test_other_tensors_are_judged_for_themselves(self):
        x, flat = tw.from_numpy(X).sync(), tw.zeros((12,)).sync()
        for _ in range(2):
            copy(flat.borrow_mut(), x).launch_config(block=(4,)).sync()
            longer = tw.zeros((30,)).sync()
            copy(longer.borrow_mut(), tw.ones((30,)).sync()).launch_config(block=(4,)).sync()
            assert longer.to_numpy().all()
