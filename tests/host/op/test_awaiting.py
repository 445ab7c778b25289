from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
import time

import anyio
import pytest

from op_kit import WATCHDOG, Effect, Failing, Give, HandStream, HostData
from tilewright.base.errors import BorrowError, Error
from tilewright.devices.host import CPU, REFERENCE
from tilewright.op.ambient import default_device, device, prepare, with_default_device_policy
from tilewright.op.core import DeviceOp, value
from tilewright.op.policy import SingleStream


def _trio():
    """It need not be installed where a GPU is."""
    return pytest.importorskip("trio")


RUNS = [
    pytest.param(lambda main: asyncio.run(main()), id="asyncio"),
    pytest.param(lambda main: _trio().run(main), id="trio"),
    pytest.param(lambda main: anyio.run(main, backend="asyncio"), id="anyio-asyncio"),
    pytest.param(lambda main: _trio() and anyio.run(main, backend="trio"), id="anyio-trio"),
]
everywhere = pytest.mark.parametrize("run", RUNS)


def on(stream):
    return with_default_device_policy(SingleStream(stream))


@everywhere
def test_await_gives_the_value(run):
    async def main():
        return await Give(3).then(lambda n: value(n + 1)).map(str)

    assert run(main) == "4"


@everywhere
def test_await_suspends_until_the_device_is_done(run):
    stream, log = HandStream(held=True), []

    async def main():
        async def waits():
            with on(stream):
                log.append(await Give("done"))

        async def works():
            await anyio.sleep(0)
            log.append("meanwhile")
            stream.release()

        async with anyio.create_task_group() as group:
            group.start_soon(waits)
            group.start_soon(works)

    run(main)
    assert log == ["meanwhile", "done"]


@everywhere
def test_host_data_is_a_barrier(run):
    source = HostData(data=[1, 2, 3])

    async def main():
        threading.Timer(0, source.event.passed.set).start()
        return await source.map(sum)

    assert run(main) == 6


@everywhere
def test_cancelling_stops_the_waiting_not_the_work(run):
    prepare(None)  # else a task would do that first, and be cancelled meanwhile
    stream, source, ran = HandStream(), HostData(), threading.Event()

    async def main():
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:

                async def cancel():
                    await anyio.sleep(0)
                    scope.cancel()

                group.start_soon(cancel)
                with on(stream):
                    await source.map(lambda _: ran.set())
        return scope.cancelled_caught

    assert run(main)
    source.event.passed.set()
    assert ran.wait(WATCHDOG)


@everywhere
def test_errors_are_raised_where_it_is_awaited(run):
    async def main():
        with pytest.raises(ValueError, match="no"):
            await Failing().map(str)
        return "went on"

    assert run(main) == "went on"


@everywhere
def test_sync_works_in_a_running_loop(run):
    async def main():
        return Give(3).sync()

    assert run(main) == 3


@everywhere
def test_a_lengthy_start_leaves_the_loop_free(run):
    begun, may_end = threading.Event(), threading.Event()

    class Compiles(Give):
        def is_lengthy(self):
            return True

        def execute(self, ctx):
            begun.set()
            assert may_end.wait(WATCHDOG)
            return threading.current_thread()

    async def main():
        async with anyio.create_task_group() as group:

            async def works():
                while not begun.is_set():
                    await anyio.sleep(0)
                may_end.set()

            group.start_soon(works)
            return await Compiles()

    assert run(main) is not threading.current_thread()


def test_the_loop_is_not_held_by_a_slow_device():
    """All the while that a device takes for host data, tasks on the loop get their turns."""
    source, gaps = HostData(), []

    async def ticks(stop):
        last = time.perf_counter()
        while not stop.is_set():
            await asyncio.sleep(0)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    async def main():
        stop = asyncio.Event()
        other = asyncio.create_task(ticks(stop))
        waiting = asyncio.create_task(source.map(lambda _: time.sleep(0.1)))
        while len(gaps) < 100:
            await asyncio.sleep(0)
        source.event.passed.set()
        await waiting
        stop.set()
        await other

    asyncio.run(main())
    assert len(gaps) > 200  # the function slept for 100 ms, but not on the loop


def test_a_loop_of_quick_ops_lets_others_run():
    turns = []

    async def main():
        async def works():
            while True:
                turns.append(None)
                await asyncio.sleep(0)

        other = asyncio.create_task(works())
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            await value(1)
        other.cancel()

    asyncio.run(main())
    assert len(turns) > 1


# asyncio takes an op as it takes a coroutine


