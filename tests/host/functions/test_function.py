"""Kernels as functions of arrays: the results, their kinds, and what is refused."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from support.strict_arrays import Named, Strict
from tilewright import bf16, f16, f32, f64, simt
from tilewright.functions.function import Function


@tw.entry
def scaled_sum(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, factor: f32) -> None:
    """Compute factor * (x + y)."""
    sums = tl.load_tile_like(x, z).astype(f32) + tl.load_tile_like(y, z).astype(f32)
    z.store((sums * factor).astype(z.dtype))


@tw.entry
def row_sums(totals: tl.TensorMut, x: tl.Tensor, *, N: tl.Const[int] = 8) -> None:
    rows = x.partition((totals.shape[0], N))
    total = tl.zeros(totals.shape, f32)
    for k in range(rows.num_tiles(1)):
        total = total + tl.reduce_sum(rows.load((tl.block_id(0), k)).astype(f32), 1)
    totals.store(total)


@tw.entry
def least_and_most(low: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, high: tl.TensorMut) -> None:
    a, b = tl.load_tile_like(x, low), tl.load_tile_like(y, low)
    low.store(tl.minimum(a, b))
    high.store(tl.maximum(a, b))


@simt.kernel
def doubled(z: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    assert len(x) == len(z)
    i = simt.index_1d()
    if i < len(z):
        z[i] = 2.0 * x[i]


add = tw.function(scaled_sum, outputs="x", tiles=(2, 8))
SHAPES = [(1, 1), (2, 8), (3, 9), (7, 31), (0, 4), (4, 0)]


def arrays(shape, dtype=np.float32):
    rng = fresh_rng()
    return rng.standard_normal((2, *shape)).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [f32, f16, bf16, f64])
@pytest.mark.parametrize("times", [1, 3])
def test_numpy_arrays(shape, dtype, times):
    x, y = arrays(shape, dtype.np)
    for _ in range(times):  # later calls find what the first one learned
        z = add(x, y, 3.0)
        assert type(z) is np.ndarray and (z.shape, z.dtype) == (shape, dtype.np)
        expected = 3 * (x.astype("f4") + y.astype("f4"))
        np.testing.assert_array_equal(z, expected.astype(dtype.np))
        x, y = y, z


def test_memory_is_used_as_it_is():
    x, y = arrays((8, 16))
    frozen = x.copy()
    frozen.flags.writeable = False
    parts = x[::2, ::-1], y.T.reshape(8, 16)[1::2], np.broadcast_to(x[0], (4, 16)), frozen[:4]
    for a in parts:
        for b in parts:
            for _ in range(2):
                np.testing.assert_array_equal(add(a, b, 1.0), a + b)


def test_arrays_that_kernels_cannot_address_are_refused_each_time():
    x, y = arrays((4, 4))
    add(x, y, 1.0)
    odd = np.frombuffer(bytes(4 * 16 + 1), np.uint8)[1:].view(np.float32).reshape(4, 4)
    for _ in range(2):
        with pytest.raises(tw.ShapeError, match="cannot address this array"):
            add(odd, y, 1.0)


def test_memory_that_is_known_here_is_borrowed():
    x, y = arrays((4, 4))
    known = tw.asarray(x)
    for _ in range(2):
        np.testing.assert_array_equal(add(x, y, 1.0), x + y)
    pending = add(known, tw.asarray(y), 2.0).start()
    np.testing.assert_array_equal(add(x, y, 1.0), x + y)
    np.testing.assert_array_equal(pending.to_numpy(), 2 * (x + y))


def test_tensors_make_ops():
    x, y = arrays((5, 9))
    op = add(tw.asarray(x), tw.asarray(y), 1.0)
    assert isinstance(op, tw.DeviceOp)
    np.testing.assert_array_equal(op.sync().to_numpy(), x + y)
    chained = add(add(tw.from_numpy(x), tw.asarray(y), 1.0), tw.from_numpy(y), 2.0)
    np.testing.assert_array_equal(chained.sync().to_numpy(), 2 * ((x + y) + y))
    shared = tw.Arc(tw.from_numpy(x).sync())
    np.testing.assert_array_equal(add(shared, shared.clone(), 1.0).sync().to_numpy(), 2 * x)


@pytest.mark.parametrize(
    "outputs",
    [
        lambda a: (a.shape[:1], f32), lambda x: ((x.shape[0],), np.dtype("f4")),
        lambda x: (x.shape[0],), {"totals": lambda x: np.empty(x.shape[0], "f4")},
    ],
)  # fmt: skip
@pytest.mark.parametrize("n", [0, 1, 8, 13])
def test_functions_say_what_results_look_like(outputs, n):
    x = arrays((5, n))[0]
    total = tw.function(row_sums, outputs=outputs, tiles=4, constants={"N": 4})
    for _ in range(2):
        np.testing.assert_allclose(total(x), x.sum(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        total(tw.from_numpy(x)).sync().to_numpy(), x.sum(1), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    "outputs",
    [
        {"low": "x", "high": "y"}, ("x", "y"), ["x", lambda x, y: y.shape],
        lambda x, y: (x, y), lambda x, y: (x.shape, y.shape), lambda x, y: x.shape,
        lambda x, y: ((x.shape, f32), y), lambda x, y: (x.shape, f32),
        lambda x, y: tuple(np.array(x.shape)),
    ],
)  # fmt: skip
def test_several_results_and_outputs_anywhere(outputs):
    extremes = tw.function(least_and_most, outputs=outputs, tiles=(1, tw.FULL))
    x, y = arrays((3, 5))
    for _ in range(2):
        low, high = extremes(x, y)
        np.testing.assert_array_equal([low, high], [np.minimum(x, y), np.maximum(x, y)])
    low, high = extremes(tw.from_numpy(x), tw.from_numpy(y)).sync()
    np.testing.assert_array_equal(low.to_numpy(), np.minimum(x, y))
    np.testing.assert_array_equal(high.to_numpy(), np.maximum(x, y))


def test_kernels_of_threads():
    twice = tw.function(doubled, outputs="x")
    x = arrays((37,))[0]
    for _ in range(2):
        np.testing.assert_array_equal(twice(x), 2 * x)
    np.testing.assert_array_equal(twice(tw.from_numpy(x)).sync().to_numpy(), 2 * x)


def test_it_is_a_decorator_and_keeps_the_name_and_docstring():
    assert (add.__name__, add.__doc__) == ("scaled_sum", "Compute factor * (x + y).")
    decorated = tw.function(outputs="x", tiles=(4, 4))(scaled_sum)
    assert isinstance(decorated, Function)
    x, y = arrays((3, 3))
    np.testing.assert_array_equal(decorated(x, y=y, factor=2.0), 2 * (x + y))
    assert repr(add) == "<function of `scaled_sum`>"
    shown = add._repr_html_()
    assert "function of scaled_sum" in shown and shown.count("input") == 3


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((1.0, 2.0, 3.0), {}, "`x` of `scaled_sum` must be an array .* got float"),
        (([1.0], [2.0], 3.0), {}, "`x` of `scaled_sum` must be an array .* got list"),
        ((np.zeros((1, 1)), [2.0], 3.0), {}, "`y` of `scaled_sum` must be an array .* got list"),
        ((np.zeros((1, 1)),), {}, "`scaled_sum` takes `x`, `y`, `factor`, got 1 arguments"),
        ((np.zeros((1, 1)),), {"w": 1}, "got 1 arguments and `w`"),
    ],
)  # fmt: skip
def test_wrong_calls(args, named, message):
    with pytest.raises(TypeError, match=message):
        add(*args, **named)


@pytest.mark.parametrize("found", [5, None, "x", ((3,), f32, 1)])
def test_wrong_descriptions_of_results(found):
    wrong = tw.function(scaled_sum, outputs=lambda x, y, factor: found, tiles=(2, 8))
    with pytest.raises(TypeError, match="must return a shape, a shape and a dtype, or an object"):
        wrong(*arrays((2, 2)), 1.0)


@pytest.mark.parametrize(
    ("found", "got"),
    [
        (lambda x, y: (x, y, x), r"got \(ndarray, ndarray, ndarray\)"),
        (lambda x, y: (None, y), "got None"),
    ],
)
def test_wrong_descriptions_of_several_results(found, got):
    wrong = tw.function(least_and_most, outputs=found, tiles=(1, tw.FULL))
    with pytest.raises(TypeError, match=f"or a tuple of 2 of these; {got}"):
        wrong(*arrays((2, 2)))


def test_as_many_descriptions_as_outputs():
    with pytest.raises(TypeError, match="each of its 2 outputs, `low`, `high`, is made; got 3"):
        tw.function(least_and_most, outputs=("x", "y", "x"), tiles=(1, tw.FULL))


def test_shapes_that_differ_are_an_error():
    x, y = arrays((4, 4))
    with pytest.raises(tw.Error):
        add(x, y[:3], 1.0)


def test_results_of_numbers_are_not_confused():
    @tw.entry
    def filled(z: tl.TensorMut, x: tl.Tensor, n: tw.i64) -> None:
        z.store(tl.full(z.shape, 1.0, f32) + tl.reduce_sum(x.load_tile((1,), [0])) * 0.0)

    ones = tw.function(filled, outputs=lambda x, n: ((n,), f32), tiles=4)
    for n in (3, 5, 3, 0):
        assert ones(np.zeros(1, "f4"), n).tolist() == [1.0] * n


def test_calls_from_several_threads():
    x, y = arrays((64, 64))
    failed = []

    def work():
        for _ in range(50):
            if not np.array_equal(add(x, y, 1.0), x + y):
                failed.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_nothing_is_kept():
    x, y = arrays((64, 64))
    add(x, y, 1.0)
    known = [np.float32, x.nbytes]
    z = add(x, y, 1.0)
    holders = [o for o in gc.get_referrers(z) if o is not known]
    assert not [o for o in holders if type(o).__name__ in ("Storage", "Region", "Tensor")]


def test_arrays_of_other_libraries():
    x, y = arrays((3, 9))
    z = add(Named(x), Named(y), 1.0)
    assert type(z) is Named
    np.testing.assert_array_equal(z.array, x + y)
    with pytest.raises(TypeError, match="results cannot be made for Strict"):
        add(Strict(x), Strict(y), 1.0)
