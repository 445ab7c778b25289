"""Control flow in kernels: loops, branches, how they are left, and the grid."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.tile_ir import machine
from simulator.tile_ir.machine import TileIRError
from support.tile_ir import Built, instr
from tilewright.backend.tileir.bytecode.enums import ComparisonCode
from tilewright.backend.tileir.bytecode.program import InstructionRegion, Val
from tilewright.backend.tileir.bytecode.types import FLAG, I32, INDEX, TOKEN, Pointer, TileValueType

POINTER = TileValueType(Pointer(I32))


def stored(built, value):
    """Store a number at the address that is the first parameter."""
    built.op("store_ptr_tko", [TOKEN], built.args[0], value)


def counted(built, lower, upper, step, **attrs):
    """How often a loop runs."""
    bounds = [built.number(n, I32) for n in (lower, upper, step)]
    body = InstructionRegion((Val(INDEX), Val(INDEX)))
    one = instr("constant", [INDEX], value=(1).to_bytes(4, "little"))
    more = instr("addi", [INDEX], body.args[1], one.result)
    body.code += [one, more, instr("continue", [], [more.result])]
    zero = built.number(0, I32)
    return built.one("for", INDEX, *bounds, [zero], regions=[body], **attrs)


@pytest.mark.parametrize(
    ("bounds", "unsigned", "rounds"),
    [((0, 10, 3), 0, 4), ((5, 5, 1), 0, 0), ((-2, 2, 1), 0, 4), ((-2, 2, 1), 1, 0),
     ((2, -1, 1 << 30), 1, 4)],
)  # fmt: skip
def test_for(bounds, unsigned, rounds):
    built, out = Built(POINTER), np.zeros(1, np.int32)
    stored(built, counted(built, *bounds, unsigned_cmp=unsigned))
    built.run(out)
    assert out[0] == rounds


@pytest.mark.parametrize("step", [0, -1])
def test_steps_are_positive(step):
    built = Built(POINTER)
    counted(built, 0, 10, step)
    with pytest.raises(TileIRError, match=f"step is {step}"):
        built.run(np.zeros(1, np.int32))


@pytest.mark.parametrize("condition", [True, False])
def test_if(condition):
    built, out = Built(POINTER), np.zeros(1, np.int32)
    regions = [InstructionRegion(), InstructionRegion()]
    for number, region in enumerate(regions):
        made = instr("constant", [INDEX], value=number.to_bytes(4, "little"))
        region.code += [made, instr("yield", [], [made.result])]
    flag = built.one("constant", FLAG, value=b"\xff" if condition else b"\0")
    stored(built, built.one("if", INDEX, flag, regions=regions))
    built.run(out)
    assert out[0] == (0 if condition else 1)


def loop(built, last):
    """A loop that counts, and is left from inside of a branch once it has come to a number."""
    body, leaving = InstructionRegion((Val(INDEX),)), InstructionRegion()
    (count,) = body.args
    end = instr("constant", [INDEX], value=last.to_bytes(4, "little", signed=True))
    there = instr("cmpi", [FLAG], count, end.result, comparison_predicate=ComparisonCode.EQUAL)
    leaving.code.append(instr("break", [], [count]))
    branch = instr("if", [], there.result, regions=[leaving, None])
    one = instr("constant", [INDEX], value=(1).to_bytes(4, "little"))
    more = instr("addi", [INDEX], count, one.result)
    body.code += [end, there, branch, one, more, instr("continue", [], [more.result])]
    return built.one("loop", INDEX, [built.number(0, I32)], regions=[body])


def test_loop_is_left_by_break():
    built, out = Built(POINTER), np.zeros(1, np.int32)
    stored(built, loop(built, 7))
    built.run(out)
    assert out[0] == 7


def test_what_does_not_end_is_stopped(monkeypatch):
    monkeypatch.setattr(machine, "MOST_INSTRUCTIONS", 1000)
    built = Built(POINTER)
    loop(built, -1)
    with pytest.raises(TileIRError, match="does not end"):
        built.run(np.zeros(1, np.int32))


def test_return_leaves_all():
    built, out = Built(POINTER), np.zeros(1, np.int32)
    early = InstructionRegion((), [instr("return", [])])
    built.op("if", [], built.one("constant", FLAG, value=b"\xff"), regions=[early, None])
    stored(built, built.number(1, I32))
    built.run(out)
    assert out[0] == 0


def test_blocks_know_where_they_are():
    """Each block writes its number, x running fastest."""
    built, out = Built(POINTER), np.full(24, -1, np.int32)
    x, y, z = built.op("get_tile_block_id", [INDEX] * 3)
    across, down, _ = built.op("get_num_tile_blocks", [INDEX] * 3)
    rows = built.one("addi", INDEX, built.one("muli", INDEX, z, down), y)
    number = built.one("addi", INDEX, built.one("muli", INDEX, rows, across), x)
    where = built.one("offset", POINTER, built.args[0], number)
    built.op("store_ptr_tko", [TOKEN], where, number)
    built.run(out, grid=(2, 3, 4))
    assert (out == np.arange(24)).all()


def test_kernels_get_all_parameters():
    with pytest.raises(TileIRError, match="2 parameters, 1 were given"):
        Built(POINTER, INDEX).run(np.zeros(1, np.int32))
