"""Whose math functions a kernel for GPUs has, how that is said, and what is refused."""

from __future__ import annotations

import re

import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f16, f32, f64, simt
from tilewright.backend.ptx import module
from tilewright.base.config import override
from tilewright.ir.ops.elementwise import MATH_OPS

FUNCTIONS = [op.name for op in MATH_OPS if op.name not in ("ceil", "floor", "round", "sqrt")]
"""Elementary functions that are not single instructions."""

TWO = ("pow", "atan2")


def kernel_of(name, dtype):
    function = getattr(tl, name)

    @simt.kernel
    def apply(out: simt.DisjointSlice[dtype]) -> None:
        i = simt.index_1d()
        if i < len(out):
            out[i] = function(out[i], out[i]) if name in TWO else function(out[i])

    return apply


def compiled(name, dtype, arch="sm_90"):
    return kernel_of(name, dtype).compile_for(arch, tw.meta((64,), dtype).borrow_mut())


@pytest.fixture
def found():
    if module.find_libdevice() is None:
        pytest.skip("no libdevice here")


APPROXIMATED = ("exp", "exp2", "rsqrt")
"""Functions of f16 that are instructions: its rounding hides their errors."""


@pytest.mark.usefixtures("found")
@pytest.mark.parametrize("dtype", [f16, f32, f64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_of_one_of_both(name, dtype):
    made = compiled(name, dtype)
    computed = "f64" if dtype is f64 else "f32"
    theirs = (name, computed) in module.LINKED
    lines = [line for line in made.decisions if f"{name} of {computed}" in line]
    if dtype is f16 and name in APPROXIMATED:
        assert not lines and f"{name} of one element as" in made.decisions[-1]
    else:
        assert [line.startswith("functions of libdevice") for line in lines] == [theirs]
    text = made.code.decode()
    assert re.findall(r"^\.visible \.entry (\w+)", text, re.MULTILINE) == ["apply"]
    assert ".extern" not in text, "all that is called is there"


@pytest.mark.usefixtures("found")
def test_what_is_linked_is_what_is_used():
    code = compiled("exp", f32).code.decode()
    assert "ex2.approx" in code and len(code.splitlines()) < 100


def test_our_own_where_none_is_wanted_or_found(monkeypatch):
    with override(libdevice="off"):
        made = compiled("sin", f32)
    assert "own functions, since TILEWRIGHT_LIBDEVICE=off: sin of f32" in made.decisions
    monkeypatch.setattr(module, "_candidates", lambda: iter(()))
    with override(libdevice=""):
        assert compiled("sin", f32).decisions[1:] == (
            "own functions, since no libdevice.10.bc was found: sin of f32",
        )


def test_a_kernel_without_functions_says_nothing():
    @simt.kernel
    def double(out: simt.DisjointSlice[f32]) -> None:
        i = simt.index_1d()
        if i < len(out):
            out[i] = out[i] * 2.0

    assert len(double.compile_for("sm_90", tw.meta((8,)).borrow_mut()).decisions) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no such file"),
        (b"not bitcode", "no bitcode of LLVM"),
        (b"BC\xc0\xde" + bytes(64), "Malformed"),
    ],
    ids=["missing", "another-file", "damaged"],
)
def test_a_file_that_is_none_is_refused(tmp_path, content, said):
    file = tmp_path / "libdevice.10.bc"
    if content is not None:
        file.write_bytes(content)
    with override(libdevice=str(file)), pytest.raises(tw.CompileError, match=said) as error:
        compiled("exp", f32)
    assert "TILEWRIGHT_LIBDEVICE=off" in str(error.value)


@pytest.mark.usefixtures("found")
def test_bitcode_without_the_functions_is_refused(tmp_path):
    file = tmp_path / "other.bc"
    file.write_bytes(module.llvm.parse_assembly("define void @f() { ret void }").as_bitcode())
    with override(libdevice=str(file)), pytest.raises(tw.CompileError, match="it has no __nv_"):
        compiled("exp", f32)
