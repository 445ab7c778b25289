"""Mistakes in kernels that both type checkers must find: each marked line, and no other."""

from __future__ import annotations

import tilewright.lang as tl
from tilewright.base.dtypes import f32, i32

hits = tl.Global(i32)


def memory(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    x.store(z.load())  # error: inputs are read only
    x.partition((4, 4)).store(z.load(), (0, 0))  # error: so are their partitions
    x + 1.0  # error: a tensor has no arithmetic
    z.load_tile((4,), 0)  # error: an output is loaded whole
    tl.load_tile_like(z, x)  # error: the output comes second
    z.store(x)  # error: a tensor is no tile
    x.load_tile((4, 4))  # error: an index is missing
    x.shape = (1, 2)  # error: shapes are facts


def values(z: tl.TensorMut[f32], p: tl.Ptr[f32], n: i32) -> None:
    p * 2  # error: pointers only move
    tl.load_ptr(z.load())  # error: a tile is no pointer
    tl.atomic_add(p, 1.0, ordering="weak")  # error: atomics are ordered
    hits.store(1, ordering="acquire")  # error: a store releases
    hits + 1  # error: a global is loaded first
    tl.get_global(p)  # error: a pointer is no global
    tl.reduce_sum(z)  # error: an output is no tile
    tl.scale(z.load())  # error: no such function
    z.load().clamp_min(0)  # error: no such method
    tl.gelu(z.load(), "erf")  # error: no such approximation
    tl.stack(z.load(), 0)  # error: tiles are given as a tuple
    tl.split(z.load())  # error: how many parts is missing


def mapped(z: tl.MappedPartitionMut[f32], w: tl.TensorMut[f32]) -> None:
    z.store(w.load(), (0, 0))  # error: a tuple of numbers is no index
    z.store(w.load())  # error: an index is missing
    for m, n in z.iter_indices():
        z.store(w.load(), (m, n))  # error: nor are the numbers of one
    w.iter_indices()  # error: a block has one tile of a plain output
    z.partition_mut((4, 4))  # error: tiles of a mapped output are not cut further
    z.iter_indices_with(w)  # error: only mapped outputs are visited together
    tl.load_tile_like(w, z)  # error: a mapped output has no region of a block
