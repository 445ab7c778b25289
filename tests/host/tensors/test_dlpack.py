from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tilewright.base.dtypes import ALL, f4e2m1fn, tf32
from tilewright.tensors import dlpack
from tilewright.tensors.dlpack import CODES, DTYPES, DLTensor, Plain, Versioned


def take(capsule):
    managed = dlpack.managed_in(capsule)
    dlpack.rename(capsule, dlpack.used_name(capsule))
    return managed


def test_the_structures_have_the_protocol_s_layout():
    assert [ctypes.sizeof(s) for s in (DLTensor, Plain, Versioned)] == [48, 64, 80]
    assert (Plain.context.offset, Plain.deleter.offset) == (48, 56)
    assert (Versioned.context.offset, Versioned.flags.offset, Versioned.tensor.offset) == (
        8,
        24,
        32,
    )


def test_every_element_type_has_a_code_of_its_own():
    assert set(CODES) == set(ALL) - {f4e2m1fn}
    assert {DTYPES[CODES[d]] for d in CODES} == set(CODES) - {tf32}


@pytest.mark.parametrize("dtype", ["f4", "i8", "?", "u2"])
def test_codes_agree_with_numpy(dtype):
    managed = take(np.zeros(3, dtype).__dlpack__(max_version=(1, 0)))
    found = DTYPES[(managed.tensor.code, managed.tensor.bits, managed.tensor.lanes)]
    assert found.np == np.dtype(dtype)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(managed.deleter)(ctypes.addressof(managed))


def test_a_capsule_is_taken_once():
    capsule = np.zeros(3).__dlpack__()
    managed = take(capsule)
    with pytest.raises(BufferError, match="used_dltensor"):
        take(capsule)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(managed.deleter)(ctypes.addressof(managed))
