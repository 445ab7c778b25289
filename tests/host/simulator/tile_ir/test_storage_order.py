"""Tokens: accesses of the same memory that nothing orders are reported."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.tile_ir.machine import TileIRError
from support.tile_ir import Built
from tilewright.backend.tileir.bytecode.enums import AtomicModeCode, MemoryOrdering, MemoryScope
from tilewright.backend.tileir.bytecode.types import I32, INDEX, TOKEN, Pointer, TileValueType

POINTER = TileValueType(Pointer(I32))
RELAXED = {
    "memory_ordering_semantics": MemoryOrdering.RELAXED, "memory_scope": MemoryScope.DEVICE,
}  # fmt: skip


def store(built, value, token=None, at=0):
    where = built.one("offset", POINTER, built.args[0], built.number(at, I32))
    return built.one("store_ptr_tko", TOKEN, where, built.number(value, I32), None, token)


def load(built, token=None, at=0):
    where = built.one("offset", POINTER, built.args[0], built.number(at, I32))
    return built.op("load_ptr_tko", [INDEX, TOKEN], where, None, None, token)[1]


def run(built):
    x = np.zeros(4, np.int32)
    built.run(x)
    return x


def test_ordered_by_tokens():
    built = Built(POINTER)
    first = store(built, 1)
    joined = built.one("join_tokens", TOKEN, [load(built, first), load(built, first)])
    store(built, 2, joined)
    assert run(built)[0] == 2


@pytest.mark.parametrize("then", [load, lambda built: store(built, 2)])
def test_after_a_write_without_a_token(then):
    built = Built(POINTER)
    store(built, 1)
    then(built)
    with pytest.raises(TileIRError, match=r"access 0 .`store_ptr_tko`"):
        run(built)


def test_a_write_after_a_read_without_a_token():
    built = Built(POINTER)
    load(built)
    store(built, 1)
    with pytest.raises(TileIRError, match=r"access 0 .`load_ptr_tko`"):
        run(built)


def test_a_token_of_another_access_does_not_help():
    built = Built(POINTER)
    store(built, 1)
    store(built, 2, store(built, 3, at=1))
    with pytest.raises(TileIRError, match="no token"):
        run(built)


def test_what_needs_no_order():
    built = Built(POINTER)
    load(built)
    load(built)
    store(built, 1, at=1)
    store(built, 2, at=2)
    assert run(built).tolist() == [0, 1, 2, 0]


def test_atomics_order_themselves():
    assert run(added(3))[0] == 3


def test_a_weak_access_after_an_atomic_needs_a_token():
    built = added(1)
    load(built)
    with pytest.raises(TileIRError, match="no token"):
        run(built)


def added(times):
    """A kernel that adds 1 so many times, atomically."""
    built = Built(POINTER)
    one = built.number(1, I32)
    for _ in range(times):
        built.op(
            "atomic_rmw_tko", [INDEX, TOKEN], built.args[0], one, mode=AtomicModeCode.ADD, **RELAXED
        )
    return built
