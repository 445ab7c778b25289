"""Kernels of CUDA C++ and of other compilers, as ops."""

from __future__ import annotations

import asyncio
import gc

import numpy as np
import pytest

import tilewright as tw
from seeds.conftest import PTX, run_scale
from seeds.foreign import pushed
from seeds.kernels import numbers, put, same, scale
from support.elf import cubin
from tilewright.devices.cuda.results import INVALID_PTX, NO_BINARY_FOR_GPU
from tilewright.interop import cuda

CUBIN = cubin()
SOURCE = """
extern "C" __global__ void scale(unsigned n, float factor, const float *x, float *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * x[i];
}
"""


def launches(fake_cuda):
    return [entry for entry in fake_cuda.log if entry[0] == "launch"]


def test_a01_foreign_kernels_are_ops(scale_function, rng):
    """A kernel that was compiled elsewhere is an op, as a tile kernel's launch is."""
    data = numbers(rng, 1000)
    x, out = put(data), tw.zeros((1000,)).sync()
    op = pushed(scale_function, 2.0, x, out)
    assert isinstance(op, tw.DeviceOp)
    op.sync()
    same(out, np.float32(2) * data)


def test_a02_they_share_streams_with_other_ops(scale_function, rng, fake_gpu, fake_cuda):
    """Foreign launches in a chain are on the stream of the chain, one behind the other."""
    x, a, b = put(numbers(rng, 500)), tw.zeros((500,)).sync(), tw.zeros((500,)).sync()
    stream = fake_gpu.new_stream()
    pushed(scale_function, 2.0, x, a).then(lambda _: pushed(scale_function, 3.0, a, b)).sync_on(
        stream
    )
    assert [entry[-1] for entry in launches(fake_cuda)] == [stream.handle] * 2
    same(b, np.float32(3) * (np.float32(2) * x.to_numpy()))


def test_a03_chains_wait_only_at_their_end(scale_function, rng, fake_gpu, fake_cuda):
    """Nobody waits between the ops of a chain."""
    x, a = put(numbers(rng, 500)), tw.zeros((500,)).sync()
    stream = fake_gpu.new_stream()
    fake_cuda.hold(stream)
    op = pushed(scale_function, 2.0, x, a).then(lambda _: pushed(scale_function, 3.0, x, a))
    future = op.schedule(tw.SingleStream(stream))
    assert len(launches(fake_cuda)) == 2 and not future.done()
    fake_cuda.release()
    future.result(timeout=60)


def test_a04_ptx_is_compiled_where_it_is_loaded(fake_gpu, fake_cuda):
    """PTX is text for any newer GPU; the driver compiles it when it is loaded."""
    module = tw.load_module_from_ptx(PTX)
    assert isinstance(module, tw.Module)
    fake_cuda.fail("load_module", INVALID_PTX)
    with pytest.raises(tw.DriverError, match="PTX"):
        tw.load_module_from_ptx(PTX)


def test_a05_cuda_source_becomes_ptx_for_an_architecture():
    """CUDA C++ is compiled to PTX for a virtual architecture, without a GPU."""
    try:
        ptx = cuda.compile_cuda(SOURCE, arch="compute_80")
    except tw.CompileError as error:
        pytest.skip(str(error.got))
    text = ptx if isinstance(ptx, str) else ptx.decode()
    assert ".target sm_80" in text and ".visible .entry scale" in text


def test_a06_cuda_source_becomes_a_cubin_for_one_architecture():
    """For a real architecture it is compiled to machine code."""
    try:
        code = cuda.compile_cuda(SOURCE, arch="sm_90")
    except tw.CompileError as error:
        pytest.skip(str(error.got))
    assert bytes(code[:4]) == b"\x7fELF"


def test_a07_a_cubin_of_another_architecture_is_refused(fake_gpu, fake_cuda, tmp_path):
    """Machine code for another architecture does not load; the error comes from the driver."""
    path = tmp_path / "kernel.cubin"
    path.write_bytes(CUBIN)
    fake_cuda.fail("try_out", NO_BINARY_FOR_GPU)
    with pytest.raises(tw.DriverError):
        tw.load_module_from_file(path)


