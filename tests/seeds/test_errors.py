"""Errors: where they come from, what they are called, and how far they reach."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import tilewright as tw
from seeds.kernels import no_negatives, not_typed, numbers, put, same, scale, scaled
from tilewright.devices.cuda.results import OUT_OF_MEMORY


def failing():
    """An op whose kernel fails while it runs."""
    return no_negatives(tw.empty((4,)).partition((4,)), tw.full((4,), -1.0)).out()


async def awaited(op):
    return await op


ENDINGS = {
    "sync": lambda op: op.sync(),
    "sync_on": lambda op: op.sync_on(tw.default_device().new_stream()),
    "await": lambda op: asyncio.run(awaited(op)),
    "into_future": lambda op: op.into_future().result(),
    "schedule": lambda op: op.schedule(tw.default_policy()).result(),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_b181_every_ending_gives_the_error(ending, device):
    """Whichever way an op is run, its error arrives there."""
    with pytest.raises(tw.DeviceError, match="negative input"):
        ENDINGS[ending](failing())


def test_b182_an_error_ends_the_chain(device):
    """When one op of a chain fails, those behind it do not run."""
    called = []
    chain = failing().to_numpy().inspect(lambda _: called.append(1)).map(np.sum)
    with pytest.raises(tw.LaunchError, match="negative input"):
        chain.sync()
    assert called == []


def test_b183_the_driver_has_an_error_of_its_own(fake_gpu, fake_cuda):
    """What the driver refuses, such as memory, is a `DriverError`."""
    fake_cuda.fail("allocate", OUT_OF_MEMORY)
    fake_cuda.fail("allocate", OUT_OF_MEMORY)
    with pytest.raises(tw.DriverError) as caught:
        tw.zeros((1 << 40,)).sync()
    assert isinstance(caught.value, tw.DeviceError)


def test_b184_a_context_error_names_its_device(fake_gpus):
    """A device that cannot be used is a `ContextError` with its number and a message."""
    assert issubclass(tw.ContextError, tw.DeviceError)
    with tw.unsafe(), pytest.raises(tw.ContextError) as caught:
        tw.Device.borrow_raw(7, 7, 7)
    assert caught.value.device_id == 7 and caught.value.message


def test_b185_a_kernel_that_cannot_be_compiled_is_a_device_error(rng, device):
    """A failed compilation is an error of the kernel cache, one of the errors of devices."""
    data = numbers(rng, 4)
    x, z = put(data), tw.zeros((4,)).sync()
    with pytest.raises(tw.DeviceError) as caught:
        not_typed(z.partition_mut((4,)), x).sync()
    assert isinstance(caught.value, tw.CompileError)
    assert isinstance(caught.value, tw.KernelCacheError)
    same(x, data)
    same(z, np.zeros(4))


def test_b186_a_policy_without_a_stream_is_a_scheduling_error(device):
    """No stream, or a policy that gives something else, is a `SchedulingError`."""

    class Empty:
        def next_stream(self):
            raise RuntimeError("none left")

    class Wrong:
        def next_stream(self):
            return 3

    for policy in (Empty(), Wrong()):
        with pytest.raises(tw.SchedulingError) as caught:
            tw.ones((4,)).schedule(policy)
        assert isinstance(caught.value, tw.DeviceError)


def test_b187_a_launch_that_cannot_be_is_a_launch_error(rng, device):
    """A violated condition of a launch is a `LaunchError`, before anything runs."""
    x, z = put(numbers(rng, 4)), tw.full((100,), 7.0).sync()
    with pytest.raises(tw.LaunchError) as caught:
        scale(z.partition_mut((4,)), x, 2.0).sync()
    assert isinstance(caught.value, tw.DeviceError)
    same(z, np.full(100, 7))


def test_b188_bugs_have_an_error_of_their_own():
    """What is a bug of the system itself is an `InternalError`."""
    assert issubclass(tw.InternalError, tw.DeviceError)


def test_b189_errors_of_host_functions_pass_as_they_are(device):
    """Errors of other libraries are wrapped in a variant of their own.

    Differs: exceptions-of-host-functions
    """

    class MineError(Exception):
        pass

    def fails(_):
        raise MineError("of the program")

    with pytest.raises(MineError, match="of the program"):
        tw.ones((4,)).map(fails).sync()


def test_b190_errors_propagate_on_their_own(rng, device):
    """An error reaches the caller of the function that ran the op, with the ops it came through."""

    def inner():
        return failing().then(scaled, 2.0).sync()

    with pytest.raises(tw.LaunchError) as caught:
        inner()
    assert any("no_negatives" in note for note in caught.value.__notes__)


def test_b191_errors_are_told_apart(rng, device):
    """A program catches one kind of error and lets the others pass."""
    found = None
    try:
        failing().sync()
    except tw.SchedulingError:
        pytest.fail("another kind")
    except tw.LaunchError as error:
        found = error.message
    assert found is not None and "negative input" in found


def test_b192_there_is_one_base_above_device_errors(rng, device):
    """`tw.Error` is above the errors of devices and the others: shapes, borrows, files."""
    for kind in (tw.DeviceError, tw.ShapeError, tw.BorrowError, tw.CompileError):
        assert issubclass(kind, tw.Error)
    with pytest.raises(tw.Error):
        tw.zeros((4,)).reshape((5,)).sync()
    with pytest.raises(tw.Error):
        failing().sync()


def test_b193_tensors_are_usable_after_an_error(rng, device):
    """After an error everything that was borrowed is as it was."""
    x, z = tw.full((4,), -1.0).sync(), tw.zeros((4,)).sync()
    with pytest.raises(tw.LaunchError):
        no_negatives(z.partition_mut((4,)), x).sync()
    tw.fill(x, 4.0).sync()
    no_negatives(z.partition_mut((4,)), x).sync()
    same(z, np.full(4, 2))
