"""What an op was given is its own when its result has arrived; else it is its former owner's.

A signal may come at any point between, and whoever waits may be cancelled.
"""

from __future__ import annotations

import asyncio
import gc
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from cpu.devices.cpu.gate import Gate
from support.interrupts import MOST_POINTS, send_at
from tilewright import f32
from tilewright.devices.host import CPU
from tilewright.tensors.order import is_in_flight

SIZE = 40


@tw.entry
def increment(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + 1.0)


ONES = np.ones(SIZE, np.float32)
STREAM = CPU.new_stream()
FIXED = tw.asarray(ONES)

ENDINGS: dict[str, Callable[[tw.Tensor[f32]], Any]] = {
    "sync": lambda z: increment(z.partition((16,)), FIXED).out().sync(),
    "sync_on": lambda z: increment(z.partition((16,)), FIXED).out().sync_on(STREAM),
    "whole result": lambda z: increment(z.partition((16,)), FIXED).sync_on(STREAM),
    "input": lambda z: increment(tw.zeros((SIZE,)).partition((16,)), tw.move(z)).sync_on(STREAM),
    "start": lambda z: increment(z.partition((16,)), FIXED).start_on(STREAM),
    "start_on": lambda z: increment(z.partition((16,)), FIXED).out().start_on(STREAM),
    "into_future": lambda z: increment(z.partition((16,)), FIXED).out().into_future(),
    "chain": lambda z: tw.zip(z.partition((16,)), FIXED).then(increment).then(increment).sync(),
    "graph": lambda z: increment(z.partition((16,)), FIXED).graph_on(STREAM),
}


@pytest.fixture
def no_collector():
    """Finds cycles: what they keep would come back much later. Reports nothing of finalizers."""
    gc.collect()
    gc.disable()
    hook, sys.unraisablehook = sys.unraisablehook, id
    yield
    sys.unraisablehook = hook
    gc.enable()


@pytest.mark.thinned
@pytest.mark.cpu_alone
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # ops that were never run
@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("ending", ENDINGS)
def test_wherever_a_signal_comes_there_is_the_result_or_the_tensor(ending, behind):
    end = ENDINGS[ending]
    end(tw.zeros((SIZE,)).sync())
    points = {True: 0, False: 0}
    for point in range(1, MOST_POINTS):
        z, results = tw.zeros((SIZE,)).sync(), [None]

        def run(z=z, results=results) -> None:
            results[0] = end(z)

        is_over = not send_at(point, run, behind=behind)
        points[results[0] is not None] += 1
        if results[0] is None:
            assert set(z.to_numpy()) <= {0.0, 2.0}, point
        else:
            assert z.moved is not None, point
        if is_over:
            break
    assert points[False] > 10 and points[True] >= 1


@pytest.mark.cpu_alone
def test_what_was_given_to_an_op_goes_back_if_the_waiting_for_it_is_cancelled():
    """It may have begun by then: who uses the tensor next comes after that."""
    z, gate, stream = tw.zeros((SIZE,)).sync(), Gate(), CPU.new_stream()
    ENDINGS["sync"](tw.zeros((SIZE,)).sync())

    async def give_up() -> None:
        gate.put_on(stream)
        op = increment(z.partition((16,)), FIXED).out()
        with tw.with_default_device_policy(tw.SingleStream(stream)):
            task = asyncio.create_task(op)
            while not is_in_flight(z.region):
                await asyncio.sleep(0)
        assert z.moved is not None
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    assert z.moved is None
    again = increment(z.partition_mut((16,)), 2 * ONES).into_future()
    assert not again.done()
    gate.open()
    again.result()
    assert np.array_equal(z.to_numpy(), 3 * ONES)


@pytest.mark.cpu_alone
def test_what_was_given_to_an_op_is_spent_when_it_was_awaited():
    z = tw.zeros((SIZE,)).sync()

    async def take() -> tw.Tensor[f32]:
        return await increment(z.partition((16,)), FIXED).out()

    result = asyncio.run(take())
    assert np.array_equal(result.to_numpy(), ONES + 1)
    del result
    with pytest.raises(tw.BorrowError, match="was moved"):
        z.to_numpy()


def one_by_one(results):
    """Collect results in a loop, which Python does not leave for signals in between."""
    found = []
    for one in results:
        found += (one,)
    return found


@pytest.mark.cpu_alone
@pytest.mark.parametrize("ending", ["sync", "start"])
@pytest.mark.parametrize("collect", [list, one_by_one])
def test_results_that_a_function_of_c_collects_have_arrived(ending, collect):
    """Python looks for signals behind that function alone; work in flight may end meanwhile."""
    tensors = [tw.zeros((SIZE,)).sync() for _ in range(5)]
    ops = [increment(z.partition((16,)), FIXED).out() for z in tensors]
    results = collect(map(operator.methodcaller(ending), ops))
    assert all(z.moved is not None for z in tensors)
    assert all(set(z.to_numpy()) == {2.0} for z in results)
