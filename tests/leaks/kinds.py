"""Every kind of launch, as a function that makes one and waits for it."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from support.fake_cuda import FakeCuda
from tilewright import f32, i32, simt, u32
from tilewright.devices import registry
from tilewright.devices.cuda.device import CudaDevice
from tilewright.interop import cuda

SIZE, TILE = 100, 128
"""Small, so that the host's part is what takes time; no multiple of the tile."""

Work = Callable[[], object]


@tw.entry
def double(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    tile = tl.load_tile_like(x, z)
    z.store(tile + tile)


@tw.entry
def scale(z: tl.TensorMut[f32], x: tl.Tensor[f32], by: f32) -> None:
    z.store(tl.load_tile_like(x, z) * by)


@tw.entry
def times(z: tl.TensorMut[f32], x: tl.Tensor[f32], *, N: tl.Const[int]) -> None:
    z.store(tl.load_tile_like(x, z) * N)


@tw.entry
def pick(z: tl.TensorMut[f32], x: tl.Tensor[f32], at: tl.Tensor[i32]) -> None:
    """Reads a tile that data choose, so the kernel itself checks the index."""
    where = at.load_tile((1,), [0]).item()
    z.store(x.partition(z.shape).load([where]))


@simt.kernel
def raised(z: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    if i < len(z):
        z[i] = x[i] + 1.0


def arrays() -> tuple[tw.Tensor[Any], tw.Tensor[Any]]:
    """Make an output and an input."""
    return tw.zeros((SIZE,)).sync(), tw.ones((SIZE,)).sync()


def kept() -> Work:
    z, x = arrays()
    part = z.partition_mut((TILE,))
    return lambda: double(part, x).sync()


def in_the_call() -> Work:
    z, x = arrays()
    return lambda: double(z.partition_mut((TILE,)), x).sync()


def scalar() -> Work:
    z, x = arrays()
    return lambda: scale(z.partition_mut((TILE,)), x, 2.5).sync()


def constant() -> Work:
    z, x = arrays()
    return lambda: times(z.partition_mut((TILE,)), x, N=3).sync()


def checked() -> Work:
    (z, x), at = arrays(), tw.zeros((1,), i32).sync()
    return lambda: pick(z.partition_mut((TILE,)), x, at).sync()


def failed() -> Work:
    """The check fails: the error, its traceback and its notes go with it."""
    (z, x), at = arrays(), tw.full((1,), 7, i32).sync()

    def work() -> None:
        try:
            pick(z.partition_mut((TILE,)), x, at).sync()
        except tw.LaunchError:
            return
        raise AssertionError("an index outside was accepted")

    return work


def refused() -> Work:
    """The call itself is refused: the output is read."""
    z, _ = arrays()

    def work() -> None:
        try:
            double(z.partition_mut((TILE,)), z)
        except tw.BorrowError:
            return
        raise AssertionError("a reader beside the writer was accepted")

    return work


def numpy_input() -> Work:
    (z, _), x = arrays(), np.ones(SIZE, np.float32)
    return lambda: double(z.partition_mut((TILE,)), x).sync()


def empty_first() -> Work:
    _, x = arrays()
    return lambda: double(tw.empty((SIZE,)).sync().partition_mut((TILE,)), x).sync()


def chain() -> Work:
    _, x = arrays()

    def twice(y: tw.Tensor[Any]) -> Any:
        return double(tw.empty_like(y).partition((TILE,)), y).out()

    return lambda: twice(x).then(twice).sync()


def view() -> Work:
    (z, _), x = arrays(), tw.ones((2 * SIZE,)).sync()
    return lambda: double(z.partition_mut((TILE,)), x[SIZE:]).sync()


def started() -> Work:
    z, x = arrays()

    def work() -> None:
        double(z.partition_mut((TILE,)), x).start()
        z.to_numpy()

    return work


def streams() -> Work:
    (z, x), device = arrays(), tw.default_device()
    one, other = device.new_stream(), device.new_stream()

    def work() -> None:
        double(z.partition_mut((TILE,)), x).start_on(one)
        double(z.partition_mut((TILE,)), x).sync_on(other)

    return work


STREAMS_AT_ONCE = 20


def own_stream() -> Work:
    """The stream is made and dropped, on the CPU and on the reference."""
    work = []
    for name in ("cpu", "reference"):
        with tw.device(name):
            z, x = arrays()
            work.append((z, x, tw.default_device().new_stream))

    launches = itertools.count()

    def launch() -> None:
        for z, x, new_stream in work:
            double(z.partition_mut((TILE,)), x).start_on(new_stream())
            double(z.partition_mut((TILE,)), x).sync_on(new_stream())
        if next(launches) % STREAMS_AT_ONCE == 0:
            gc.collect()  # streams are cycles; there are as many lanes as streams at once

    return launch


def future() -> Work:
    z, x = arrays()
    return lambda: double(z.partition_mut((TILE,)), x).into_future().result()


def awaited() -> Work:
    (z, x), loop = arrays(), asyncio.new_event_loop()

    async def launch() -> None:
        await double(z.partition_mut((TILE,)), x)

    def work() -> None:
        loop.run_until_complete(launch())

    weakref.finalize(work, loop.close)
    return work


def graph() -> Work:
    z, x = arrays()
    recorded = double(z.partition_mut((TILE,)), x).graph()
    return lambda: recorded.launch().sync()


def recording() -> Work:
    """The graph itself is made and dropped."""
    z, x = arrays()
    return lambda: double(z.partition_mut((TILE,)), x).graph().launch().sync()


def threads() -> Work:
    z, x = arrays()
    return lambda: raised(z.borrow_mut(), x).sync()


def host_write() -> Work:
    z, x = arrays()

    def work() -> None:
        with z.borrow_mut().numpy() as values:
            values[0] = 1.0
        np.from_dlpack(z)
        double(z.partition_mut((TILE,)), x).sync()

    return work


PTX = ".version 7.0\n.target sm_80\n"


def _scaled(values: list[int], grid: object) -> None:
    """out[i] = factor * x[i], on the driver in Python."""
    out, x, n, factor = values
    floats = ctypes.c_float * (n & 0xFFFFFFFF)
    number = np.array([factor], np.int64).view(np.float32)[0]
    result, given = (np.ctypeslib.as_array(floats.from_address(each)) for each in (out, x))
    result[:] = given * number


def _on_driver() -> tuple[FakeCuda, CudaDevice]:
    """Make a driver in Python with a kernel of others, and a device of it, which is then found."""
    driver = FakeCuda(1)
    driver.kernels["scale"], driver.parameters["scale"] = _scaled, (8, 8, 4, 4)
    device = CudaDevice(driver, 0)
    registry._Gpus.found = (device,)
    return driver, device


def foreign() -> Work:
    driver, device = _on_driver()
    with tw.unsafe():

        @cuda.kernel(tw.load_module_from_ptx(PTX).load_function("scale"), block=128)
        def scaled(
            out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: u32, factor: f32
        ) -> None: ...

    z, x = (tw.from_numpy(np.ones(SIZE, np.float32), device=device).sync() for _ in range(2))

    def work() -> None:
        scaled(z.borrow_mut(), x, SIZE, 2.0).sync()
        scaled(z.borrow_mut(), x, SIZE, 2.0).sync_on(device.new_stream())
        driver.log.clear()

    return work


def own_cuda_stream() -> Work:
    """A stream of CUDA is made and dropped: after a chain, and with work nobody waits for."""
    driver, device = _on_driver()
    function = tw.load_module_from_ptx(PTX).load_function("scale")
    z, x = (tw.from_numpy(np.ones(SIZE, np.float32), device=device).sync() for _ in range(2))

    def scaled() -> Any:
        launch = tw.AsyncKernelLaunch(function)
        with tw.unsafe():
            launch.push_device_ptr(z.device_pointer()).push_device_ptr(x.device_pointer())
        launch.push_arg(tw.u32(SIZE)).push_arg(tw.f32(2.0))
        return launch.set_launch_config(tw.LaunchConfig((4, 1, 1), (256, 1, 1)))

    def work() -> None:
        scaled().then(lambda _: scaled()).sync_on(device.new_stream())
        scaled().start_on(device.new_stream())
        driver.log.clear()

    return work


def raw() -> Work:
    driver, device = _on_driver()
    function = tw.load_module_from_ptx(PTX).load_function("scale")
    z, x = (tw.from_numpy(np.ones(SIZE, np.float32), device=device).sync() for _ in range(2))
    config = tw.LaunchConfig((4, 1, 1), (256, 1, 1))

    def work() -> None:
        launch = tw.AsyncKernelLaunch(function)
        with tw.unsafe():
            launch.push_device_ptr(z.device_pointer()).push_device_ptr(x.device_pointer())
        launch.push_arg(tw.u32(SIZE)).push_arg(tw.f32(2.0))
        launch.set_launch_config(config).sync()
        driver.log.clear()

    return work


KINDS: dict[str, Callable[[], Work]] = {
    "a partition that is kept": kept,
    "partition_mut in the call": in_the_call,
    "a scalar": scalar,
    "a constant by keyword": constant,
    "a check in the kernel": checked,
    "a check that fails": failed,
    "a call that is refused": refused,
    "a NumPy array": numpy_input,
    "tw.empty, then the launch": empty_first,
    "a chain": chain,
    "a view": view,
    "start": started,
    "two streams": streams,
    "a stream that is dropped": own_stream,
    "into_future": future,
    "await": awaited,
    "a graph": graph,
    "a graph that is dropped": recording,
    "a SIMT kernel": threads,
    "a host write": host_write,
    "a kernel of others": foreign,
    "a dropped CUDA stream": own_cuda_stream,
    "a raw launch": raw,
}
"""What makes the work of each kind: on the default device, or on one of a driver in Python."""
