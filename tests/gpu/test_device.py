"""Memory, streams, events and errors of a GPU, on the device itself."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32

DTYPES = ["?", "i1", "u2", "f2", "i4", "f4", "i8", "f8"]
SHAPES = [(), (0,), (1,), (7,), (5, 7), (3, 1, 65), (2, 3, 4, 5), (257, 129)]


@tw.entry
def add(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry
def pick(z: tl.TensorMut[f32], x: tl.Tensor[f32], rows: tl.Tensor[i32]) -> None:
    at = rows.load_tile((1,), [0]).item()
    z.store(x.partition(z.shape).load([at]))


@tw.entry
def say(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    tile = tl.load_tile_like(x, z)
    print(tl.block_id(0), tl.reduce_sum(tile, 0))
    z.store(tile)


def random(rng, shape, dtype):
    return (rng.random(shape) * 100).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_there_and_back(rng, shape, dtype):
    data = random(rng, shape, dtype)
    t = tw.from_numpy(data).sync()
    assert t.device is tw.default_device()
    assert np.array_equal(t.to_numpy(), data)
    assert np.array_equal(t.dup().sync().to_numpy(), data)
    there = t.to("cpu").sync()
    assert np.array_equal(there.to_numpy(), data)
    assert np.array_equal(there.to("cuda").sync().to_numpy(), data)
    assert not tw.zeros(shape, dtype).sync().to_numpy().any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_parts_with_gaps(rng, dtype):
    data = random(rng, (33, 65), dtype)
    t = tw.from_numpy(data).sync()
    for part in (np.s_[1:20, ::2], np.s_[:, 3:4], np.s_[5], np.s_[::3]):
        assert np.array_equal(t[part].to_numpy(), data[part])
        assert np.array_equal(t[part].dup().sync().to_numpy(), data[part])
    new = random(rng, (10, 65), dtype)
    t.borrow_mut()[20:30].copy_from(new).sync()
    data[20:30] = new
    assert np.array_equal(t.to_numpy(), data)
    turned = tw.from_numpy(data.T).sync()
    assert np.array_equal(turned.to_numpy(), data.T)


def test_to_the_host_and_back_in_one_chain(rng):
    data = random(rng, (257, 129), "f4")
    there = tw.from_numpy(data).dup().to("cpu")
    assert np.array_equal(there.to("cuda").dup().to_numpy().sync(), data)
    again = tw.from_numpy(data).dup().to("cpu").dup().to_numpy()
    assert np.array_equal(again.sync(), data)


def test_large_copies(rng):
    data = rng.integers(0, 255, (200 << 20) + 3, dtype=np.uint8)
    t = tw.from_numpy(data).sync()
    assert np.array_equal(t.to_numpy(), data)


def test_what_was_read_may_be_changed(rng):
    data = random(rng, (1 << 20,), "f4")
    kept = data.copy()
    t = tw.from_numpy(data).start()
    data[:] = 0
    assert np.array_equal(t.to_numpy(), kept)


def test_arrays_of_the_host_are_inputs(rng):
    x, y = random(rng, (40, 60), "f4"), random(rng, (60, 40), "f4")
    z = tw.zeros((40, 60)).sync()
    add(z.partition_mut((16, 16)), x, y.T).sync()
    assert np.array_equal(z.to_numpy(), x + y.T)
    add(z.partition_mut((16, 16)), x[::-1], x[:, ::-1]).sync()
    assert np.array_equal(z.to_numpy(), x[::-1] + x[:, ::-1])


def test_tensors_of_two_devices_are_refused():
    z, x = tw.zeros((4,)).sync(), tw.zeros((4,), device="cpu").sync()
    with pytest.raises(tw.LaunchError, match="live on different devices") as caught:
        add(z.partition_mut((4,)), x, x)
    assert "`z` on cuda:0" in caught.value.got and "`x` on cpu" in caught.value.got


def test_an_alias_of_the_host_lives_on_the_cpu():
    a = np.ones(10, "f4")
    assert tw.asarray(a).device.name == "cpu"
    with pytest.raises(tw.ContextError, match="cannot see an array of the host"):
        tw.asarray(a, device="cuda")


def test_failures_and_prints(rng, capsys):
    x = tw.from_numpy(random(rng, (64,), "f4")).sync()
    z = tw.zeros((16,)).sync()
    good, bad = (tw.from_numpy(np.array([n], "i4")).sync() for n in (1, 9))
    for _ in range(3):
        with pytest.raises(tw.LaunchError, match="index out of range in `pick`") as caught:
            pick(z.partition_mut((16,)), x, bad).sync()
        assert "9, in block (0, 0, 0)" in caught.value.got
        pick(z.partition_mut((16,)), x, good).sync()
        assert np.array_equal(z.to_numpy(), x.to_numpy()[16:32])
    out = tw.zeros((1 << 14,)).sync()
    ones = tw.ones((1 << 14,)).sync()
    capsys.readouterr()
    say(out.partition_mut((16,)), ones).sync()
    assert capsys.readouterr().out == "".join(f"{i} 16.0\n" for i in range(1 << 10))


def test_launches_from_threads(rng):
    x = tw.from_numpy(random(rng, (1000,), "f4")).sync()
    expected, errors = x.to_numpy() * 2, []

    def work():
        try:
            for _ in range(50):
                z = tw.zeros((1000,), device="cuda").sync()
                add(z.partition_mut((64,)), x, x).sync()
                assert np.array_equal(z.to_numpy(), expected)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_tasks(rng):
    x = tw.from_numpy(random(rng, (1000,), "f4")).sync()

    async def one():
        z = await tw.zeros((1000,))
        result = await add(z.partition((64,)), x, x)
        return await result[0].unpartition().to_host_vec()

    async def all_of_them():
        return await asyncio.gather(*[one() for _ in range(20)])

    for found in asyncio.run(all_of_them()):
        assert np.array_equal(found, x.to_numpy() * 2)


def test_streams_wait_for_what_they_use(rng, device):
    data = random(rng, (1 << 22,), "f4")
    x = tw.from_numpy(data).sync()
    streams = [device.new_stream() for _ in range(4)]
    for number in range(20):
        x = x.dup().start_on(streams[number % 4])
    assert np.array_equal(x.to_numpy(), data)


def test_running_out_of_memory_leaves_all_usable(rng, device):
    x = tw.from_numpy(random(rng, (1000,), "f4")).sync()
    with pytest.raises(tw.DriverError, match=r"out of memory: .* on cuda:0") as caught:
        tw.empty((1 << 50,), tw.u8).sync()
    assert "free" in caught.value.got
    z = tw.zeros((1000,)).sync()
    add(z.partition_mut((64,)), x, x).sync()
    assert np.array_equal(z.to_numpy(), x.to_numpy() * 2)
    del z
    device.pool.trim()
    assert device.pool.stats().reserved >= device.pool.stats().used


def test_the_thread_is_left_without_a_context():
    driver = pytest.importorskip("cuda.bindings.driver")
    z = tw.zeros((256,)).sync()
    seen = []

    def work():
        seen.append(int(driver.cuCtxGetCurrent()[1]))
        add(z.partition_mut((64,)), np.ones(256, "f4"), np.ones(256, "f4")).sync()
        seen.append(int(driver.cuCtxGetCurrent()[1]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [0, 0]


def test_interrupts_are_seen(device):
    """The waiting thread looks for signals ten times a second, whatever the device does."""
    code = """
