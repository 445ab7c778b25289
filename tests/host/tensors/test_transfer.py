from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from support.lending import LENT, lent
from tilewright.base import dtypes as dt
from tilewright.base.errors import BorrowError, ShapeError
from tilewright.op import value
from tilewright.op.ambient import default_device
from tilewright.tensors import Arc, asarray, empty, from_numpy, memcpy, zeros

IN_MEMORY = [d for d in dt.ALL if d is not dt.f4e2m1fn]
SHAPES = [(), (0,), (1,), (7,), (3, 0, 2), (4, 5), (2, 3, 4)]


def tensor(rng, shape, dtype=dt.f32, device=None):
    """Random bits of any type; NaNs included."""
    raw = rng.integers(0, 256, (*shape, dtype.itemsize), "u1")
    if dtype is dt.bool_:
        raw &= 1
    return from_numpy(raw.tobytes(), dtype, device=device).reshape(shape).sync()


def bits(t):
    return t.to_numpy().tobytes()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", IN_MEMORY, ids=repr)
def test_copies_keep_every_bit(rng, shape, dtype):
    t = tensor(rng, shape, dtype)
    target = zeros(shape, dtype).sync()
    assert memcpy(target, t).sync() is None
    there = t.to("reference").sync()
    copies = [target, t.dup().sync(), there, there.to("cpu").sync()]
    for copy in copies:
        assert (copy.shape, copy.dtype, bits(copy)) == (shape, dtype, bits(t))
    here = default_device().name
    assert [c.device.name for c in copies] == [here, here, "reference", "cpu"]
    assert t.to_host_vec().sync().tobytes() == bits(t)
    assert t.to_host_vec().sync().shape == (t.size,)


def test_strided_copies(rng):
    a = rng.standard_normal((6, 8, 10)).astype("f4")
    source = asarray(a)[::2, 1:, ::-3]
    assert np.array_equal(source.dup().sync().to_numpy(), a[::2, 1:, ::-3])
    assert source.dup().sync().is_contiguous
    assert np.array_equal(source.copy_to_host().sync(), a[::2, 1:, ::-3])
    memory = np.full((3, 7, 20), 7, "f4")
    memcpy(asarray(memory[..., ::5]), source).sync()
    assert np.array_equal(memory[..., ::5], source.to_numpy())
    assert (memory[..., 1] == 7).all()


@pytest.mark.parametrize(
    "kind", ["tensor", "view", "arc", "op", "array", "list", "bytes", "device"]
)
def test_copy_from(rng, kind):
    expected = rng.integers(-99, 99, (3, 4), "i4")
    made = from_numpy(expected).sync()
    sources = {
        "tensor": made, "view": from_numpy(expected.T).sync().T, "op": from_numpy(expected),
        "array": expected[:, ::-1][:, ::-1], "list": expected.tolist(),
        "device": made.to("reference").sync(), "bytes": expected.tobytes(),
    }  # fmt: skip
    source = Arc(made) if kind == "arc" else sources[kind]
    t = zeros((12,) if kind == "bytes" else (3, 4), dt.i32).sync()
    assert t.copy_from(source).sync() is t
    assert np.array_equal(t.to_numpy().reshape(3, 4), expected)


def test_a_host_array_is_read_when_the_copy_starts(rng):
    a = np.zeros(3, "f4")
    t = zeros((3,)).sync()
    op = t.copy_from(a)
    a[:] = 5
    op.sync()
    a[:] = 6
    assert t.to_numpy().tolist() == [5, 5, 5]


def test_a_large_host_array_is_read_before_the_start_returns(rng):
    a = rng.standard_normal(1 << 18)
    expected = a.copy()
    t, other = zeros(a.shape, dt.f64).sync(), zeros(a.shape, dt.f64).sync()
    future = t.copy_from(a).into_future()
    other.copy_from(a).start()
    a[:] = 0
    future.result()
    assert np.array_equal(t.to_numpy(), expected)
    assert np.array_equal(other.to_numpy(), expected)


def test_a_copy_rounds_for_tf32():
    t = zeros((1,), dt.tf32).sync()
    t.copy_from(np.array([1.0001], "f4")).sync()
    assert t.to_numpy().tolist() == [1.0]


def test_a_copy_gives_an_empty_tensor_its_values():
    t = empty((3,)).sync()
    t.copy_from([1, 2, 3]).sync()
    assert t.to_numpy().tolist() == [1, 2, 3]


def test_ops_of_ops(rng):
    a = rng.standard_normal((2, 3)).astype("f4")
    assert np.array_equal(from_numpy(a).to_host_vec().sync(), a.reshape(-1))
    assert np.array_equal(from_numpy(a).dup().to("reference").to_numpy().sync(), a)
    assert from_numpy(a).to_numpy().map(np.sum).sync() == a.sum()
    assert from_numpy([2.5]).item().sync() == 2.5
    assert repr(from_numpy(a).to_numpy()).startswith("<DeviceOp `from_numpy.to_numpy`, not run")
    assert Arc(from_numpy(a).sync()).dup().sync().shape == (2, 3)


