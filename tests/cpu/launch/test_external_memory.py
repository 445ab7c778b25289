from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from tilewright import f32
from tilewright._core import are_apart, run_external
from tilewright.devices.cpu.stream import CpuStream
from tilewright.devices.host import CPU
from tilewright.launch.external_memory import ExternalCalls
from tilewright.op.trace import trace

KIND = "a kind"


@tw.entry
def scale(z: tl.TensorMut[f32], x: tl.Tensor[f32], factor: f32) -> None:
    z.store(tl.load_tile_like(x, z) * factor)


@tw.entry
def only_positive(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    tile = tl.load_tile_like(x, z, padding=tl.pos_inf)
    assert tl.reduce_min(tile, 0) >= 0.0, "negative"
    z.store(tile)


def arrays(n=100):
    return np.full(n, np.nan, np.float32), fresh_rng().random(n, np.float32)


def launch(z, x, kernel=scale, *numbers):
    return kernel(tw.asarray(z).partition_mut((32,)), x, *numbers)


def addresses(*given):
    return [array.ctypes.data for array in given]


def learned(*call):
    """What a compiled launch leaves behind."""
    calls = ExternalCalls()
    launch(*call).sync()
    op = launch(*call)
    calls.learn(KIND, op)
    op.close()
    return calls


@pytest.fixture
def known():
    """Calls of `scale` on two arrays of 100 elements."""
    return learned(*arrays(), scale, 2.0)


def stream():
    return CPU.streams()[0]


def test_a_call_is_over_when_it_returns(known):
    for factor in (2.0, 3, -1.5):
        z, x = arrays()
        assert known.run(KIND, addresses(z, x), [factor], stream())
        np.testing.assert_array_equal(z, x * np.float32(factor))


def test_what_is_unknown_is_left_alone(known):
    z, x = arrays()
    assert not known.run("another kind", addresses(z, x), [2.0], stream())
    with trace():
        assert not known.run(KIND, addresses(z, x), [2.0], stream())
    assert np.isnan(z).all()


def test_memory_that_is_used_twice_or_known_here_is_left_alone(known):
    whole = arrays(150)[1]
    before = whole.copy()
    assert not known.run(KIND, addresses(whole[:100], whole[50:]), [2.0], stream())
    z, x = arrays()
    for array in (z, x):
        seen = tw.asarray(array)
        assert not known.run(KIND, addresses(z, x), [2.0], stream())
        del seen
    assert np.isnan(z).all() and (whole == before).all()
    assert known.run(KIND, addresses(z, x), [2.0], stream())


def test_numbers_are_checked(known):
    z, x = arrays()
    with pytest.raises(tw.ShapeError, match="`factor` of `scale` is a scalar of type f32"):
        known.run(KIND, addresses(z, x), ["two"], stream())
    assert np.isnan(z).all()


def test_failures_are_raised():
    z, x = arrays(64)
    calls, negative = learned(z, x, only_positive), -x
    for _ in range(2):
        with pytest.raises(tw.LaunchError, match="negative"):
            calls.run(KIND, addresses(z, negative), [], stream())
    assert calls.run(KIND, addresses(z, x), [], stream())
    np.testing.assert_array_equal(z, x)


def test_a_stream_that_is_busy_is_left_alone(known):
    z, x = arrays()
    busy, other = CPU.new_stream(), CPU.new_stream()
    assert isinstance(busy, CpuStream) and isinstance(other, CpuStream)
    busy.native.enqueue_wait(other.native, other.native.submitted + 1)
    assert not known.run(KIND, addresses(z, x), [2.0], busy)
    assert np.isnan(z).all()
    assert known.run(KIND, addresses(z, x), [2.0], other)  # for which the other one has waited
    busy.synchronize()
    assert known.run(KIND, addresses(z, x), [3.0], busy)
    np.testing.assert_array_equal(z, x * 3)


def test_wrong_arguments_are_refused():
    for arguments in ((), (1, b"", 0), ([1], b"", 1), ([1], bytes(16), -1), (["x"], bytes(16), 0)):
        with pytest.raises(TypeError):
            are_apart(*arguments)
    for arguments in ((), (None, [], []), (None, (), (), None)):
        with pytest.raises(TypeError):
            run_external(*arguments)
    assert not run_external(None, [], (), None)


def test_only_what_is_compiled_is_remembered():
    calls = ExternalCalls()

    @tw.entry
    def fresh(z: tl.TensorMut[f32]) -> None:
        z.store(tl.full(z.shape, 3.0, f32))

    z = np.zeros(64, np.float32)
    op = fresh(tw.asarray(z).partition_mut((32,)))
    calls.learn(KIND, op)
    op.close()
    assert not calls.run(KIND, addresses(z), [], stream())
