"""What the system is for, and what it leaves to others."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from seeds.kernels import at_least, numbers, put, same, scale, scaled
from tilewright import f32


def test_c46_several_operations_in_one_kernel(rng, device):
    """Operations are fused: one launch reads once and writes once."""

    @tw.entry
    def rms_norm(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
        tile = tl.load_tile_like(x, z)
        mean = tl.reduce_sum(tile * tile, 1, keepdims=True) / 16.0
        z.store(tile * tl.rsqrt(mean + 1e-6))

    data = numbers(rng, 8, 16)
    x, z = put(data), tw.zeros((8, 16)).sync()
    with tw.trace() as trace:
        rms_norm(z.partition_mut((4, 16)), x).sync()
    expected = data / np.sqrt((data.astype("f8") ** 2).mean(1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(z.to_numpy(), expected, rtol=1e-4, atol=1e-5)
    assert sum(entry.kind == "op" and entry.name == "rms_norm" for entry in trace.entries) == 1


def test_c47_execution_is_asynchronous(null_device):
    """Launches are put on a stream; the host goes on."""
    t = tw.zeros((3,)).sync()
    null_device.hold()
    started = t.dup().start()
    assert started.shape == (3,)
    null_device.release()


def test_c48_one_answer_on_all_devices(rng):
    """Kernels run on NVIDIA GPUs alone.

    Differs: devices-without-a-gpu
    """
    data, found = numbers(rng, 100), []
    for name in ("cpu", "reference"):
        with tw.device(name):
            found.append(scaled(put(data), 3.0).to_numpy().sync())
    np.testing.assert_array_equal(*found)


def test_c49_work_of_single_threads_joins_in(rng, device):
    """Work that does not fit into tiles is done by another kind of kernel, as an op."""
    data = numbers(rng, 100)
    op = scale(tw.empty((100,)).partition((64,)), put(data), 2.0).out()
    found = op.then(lambda t: at_least(tw.zeros((100,)), t, 0.5)).first().sync()
    doubled = np.float32(2) * data
    same(found, np.where(doubled >= 0.5, doubled, np.float32(0)))


def test_c50_tensors_of_other_libraries_come_by_dlpack(rng):
    """Buffers of other libraries come in without a copy."""

    class Other:
        """An array of another library."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    data = numbers(rng, 64)
    with tw.device("cpu"):
        t = tw.asarray(Other(data))
        assert t.device_pointer().address == data.ctypes.data
        same(scaled(t, 2.0).sync(), np.float32(2) * data)


def test_c51_safety_holds_without_a_word_of_unsafe(rng, device):
    """Outputs are partitioned and inputs shared, so two blocks never write one element."""
    z, x = tw.zeros((64,)).sync(), put(numbers(rng, 64))
    first, second = scale(z.partition_mut((16,)), x, 2.0), scale(z.partition_mut((32,)), x, 3.0)
    second.sync()
    with pytest.raises(tw.BorrowError, match="has ended"):
        first.sync()
    same(z, np.float32(3) * x.to_numpy())