@pytest.mark.parametrize(
    ("dtype", "given", "kind"),
    [(dt.bool_, True, bool), (dt.i8, -3, int), (dt.u64, 2**64 - 1, int), (dt.f16, 0.5, float),
     (dt.bf16, 1.5, float), (dt.f8e5m2, 2.0, float), (dt.f64, 0.1, float)],
    ids=repr,
)  # fmt: skip
def test_item(dtype, given, kind):
    t = from_numpy(np.full((1, 1), given, dtype.np)).sync()
    assert t.item() == given and type(t.item()) is kind
    assert value(t).item().sync() == given


def test_borrows_of_transfers(rng):
    """A transfer borrows where it is built; the next conflicting use ends that."""
    t, other = tensor(rng, (4,)), tensor(rng, (4,))
    reads = [t.dup(), t.to_host_vec(), memcpy(other, t), t.to("reference")]
    write = t.copy_from([1, 2, 3, 4])
    for op in reads:
        with pytest.raises(BorrowError, match=r"its shared borrow of .* has ended"):
            op.sync()
    t.to_numpy()
    with pytest.raises(BorrowError, match=r"its exclusive borrow of .* has ended"):
        write.sync()


def test_a_leased_tensor_is_not_overwritten(rng):
    t = tensor(rng, (4,))
    view = lent(t)
    with pytest.raises(BorrowError, match=LENT):
        t.copy_from([1, 2, 3, 4]).sync()
    del view
    t.copy_from([1, 2, 3, 4]).sync()


@pytest.mark.parametrize("write", ["copy_from", "memcpy", "fill"])
def test_a_target_has_an_element_for_each_index(write):
    shared = asarray(np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (3,), (0,)))
    ones = np.ones(3, np.float32)
    writes = {
        "copy_from": lambda: shared.copy_from(ones),
        "memcpy": lambda: memcpy(shared, from_numpy(ones).sync()),
        "fill": lambda: tw.fill(shared, 1.0).sync(),
    }
    with pytest.raises(ShapeError, match="indices share memory"):
        writes[write]()


def test_a_forgotten_copy_warns():
    t = zeros((2,)).sync()
    op = t.copy_from([1, 2])
    with pytest.warns(RuntimeWarning, match="`copy_from` built at .* was never run"):
        del op


WRONG = {
    "shape": lambda t: memcpy(t, zeros((3, 4)).sync()),
    "reshapable": lambda t: t.copy_from(np.zeros(6, "f4")),
    "dtype": lambda t: memcpy(t, zeros((2, 3), dt.i32).sync()),
    "array-dtype": lambda t: t.copy_from(np.zeros((2, 3))),
    "f8": lambda t: t.copy_from(np.zeros((2, 3), ml_dtypes.float8_e5m2)),
    "itself": lambda t: t.copy_from(t),
    "part-of-itself": lambda t: zeros((6,)).map(lambda s: memcpy(s, s[:].slice())).sync(),
    "string": lambda t: t.copy_from("abc"),
    "complex": lambda t: t.copy_from(np.zeros((2, 3), "c8")),
    "complex-numbers": lambda t: t.copy_from([1j]),
    "ragged": lambda t: t.copy_from([[1], [2, 3]]),
    "target-op": lambda t: memcpy(zeros((2, 3)), t),
    "target-array": lambda t: memcpy(np.zeros((2, 3), "f4"), t),
    "uninitialized": lambda t: memcpy(t, empty((2, 3)).sync()).sync(),
    "view": lambda t: memcpy(t[:], np.zeros((2, 3), "f4")),
    "items": lambda t: t.item(),
    "from-op": lambda t: from_numpy(zeros((2,))),
    "from-tensor": lambda t: from_numpy(t),
    "from-string": lambda t: from_numpy("abc"),
    "from-objects": lambda t: from_numpy([None]),
    "from-bytes": lambda t: from_numpy(b"abc", dt.f32),
    "from-too-large": lambda t: from_numpy([1 << 40]),
    "from-negative": lambda t: from_numpy([3, -1], dt.u8),
    "from-fraction": lambda t: from_numpy([1.5], dt.i32),
    "no-device": lambda t: t.to("gpu"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_transfers(name, golden, places):
    t = zeros((2, 3)).sync()
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the text says which
        WRONG[name](t)
    golden(places(caught.value).split("\nwhile running")[0])
    assert t.to_numpy().shape == (2, 3)


def test_parts_are_overwritten_side_by_side(rng):
    t = zeros((4, 3)).sync()
    low, high = t.borrow_mut().split_at(2)
    a = rng.standard_normal((2, 3)).astype("f4")
    first, second = low.copy_from(a), memcpy(high, a[::-1])
    assert first.sync() is low
    second.sync()
    assert np.array_equal(t.to_numpy(), np.concatenate([a, a[::-1]]))
    with pytest.raises(BorrowError, match="has ended"):
        low.copy_from(a)
