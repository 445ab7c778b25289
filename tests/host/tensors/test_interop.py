from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from support.interrupts import (
    MOST_POINTS,
    Interrupt,
    raise_at,
    raise_behind,
    raise_often,
    raise_on_line,
    send_at,
)
from tilewright.base.dtypes import ALL, f4e2m1fn
from tilewright.base.errors import BorrowError
from tilewright.kernels import fill
from tilewright.op.ambient import unsafe
from tilewright.tensors import Arc, asarray, empty, from_numpy, meta, move, zeros
from tilewright.tensors.borrow import LOCK
from tilewright.tensors.releases import sweep

pytestmark = pytest.mark.cpu_alone
"""What is here of other libraries on the GPU, tests/gpu/test_interop.py has."""
VALUES = np.arange(24, dtype="f4").reshape(4, 6)


@pytest.fixture
def t():
    return from_numpy(VALUES).sync()


def leases(t):
    return len(t.region.storage.state.live_leases())


# NumPy


def test_numpy_sees_the_memory_read_only(t):
    a = np.asarray(t)
    assert not a.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        a.flags.writeable = True
    assert a.__array_interface__["data"][0] == t.region.address
    np.testing.assert_array_equal(a, VALUES)
    assert np.asarray(t, dtype="f8").dtype == "f8"
    assert np.array(t).flags.writeable
    with pytest.raises(ValueError, match=r"[cC]opy"):
        np.asarray(t, dtype="i4", copy=False)


@pytest.mark.parametrize("dtype", ["f4", "bfloat16"])
def test_nothing_that_an_array_is_made_of_can_be_written(dtype):
    a = np.asarray(zeros((3,), dtype).sync())
    while a is not None:
        with pytest.raises((ValueError, TypeError, BufferError, AttributeError)):
            memoryview(a).cast("B")[0] = 1
        if isinstance(a, np.ndarray):
            with pytest.raises(ValueError, match="WRITEABLE"):
                a.flags.writeable = True
        a = getattr(a, "obj", None) if isinstance(a, memoryview) else getattr(a, "base", None)


@pytest.mark.parametrize(
    "key", [1, slice(1, 3), (..., slice(None, None, -2)), (slice(3, 0, -1), 2)]
)
def test_views_are_seen_in_place(t, key):
    a = np.asarray(t[key])
    np.testing.assert_array_equal(a, VALUES[key])
    assert a.__array_interface__["data"][0] == t[key].region.address


@pytest.mark.parametrize("dtype", [d for d in ALL if d is not f4e2m1fn], ids=repr)
def test_every_element_type_reaches_numpy(dtype):
    t = from_numpy(np.ones((2, 3)).astype(dtype.np), dtype).sync()
    a = np.asarray(t)
    assert a.dtype == dtype.np
    assert a.tobytes() == t.to_numpy().tobytes()
    assert leases(t) == 1
    del a
    assert leases(t) == 0
    assert np.asarray(zeros((0, 2), dtype).sync()).shape == (0, 2)


def test_a_lease_lives_as_long_as_the_last_part_of_the_array(t):
    part = np.asarray(t)[1:3][::-1]
    gc.collect()
    assert leases(t) == 1
    del part
    assert leases(t) == 0


def test_the_array_keeps_the_memory(t):
    a = np.asarray(t)
    del t
    gc.collect()
    np.testing.assert_array_equal(a, VALUES)


def test_the_array_interface(t):
    interface = t.__array_interface__
    assert (interface["typestr"], interface["shape"]) == ("<f4", (4, 6))
    assert leases(t) == 1
    del interface
    assert leases(t) == 0
    assert not hasattr(zeros((3,), "bfloat16").sync(), "__array_interface__")


@pytest.mark.parametrize("use", [np.asarray, lambda t: t.__array_interface__, np.from_dlpack])
def test_what_cannot_be_read_is_not_handed_out(t, use):
    kept = move(t)
    with pytest.raises(BorrowError, match="moved"):
        use(t)
    with pytest.raises(BorrowError, match="which nothing has written"):
        use(empty((2, 2)).sync())
    with pytest.raises(BorrowError, match="description without memory"):
        use(meta((2, 2)))
    assert kept.shape == (4, 6)


