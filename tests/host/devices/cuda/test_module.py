from __future__ import annotations

import gc

import pytest

from support.elf import cubin
from support.fake_cuda import MOST_SHARED
from tilewright.base.errors import ContextError, DriverError
from tilewright.devices.cuda.results import NO_BINARY_FOR_GPU
from tilewright.devices.host import CPU
from tilewright.devices.protocol import LaunchConfig

PTX = b".version 7.0\n.target sm_80\n"


CUBIN = cubin()


def test_functions_are_launched_over_blocks(device, fake):
    seen = []
    fake.kernels["f"] = lambda values, grid: seen.append((values, grid))
    function = device.load_module(PTX).load_function("f")
    stream = device.new_stream()
    run = function.put_on(stream, LaunchConfig((3,), (32, 2)), [5, (1 << 64) - 1])
    stream.synchronize()
    assert seen == [([5, -1], (3, 1, 1))]
    assert run.problem() is None
    assert function.name == "f"


def test_a_wrong_number_of_arguments_is_refused_where_the_driver_knows(device, fake):
    fake.kernels["f"], fake.parameters["f"] = lambda values, grid: None, (8, 4)
    function = device.load_module(PTX).load_function("f")
    with pytest.raises(DriverError, match="cannot be launched with these arguments"):
        function.put_on(device.new_stream(), LaunchConfig((1,)), [1])


def test_streams_of_other_devices_are_refused(device, fake):
    fake.kernels["f"] = lambda values, grid: None
    function = device.load_module(PTX).load_function("f")
    with pytest.raises(ContextError, match="cannot be launched there"):
        function.put_on(CPU.new_stream(), LaunchConfig((1,)), [])


def test_a_missing_function_is_named(device, fake):
    fake.kernels["scale"] = fake.kernels["add"] = lambda values, grid: None
    with pytest.raises(DriverError, match="has no kernel `nothing`") as caught:
        device.load_module(PTX).load_function("nothing")
    assert "expected: add, scale" in str(caught.value)
    assert 'hint: CUDA C++ kernels keep their names if declared extern "C"' in str(caught.value)


def test_more_shared_memory_than_all_kernels_have_is_asked_for_once(device, fake):
    fake.kernels["f"] = lambda values, grid: None
    function, stream = device.load_module(PTX).load_function("f"), device.new_stream()
    function.put_on(stream, LaunchConfig((1,), (32,), 48 << 10), [])
    assert fake.shared == {}
    function.put_on(stream, LaunchConfig((1,), (32,), 100_000), [])
    assert fake.shared == {"f": 100_000}
    fake.fail("allow_shared", 1)
    function.put_on(stream, LaunchConfig((1,), (32,), 99_000), [])
    with pytest.raises(DriverError, match="rejected allow_shared"):
        function.put_on(stream, LaunchConfig((1,), (32,), 120_000), [])
    launched = [entry for entry in fake.log if entry[0] == "launch"]
    assert len(launched) == 3, "what was refused has not been launched"


def test_too_many_axes_are_refused(device, fake):
    fake.kernels["f"] = lambda values, grid: None
    function = device.load_module(PTX).load_function("f")
    with pytest.raises(DriverError, match="at most three axes"):
        function.put_on(device.new_stream(), LaunchConfig((1, 1, 1, 1)), [])


def test_modules_are_unloaded_after_their_last_function(device, fake):
    fake.kernels["f"] = lambda values, grid: None
    function = device.load_module(PTX).load_function("f")
    gc.collect()
    device.load_module(PTX)
    assert fake.ended == []
    del function
    gc.collect()
    device.new_stream()
    assert ("module", fake.ended[0][1]) in fake.ended


def test_code_for_another_architecture_names_the_one_here(device, fake):
    fake.fail("load_module", NO_BINARY_FOR_GPU)
    with pytest.raises(DriverError, match="for another architecture") as caught:
        device.load_module(CUBIN)
    assert "expected: code for sm_90, which cuda:0 is" in str(caught.value)
    assert caught.value.got == "code for sm_90", "the fake refuses what would be right"
    assert device.load_module(CUBIN) is not None, "the next is loaded"


def test_machine_code_of_others_is_tried_elsewhere_first(device, fake):
    device.load_module(CUBIN)
    assert fake.tried == [CUBIN]
    device.load_module(CUBIN, trusted=True)
    device.load_module(PTX)
    assert fake.tried == [CUBIN], "what is trusted is not, nor what the driver compiles"


def test_what_fails_elsewhere_is_not_loaded_here(device, fake):
    fake.fail("try_out", 700)
    with pytest.raises(DriverError, match="rejected try_out"):
        device.load_module(CUBIN)
    assert device.context.lost is None, "it was another process that was lost"
    fake.fail("load_module", 200)  # still to come: nothing was loaded
    fake.fail("try_out", NO_BINARY_FOR_GPU)
    with pytest.raises(DriverError, match="for another architecture"):
        device.load_module(CUBIN)
    assert fake.failing["load_module"]


def test_what_is_not_whole_is_not_even_tried(device, fake):
    with pytest.raises(DriverError, match="cannot be loaded on a CUDA device"):
        device.load_module(CUBIN[:-1])
    assert fake.tried == []


def test_kernels_that_need_more_shared_memory_than_there_is(device, fake):
    fake.kernels["f"], fake.needed["f"] = lambda values, grid: None, MOST_SHARED + 1
    with pytest.raises(DriverError, match="more shared memory than cuda:0 has") as caught:
        device.load_module(CUBIN, trusted=True).function("f")
    assert caught.value.expected == "at most 131072 bytes"
    assert caught.value.got == "131073 bytes" and "smaller tiles" in caught.value.hint


def test_launches_that_ask_for_more_shared_memory_than_there_is(device, fake):
    fake.kernels["f"], fake.needed["f"] = lambda values, grid: None, 1000
    function = device.load_module(PTX).load_function("f")
    stream, most = device.new_stream(), MOST_SHARED - 1000
    function.put_on(stream, LaunchConfig((1,), shared_mem_bytes=most), [])
    with pytest.raises(DriverError, match="more shared memory") as caught:
        function.put_on(stream, LaunchConfig((1,), shared_mem_bytes=most + 1), [])
    assert caught.value.got == f"1000 bytes, and {most + 1} that the launch asks for"


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (LaunchConfig((1 << 31,)), "so many blocks"),
        (LaunchConfig((1, 1 << 16)), "so many blocks"),
        (LaunchConfig((1, 1, 1 << 16)), "so many blocks"),
        (LaunchConfig((1,), (1025,)), "so many threads"),
        (LaunchConfig((1,), (32, 32, 2)), "so many threads"),
        (LaunchConfig((0,)), "at least 1 along each"),
        (LaunchConfig((1,), (1, -1)), "at least 1 along each"),
    ],
)
def test_launches_beyond_the_limits(device, fake, config, why):
    fake.kernels["f"] = lambda values, grid: None
    function = device.load_module(PTX).load_function("f")
    before = len(fake.log)
    with pytest.raises(DriverError, match=why):
        function.put_on(device.new_stream(), config, [])
    assert len(fake.log) == before
