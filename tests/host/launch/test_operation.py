from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32
from tilewright.launch.operation import Outputs


@pytest.fixture(autouse=True)
def on_reference():
    with tw.device("reference"):
        yield


@tw.entry
def neg(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(-tl.load_tile_like(x, z))


@tw.entry
def affine(z: tl.TensorMut[f32], x: tl.Tensor[f32], a: f32, n: i32, *, up: tl.Const[bool]) -> None:
    tile = tl.load_tile_like(x, z) * a
    if up:
        tile = tile + tl.astype(n, f32)
    z.store(tile)


@pytest.fixture
def x():
    return np.random.default_rng(3).standard_normal((5, 7)).astype("f4")


def test_results_are_the_very_objects(x):
    z = tw.zeros((5, 7)).sync()
    p, n = z.partition_mut((4, 4)), np.int32(3)
    result = affine(p, x, 2.0, n, up=True).sync()
    assert result[0] is p
    assert result[1] is x
    assert result[3] is n
    assert len(result) == 4
    np.testing.assert_array_equal(z.to_numpy(), x * np.float32(2) + np.float32(3))


def test_arguments_may_be_ops(x):
    p, t = neg(tw.empty((5, 7)).partition((4, 4)), tw.from_numpy(x)).sync()
    np.testing.assert_array_equal(p.unpartition().to_numpy(), -x)
    np.testing.assert_array_equal(t.to_numpy(), x)


def test_argument_ops_are_used_up_and_refused_when_wrong(x):
    op = tw.from_numpy(x)
    neg(tw.empty((5, 7)).partition((4, 4)), op).close()
    with pytest.raises(tw.BorrowError, match="already used by `neg`"):
        op.sync()
    with pytest.raises(tw.ShapeError, match="wrong element type") as caught:
        neg(tw.empty((5, 7)).partition((4, 4)), tw.zeros((5, 7), tw.f16)).sync()
    assert "while running `neg`" in caught.value.__notes__[0]


def test_out(x):
    assert neg(tw.empty((5, 7)).partition((4, 4)), x).out().sync().shape == (5, 7)
    z = tw.zeros((5, 7)).sync()
    assert neg(z.partition_mut((4, 4)), x).out().sync() is z

    @tw.entry
    def two(a: tl.TensorMut[f32], n: i32, b: tl.TensorMut[f32]) -> None:
        a.store(tl.zeros(a.shape, f32))
        b.store(tl.zeros(b.shape, f32))

    a, b = two(tw.empty((4,)).partition(4), 3, tw.empty((8,)).partition(8)).out().sync()
    assert (a.shape, b.shape) == ((4,), (8,))


class Doing(tw.DeviceOp):
    """An op of a program, that runs another as its part, as often as told."""

    def __init__(self, part, times):
        self.part, self.times = part, times
        part.claim("Doing")

    def execute(self, ctx):
        return [self.part.execute(ctx) for _ in range(self.times)][-1]


def test_ops_of_programs_run_launches_as_parts(x):
    z = tw.zeros((5, 7)).sync()
    for out in (z.partition_mut((4, 4)), tw.empty((5, 7)).partition((4, 4))):
        launch = neg(out, x)
        cut, _ = Doing(launch, 1).sync()
        np.testing.assert_array_equal(cut.tensor.to_numpy(), -x)
    with pytest.raises(tw.BorrowError, match="`neg` has run already"):
        Doing(neg(z.partition_mut((4, 4)), x), 2).sync()


def test_outputs_are_given_back_whoever_borrows_them_next():
    z = tw.zeros((4,)).sync()
    given = neg(z.partition_mut(4), tw.ones((4,))).sync()
    z.borrow_mut()  # as another thread may, behind the launch
    assert Outputs((0,), 2)(*given) is z


def test_chains(x):
    double = neg(tw.empty((5, 7)).partition((4, 4)), x).then(
        lambda p, x: neg(tw.empty((5, 7)).partition((4, 4)), p.unpartition())
    )
    np.testing.assert_array_equal(double.first().unpartition().to_numpy().sync(), x)


def test_then_takes_a_kernel(x):
    p = tw.zeros((5, 7)).sync().partition((4, 4))
    back, _ = tw.value((p, x)).then(neg).sync()
    assert back is p


def test_a_launch_that_is_not_run_warns(x):
    with pytest.warns(RuntimeWarning, match=r"DeviceOp `neg` built at .*operation.py:\d+: neg"):
        neg(tw.zeros((5, 7)).sync().partition((4, 4)), x)


def test_a_refused_launch_does_not_warn(recwarn):
    with pytest.raises(tw.BorrowError):
        neg(tw.zeros((5, 7)).sync(), 1)
    gc.collect()
    assert not recwarn.list


def test_unsafe_kernels(golden, places):
    @tw.entry(unsafe=True)
    def poke(p: tl.Ptr[f32]) -> None:
        tl.store_ptr_tko(p, tl.full((), 7, f32))

    t = tw.zeros((3,)).sync()
    with pytest.raises(tw.LaunchError) as caught:
        poke(t.device_pointer())
    golden(places(caught.value))
    with tw.unsafe():
        op = poke(t[1:].device_pointer()).grid((1,))
    op.sync()
    assert t.to_numpy().tolist() == [0, 7, 0]


def test_compile_options(x):
    z = tw.zeros((5, 7)).sync()
    neg(z.partition_mut((4, 4)), x).compile_options(occupancy=2).sync()
    neg(z.partition_mut((4, 4)), x).compile_options(tw.CompileOptions(occupancy=4)).sync()
    assert "options" in neg.explain_recompile()
    with pytest.raises(TypeError):
        neg(z.partition_mut((4, 4)), x).compile_options(speed=9)


def test_launches_from_many_threads(x):
    outputs = [tw.zeros((5, 7)).sync() for _ in range(8)]

    def run(z):
        neg(z.partition_mut((4, 4)), x).sync()

    threads = [threading.Thread(target=run, args=(z,)) for z in outputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for z in outputs:
        np.testing.assert_array_equal(z.to_numpy(), -x)


def test_where_it_runs(x):
    z = tw.zeros((5, 7)).sync()
    op = neg(z.partition_mut((4, 4)), x)
    assert op.home.name == "reference"
    with pytest.raises(tw.SchedulingError, match="its tensors live on another device"):
        op.sync_on(tw.devices()[0].streams()[0])
    lazy = neg(tw.empty((5, 7), device="reference").partition((4, 4)), x)
    assert lazy.home.name == "reference"
    lazy.close()


def test_numpy_scalars_of_every_kind(x):
    z = tw.zeros((5, 7)).sync()
    affine(z.partition_mut((4, 4)), x, np.float16(2), tw.u8(3), up=False).sync()
    np.testing.assert_array_equal(z.to_numpy(), x * np.float32(2))


def negate(z, x):
    return neg(z.partition_mut((4, 4)), x)


CONFLICTING = {
    "write and write": lambda z, w: (negate(z, w), negate(z, w)),
    "write and read": lambda z, w: (negate(z, w), negate(w, z)),
    "write and copy": lambda z, w: (negate(z, w), tw.memcpy(z, w)),
    "copy and write": lambda z, w: (tw.memcpy(z, w), negate(z, w)),
    "fill and read": lambda z, w: (tw.fill(z, 2.0), negate(w, z)),
    "inside of others": lambda z, w: (negate(z, w).first(), tw.zip(negate(z, w))),
}


@pytest.mark.parametrize("conflict", CONFLICTING)
def test_zipped_ops_do_not_write_what_others_use(conflict):
    z, w = tw.ones((5, 7)).sync(), tw.ones((5, 7)).sync()
    one, two = CONFLICTING[conflict](z, w)
    with pytest.raises(tw.BorrowError, match=r"cannot run: its \w+ borrow of .* has ended"):
        tw.zip(one, two)
    two.close()
    negate(z, w).sync()
    assert (z.to_numpy() == -1).all()


def test_zipped_ops_may_read_together():
    z, w, x = (tw.ones((5, 7)).sync() for _ in range(3))
    tw.zip(negate(z, x), negate(w, x)).sync()
    assert (z.to_numpy() == -1).all() and (w.to_numpy() == -1).all()
