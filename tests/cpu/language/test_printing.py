"""What kernels print and assert: the same text on every device, as Python would write it."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import NAMES, Output, held
from support.numbers import wide
from tilewright import f32, i32
from tilewright.base.dtypes import ALL, f4e2m1fn, f4e2m1fnx2


def printed(device, capsys, kernel, *args, grid=(1,), **constants):
    capsys.readouterr()
    with tw.device(device):
        kernel(*args, **constants).grid(grid).sync()
    return capsys.readouterr().out


@tw.entry
def forms(n: i32, x: f32, flag: bool, *, NAME: tl.Const[str] = "N") -> None:
    """Every form of print there is."""
    print("plain text, {braces} and a % sign")
    print(n, x, flag, "text", 3, 2.5, None, (n, "a", (x,)), [n, flag])
    print()
    print(n, x, sep=", ", end="|\n")
    print("no newline", end="")
    print("; next")
    print(f"{n}:{n:05d}:{n:>6}:{n:x}:{x:.3f}:{x:e}:{x:+.1f}:{NAME!r}:{NAME:>4}:{{}}")
    print(f"{n + 1} {x * 2.0:g} {tl.maximum(n, 3)}")
    tl.cuda_tile_print("n = {}, x = {:.2f}, again {}\n", n, x, n)
    tl.cuda_tile_print("{1} before {0}\n", n, flag)


def test_forms(device, capsys):
    text = printed(device, capsys, forms, 42, 1.5, True)
    assert text == (
        "plain text, {braces} and a % sign\n"
        "42 1.5 True text 3 2.5 None (42, 'a', (1.5,)) [42, True]\n"
        "\n"
        "42, 1.5|\n"
        "no newline; next\n"
        "42:00042:    42:2a:1.500:1.500000e+00:+1.5:'N':   N:{}\n"
        "43 3 42\n"
        "n = 42, x = 1.50, again 42\n"
        "True before 42\n"
    )


@tw.entry
def show(x: tl.Tensor, *, SHAPE: tl.Const[tuple]) -> None:
    print(x.load_tile(SHAPE, [0] * len(SHAPE)))


def test_tiles_are_shown_as_numpy_shows_them(device, capsys, rng):
    for shape in ((1,), (4,), (2, 4), (2, 2, 2), (64,)):
        x = rng.standard_normal(shape).astype(np.float32)
        assert printed(device, capsys, show, x, SHAPE=shape) == f"{x}\n"
    large = np.arange(2048, dtype=np.int32)
    assert printed(device, capsys, show, large, SHAPE=(2048,)) == f"{large}\n"


@pytest.mark.parametrize("dtype", [t for t in ALL if t not in (f4e2m1fn, f4e2m1fnx2)], ids=str)
def test_every_type_is_shown(device, capsys, dtype):
    """A tile and a scalar; floats as their value."""
    kernel = tw.exec(
        "@tw.entry\ndef kernel(x: tl.Tensor) -> None:\n"
        "    tile = x.load_tile((4,), 0)\n"
        "    print(tile, tl.extract(tile, 0, 1).item())\n",
        dict(NAMES),
    )["kernel"]
    x = np.array([1, 2, 4, 1], np.float32).astype(dtype.np)
    with tw.device(device):
        text = printed(device, capsys, kernel, held(x, dtype))
    first = bool(x[0]) if dtype.is_bool else wide(x)[0] if dtype.is_float else int(x[0])
    shown = x.astype(np.float32) if dtype.is_float and dtype.bits < 32 else x
    assert text in (f"{x} {first}\n", f"{shown} {first}\n")


@tw.entry
def numbers(x: tl.Tensor[f32]) -> None:
    for k in range(8):
        print(x.load_tile((1,), k).item())


def test_special_floats(device, capsys):
    values = [0.1, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.4e38, 16777216.0]
    x = np.array(values, np.float32)
    text = printed(device, capsys, numbers, x)
    assert text.splitlines() == [str(v) for v in x]


@tw.entry
def in_order(n: i32) -> None:
    i, j, _ = tl.get_tile_block_id()
    for k in range(n):
        print(i, j, k)


def test_blocks_print_in_order(device, capsys):
    """Whatever order they ran in: block by block, each in its program's order."""
    text = printed(device, capsys, in_order, 3, grid=(9, 4))
    assert text == "".join(f"{i} {j} {k}\n" for i in range(9) for j in range(4) for k in range(3))


def test_printing_where_a_branch_is_taken(device, capsys):
    @tw.entry
    def some() -> None:
        i = tl.block_id(0)
        if i % 3 == 0:
            print("third", i)
        elif i > 4:
            print("late", i)

    text = printed(device, capsys, some, grid=(7,))
    assert text == "third 0\nthird 3\nlate 5\nthird 6\n"


# --- assert ------------------------------------------------------------------------------------


@tw.entry
def guarded(out: tl.TensorMut[i32], x: tl.Tensor[i32], limit: i32) -> None:
    tile = tl.load_tile_like(x, out)
    assert tl.reduce_sum(tile, 0) < limit, "the sum is too large"
    assert tile >= 0, "an element is negative"
    tl.cuda_tile_assert(limit != 13, "unlucky")
    assert tile.dtype is i32 and out.rank == 1
    out.store(tile)


FAILURES = [
    (np.array([*[1] * 8, *[9] * 4]), 10, "the sum is too large"),
    (np.array([*[1] * 8, -1, *[0] * 3]), 99, "an element is negative"),
]


@pytest.mark.parametrize(("x", "limit", "message"), FAILURES, ids=["sum", "negative"])
def test_failed_assertions(device, x, limit, message):
    """Only the last of three blocks fails."""
    with tw.device(device):
        z = Output((12,), i32)
        with pytest.raises(tw.LaunchError) as caught:
            guarded(z.cut(4), x.astype(np.int32), limit).sync()
        text = str(caught.value)
        assert f"assertion failed in `guarded`: {message}" in text
        assert "test_printing.py" in text and "|     assert t" in text
        assert "got: block (2, 0, 0) failed it" in text
        again = np.arange(12, dtype=np.int32)
        guarded(z.cut(4), again, 100).sync()
    assert (z.result() == again).all()


def test_assertions_on_arguments_are_checked_before_the_launch(device, capsys):
    @tw.entry
    def checked(out: tl.TensorMut[f32], x: tl.Tensor[f32], n: i32) -> None:
        assert x.shape[0] == out.shape[0] * 2, "two tiles, please"
        assert 0 < n <= 10
        print("ran")
        out.store(tl.load_tile_like(x, out))

    x = np.zeros(8, np.float32)
    with tw.device(device):
        z = Output((8,), f32)
        with pytest.raises(tw.LaunchError, match="two tiles, please"):
            checked(z.cut(4), x[:7], 3).sync()
        with pytest.raises(tw.LaunchError, match="n <= 10"):
            checked(z.cut(4), x, 11).sync()
        assert capsys.readouterr().out == ""
        checked(z.cut(4), x, 10).sync()
    assert capsys.readouterr().out == "ran\nran\n"


def test_what_was_printed_before_a_failure_is_shown(device, capsys):
    @tw.entry
    def talking(n: i32) -> None:
        print("block", tl.block_id(0))
        if tl.block_id(0) == 0:
            value = n * 1
            assert value != 5, "five"

    with tw.device(device), pytest.raises(tw.LaunchError, match="five"):
        talking(5).grid((1,)).sync()
    assert capsys.readouterr().out == "block 0\n"
