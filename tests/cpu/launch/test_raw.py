from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from cpu.devices.cpu.kernels import WRITE_BLOCK, object_code


@pytest.fixture(scope="module")
def function():
    return tw.load_module_from_bytes(object_code(WRITE_BLOCK), "cpu").load_function("kernel")


def numbers(n=24):
    return tw.from_numpy(np.arange(n, dtype=np.int64)[::-1].copy(), device="cpu").sync()


def adding(function, out, blocks=24):
    launch = tw.AsyncKernelLaunch(function)
    with tw.unsafe():
        launch.push_device_ptr(out.device_pointer())
    return launch.set_launch_config(tw.LaunchConfig((blocks,)))


def test_raw_code_is_an_op_like_any_other(function):
    out = numbers()
    adding(function, out).sync()
    np.testing.assert_array_equal(out.to_numpy(), np.full(24, 23))
    adding(function, out).then(lambda _: adding(function, out)).start()
    np.testing.assert_array_equal(out.to_numpy(), 23 + 2 * np.arange(24))
    future = adding(function, out).into_future()
    future.result()
    np.testing.assert_array_equal(out.to_numpy(), 23 + 3 * np.arange(24))


def test_raw_code_in_a_graph(function):
    out = numbers()
    graph = adding(function, out).graph()
    for _ in range(3):
        graph.launch().sync()
    np.testing.assert_array_equal(out.to_numpy(), 23 + 2 * np.arange(24))


def test_launches_over_one_tensor_are_ordered_on_any_streams(function):
    out = numbers()
    for stream in [*out.device.streams()] * 8:
        adding(function, out).start_on(stream)
    np.testing.assert_array_equal(out.to_numpy(), 23 + 31 * np.arange(24))


def test_numbers_must_have_a_type(function):
    launch = tw.AsyncKernelLaunch(function)
    launch.push_arg(tw.u32(3)).push_arg(np.float32(2)).push_arg(True)
    with pytest.raises(TypeError, match=r"whose type is known, got int; write tw.u32\(n\)"):
        launch.push_arg(3)
    launch.close()


def test_pointers_are_pushed_inside_unsafe(function):
    launch = tw.AsyncKernelLaunch(function)
    with pytest.raises(tw.LaunchError, match=r"pushed inside `tw.unsafe\(\)`"):
        launch.push_device_ptr(numbers().device_pointer())
    launch.close()


def test_a_launch_needs_a_config(function):
    with pytest.raises(tw.LaunchError, match="`kernel` has no launch config"):
        tw.AsyncKernelLaunch(function).sync()


def test_modules_from_files(tmp_path):
    path = tmp_path / "kernel.o"
    with pytest.raises(tw.DriverError, match="cannot be read: No such file"):
        tw.load_module_from_file(path, "cpu")
    path.write_bytes(b"no code")
    with pytest.raises(tw.DriverError, match="not an object file"):
        tw.load_module_from_file(path, "cpu")
    path.write_bytes(object_code(WRITE_BLOCK))
    function, out = tw.load_module_from_file(path, "cpu").load_function("kernel"), numbers()
    adding(function, out).sync()
    np.testing.assert_array_equal(out.to_numpy(), np.full(24, 23))
