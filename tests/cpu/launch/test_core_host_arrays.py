"""Arrays of other libraries as what a kernel reads, by the core's own path."""

from __future__ import annotations

import gc
import sys
import weakref
from ctypes import POINTER, addressof, c_int64, cast

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.core_paths import called_launches
from support.numbers import fresh_rng
from tilewright.launch.plain import PlainBinder
from tilewright.tensors import dlpack
from tilewright.tensors.releases import sweep

pytestmark = pytest.mark.cpu_alone


@tw.entry
def copied(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))


@tw.entry
def total(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


class Other:
    """An array of another library."""

    def __init__(self, array, *, versioned=True, device=(1, 0)):
        self.array, self.versioned, self.device = array, versioned, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **wishes):
        if not self.versioned and wishes:
            raise TypeError("takes no keywords")
        return self.array.__dlpack__(**wishes)


class Described:
    """An array that says where its memory is."""

    def __init__(self, array):
        self.array = array

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


class Lying:
    """Exports an array by a capsule of its own making, which may lie."""

    def __init__(self, kind, **lies):
        self.array = np.arange(6, dtype="f4")
        self.shape = (c_int64 * 2)(2, 3)
        managed = self.managed = kind()
        tensor = managed.tensor
        tensor.data, tensor.device_type = self.array.ctypes.data, 1
        tensor.ndim, tensor.code, tensor.bits, tensor.lanes = 2, 2, 32, 1
        tensor.shape = cast(self.shape, POINTER(c_int64))
        if kind is dlpack.Versioned:
            managed.major, managed.minor = 1, 1
        for name, value in lies.items():
            setattr(managed if hasattr(managed, name) else tensor, name, value)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **wishes):
        name = b"dltensor" if isinstance(self.managed, dlpack.Plain) else b"dltensor_versioned"
        return dlpack.new_capsule(name, addressof(self.managed), 0)


def fixed(array):
    array.flags.writeable = False
    return array


def numbers(*shape):
    return fresh_rng().random(shape, "f4")


ARRAYS = {
    "one axis": lambda: numbers(19),
    "two axes": lambda: numbers(5, 7),
    "every second": lambda: numbers(38)[::2],
    "reversed": lambda: numbers(19)[::-1],
    "columns": lambda: numbers(6, 8)[:, 2:5],
    "transposed": lambda: numbers(6, 8).T,
    "the same row": lambda: np.broadcast_to(numbers(6), (4, 6)),
    "read only": lambda: fixed(numbers(19)),
    "one element": lambda: numbers(1),
    "nothing": lambda: numbers(0),
    "eight axes": lambda: numbers(1, 2, 1, 2, 1, 2, 1, 2),
    "i64": lambda: np.arange(19),
    "u8": lambda: np.arange(19, dtype="u1"),
    "f16": lambda: np.arange(19, dtype="f2"),
    "bool": lambda: np.arange(19) % 3 == 0,
    "bf16": lambda: np.arange(19).astype(ml_dtypes.bfloat16),
    "f8e5m2": lambda: np.arange(19).astype(ml_dtypes.float8_e5m2),
    "a memory map": lambda: np.arange(19, dtype="f4").view(np.memmap),
}
FORMS = {
    "NumPy": lambda array: array,
    "DLPack": Other,
    "the first DLPack": lambda array: Other(array, versioned=False),
    "the array interface": Described,
}


def exported(form, make):
    """The array and what it is given as; skips what NumPy exports in no such form."""
    array = make()
    try:
        if form != "NumPy":
            np.asarray(Described(array)) if "interface" in form else array.__dlpack__()
    except (BufferError, TypeError, ValueError):
        pytest.skip("NumPy does not export it")
    given = FORMS[form](array)
    return array, given


@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("form", FORMS)
def test_arrays_are_read_where_they_are(form, make, monkeypatch):
    array, given = exported(form, make)
    if "interface" in form and array.dtype.kind == "V":
        pytest.skip("the interface does not tell its element type")
    z = tw.asarray(np.full(array.shape, 7).astype(array.dtype))
    tile = (4,) * array.ndim
    copied(z.partition_mut(tile), given).sync()
    np.testing.assert_array_equal(z.to_numpy(), array)
    if not array.flags.writeable or array.size == 0:
        return
    called = called_launches(monkeypatch)
    monkeypatch.setattr(PlainBinder, "bind_described", None)
    array[...] = array[::-1].copy()  # who has the array may write it between launches
    result = copied(z.partition_mut(tile), given).sync()
    assert result[1] is given
    np.testing.assert_array_equal(z.to_numpy(), array)
    assert not called


