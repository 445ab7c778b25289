"""The twins with tokens do what the plain ops do."""

from __future__ import annotations

import numpy as np

from support.ir import Kernel, checked, poisoned
from tilewright.backend.reference.memory import PLAIN_RULES, RULES
from tilewright.base.dtypes import bool_, f32, i32
from tilewright.ir.attrs import AtomicMode
from tilewright.ir.ops.memory import TOKEN_OPS
from tilewright.ir.types import TOKEN, TileType


def test_every_token_op_has_a_rule():
    assert set(RULES) - set(PLAIN_RULES) == {op.name for op in TOKEN_OPS}


def test_views_with_tokens():
    k = Kernel()
    x, z = k.tensor("x", f32, 1), k.output("z", f32, 1)
    guard = k.scalar("guard", bool_)
    token = k.emit("make_token")
    load = k.op("load_view_tko", k.view(x, (4,), padding=7), [k.i32(0)], None, token)
    tile, loaded = load.results
    assert loaded.type == TOKEN
    joined = k.emit("join_tokens", [token, loaded])
    stored = k.op("store_view_tko", tile, k.view(z, (4,)), [k.i32(0)], guard, joined).result
    k.op("atomic_red_view_tko", tile, k.view(z, (4,)), [k.i32(0)], None, stored)
    x, z = np.array([1, 2, 3], np.float32), np.zeros(4, np.float32)
    checked(k.finish(), [x, z, True])
    assert z.tolist() == [2, 4, 6, 14]


def test_pointers_with_tokens():
    k = Kernel()
    p, z = k.pointer("p", i32), k.output("z", i32, 1)
    pointers = k.pointers(p, 4)
    old, token = k.op(
        "atomic_rmw_tko", pointers, k.constant(10, i32, (4,)), mode=AtomicMode.ADD
    ).results  # fmt: skip
    ten, zero = k.constant(10, i32, (4,)), k.constant(0, i32, (4,))
    _, token = k.op("atomic_cas_tko", pointers, ten, zero, None, token).results
    values, token = k.op("load_ptr_tko", pointers, None, None, token).results
    token = k.op("store_ptr_tko", pointers, k.emit("addi", values, old), None, token).result
    k.store(values, z)
    data, z = np.arange(4, dtype=np.int32), poisoned(i32, (4,))
    checked(k.finish(), [data, z])
    assert z.tolist() == [0, 11, 12, 13]
    assert data.tolist() == [0, 12, 14, 16]


def test_tokens_are_carried_through_loops():
    k = Kernel()
    z = k.output("z", i32, 1)
    token = k.emit("make_token")
    with k.region(TileType(i32), TOKEN) as body:
        i, carried = body.args
        one = k.emit("reshape", i, shape=(1,))
        stored = k.op("store_view_tko", one, k.view(z, (1,)), [i], None, carried).result
        k.op("continue", [stored])
    k.op("for", k.i32(0), k.i32(5), k.i32(1), [token], regions=[body])
    z = poisoned(i32, (5,))
    checked(k.finish(), [z])
    assert z.tolist() == [0, 1, 2, 3, 4]
