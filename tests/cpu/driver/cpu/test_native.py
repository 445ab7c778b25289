"""Loading object files: code stays while its function lives, and bad bytes are refused."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from cpu.driver.cpu.kernels import WRITE_BLOCK, object_code, slots
from support.execute import execute
from tilewright.base.errors import DriverError
from tilewright.driver.cpu.native import load

GOOD = object_code(WRITE_BLOCK)


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
    body = """
  call ptr @memset(ptr %out, i32 1, i64 8)
  %entry_at = getelementptr i64, ptr @table, i64 %block
  %value = load i64, ptr %entry_at
  %at = getelementptr i64, ptr %out, i64 1
  store i64 %value, ptr %at"""
    rest = """
@table = private unnamed_addr constant [2 x i64] [i64 77, i64 88]
declare ptr @memset(ptr, i32, i64)"""
    out = np.zeros(2, np.int64)
    execute(load(object_code(body, rest), "kernel"), slots(out), (1,))
    assert out.tolist() == [0x0101010101010101, 77]


def test_an_unresolved_call_is_refused():
    code = object_code(
        "\n  call void @nowhere_to_be_found()", "declare void @nowhere_to_be_found()"
    )
    with pytest.raises(DriverError, match="native code cannot be loaded"):
        load(code, "kernel")
