from __future__ import annotations

import pytest

import tilewright as tw
from tilewright._core import sweep_imports, take_capsule
from tilewright.tensors import dlpack
from tilewright.tensors.exporting import Wish, export


@pytest.mark.parametrize("version", [None, (1, 0), (1, 3)])
def test_what_a_consumer_finds(version):
    t = tw.zeros((3, 4), tw.bf16).sync()[::-1, 1:3]
    capsule, exported = export(t.region, None, Wish(max_version=version), readonly=True)
    managed = dlpack.managed_in(capsule)
    taken = take_capsule(capsule)
    found = managed.tensor
    assert (found.code, found.bits, found.lanes) == (4, 16, 1)
    on_gpu = tw.default_device().name.startswith("cuda")
    kind = 2 if on_gpu else 1
    assert (found.device_type, found.device_id, found.byte_offset) == (kind, 0, 0)
    assert found.data == t.region.address
    assert (found.shape[: found.ndim], found.strides[: found.ndim]) == ([3, 2], [-4, 1])
    if version is not None:
        assert (managed.major, managed.minor, managed.flags) == (1, 1, dlpack.READ_ONLY)
    assert not exported.is_over()
    del capsule  # taken over, so its destructor does nothing
    assert not exported.is_over()
    del taken
    sweep_imports()
    assert exported.is_over()
