"""What an architecture does not have, or has too little of, is an error that says what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright.base.errors import Code, CompileError


@tw.entry
def convert(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z).astype(z.dtype))


@tw.entry
def scaled(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, sx: tl.Tensor, sy: tl.Tensor) -> None:
    a, b = x.load_tile((64, 64), [0, 0]), y.load_tile((64, 64), [0, 0])
    scale_a, scale_b = sx.load_tile((64, 2), [0, 0]), sy.load_tile((2, 64), [0, 0])
    z.store(tl.mmaf_scaled(a, b, tl.zeros((64, 64), tw.f32), scale_a, scale_b))


@tw.entry
def running_sum(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.cumsum(tl.load_tile_like(x, z), 0))


def refused(call) -> CompileError:
    with pytest.raises(CompileError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize(
    ("dtype", "arch", "since"),
    [(tw.f8e4m3fn, "sm_80", 90), (tw.f8e5m2, "sm_89", 90), (tw.f8e8m0fnu, "sm_90", 100)],
)
def test_element_types_of_newer_architectures(tool, dtype, arch, since):
    z, x = tw.meta((64,)), tw.meta((64,), dtype)
    error = refused(lambda: convert.compile_for(arch, z.partition_mut((16,)), x))
    assert error.code is Code.TARGET
    assert f"{arch} has no {dtype.name}" in str(error) and "test_refusals.py" in str(error)
    assert f"sm_{since} or newer" in error.expected and "run on the CPU" in error.hint


def test_scaled_products(tool):
    """Not on sm_90, with the line; on Blackwell."""
    x, s = tw.meta((64, 64), tw.f8e4m3fn), tw.meta((64, 2), tw.f8e8m0fnu)

    def compiled(arch):
        args = (x, tw.meta((64, 64), tw.f8e4m3fn), s, tw.meta((2, 64), tw.f8e8m0fnu))
        return scaled.compile_for(arch, tw.meta((64, 64)).partition_mut((64, 64)), *args)

    error = refused(lambda: compiled("sm_90"))
    assert error.code is Code.TARGET
    assert "sm_90 has no products of block-scaled tiles" in str(error)
    assert "sm_100 or newer" in str(error) and "tl.mmaf_scaled(a, b" in str(error)
    for arch in ("sm_100", "sm_120"):
        assert compiled(arch).code[:4] == b"\x7fELF"


def test_too_much_for_one_block(tool):
    """The assembler only says that it failed; the error says where, and what to try."""
    z = tw.meta((4096, 4096))
    error = refused(
        lambda: running_sum.compile_for("sm_90", z.partition_mut((1024, 256)), tw.meta(z.shape))
    )
    assert error.code is Code.TOOLCHAIN
    assert "exit status 5" in error.got and "smaller tiles" in error.hint
    assert "test_refusals.py" in str(error)
    assert Path(re.search(r"(\S+\.tileirbc)", error.hint).group(1)).is_file()


@pytest.mark.parametrize("name", ["_", "WARP_SZ", "__", "main", "abs", "größe", "a" * 300])
def test_no_name_of_a_kernel_is_refused(tool, name):
    """Not even those that PTX has no use for."""
    text = f"def {name}(z: tl.TensorMut[tw.f32]) -> None:\n    z.store(tl.zeros(z.shape, tw.f32))"
    kernel = tw.exec(f"import tilewright as tw\nimport tilewright.lang as tl\n@tw.entry\n{text}\n")
    made = kernel[name].compile_for("sm_90", tw.meta((64,)).partition_mut((16,)))
    assert made.code[:4] == b"\x7fELF"
