"""What kernels print is the same text on both devices, and reads as Python and NumPy write it."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import bf16, bool_, f8e4m3fn, f16, f32, f64, i8, i32, u64


@pytest.fixture(params=["cpu", "reference"])
def device(request):
    with tw.device(request.param):
        yield request.param


@tw.entry
def tiles(x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    tile = x.load_tile((2, 4), (0, tl.block_id(0)))
    print(f"block {tl.block_id(0)}")
    print(f"{tile:.3f}")
    print(f"fixed {tile:8.2f}|exponent {tile:.1e}")
    tl.cuda_tile_print("template {:+.1f}\n", tile)
    print("no format", tile)


@tw.entry
def kinds(x: tl.Tensor[f32, tl.Dyn]) -> None:
    tile = x.load_tile((4,), (0,))
    print(f"i32 {tile.astype(i32):03d} hex {tile.astype(i32):#x}")
    print(f"i8 {tile.astype(i8):>4} u64 {tile.astype(u64):,}")
    print(f"bool {tile > 1.0:5} {tile > 1.0:d} {tile > 1.0}")
    print(f"f16 {tile.astype(f16):.2f} f64 {tile.astype(f64):g}")
    print(f"bf16 {tile.astype(bf16):.2f} f8 {tile.astype(f8e4m3fn):.1f}")
    print(f"one {tile[:, None]:.1f}")


@tw.entry
def scalars(a: f32, b: i32) -> None:
    print(f"{a:.3f}|{a:10.2e}|{a:<8g}|{a:+}|{a!r}|{a=}")
    print(f"{b:05d}|{b:x}|{b:>6}|{b:,}|{b:.2f}|{b=}")
    print(f"{b > 2}|{b > 2:d}|{b > 2:>6}")
    print(a.astype(bf16), a.astype(f16), a.astype(f64), b.astype(i8))
    print(f"{a.astype(bf16):.4f}|{a.astype(f8e4m3fn):8.3f}")


@tw.entry
def large(x: tl.Tensor[f32, tl.Dyn]) -> None:
    print(f"{x.load_tile((2048,), (0,)):.1f}")
    print(f"{x.load_tile((32,), (0,)):6.2f}")


def test_tiles(device, golden, capsys):
    tiles(np.linspace(-1, 1000, 16, dtype="f4").reshape(2, 8)).grid((2,)).sync()
    golden(capsys.readouterr().out, "tiles")


def test_kinds(device, golden, capsys):
    kinds(np.array([0, 1, 2.5, 1000], "f4")).grid((1,)).sync()
    golden(capsys.readouterr().out, "kinds")


def test_scalars(device, golden, capsys):
    scalars(1.5, -1234567).grid((1,)).sync()
    golden(capsys.readouterr().out, "scalars")


def test_large_tiles_are_cut_as_numpy_cuts_them(device, golden, capsys):
    large(np.arange(2048, dtype="f4")).grid((1,)).sync()
    golden(capsys.readouterr().out, "large")


NUMBERS = [0.0, -0.0, 1.0, 1 / 3, 1e-30, 12345678.0, 1e30, float("inf"), float("nan")]
FLOAT_FORMATS = [".3f", "10.4g", "e", "+", "%", "012.2f", ",.1f", "<9", "*^15.2e", "G"]


@pytest.mark.parametrize("spec", FLOAT_FORMATS)
def test_floats_follow_python(device, capsys, spec):
    names = {"tw": tw, "tl": tl, "f64": f64}
    source = f"@tw.entry\ndef kernel(a: f64) -> None:\n    print(f'{{a:{spec}}}')\n"
    kernel = tw.exec(source, names)["kernel"]
    for number in NUMBERS:
        kernel(number).grid((1,)).sync()
        assert capsys.readouterr().out == f"{number:{spec}}\n"


@pytest.mark.parametrize(
    "spec", ["d", "5", "<5", "b", "#o", "X", ",", "_", "+d", "=+8", "e", ".1%"]
)
def test_ints_follow_python(device, capsys, spec):
    names = {"tw": tw, "tl": tl, "i32": i32}
    source = f"@tw.entry\ndef kernel(a: i32) -> None:\n    print(f'{{a:{spec}}}')\n"
    kernel = tw.exec(source, names)["kernel"]
    for number in (0, 7, -7, 2**31 - 1, -(2**31)):
        kernel(number).grid((1,)).sync()
        assert capsys.readouterr().out == f"{number:{spec}}\n"


@pytest.mark.parametrize("spec", ["d", "5", "s", "x"])
def test_bools_follow_python(device, capsys, spec):
    names = {"tw": tw, "tl": tl, "bool_": bool_}
    source = f"@tw.entry\ndef kernel(a: bool_) -> None:\n    print(f'{{a:{spec}}}', a)\n"
    try:
        texts = [f"{b:{spec}} {b}\n" for b in (True, False)]
    except ValueError:  # Python refuses the format, and so do we
        with pytest.raises(tw.CompileError, match="bad format"):
            tw.exec(source, names)["kernel"](True).grid((1,)).sync()
        return
    kernel = tw.exec(source, names)["kernel"]
    for number, text in zip((True, False), texts, strict=True):
        kernel(number).grid((1,)).sync()
        assert capsys.readouterr().out == text
