"""Globals become hidden parameters behind those of the kernel, each once, and only where used."""

from __future__ import annotations

import types

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.kernels import ir_of, out, pointer, run, scalar
from tilewright.base.dtypes import f8e4m3fn, f32, i32
from tilewright.base.errors import Code, CompileError
from tilewright.ir.signature import GlobalSpec
from tilewright.ir.types import PtrType, TileType
from tilewright.passes.dce import dce

hits = tl.Global(i32)
table = tl.Global(f32, shape=(2, 4))
odd = tl.Global(f32, shape=(10,))
small = tl.Global(f8e4m3fn)
other = types.SimpleNamespace(hits=tl.Global(i32), z=tl.Global(f32))
pair = (tl.Global(i32), tl.Global(i32))


def hidden_of(func):
    count = func.signature.hidden
    assert len(func.params) == len(func.signature.params)
    assert func.signature.globals == func.signature.params[len(func.params) - count :]
    return [spec.name for spec in func.signature.globals]


def test_a_kernel_without_globals_has_no_hidden_parameter():
    def kernel(z: tl.TensorMut[f32]) -> None:
        with tw.unsafe():
            if z.rank == 2:
                hits.store(1)
        assert hits.shape == ()
        assert hits.dtype == i32
        z.store(z.load())

    func = ir_of(kernel, out((4,)))
    assert hidden_of(func) == []
    assert len(func.params) == 1


def test_one_parameter_for_each_however_often_it_is_used():
    def bump(g):
        g.atomic_add(1)

    def kernel(z: tl.TensorMut[f32], n: i32) -> None:
        bump(hits)
        for _ in range(n):
            bump(hits)
        tl.get_global(table)
        table.store(table.load() + 1.0)

    func = ir_of(kernel, out((4,)), scalar(i32), unsafe=True)
    assert hidden_of(func) == ["hits", "table"]
    assert func.params[2].type == TileType(PtrType(i32))
    spec = func.signature.globals[1]
    assert spec == GlobalSpec("table", f32, (2, 4), table.memory)


def test_parameters_survive_passes():
    def kernel(z: tl.TensorMut[f32]) -> None:
        hits.load()

    func = ir_of(kernel, out((4,)), unsafe=True)
    assert hidden_of(func) == hidden_of(dce(func)) == ["hits"]


def test_names_are_told_apart():
    def kernel(z: tl.TensorMut[f32]) -> None:
        hits.store(1)
        other.hits.store(2)
        other.z.store(3.0)
        pair[0].store(4)
        pair[1].store(5)

    func = ir_of(kernel, out((4,)), unsafe=True)
    assert hidden_of(func) == ["hits", "hits_2", "z_2", "unnamed", "unnamed_2"]


def test_a_constant_parameter_may_be_a_global():
    def kernel(z: tl.TensorMut[f32], *, counter: tl.Const[tl.Global[i32]]) -> None:
        counter.atomic_add(1)

    func = ir_of(kernel, out((4,)), unsafe=True, counter=pair[1])
    assert hidden_of(func) == ["counter"]


def test_a_loop_that_is_compiled_twice_counts_once():
    def kernel(n: i32) -> None:
        k = 0
        for _ in range(n):
            if k == 0:
                hits.atomic_add(1)
            k = k + 1

    func = ir_of(kernel, scalar(i32), unsafe=True)
    assert hidden_of(func) == ["hits"]
    counter = np.zeros((), "i4")
    run(func, 3, counter)
    assert counter == 1


def test_what_is_read_and_written():
    def kernel(z: tl.TensorMut[f32], n: i32) -> None:
        old = hits.atomic_add(n)
        tile = table.load() * 2.0
        table.store(tile)
        z.store(tl.full((4,), old, i32).astype(f32) + tl.reduce_sum(tile, 0))

    func = ir_of(kernel, out((4,)), scalar(i32), unsafe=True)
    z, counter, values = np.zeros(4, "f4"), np.array(5, "i4"), np.arange(8, dtype="f4")
    values = values.reshape(2, 4)
    run(func, z, 3, counter, values)
    assert counter == 8
    assert values.tolist() == [[0, 2, 4, 6], [8, 10, 12, 14]]
    assert z.tolist() == [13, 17, 21, 25]


def test_orderings_reach_the_ops():
    def kernel() -> None:
        hits.load(ordering="acquire")
        hits.store(1, ordering=tl.Ordering.RELEASE, scope="system")
        hits.atomic_add(1, ordering="relaxed", scope=tl.Scope.TILE_BLOCK)

    ops = {op.name: op.attrs for op in ir_of(kernel, unsafe=True).walk()}
    assert ops["load_ptr"]["ordering"] == "acquire"
    assert (ops["store_ptr"]["ordering"], ops["store_ptr"]["scope"]) == ("release", "system")
    assert (ops["atomic_rmw"]["ordering"], ops["atomic_rmw"]["scope"]) == ("relaxed", "tile_block")


def refused(kernel, *specs, unsafe=True):
    with pytest.raises(CompileError) as caught:
        ir_of(kernel, *specs, unsafe=unsafe)
    return caught.value


def test_only_unsafe_code_may_use_globals():
    def kernel() -> None:
        hits.atomic_add(1)

    def inside() -> None:
        with tw.unsafe():
            hits.atomic_add(1)

    assert refused(kernel, unsafe=False).code is Code.UNSAFE
    assert hidden_of(ir_of(inside)) == ["hits"]


def test_shapes_that_are_no_tile_are_reached_by_pointers():
    def whole() -> None:
        odd.load()

    def by_pointer() -> None:
        at = tl.arange(16)
        tl.scatter(tl.get_global(odd), at, at.astype(f32), mask=at < 10)

    assert refused(whole).code is Code.POWER_OF_TWO
    values = np.full(10, -1, "f4")
    run(ir_of(by_pointer, unsafe=True), values)
    assert values.tolist() == list(range(10))


def test_what_else_is_refused():
    def no_global(p: tl.Ptr[f32]) -> None:
        tl.get_global(p)

    def wrong_type() -> None:
        hits.store(tl.full((), 1.0, f32))

    def wrong_shape() -> None:
        table.store(tl.zeros((8,), f32))

    def no_such_atomic() -> None:
        small.atomic_add(1.0)

    def method_of_the_host() -> None:
        hits.to_numpy()

    assert refused(no_global, pointer(f32)).code is Code.TYPE
    assert refused(wrong_type).code is Code.DTYPE
    assert refused(wrong_shape).code is Code.BROADCAST
    assert refused(no_such_atomic).code is Code.DTYPE
    assert refused(method_of_the_host).code is Code.ATTRIBUTE


def test_a_global_is_no_value():
    def added() -> None:
        hits.store(hits + 1)

    def compared() -> None:
        if hits == 0:
            hits.store(1)

    def judged() -> None:
        if hits:
            hits.store(1)

    def asserted() -> None:
        assert hits

    def printed() -> None:
        print(f"{hits}")

    def indexed() -> None:
        table[0]

    def selected(n: i32) -> None:
        g = hits if n > 0 else pair[0]
        g.store(1)

    assert refused(added).hint == "load a tile first: g.load()"
    assert refused(compared).code is Code.TYPE
    assert refused(judged).code is Code.TRUTH
    assert refused(asserted).code is Code.TRUTH
    assert refused(printed).code is Code.TYPE
    assert refused(indexed).code is Code.TYPE
    assert refused(selected, scalar(i32)).code is Code.SELECT