def test_arrays_and_tensors_side_by_side():
    x, y = numbers(2, 20)
    z = tw.zeros((20,)).sync()
    for one in (x, Other(x), tw.from_numpy(x).sync(), tw.Arc(tw.from_numpy(x).sync())):
        for other in (y, Other(y), tw.from_numpy(y).sync()):
            total(z.partition_mut((8,)), one, other).sync()
            np.testing.assert_array_equal(z.to_numpy(), x + y)


def test_one_array_may_be_read_twice():
    x = numbers(20)
    z = tw.zeros((20,)).sync()
    total(z.partition_mut((8,)), x, Other(x)).sync()
    np.testing.assert_array_equal(z.to_numpy(), x + x)


def test_memory_lives_until_its_launch_is_over():
    t = tw.from_numpy(numbers(20)).sync()
    gone, wanted = weakref.ref(t.region.storage), t.to_numpy()
    z = tw.zeros((20,)).sync()
    op = copied(z.partition_mut((8,)), Other(t))
    del t
    gc.collect()
    assert gone() is not None
    op.sync()
    np.testing.assert_array_equal(z.to_numpy(), wanted)
    del op
    gc.collect()
    sweep()
    gc.collect()
    sweep()
    assert gone() is None


LIES = {
    "no data": {"data": None},
    "another device": {"device_type": 2},
    "axes below 0": {"ndim": -1},
    "a million axes": {"ndim": 1_000_000},
    "no shape": {"shape": POINTER(c_int64)()},
    "extents below 0": {"shape": cast((c_int64 * 2)(2, -3), POINTER(c_int64))},
    "more bytes than addresses": {"shape": cast((c_int64 * 2)(1 << 40, 1 << 40), POINTER(c_int64))},
    "strides over all addresses": {"strides": cast((c_int64 * 2)(1 << 61, 1), POINTER(c_int64))},
    "strides below all": {"strides": cast((c_int64 * 2)(-(1 << 61), 1), POINTER(c_int64))},
    "an offset beyond all addresses": {"byte_offset": (1 << 64) - 4},
    "no element type": {"code": 99},
    "lanes": {"lanes": 4},
    "no lanes": {"lanes": 0},
    "not aligned": {"byte_offset": 2},
}


@pytest.mark.parametrize("lies", LIES.values(), ids=LIES)
@pytest.mark.parametrize("kind", [dlpack.Plain, dlpack.Versioned])
def test_lies_are_found(kind, lies):
    z = tw.zeros((2, 3)).sync()
    with pytest.raises(tw.ShapeError, match=r"`x` of `copied` cannot be read"):
        copied(z.partition_mut((2, 2)), Lying(kind, **lies))
    copied(z.partition_mut((2, 2)), Lying(kind)).sync()
    assert z.to_numpy().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_versions_that_are_not_known():
    z = tw.zeros((2, 3)).sync()
    with pytest.raises(tw.LaunchError, match=r"exports DLPack 2\.0"):
        copied(z.partition_mut((2, 2)), Lying(dlpack.Versioned, major=2, minor=0, code=4, bits=16))


@pytest.mark.parametrize("wrong", [3, 1.5, "x", [1.0], None, np.float32(1)])
def test_what_is_no_array_is_refused(wrong):
    z = tw.zeros((4,)).sync()
    with pytest.raises(TypeError, match=r"`x` of `copied` must be a tensor or an array"):
        copied(z.partition_mut((2,)), wrong)


def test_what_is_given_as_it_must_not_be():
    z = tw.zeros((4,)).sync()
    with pytest.raises(TypeError, match="Region"):
        copied(z.partition_mut((2,)), tw.zeros((4,)).sync().region)
    masked = np.ma.masked_array(np.arange(4.0, dtype="f4"), [False, True, False, False])
    with pytest.raises(tw.ShapeError, match="a mask"):
        copied(z.partition_mut((2,)), masked)