import os, signal, threading, numpy as np, tilewright as tw
ptx = b'''.version 7.0
.target sm_80
.address_size 64
.visible .entry spin(.param .u64 n) { .reg .u64 %a,%b,%c; .reg .pred %p;
ld.param.u64 %a,[n]; mov.u64 %b,%globaltimer; add.u64 %a,%a,%b;
L: mov.u64 %c,%globaltimer; setp.lt.u64 %p,%c,%a; @%p bra L; ret; }
'''
f = tw.load_module_from_bytes(ptx, "cuda").load_function("spin")
tw.zeros((3,), device="cuda").sync()
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
import time
start = time.monotonic()
op = tw.AsyncKernelLaunch(f).push_arg(tw.u64(4_000_000_000))
try:
    op.set_launch_config(tw.LaunchConfig((1,))).sync_on(tw.device("cuda").__enter__().new_stream())
except KeyboardInterrupt:
    print(time.monotonic() - start < 1.5)
"""
    assert in_process(code).stdout == "True\n"


STICKY = """
import sys
import numpy as np, tilewright as tw
ptx = b'''.version 7.0
.target sm_80
.address_size 64
.visible .entry stray() { .reg .u64 %a; mov.u64 %a,64; st.global.u64 [%a],%a; ret; }
.visible .entry trapped() { trap; }
'''
t = tw.from_numpy(np.ones(10, "f4"), device="cuda").sync()
f = tw.load_module_from_bytes(ptx, "cuda").load_function(sys.argv[1])
def attempt(use):
    try:
        use()
    except tw.DriverError as error:
        print(error.message, "|", error.hint[:19])
stream = t.device.new_stream()
attempt(lambda: tw.AsyncKernelLaunch(f).set_launch_config(tw.LaunchConfig((1,))).sync_on(stream))
attempt(t.to_numpy)
attempt(lambda: tw.zeros((3,), device="cuda").sync())
attempt(lambda: t.dup().sync())
print(tw.zeros((3,), device="cpu").sync().to_numpy())
"""


@pytest.mark.parametrize("name", ["stray", "trapped"])
def test_a_kernel_that_brings_the_device_down_is_named_from_then_on(name):
    start = time.monotonic()
    done = in_process(STICKY, name)
    line = f"`{name}` has failed on cuda:0, and with it all work there | restart the process\n"
    assert done.stdout == 4 * line + "[0. 0. 0.]\n"
    assert done.returncode == 0 and not done.stderr
    assert time.monotonic() - start < 60


def test_children_are_told():
    code = """
import os, warnings
warnings.simplefilter("ignore")
import numpy as np, tilewright as tw
t = tw.from_numpy(np.ones(3, "f4"), device="cuda").sync()
idle = tw.default_device().new_stream()
if os.fork() == 0:
    for use in (t.to_numpy, lambda: tw.zeros((3,)).sync(), idle.synchronize):
        try:
            use()
        except tw.ContextError as error:
            print("forked child" in error.message, flush=True)
    print(tw.zeros((3,), device="cpu").sync().to_numpy(), flush=True)
    os._exit(0)
os.wait()
print(t.to_numpy())
"""
    assert in_process(code).stdout == 3 * "True\n" + "[0. 0. 0.]\n[1. 1. 1.]\n"


def test_the_process_ends_with_work_under_way():
    code = """
import numpy as np, tilewright as tw
x = tw.from_numpy(np.ones(1 << 26, "f4"), device="cuda").sync()
kept = [x.dup().start() for _ in range(20)]
print("leaving")
"""
    done = in_process(code)
    assert (done.stdout, done.stderr, done.returncode) == ("leaving\n", "", 0)


def in_process(code, *arguments):
    """Run a program in a process of its own, as a user does: the GPU is the default device."""
    environment = {k: v for k, v in os.environ.items() if k != "TILEWRIGHT_DEVICE"}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
