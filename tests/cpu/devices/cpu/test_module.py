"""Raw native code: loaded from object files, launched with slots."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.devices.cpu.kernels import FAIL_AT_17, SCRATCH_SUM, USLEEP, WRITE_BLOCK, object_code, slots
from tilewright.base.errors import ContextError, DriverError
from tilewright.devices.host import CPU, NULL, REFERENCE
from tilewright.devices.null import NullDevice
from tilewright.devices.protocol import LaunchConfig


def function_of(body, rest=""):
    return CPU.load_module(object_code(body, rest)).load_function("kernel")


@pytest.mark.parametrize("inline", [False, True])
def test_a_function_runs_over_its_grid(inline):
    function, out, stream = function_of(WRITE_BLOCK), np.zeros(24, np.int64), CPU.new_stream()
    assert function.name == "kernel" and repr(function) == "Function('kernel')"
    run = function.put_on(stream, LaunchConfig((2, 3, 4)), slots(out).tolist(), inline=inline)
    stream.synchronize()
    assert run.problem() is None
    assert np.array_equal(out, np.arange(24))


def test_shared_bytes_are_scratch():
    function, out, stream = function_of(SCRATCH_SUM, USLEEP), np.full(40, -1), CPU.new_stream()
    function.put_on(
        stream, LaunchConfig((40,), shared_mem_bytes=4096), slots(out).tolist(), keep=out
    )
    stream.synchronize()
    assert np.array_equal(out, np.arange(40))


def test_a_failure_is_a_problem():
    function, out, stream = function_of(FAIL_AT_17), np.zeros(18, np.int64), CPU.new_stream()
    run = function.put_on(stream, LaunchConfig((18,)), slots(out).tolist())
    stream.synchronize()
    problem = run.problem()
    assert problem is not None and "block 17: index -5, extent 4" in str(problem)


def test_a_launch_can_be_captured():
    function, out, stream = function_of(WRITE_BLOCK), np.zeros(4, np.int64), CPU.new_stream()
    stream.begin_capture()
    function.put_on(stream, LaunchConfig((4,)), slots(out).tolist())
    replay = stream.end_capture()
    for _ in range(3):
        replay.put_on(stream)
    stream.synchronize()
    assert out.tolist() == [0, 3, 6, 9]


def test_what_does_not_fit_is_refused():
    module = CPU.load_module(object_code(WRITE_BLOCK))
    function = module.load_function("kernel")
    assert module.load_function("kernel") is function
    with pytest.raises(DriverError, match="not an object file of this machine"):
        CPU.load_module(b"ptx")
    with pytest.raises(DriverError, match="an object file that defines missing"):
        module.load_function("missing")
    with pytest.raises(DriverError, match="expected: blocks of one thread"):
        function.put_on(CPU.new_stream(), LaunchConfig((1,), (32, 1, 1)), [])
    with pytest.raises(ContextError, match="expected: a CPU stream"):
        function.put_on(NULL.streams()[0], LaunchConfig((1,)), [])
    with pytest.raises(DriverError, match="runs no raw code"):
        REFERENCE.load_module(b"")


def test_the_null_device_notes_launches():
    device = NullDevice()
    function = device.load_module(b"anything").load_function("scale")
    run = function.put_on(device.streams()[0], LaunchConfig((4, 1, 1)), [1, 2])
    assert run.problem() is None
    assert str(device.entries[0]) == "stream 0: launch scale over (4, 1, 1)"


def test_damaged_object_files_are_refused_unless_they_are_trusted():
    code = object_code(WRITE_BLOCK)
    with pytest.raises(DriverError, match="the object file is damaged") as caught:
        CPU.load_module(code[:-1])
    assert caught.value.got == "its table of sections is not within it"
    assert CPU.load_module(code[:-1], trusted=True), "nothing is linked before it is asked for"
