"""Which tiles are kept in memory, and which are computed again."""

from __future__ import annotations

from support.native import Dense
from support.plans import AVX2, rows
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.backend.cpu.loopnest.nodes import Compute, Nest, buffers_of, walk
from tilewright.base.dtypes import f32, i32
from tilewright.ir.attrs import Predicate
from tilewright.ir.types import TileType


def tiles_kept(func, size):
    """The buffers of at least so many elements."""
    plan = build_plan(func, AVX2)
    return [b for b in buffers_of(plan) if b.bytes >= 4 * size]


def count(func, name):
    """How often an op is computed in all nests."""
    nests = [s for s in walk(build_plan(func, AVX2).body) if isinstance(s, Nest)]
    return sum(isinstance(r, Compute) and r.op.name == name for n in nests for r in n.reads)


def test_an_elementwise_chain_touches_no_memory():
    k = Dense()
    tile = k.load(k.tensor("x", f32, 1), (1024,))
    for name in ("exp", "sin", "sqrt"):
        tile = k.emit(name, tile)
    k.store(tile, k.output("z", f32, 1))
    assert build_plan(k.finish(), AVX2).scratch_bytes == 0


def statistics(name):
    k = Dense()
    x, z = k.tensor("x", f32, 2), k.output("z", f32, 2)
    tile = k.emit(name, k.load(x, (8, 64)))
    k.store(k.emit("subf", tile, rows(k, tile, "addf", 0.0)), z)
    return k.finish()


def test_costly_tiles_are_computed_once():
    func = statistics("exp")
    assert len(tiles_kept(func, 512)) == 1
    assert count(func, "exp") == 1


def test_cheap_tiles_are_computed_again():
    func = statistics("negf")
    assert tiles_kept(func, 512) == []
    assert count(func, "negf") == 2


def test_constants_and_masks_are_not_kept_for_a_loop():
    k = Dense()
    z, n = k.output("z", i32, 1), k.scalar("n", i32)
    places = k.emit("iota", size=64, dtype=i32)
    mask = k.emit("cmpi", places, k.broadcast(n, (64,)), predicate=Predicate.LT)
    start = k.constant(0, i32, (64,))
    with k.region(TileType(i32), start.type) as loop:
        one = k.emit("exti", mask, to=i32)
        k.op("continue", [k.emit("addi", loop.args[1], one)])
    (total,) = k.op("for", k.i32(0), n, k.i32(1), [start], regions=[loop]).results
    k.store(total, z)
    assert len(buffers_of(build_plan(k.finish(), AVX2))) == 1, "only what is carried"


def test_what_a_loop_multiplies_is_packed_before_it():
    k = Dense()
    x, z = k.tensor("x", f32, 2), k.output("z", f32, 2)
    right = k.load(x, (32, 64))
    zero = k.constant(0.0, f32, (8, 64))
    with k.region(TileType(i32), zero.type) as loop:
        left = k.load(x, (8, 32), loop.args[0])
        k.op("continue", [k.emit("mmaf", left, right, loop.args[1])])
    (total,) = k.op("for", k.i32(0), k.i32(4), k.i32(1), [zero], regions=[loop]).results
    k.store(total, z)
    plan = build_plan(k.finish(), AVX2)
    panels = [b for b in buffers_of(plan) if len(b.layout[-1]) > 1]
    assert len(panels) == 1
    outside = [s for s in plan.body if isinstance(s, Nest)]
    assert any(e.buffer is panels[0] for s in outside for e in s.effects if hasattr(e, "buffer"))


def exchanges(steps, size=16):
    """Add to each element its partner, as sorting networks compare them, at other distances."""
    k = Dense()
    tile = k.load(k.tensor("x", f32, 1), (size,))
    for step in range(steps):
        distance = 1 << step % 4
        groups = size // (2 * distance)
        pairs = k.emit("reshape", tile, shape=(groups, 2, distance))
        shape = (groups, 1, distance)
        parts = [
            k.emit("extract", pairs, [k.i32(0), k.i32(i), k.i32(0)], shape=shape) for i in (0, 1)
        ]
        both = k.emit("broadcast", k.emit("addf", *parts), shape=(groups, 2, distance))
        tile = k.emit("reshape", k.emit("mulf", both, pairs), shape=(size,))
    k.store(tile, k.output("z", f32, 1))
    return k.finish()


def test_code_of_tiles_that_use_several_elements_of_each_other_grows_with_their_number():
    """Fused into each other, each step would double it."""
    few = count(exchanges(8), "addf")
    assert few < 8 * 3**2, "a buffer every few steps"
    assert count(exchanges(16), "addf") <= 2 * few + 20


def test_a_few_elements_are_computed_again_without_a_buffer():
    assert tiles_kept(exchanges(1), 16) == []
