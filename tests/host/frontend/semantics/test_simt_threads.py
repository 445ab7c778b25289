"""A witness is what `simt.index_1d()` gave, unchanged: nothing that is made from one is another."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import CompileError

HEAD = """
import tilewright as tw
import tilewright.lang as tl
from tilewright import bool_, f32, i8, i32, i64, simt, u32

def same(v):
    return v

def moved(v):
    return v + 0

def first_of(a, b):
    return a if a < b else b

@simt.kernel(domain={domain})
def kernel(out: simt.DisjointSlice[f32], where: simt.Slice[i32], n: i32) -> None:
    i = simt.index_{domain}d({width})
    if i < len(out):
"""

FORGED = {
    "plus nothing": "out[i + 0] = 1.0",
    "minus nothing": "out[i - 0] = 1.0",
    "times one": "out[i * 1] = 1.0",
    "over one": "out[i // 1] = 1.0",
    "remainder": "out[i % len(out)] = 1.0",
    "power": "out[i ** 2] = 1.0",
    "negated twice": "out[-(-i)] = 1.0",
    "plus sign": "out[+i + 0] = 1.0",
    "inverted twice": "out[~~i] = 1.0",
    "magnitude": "out[abs(i)] = 1.0",
    "bits": "out[i | 0] = 1.0",
    "masked": "out[i & 2147483647] = 1.0",
    "flipped": "out[i ^ 0] = 1.0",
    "shifted": "out[i << 0] = 1.0",
    "shifted back": "out[i >> 0] = 1.0",
    "greatest": "out[max(i, 0)] = 1.0",
    "least": "out[min(i, len(out) - 1)] = 1.0",
    "remainder of a pair": "out[divmod(i, 1)[0]] = 1.0",
    "wide and back": "out[i32(i64(i))] = 1.0",
    "unsigned and back": "out[i32(u32(i))] = 1.0",
    "narrow": "out[i32(i8(i))] = 1.0",
    "as a truth": "out[i32(i > 0)] = 1.0",
    "a constant": "out[0] = 1.0",
    "a truth": "out[True] = 1.0",
    "a number": "out[n] = 1.0",
    "an element": "out[where[0]] = 1.0",
    "the last": "out[len(out) - 1] = 1.0",
    "by hand": "out[simt.block_idx() * simt.block_dim() + simt.thread_idx()] = 1.0",
    "place in the block": "out[simt.thread_idx()] = 1.0",
    "chosen": "out[i if n > 0 else 0] = 1.0",
    "chosen by a function": "out[first_of(i, n)] = 1.0",
    "through a function": "out[moved(i)] = 1.0",
    "of a branch": "j = i\nif n > 0:\n    j = n\nout[j] = 1.0",
    "of another branch": "if n > 0:\n    j = n\nelse:\n    j = i\nout[j] = 1.0",
    "carried": "j = i\nfor _ in range(n):\n    j = j + 1\nout[j] = 1.0",
    "carried and swapped": "a, b = i, n\nfor _ in range(n):\n    a, b = b, a\nout[a] = 1.0",
    "carried by while": "j = i\nwhile j > n:\n    j = j - 1\nout[j] = 1.0",
    "counted": "for j in range(i, len(out)):\n    out[j] = 1.0",
    "added in place": "i += 0\nout[i] = 1.0",
    "in a pair": "pair = (i, i + 1)\nout[pair[1]] = 1.0",
    "out of a closure": "f = lambda v: v + 0\nout[f(i)] = 1.0",
    "read of another element": "out[i] = out[n]",
    "read of the next": "out[i] = out[i + 1]",
    "added to another": "out[i + 1] += 1.0",
}

FORGED_ROWS = {
    "row by row": "out[i.row * n + i.col] = 1.0",
    "row": "out[i.row] = 1.0",
    "column": "out[i.col] = 1.0",
}

UNCHANGED = {
    "itself": "out[i] = 1.0",
    "another name": "j = i\nout[j] = 1.0",
    "plus sign": "out[+i] = 1.0",
    "through a function": "out[same(i)] = 1.0",
    "out of a pair": "pair = (n, i)\nout[pair[1]] = 1.0",
    "unpacked": "a, b = n, i\nout[b] = 1.0",
    "out of a closure": "f = lambda: i\nout[f()] = 1.0",
    "in a loop": "for _ in range(2):\n    out[i] = 1.0",
    "asked for again": "out[simt.index_1d()] = 1.0",
    "same type": "out[i32(i)] = 1.0",
    "first power": "out[i ** 1] = 1.0",
}


def built(body: str, domain: int = 1, width: str = ""):
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return tw.exec(HEAD.format(domain=domain, width=width) + lines + "\n")["kernel"]


def arguments(shape: tuple[int, ...]):
    return tw.empty(shape), np.zeros(4, np.int32), 3


@pytest.mark.parametrize("name", FORGED)
def test_no_number_becomes_a_witness(name):
    with pytest.raises(CompileError, match="witness"):
        built(FORGED[name])(*arguments((4,))).sync()


@pytest.mark.parametrize("name", FORGED_ROWS)
def test_nor_do_the_numbers_of_a_place_in_rows(name):
    with pytest.raises(CompileError, match="witness"):
        built(FORGED_ROWS[name], 2, "n")(*arguments((4, 4))).sync()


@pytest.mark.parametrize("name", UNCHANGED)
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_what_is_unchanged_stays_one(name, device):
    with tw.device(device):
        out, *_ = built(UNCHANGED[name])(*arguments((300,))).sync()
        assert (out.to_numpy() == 1).all()


def test_a_witness_of_another_kernel_is_none():
    """Python values that a kernel captures are constants, whatever they are called."""
    source = HEAD.format(domain=1, width="") + "        out[stolen] = 1.0\n"
    with pytest.raises(CompileError, match="witness"):
        tw.exec("stolen = 0\n" + source)["kernel"](*arguments((4,))).sync()