def test_reading_ends_exclusive_borrows(t):
    for use in (np.asarray, np.from_dlpack):
        p = t.partition_mut((2, 2))
        use(t)
        with pytest.raises(BorrowError, match="it was read by"):
            p.check_usable()


# DLPack


def test_numpy_takes_an_export_read_only(t):
    a = np.from_dlpack(t)
    assert not a.flags.writeable
    assert a.__array_interface__["data"][0] == t.region.address
    np.testing.assert_array_equal(a, VALUES)
    np.testing.assert_array_equal(np.from_dlpack(t[::-1, 1::2]), VALUES[::-1, 1::2])
    assert np.from_dlpack(zeros((0, 3)).sync()).shape == (0, 3)
    assert np.from_dlpack(zeros(()).sync()).shape == ()


def test_an_export_is_a_lease_until_its_deleter(t, golden, places):
    a = np.from_dlpack(t)
    with pytest.raises(BorrowError) as caught:
        move(t)
    golden(places(caught.value))
    t.to_numpy()
    part = a[1:]
    del a
    gc.collect()
    assert leases(t) == 1
    del part
    assert leases(t) == 0
    move(t)


def test_a_capsule_nobody_takes_is_given_back(t):
    for version in (None, (1, 0), (1, 1), (2, 0)):
        capsule = t.__dlpack__(max_version=version)
        assert leases(t) == 1
        del capsule
        assert leases(t) == 0


def test_an_export_keeps_the_memory(t):
    a = np.from_dlpack(t)
    del t
    gc.collect()
    empty((1000,)).sync()  # sweeps
    np.testing.assert_array_equal(a, VALUES)


def test_the_forms_of_capsules(t):
    assert '"dltensor"' in repr(t.__dlpack__())
    assert '"dltensor"' in repr(t.__dlpack__(max_version=(0, 8)))
    assert '"dltensor_versioned"' in repr(t.__dlpack__(max_version=(1, 0)))
    assert t.__dlpack_device__() == (1, 0)


def test_what_a_consumer_cannot_have(t):
    with pytest.raises(BufferError, match=r"to \(1, 0\) only"):
        t.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="no stream"):
        t.__dlpack__(stream=7)
    t.__dlpack__(dl_device=(1, 0), stream=None)


def test_copies(t):
    capsule = t.__dlpack__(copy=True, max_version=(1, 0))
    assert leases(t) == 0
    a = np.from_dlpack(t, copy=True)
    a[:] = 0
    assert t.to_numpy()[3, 5] == 23
    del capsule


def relied_on(t):
    """Memory that others count on: of an Arc with two owners, and of a read-only array."""
    fixed = t.to_numpy()
    fixed.flags.writeable = False
    arc = Arc(t)
    return [(arc.clone(), arc, arc.value), (fixed, None, asarray(fixed))]


def test_what_others_rely_on_is_exported_as_a_copy(t):
    for _, _, shared in relied_on(t):
        a = np.from_dlpack(shared)
        assert a.__array_interface__["data"][0] != shared.region.address
        np.testing.assert_array_equal(a, VALUES)
        with pytest.raises(BufferError, match="must be copied to be exported"):
            shared.__dlpack__(copy=False)
        with unsafe():
            a = np.from_dlpack(shared)
        assert a.__array_interface__["data"][0] == shared.region.address


def test_an_arc_with_one_owner_is_exported_in_place(t):
    content = Arc(t).value
    assert np.from_dlpack(content).__array_interface__["data"][0] == content.region.address


def test_an_exclusive_borrow_is_exported_for_writing(t):
    a = np.from_dlpack(t.borrow_mut()[1:3])
    a[:] = 7
    with pytest.raises(BorrowError, match="another library may write it"):
        t.to_numpy()
    del a
    assert t.to_numpy()[:, 0].tolist() == [0, 7, 7, 18]
    with pytest.raises(BufferError, match="without a copy"):
        t.borrow_mut().__dlpack__(copy=True)


