"""Loading object files: code stays while its function lives, and bad bytes are refused."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

from cpu.devices.cpu.kernels import WRITE_BLOCK, object_code, slots
from support.execute import execute
from support.processes import run_program
from tilewright.base.errors import DriverError
from tilewright.devices.cpu.native import load

GOOD = object_code(WRITE_BLOCK)
WITH_TABLE = (
    """
  call ptr @memset(ptr %out, i32 1, i64 8)
  %entry_at = getelementptr i64, ptr @table, i64 %block
  %value = load i64, ptr %entry_at
  %at = getelementptr i64, ptr %out, i64 1
  store i64 %value, ptr %at""",
    """
@table = private unnamed_addr constant [2 x i64] [i64 77, i64 88]
declare ptr @memset(ptr, i32, i64)""",
)
"""The body of a kernel with constants of its own, and what stands beside it."""


def test_many_loads_of_one_object():
    functions = [load(GOOD, "kernel") for _ in range(20)]
    assert len({f.address for f in functions}) == 20
    del functions[::2]
    gc.collect()
    for function in functions:
        out = np.zeros(5, np.int64)
        execute(function, slots(out), (5,))
        assert out.tolist() == [0, 1, 2, 3, 4]


def test_repr_names_the_symbol():
    assert repr(load(GOOD, "kernel")) == "NativeFunction('kernel')"


def foreign() -> bytes:
    """The same object with another processor's number."""
    return GOOD[:18] + b"\x02\x00" + GOOD[20:]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (b"", "0 bytes"),
        (b"hello world" * 30, "330 bytes that begin with b'hell'"),
        (foreign(), "not an object file of this machine"),
        (GOOD[: len(GOOD) // 2], "native code cannot be loaded"),
        (GOOD[:64], "native code cannot be loaded"),
    ],
)
def test_bytes_that_are_no_object_are_refused(code, text):
    with pytest.raises(DriverError) as caught:
        load(code, "kernel")
    assert text in str(caught.value)


def test_a_missing_symbol_is_named():
    with pytest.raises(DriverError) as caught:
        load(GOOD, "elsewhere")
    assert "an object file that defines elsewhere" in str(caught.value)


def test_code_may_call_what_the_process_has_and_read_its_own_constants():
    """LLVM turns loops into memset; functions keep tables."""
    out = np.zeros(2, np.int64)
    execute(load(object_code(*WITH_TABLE), "kernel"), slots(out), (1,))
    assert out.tolist() == [0x0101010101010101, 77]


@pytest.mark.skipif(sys.platform != "linux", reason="counts on how Linux finds room for memory")
@pytest.mark.parametrize("holes", [1, 2, 3])
def test_code_and_its_constants_stay_together_where_room_is_far_apart(holes):
    """A process with an array of gigabytes, and single free pages above it."""
    run_program(f"""
        import ctypes, mmap
        map_memory, unmap = ctypes.CDLL(None).mmap, ctypes.CDLL(None).munmap
        map_memory.restype, unmap.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_size_t)

        def reserve(size):
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            nothing = ctypes.c_void_p(None)
            return map_memory(nothing, ctypes.c_size_t(size), 0, flags, -1, ctypes.c_long(0))

        with_table = object_code(*{WITH_TABLE!r})
        load(object_code(WRITE_BLOCK), "kernel")
        large = reserve(9 << 30)
        size, above = 1 << 30, []
        while size >= mmap.PAGESIZE:
            found = reserve(size)
            if found > large:
                above.append(found)
            else:
                unmap(found, size)
                size //= 2
        for page in above[-{holes}:]:
            unmap(page, mmap.PAGESIZE)
        out = np.zeros(2, np.int64)
        execute(load(with_table, "kernel"), slots(out), (1,))
        assert out.tolist() == [0x0101010101010101, 77]
    """)


def test_an_unresolved_call_is_refused():
    code = object_code(
        "\n  call void @nowhere_to_be_found()", "declare void @nowhere_to_be_found()"
    )
    with pytest.raises(DriverError, match="native code cannot be loaded"):
        load(code, "kernel")
