"""Control flow: regions and how they end; the grid; tokens."""

from __future__ import annotations

import numpy as np

from tilewright.backend.tileir.bytecode.program import Instr, InstructionRegion
from tilewright.backend.tileir.bytecode.types import ScalarType

from .machine import BlockFrame, RegionExit, Results, Rule, number_of
from .values import Array, TokenValue, integers, tile_kind, unsigned


def _end(frame: BlockFrame, instr: Instr) -> Results:
    """Leave the region with the operands."""
    return RegionExit(instr.op.name, tuple(frame.values[v] for v in instr.operands))


def _if(frame: BlockFrame, instr: Instr) -> Results:
    condition = bool(frame.array(instr.operands[0]))
    region = instr.regions[0 if condition else 1]
    if region is None:
        return ()
    ended = frame.run(region)
    return ended.values if ended.name == "yield" else ended


def _body(instr: Instr) -> InstructionRegion:
    (body,) = instr.regions
    assert body is not None, f"{instr.op.name} has a body"
    return body


def _for(frame: BlockFrame, instr: Instr) -> Results:
    lower, upper, step, *inits = instr.operands
    kind = tile_kind(lower.kind).scalar
    flag = bool(number_of(instr, "unsigned_cmp"))
    start, end, stride = (_bound(frame.array(v), is_unsigned=flag) for v in (lower, upper, step))
    if stride <= 0:
        frame.fail(f"its step is {stride}")
    carried = tuple(frame.values[v] for v in inits)
    for number in range(start, end, stride):
        ended = frame.run(_body(instr), (_scalar(number, kind), *carried))
        if ended.name == "return":
            return ended
        if ended.name != "continue":
            frame.fail(f"its body ends in {ended.name}")
        carried = ended.values
    return carried


def _bound(array: Array, *, is_unsigned: bool) -> int:
    return int(unsigned(array) if is_unsigned else array)


def _scalar(number: int, kind: ScalarType) -> Array:
    return integers(np.array(number), kind)


def _loop(frame: BlockFrame, instr: Instr) -> Results:
    carried = tuple(frame.values[v] for v in instr.operands)
    while True:
        ended = frame.run(_body(instr), carried)
        if ended.name == "break":
            return ended.values
        if ended.name == "return":
            return ended
        if ended.name != "continue":
            frame.fail(f"its body ends in {ended.name}")
        carried = ended.values


def _three(numbers: tuple[int, int, int]) -> Results:
    return tuple(np.array(n, np.int32) for n in numbers)


def _make_token(frame: BlockFrame, instr: Instr) -> Results:
    return (TokenValue(),)


def _join_tokens(frame: BlockFrame, instr: Instr) -> Results:
    """Join tokens; also pass on one token: a fence, or a dependent launch."""
    joined = 0
    for value in instr.operands:
        token = frame.values[value]
        assert isinstance(token, TokenValue), f"{value.kind} is no token"
        joined |= token.before
    return (TokenValue(joined),)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("yield", "continue", "break", "return"), _end),
    "if": _if, "for": _for, "loop": _loop,
    "get_tile_block_id": lambda frame, instr: _three(frame.block),
    "get_num_tile_blocks": lambda frame, instr: _three(frame.launch.grid),
    "make_token": _make_token,
    **dict.fromkeys(
        ("join_tokens", "memory_fence_alias_tko", "gdc_wait_tko", "gdc_launch_dependents_tko"),
        _join_tokens,
    ),
}  # fmt: skip