def test_an_array_that_is_written_before_its_launch_runs_is_named():
    x = numbers(20)
    z, alias = tw.zeros((20,)).sync(), tw.asarray(x)
    op = copied(z.partition_mut((16,)), Other(x))
    tw.fill(alias, 2.0).sync()
    with pytest.raises(tw.BorrowError, match=r"its shared borrow of .* has ended"):
        op.sync()


def test_an_array_that_shares_memory_with_the_output_is_refused():
    x = numbers(20)
    for given in (x, Other(x), x[3:], Other(x[::2])):
        z = tw.asarray(x)
        with pytest.raises(tw.BorrowError, match="are the same storage"):
            total(z.partition_mut((16,)), given, numbers(20))


def test_an_error_of_another_library_that_is_no_refusal_goes_through():
    class Broken(Other):
        def __dlpack__(self, **wishes):
            raise KeyboardInterrupt

    z = tw.zeros((4,)).sync()
    with pytest.raises(KeyboardInterrupt):
        copied(z.partition_mut((2,)), Broken(numbers(4)))
    copied(z.partition_mut((2,)), numbers(4)).sync()


def test_a_graph_of_arrays_takes_others():
    x, other = numbers(2, 20)
    z = tw.zeros((20,)).sync()
    graph = copied(z.partition_mut((16,)), Other(x)).graph()
    graph.launch().sync()
    np.testing.assert_array_equal(z.to_numpy(), x)
    for given in (Other(other), other, tw.from_numpy(other).sync()):
        graph.set_args(0, z.partition_mut((16,)), given)
        graph.launch().sync()
        np.testing.assert_array_equal(z.to_numpy(), other)


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    z = tw.zeros((20,)).sync()
    t = torch.rand(40)
    for given in (t[:20], t[::2], t[3:23]):
        copied(z.partition_mut((16,)), given).sync()
        np.testing.assert_array_equal(z.to_numpy(), given.numpy())
    wants_gradients = t[:20].clone().requires_grad_()
    copied(z.partition_mut((16,)), wants_gradients).sync()
    np.testing.assert_array_equal(z.to_numpy(), wants_gradients.detach().numpy())
    refused = {
        "conjugate bit": torch.rand(20, dtype=torch.complex64).conj(),
        "negative bit": torch.rand(20, dtype=torch.complex64).conj().imag,
    }
    for why, given in refused.items():
        with pytest.raises(tw.LaunchError, match=f"(?s)does not export it.*{why}"):
            copied(z.partition_mut((16,)), given)
    with pytest.raises(BufferError, match="negative bit"):
        tw.asarray(refused["negative bit"])


def test_tensors_of_torch_are_exported_by_functions_of_c():
    torch = pytest.importorskip("torch")
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this version has none")
    z, t = tw.zeros((20,)).sync(), torch.rand(20)
    called: list[str] = []

    def note(frame, event, argument):
        if event == "call":
            called.append(frame.f_code.co_name)

    copied(z.partition_mut((16,)), t).sync()
    sys.setprofile(note)
    try:
        copied(z.partition_mut((16,)), t).sync()
    finally:
        sys.setprofile(None)
    assert "__dlpack__" not in called
    np.testing.assert_array_equal(z.to_numpy(), t.numpy())


@pytest.mark.parametrize("kind", ["sparse", "meta", "fake", "a subclass"])
def test_tensors_of_torch_without_memory_are_refused(kind):
    torch = pytest.importorskip("torch")
    z = tw.zeros((20,)).sync()

    class Refusing(torch.Tensor):
        def __dlpack__(self, **wishes):
            raise BufferError("it refuses")

    def fake():
        from torch._subclasses import FakeTensorMode

        with FakeTensorMode():
            return torch.zeros(20)

    given = {
        "sparse": lambda: torch.ones(20).to_sparse(),
        "meta": lambda: torch.zeros(20, device="meta"),
        "fake": fake,
        "a subclass": lambda: torch.zeros(20).as_subclass(Refusing),
    }[kind]()
    for _ in range(2):
        with pytest.raises((tw.Error, TypeError, ValueError, RuntimeError, BufferError)):
            copied(z.partition_mut((16,)), given).sync()
    np.testing.assert_array_equal(z.to_numpy(), np.zeros(20))
