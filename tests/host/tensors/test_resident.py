from __future__ import annotations

import threading

import ml_dtypes
import numpy as np
import pytest

from tilewright.base.dtypes import ALL, bf16, bool_, f4e2m1fn, f32, i8, i32, tf32, u8, u64
from tilewright.base.errors import ContextError, ShapeError
from tilewright.devices.host import CPU, REFERENCE
from tilewright.tensors.resident import Resident


def held(dtype, initial=0, shape=None):
    return Resident(dtype, initial, shape).read(CPU)


@pytest.mark.parametrize("dtype", [t for t in ALL if t is not f4e2m1fn])
def test_every_element_type_starts_where_it_should(dtype):
    zero, one = held(dtype), held(dtype, 1, (3,))
    assert (zero.dtype, zero.shape) == (dtype.np, ())
    assert (one.dtype, one.shape) == (dtype.np, (3,))
    assert (one.astype("f8") == 1).all()


def test_values_and_shapes():
    assert held(i32, [[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert held(f32, [1, 2], (3, 2)).tolist() == [[1, 2]] * 3
    assert held(f32, 0.1)[()] == np.float32(0.1)
    assert held(bf16, 0.1)[()] == ml_dtypes.bfloat16(0.1)
    assert held(tf32, 1.0001)[()] == 1.0
    assert held(bool_, True)[()] is np.True_
    assert held(u64, 2**64 - 1)[()] == 2**64 - 1
    assert held(i32, 2.0)[()] == 2
    assert held(f32, shape=0).shape == (0,)


def test_the_initial_value_is_a_copy():
    initial = np.arange(4, dtype="i4")
    resident = Resident(i32, initial, None)
    initial[:] = -1
    assert resident.read(CPU).tolist() == [0, 1, 2, 3]
    resident.read(CPU)[:] = -1
    assert resident.read(CPU).tolist() == [0, 1, 2, 3]


WRONG = {
    "too-large": (u8, 300, None), "negative": (u8, -1, None), "huge": (i32, 2**70, None),
    "fraction": (i32, 1.5, None), "nan": (i32, float("nan"), None), "text": (f32, "x", None),
    "array": (i8, np.arange(100, 140), None), "two-is-no-bool": (bool_, 2, None),
    "does-not-fill": (f32, [1, 2, 3], (2,)), "negative-extent": (f32, 0, (-1,)),
    "half-a-byte": (f4e2m1fn, 0, None),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_values(name, golden, places):
    with pytest.raises(ShapeError) as caught:
        Resident(*WRONG[name])
    golden(places(caught.value), name)


def test_writing_fills_or_refuses():
    resident = Resident(i32, 1, (2, 3))
    resident.write([4, 5, 6], CPU)
    assert resident.read(CPU).tolist() == [[4, 5, 6]] * 2
    resident.write(9, "cpu")
    assert resident.read(CPU).tolist() == [[9] * 3] * 2
    for wrong in ([1, 2], 1.5, np.zeros((3, 3))):
        with pytest.raises(ShapeError):
            resident.write(wrong, CPU)
    assert resident.read(CPU).tolist() == [[9] * 3] * 2
    resident.reset(CPU)
    assert resident.read(CPU).tolist() == [[1] * 3] * 2


def test_devices_are_apart_and_memory_stays():
    resident = Resident(i32, 1, None)
    regions = resident.region(CPU), resident.region(REFERENCE)
    assert regions[0].address != regions[1].address
    assert (resident.region(CPU), resident.region(REFERENCE)) == regions
    with pytest.raises(ContextError):
        resident.read("abacus")


def test_threads_find_the_same_memory():
    for _ in range(20):
        resident = Resident(i32, 1, (64,))
        start, found = threading.Barrier(4), []

        def look(resident=resident, start=start, found=found):
            start.wait()
            found.append(resident.region(CPU))

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(found)) == 1
