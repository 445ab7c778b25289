from __future__ import annotations

import ctypes
import weakref

import numpy as np
import pytest

from tilewright._core import take_capsule
from tilewright.base.dtypes import ALL, f4e2m1fn, tf32
from tilewright.tensors import dlpack
from tilewright.tensors.dlpack import CODES, DTYPES, DLTensor, Plain, Versioned
from tilewright.tensors.releases import sweep


def take(capsule):
    """What is in a capsule, and what keeps it from now on."""
    return dlpack.managed_in(capsule), take_capsule(capsule)


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
    managed, owner = take(np.zeros(3, dtype).__dlpack__(max_version=(1, 0)))
    found = DTYPES[(managed.tensor.code, managed.tensor.bits, managed.tensor.lanes)]
    assert found.np == np.dtype(dtype)
    del owner


def test_a_capsule_is_taken_once():
    array = np.zeros(3)
    gone = weakref.ref(array)
    capsule = array.__dlpack__()
    del array
    _, owner = take(capsule)
    with pytest.raises(BufferError, match="used_dltensor"):
        take(capsule)
    with pytest.raises(BufferError, match="nobody has taken"):
        take_capsule(capsule)
    with pytest.raises(BufferError, match="nobody has taken"):
        take_capsule(3)
    del capsule
    assert gone() is not None
    del owner
    assert gone() is not None
    sweep()
    assert gone() is None
