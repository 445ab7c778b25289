"""Kernels with next to no work in them, in cuTile Python, by their number of tensors."""
# cuTile reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportInvalidTypeForm=false
# ruff: noqa: ANN001, ANN002, ANN201, ANN202

from __future__ import annotations

import importlib
from typing import Any

ct: Any = importlib.import_module("cuda.tile")

Int = ct.Constant[int]


@ct.kernel
def _sum1(z, T: Int):
    ct.store(z, (0,), ct.full((T,), 1.0, ct.float32))


@ct.kernel
def _sum2(z, a, T: Int):
    ct.store(z, (0,), ct.load(a, (0,), (T,)))


@ct.kernel
def _sum3(z, a, b, T: Int):
    ct.store(z, (0,), ct.load(a, (0,), (T,)) + ct.load(b, (0,), (T,)))


@ct.kernel
def _sum4(z, a, b, c, T: Int):
    total = ct.load(a, (0,), (T,)) + ct.load(b, (0,), (T,)) + ct.load(c, (0,), (T,))
    ct.store(z, (0,), total)


@ct.kernel
def _sum8(z, a, b, c, d, e, f, g, T: Int):
    total = ct.load(a, (0,), (T,)) + ct.load(b, (0,), (T,)) + ct.load(c, (0,), (T,))
    total += ct.load(d, (0,), (T,)) + ct.load(e, (0,), (T,)) + ct.load(f, (0,), (T,))
    total += ct.load(g, (0,), (T,))
    ct.store(z, (0,), total)


@ct.kernel
def _sum16(
    z, a, b, c, d, e, f, g,
    h, i, j, k, m, n, o, p, T: Int,
):  # fmt: skip
    total = ct.load(a, (0,), (T,)) + ct.load(b, (0,), (T,)) + ct.load(c, (0,), (T,))
    total += ct.load(d, (0,), (T,)) + ct.load(e, (0,), (T,)) + ct.load(f, (0,), (T,))
    total += ct.load(g, (0,), (T,)) + ct.load(h, (0,), (T,)) + ct.load(i, (0,), (T,))
    total += ct.load(j, (0,), (T,)) + ct.load(k, (0,), (T,)) + ct.load(m, (0,), (T,))
    total += ct.load(n, (0,), (T,)) + ct.load(o, (0,), (T,)) + ct.load(p, (0,), (T,))
    ct.store(z, (0,), total)


@ct.kernel
def _scaled(z, a, factor, T: Int):
    ct.store(z, (0,), ct.load(a, (0,), (T,)) * factor)


@ct.kernel
def _picked(z, a, where, T: Int):
    ct.store(z, (0,), ct.load(a, (ct.load(where, (0,), (1,)).item(),), (T,)))


SUMS = {1: _sum1, 2: _sum2, 3: _sum3, 4: _sum4, 8: _sum8, 16: _sum16}


def launch(stream, z, *inputs):
    """What puts the kernel for these tensors on a stream, again and again."""
    kernel, args = SUMS[1 + len(inputs)], (z, *inputs, z.numel())
    return lambda: ct.launch(stream, (1,), kernel, args)


def copied(stream, z, x):
    """z = x."""
    ct.launch(stream, (1,), _sum2, (z, x, z.numel()))


def scaled(stream, z, x, factor):
    """z = x * factor."""
    ct.launch(stream, (1,), _scaled, (z, x, factor, z.numel()))


def picked(stream, z, x, where):
    """A tile of x by an index that only the running kernel knows."""
    ct.launch(stream, (1,), _picked, (z, x, where, z.numel()))
