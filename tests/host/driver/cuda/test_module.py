from __future__ import annotations

import gc

import pytest

from tilewright.base.errors import ContextError, DriverError
from tilewright.driver.cuda.module import ELF_HEADER, SECTION, loadable
from tilewright.driver.cuda.results import NO_BINARY_FOR_GPU
from tilewright.driver.host import CPU
from tilewright.driver.protocol import LaunchConfig

PTX = b".version 7.0\n.target sm_80\n"


def elf(*, machine=190, sections=1, at=64, size=0):
    """A file with a header and sections that begin and end there."""
    head = b"\x7fELF\2" + bytes(11)
    fields = ELF_HEADER.pack(2, machine, 1, 0, 0, 64, 0, 64, 0, 0, SECTION.size, sections, 0)
    return head + fields[16:] + SECTION.pack(0, 1, 0, 0, at, size, 0, 0, 0, 0)


def test_ptx_ends_with_a_zero():
    assert loadable(PTX) == PTX + b"\0"
    assert loadable(PTX + b"\0") == PTX + b"\0"


def test_whole_cubins_are_taken():
    assert loadable(elf()) == elf()


@pytest.mark.parametrize(
    "code",
    [
        b"", b"garbage", b"\x7fELF", elf()[:70], elf(machine=62), elf(sections=2),
        elf(at=1 << 40), elf(size=1000), b".version of something else",
    ],
)  # fmt: skip
def test_code_that_the_driver_could_not_survive_is_refused(code):
    with pytest.raises(DriverError, match="cannot be loaded on a CUDA device"):
        loadable(code)


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
    assert 'hint: kernels of CUDA C++ keep their names when declared extern "C"' in str(
        caught.value
    )


def test_more_shared_memory_than_all_kernels_have_is_asked_for_once(device, fake):
    fake.kernels["f"] = lambda values, grid: None
    function, stream = device.load_module(PTX).load_function("f"), device.new_stream()
    function.put_on(stream, LaunchConfig((1,), (32,), 48 << 10), [])
    assert fake.shared == {}
    function.put_on(stream, LaunchConfig((1,), (32,), 100_000), [])
    assert fake.shared == {"f": 100_000}
    fake.fail("allow_shared", 1)
    function.put_on(stream, LaunchConfig((1,), (32,), 99_000), [])
    with pytest.raises(DriverError, match="refused allow_shared"):
        function.put_on(stream, LaunchConfig((1,), (32,), 1 << 20), [])
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
        device.load_module(elf())
    assert "expected: code for sm_90, which cuda:0 is" in str(caught.value)
    assert device.load_module(elf()) is not None, "the next is loaded"