def test_a08_modules_are_loaded_from_files(fake_gpu, fake_cuda, tmp_path):
    """`load_module_from_file(path, device)` loads a cubin, or PTX, onto a GPU."""
    for name, content in (("kernel.cubin", CUBIN), ("kernel.ptx", PTX.encode())):
        path = tmp_path / name
        path.write_bytes(content)
        for where, device in ((None, "cuda:0"), (1, "cuda:1"), ("cuda:1", "cuda:1")):
            function = tw.load_module_from_file(path, where).load_function("scale")
            assert function.name == "scale" and function.context.name == device


def test_a09_modules_are_loaded_from_ptx_text(fake_gpus):
    """`load_module_from_ptx(text, device)` loads PTX that is at hand, onto a GPU by its number."""
    for number in (0, 1):
        function = tw.load_module_from_ptx(PTX, number).load_function("scale")
        assert function.context.name == f"cuda:{number}"


def test_a10_functions_are_found_by_name(fake_gpu):
    """`module.load_function(name)` finds an entry; a name that is not there is an error."""
    module = tw.load_module_from_ptx(PTX)
    assert isinstance(module.load_function("scale"), tw.Function)
    with pytest.raises(tw.DriverError, match="missing"):
        module.load_function("missing")


def test_a11_a_function_is_launched_any_number_of_times(scale_function, rng):
    """One function serves many launches."""
    data = numbers(rng, 100)
    x, out = put(data), tw.zeros((100,)).sync()
    for factor in (1.0, 2.0, 3.0):
        pushed(scale_function, factor, x, out).sync()
        same(out, np.float32(factor) * data)


def test_a12_numbers_are_pushed_safely(scale_function):
    """Pushing a number of a known type needs no unsafe block."""
    launch = tw.AsyncKernelLaunch(scale_function).push_arg(tw.u32(7)).push_arg(tw.f32(1.5))
    launch.close()
    with pytest.raises((tw.LaunchError, TypeError)):
        tw.AsyncKernelLaunch(scale_function).push_arg("seven")


def test_a13_addresses_are_pushed_in_an_unsafe_block(scale_function, rng):
    """Pushing an address needs `tw.unsafe()`: nobody can check what the kernel does with it."""
    t = put(numbers(rng, 4))
    launch = tw.AsyncKernelLaunch(scale_function).push_arg(tw.u32(4)).push_arg(tw.f32(1.0))
    with pytest.raises(tw.Error, match=r"tw\.unsafe\(\)"):
        launch.push_device_ptr(t.device_pointer())
    with tw.unsafe():
        assert launch.push_device_ptr(t.device_pointer()) is launch
    launch.close()


def test_a14_arguments_keep_their_order(fake_gpu, fake_cuda, rng):
    """Arguments arrive in the order in which they were pushed."""
    seen = []
    fake_cuda.kernels["order"] = lambda values, grid: seen.append(values)
    function = tw.load_module_from_ptx(PTX).load_function("order")
    given = rng.integers(0, 1 << 31, 5).tolist()
    launch = tw.AsyncKernelLaunch(function)
    for number in given:
        launch.push_arg(tw.u64(number))
    launch.set_launch_config(tw.LaunchConfig((1,))).sync()
    assert seen == [given]


def test_a15_a_pointer_is_an_address(rng, device):
    """`cu_deviceptr()` of a pointer is its raw address, for other libraries.

    Differs: other-names
    """
    t = put(numbers(rng, 8))
    pointer = t.device_pointer()
    assert int(pointer) == pointer.address > 0
    assert int(t[2:].device_pointer()) == int(pointer) + 8


def test_a16_the_configuration_reaches_the_driver(fake_gpu, fake_cuda):
    """Grid, block and shared memory of a launch are those of its `LaunchConfig`."""
    fake_cuda.kernels["order"] = lambda values, grid: None
    function = tw.load_module_from_ptx(PTX).load_function("order")
    config = tw.LaunchConfig(grid_dim=(3, 2, 1), block_dim=(64, 2, 1), shared_mem_bytes=60_000)
    tw.AsyncKernelLaunch(function).set_launch_config(config).sync()
    assert launches(fake_cuda)[0][1:3] == ("order", (3, 2, 1))
    assert fake_cuda.shared["order"] == 60_000