def test_asyncio_run_create_task_gather_wait_for_and_groups():
    assert asyncio.run(Give(1)) == 1

    async def main():
        task = asyncio.create_task(Give(2))
        both = await asyncio.gather(Give(3), value(4))
        limited = await asyncio.wait_for(Give(5), WATCHDOG)
        shielded = await asyncio.shield(Give(6))
        (done,) = [await each for each in asyncio.as_completed([Give(7)])]
        async with asyncio.TaskGroup() as group:
            grouped = group.create_task(Give(8).map(str))
        return [await task, *both, limited, shielded, done, grouped.result()]

    assert asyncio.run(main()) == [2, 3, 4, 5, 6, 7, "8"]


def test_a_task_that_runs_an_op_can_be_shown():
    """asyncio asks whether there is a coroutine by its truth, since Python 3.12."""

    async def main():
        task = asyncio.create_task(Give(2))
        before = repr(task)
        await task
        return before, repr(task)

    before, after = asyncio.run(main(), debug=True)
    assert "pending" in before and "result=2" in after


def test_only_asyncio_is_told_that_an_op_is_there():
    op = Give(1)
    asked = "bool(op)", vars(asyncio.base_tasks), {"op": op}
    assert eval(*asked) is True
    with pytest.raises(TypeError, match="before testing the truth"):
        bool(op)
    op.close()


def test_independent_ops_are_in_flight_together():
    streams = [HandStream(held=True, number=i) for i in range(3)]

    class Turns:
        def next_stream(self, turns=iter(streams)):  # noqa: B008
            return next(turns)

    async def main():
        with with_default_device_policy(Turns()):
            tasks = [asyncio.create_task(Give(i)) for i in range(3)]
        while not all(stream.events for stream in streams):
            await asyncio.sleep(0)
        for stream in streams:
            stream.release()
        return await asyncio.gather(*tasks)

    assert asyncio.run(main()) == [0, 1, 2]


def test_an_error_in_a_task_group_reaches_it():
    async def main():
        async with asyncio.TaskGroup() as group:
            group.create_task(Failing().map(str))

    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(main())
    assert isinstance(caught.value.exceptions[0], ValueError)


def test_a_task_cancelled_before_it_began_never_starts_its_op(recwarn):
    ops = [Effect(1)]
    ran = ops[0].ran

    async def main():
        task = asyncio.create_task(ops[0])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert ran == []
    ops.clear()
    assert not recwarn.list


def test_a_time_limit():
    stream = HandStream(held=True)

    async def main():
        with on(stream), pytest.raises(TimeoutError):
            await asyncio.wait_for(Give(1), 0.001)

    asyncio.run(main())
    stream.release()


def test_an_op_is_awaited_once_and_a_shared_one_often():
    async def main():
        op = Give(1)
        await op
        with pytest.raises(BorrowError, match="already used by `await`"):
            await op
        often = Give(2).shared()
        tasks = [asyncio.create_task(often.clone()) for _ in range(3)]
        return [await often, await often, *await asyncio.gather(*tasks)]

    assert asyncio.run(main()) == [2] * 5


def test_a_shared_op_as_several_tasks():
    async def main():
        source = HostData()
        often = source.shared()
        tasks = [asyncio.create_task(often) for _ in range(3)]
        await asyncio.sleep(0)
        source.event.passed.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(main()) == ["data"] * 3


def test_tasks_have_their_own_device():
    class Where(DeviceOp):
        def execute(self, ctx):
            return ctx.device

    async def chooses(name, ready):
        with device(name):
            ready.append(name)
            while len(ready) < 2:
                await asyncio.sleep(0)
            return default_device(), await Where()

    async def main():
        ready = []
        return await asyncio.gather(chooses("cpu", ready), chooses("reference", ready))

    assert asyncio.run(main()) == [(CPU, CPU), (REFERENCE, REFERENCE)]


def test_awaiting_where_nothing_runs(golden):
    op = Give(1)
    with pytest.raises(Error) as caught:
        op.send(None)
    golden(str(caught.value))
    assert op.used_by is None


def test_no_async_library_is_imported_by_us():
    code = "import sys, tilewright; assert not {'asyncio', 'trio', 'anyio'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_closing_a_task_in_the_middle_leaves_the_work_running():
    stream = HandStream(held=True)
    context = contextvars.copy_context()

    async def main():
        with on(stream):
            op = Give(1)
            op.send(None)
        op.close()

    context.run(asyncio.run, main())
    stream.release()