# Interrupts


SEES = {
    "asarray": np.asarray,
    "asarray of a view": lambda t: np.asarray(t[1:]),
    "array interface": lambda t: t.__array_interface__,
    "dlpack": np.from_dlpack,
    "dlpack of a borrow": lambda t: np.from_dlpack(t.borrow_mut()),
    "dlpack as a copy": lambda t: np.from_dlpack(t, copy=True),
}


def on_line(point, run):
    return raise_on_line(point, run, "tilewright/tensors")


def is_usable(t):
    fill(t, 1.0).sync()
    assert (np.asarray(t) == 1).all()
    assert leases(t) == 0
    assert not LOCK.is_mine()


@pytest.mark.parametrize("interrupt", [raise_at, raise_behind, on_line])
@pytest.mark.parametrize("see", SEES)
def test_a_tensor_can_be_used_after_an_interrupt(t, see, interrupt):
    SEES[see](t)
    for point in range(1, MOST_POINTS):
        over = not interrupt(point, lambda: SEES[see](t))
        is_usable(t)
        if over:
            break
    assert 3 < point < MOST_POINTS - 1


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("see", SEES)
def test_a_tensor_can_be_used_while_an_interrupt_is_handled(t, see, behind):
    """What was raised keeps the frames that it went through, and all that these hold."""

    def handle() -> None:
        try:
            SEES[see](t)
        except Interrupt:
            is_usable(t)

    for point in range(1, MOST_POINTS):
        if not send_at(point, handle, behind=behind):
            break
    assert 3 < point < MOST_POINTS - 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("see", SEES)
def test_a_tensor_can_be_used_after_many_interrupts(t, see):
    raise_often(lambda: SEES[see](t), 50)
    is_usable(t)


def test_an_interrupted_export_keeps_no_memory():
    np.from_dlpack(zeros((2,)).sync())
    for point in range(1, MOST_POINTS):
        t = from_numpy(VALUES).sync()
        gone = weakref.ref(t.region.storage)
        over = not raise_behind(point, lambda t=t: np.from_dlpack(t))
        del t
        sweep()
        assert gone() is None, point
        if over:
            break


# PyTorch, where it is installed


def test_torch_takes_tensors_in_place(t):
    torch = pytest.importorskip("torch")
    seen = torch.from_dlpack(t)
    assert seen.data_ptr() == t.region.address
    np.testing.assert_array_equal(seen.numpy(), VALUES)
    with pytest.raises(BorrowError, match="another library uses it through DLPack"):
        move(t)
    part = seen[1:]
    del seen
    assert leases(t) == 1
    del part
    assert leases(t) == 0
    written = torch.from_dlpack(t.borrow_mut())
    written += 1
    del written
    np.testing.assert_array_equal(t.to_numpy(), VALUES + 1)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "bool", "int64"])
def test_torch_s_element_types(name):
    torch = pytest.importorskip("torch")
    given = torch.arange(6).reshape(2, 3).to(getattr(torch, name))
    t = asarray(given)
    assert t.region.address == given.data_ptr()
    back = torch.from_dlpack(t)
    assert back.dtype == given.dtype
    assert back.data_ptr() == given.data_ptr()
    np.testing.assert_array_equal(t.to_numpy().astype("f4"), given.float().numpy())


def test_torch_does_not_write_what_others_rely_on(t):
    torch = pytest.importorskip("torch")
    for _, _, shared in relied_on(t):
        seen = torch.from_dlpack(shared)
        seen += 1
        np.testing.assert_array_equal(shared.to_numpy(), VALUES)


def test_torch_s_memory_lives_as_long_as_our_tensor():
    torch = pytest.importorskip("torch")
    given = torch.arange(6.0)[2:]
    t = asarray(given)
    del given
    gc.collect()
    assert t.to_numpy().tolist() == [2, 3, 4, 5]