def test_a17_without_a_configuration_nothing_is_launched(scale_function, fake_cuda):
    """A launch without a configuration is an error of the launch."""
    launch = tw.AsyncKernelLaunch(scale_function).push_arg(tw.u32(7))
    with pytest.raises(tw.LaunchError):
        launch.sync()
    assert not launches(fake_cuda)


def test_a18_foreign_launches_are_awaited(scale_function, rng):
    """A foreign launch is awaited as every op is."""
    data = numbers(rng, 300)
    x, out = put(data), tw.zeros((300,)).sync()

    async def main():
        await pushed(scale_function, 4.0, x, out)

    asyncio.run(main())
    same(out, np.float32(4) * data)


def test_a19_memory_lives_until_the_launch_is_over(scale_function, rng, fake_gpu, fake_cuda):
    """Who pushes an address keeps its memory until the launch is over.

    Differs: lifetimes
    """
    data = numbers(rng, 300)
    x, out = put(data), tw.zeros((300,)).sync()
    stream = fake_gpu.new_stream()
    fake_cuda.hold(stream)
    future = pushed(scale_function, 4.0, x, out).schedule(tw.SingleStream(stream))
    del x
    gc.collect()
    filler = [put(numbers(rng, 300)) for _ in range(4)]
    fake_cuda.release()
    future.result(timeout=60)
    same(out, np.float32(4) * data)
    assert len(filler) == 4


def test_a20_ops_behind_each_other_see_what_was_written(scale_function, rng):
    """An op behind a foreign launch on the same stream sees its writes."""
    data = numbers(rng, 300)
    x, out = put(data), tw.zeros((300,)).sync()
    found = pushed(scale_function, 4.0, x, out).then(lambda _: out.dup()).sync()
    same(found, np.float32(4) * data)


def test_a21_other_streams_wait_for_a_foreign_launch(scale_function, rng, fake_gpu, fake_cuda):
    """Work on another stream needs synchronization that the program writes.

    Differs: order-between-streams
    """
    data = numbers(rng, 300)
    x, a, b = put(data), tw.zeros((300,)).sync(), tw.zeros((300,)).sync()
    first, second = fake_gpu.new_stream(), fake_gpu.new_stream()
    fake_cuda.hold(first)
    pushed(scale_function, 2.0, x, a).start_on(first)
    pushed(scale_function, 3.0, a, b).start_on(second)
    fake_cuda.release()
    same(b, np.float32(3) * (np.float32(2) * data))


def test_a22_what_cannot_be_right_is_refused(scale_function, rng, fake_cuda):
    """Nobody checks the arguments of a foreign kernel.

    Differs: arguments-of-foreign-kernels
    """
    with pytest.raises(tw.LaunchError, match="wrong size"):
        tw.AsyncKernelLaunch(scale_function).push_arg(tw.u64(7))
    assert not launches(fake_cuda)


def test_a23_kernels_of_tilewright_need_no_unsafe_block(rng, device):
    """Launches of tile kernels are safe: memory and its use are known on both sides."""
    data, z = numbers(rng, 64), tw.zeros((64,)).sync()
    scale(z.partition_mut((64,)), put(data), 2.0).sync()
    same(z, np.float32(2) * data)


def test_a24_triton_kernels_come_as_ptx(fake_gpu, fake_cuda, rng):
    """PTX that another compiler wrote, such as Triton, is loaded and launched like any other."""
    fake_cuda.kernels["gemm_kernel"] = run_scale
    fake_cuda.parameters["gemm_kernel"] = (4, 4, 8, 8)
    text = f"//\n// Generated by LLVM NVPTX Back-End\n//\n\n{PTX}"
    function = tw.load_module_from_ptx(text, 0).load_function("gemm_kernel")
    data, out = numbers(rng, 100), tw.zeros((100,)).sync()
    pushed(function, 2.0, put(data), out).sync()
    same(out, np.float32(2) * data)
