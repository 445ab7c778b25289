"""The one table of Tile IR's instructions: opcode, fields in the order of their bytes, versions.

An instruction is written as: opcode, result types, flags, attributes, operands, regions. The flags
hold one bit for each unit attribute, optional attribute and optional operand.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from .enums import (
    OLDEST,
    V13_2,
    V13_3,
    V13_4,
    AtomicModeCode,
    ComparisonCode,
    MemoryOrdering,
    MemoryScope,
    NanOrdering,
    OverflowCode,
    RoundingCode,
    Signedness,
    Version,
    words_of,
)


class FieldForm(Enum):
    """The encodings of an attribute."""

    UNIT = auto()
    """A flag alone."""
    ENUM = auto()
    NUMBER = auto()
    BYTE = auto()
    TEXT = auto()
    CONSTANT = auto()
    NUMBERS = auto()
    BYTES = auto()
    """A list of booleans."""
    IDENTITIES = auto()
    PREDICATE = auto()
    HINTS = auto()


@dataclass(frozen=True, slots=True)
class InstructionField:
    """An attribute; with `flag` it is optional, and that bit says whether it is there.

    `otherwise` is its value where nothing is said, and what older versions mean.
    """

    name: str
    form: FieldForm
    otherwise: int | None = None
    flag: int | None = None
    since: Version = OLDEST
    words: tuple[str, ...] = ()
    """The names of an enum's values."""
    permits: bool = False
    """Whether it only permits something, so that versions without it can do without."""


@dataclass(frozen=True, slots=True)
class OperandSlot:
    """A declared operand: one, any number (`*`), or an optional one (`?`) with its flag."""

    name: str
    arity: str = ""
    flag: int | None = None
    since: Version = OLDEST


@dataclass(frozen=True, slots=True)
class OpCode:
    """One instruction of Tile IR."""

    name: str
    code: int
    slots: tuple[OperandSlot, ...] = ()
    fields: tuple[InstructionField, ...] = ()
    since: Version = OLDEST
    counts_results: bool = False
    """Whether the number of results is written before their types."""
    counts_operands: bool = False
    """Whether all operands are written as one list, with its length first."""
    regions: int = 0
    terminator: bool = False
    last_result_since: Version = OLDEST
    """From which version on the last result exists."""

    def has_flags(self, version: Version) -> bool:
        """Return whether flags are written at all."""
        flagged: tuple[InstructionField | OperandSlot, ...] = (*self.fields, *self.slots)
        return any(f.flag is not None and f.since <= version for f in flagged)

    def fields_in(self, version: Version) -> tuple[InstructionField, ...]:
        """Return the attributes that a version knows."""
        return tuple(f for f in self.fields if f.since <= version)


ROUNDING = words_of(RoundingCode)
OVERFLOW = words_of(OverflowCode)
SIGNS = words_of(Signedness)
COMPARISONS = words_of(ComparisonCode)
ORDERED = words_of(NanOrdering)
ORDERINGS = words_of(MemoryOrdering)
SCOPES = words_of(MemoryScope)
MODES = words_of(AtomicModeCode)


def _enum(name: str, words: tuple[str, ...], otherwise: int = 0) -> InstructionField:
    return InstructionField(name, FieldForm.ENUM, otherwise, words=words)


def _permit(name: str, words: tuple[str, ...], otherwise: int, since: Version) -> InstructionField:
    return InstructionField(name, FieldForm.ENUM, otherwise, since=since, words=words, permits=True)


def _unit(name: str, flag: int, since: Version = OLDEST) -> InstructionField:
    return InstructionField(name, FieldForm.UNIT, 0, flag, since)


def _slots(text: str) -> tuple[OperandSlot, ...]:
    """Return the operands of "view index* token?2": name, arity, flag of an optional one."""
    found: list[OperandSlot] = []
    for word in text.split():
        name, mark, flag = word.partition("?")
        if mark:
            found.append(OperandSlot(name, "?", int(flag)))
        else:
            found.append(OperandSlot(word.rstrip("*"), "*" if word.endswith("*") else ""))
    return tuple(found)


def _op(
    name: str,
    code: int,
    operands: str,
    *fields: InstructionField,
    since: Version = OLDEST,
    many: bool = False,
    listed: bool = False,
    regions: int = 0,
    ends: bool = False,
) -> OpCode:
    return OpCode(name, code, _slots(operands), fields, since, many, listed, regions, ends)


_FTZ = _unit("flush_to_zero", 0)
_ROUND = _enum("rounding_mode", ROUNDING)
_WRAP = _enum("overflow", OVERFLOW)
_SIGN = _enum("signedness", SIGNS, 1)
_ORDER = _enum("memory_ordering_semantics", ORDERINGS)
_SCOPE = _enum("memory_scope", SCOPES, 1)
_SCOPED = InstructionField("memory_scope", FieldForm.ENUM, None, 0, words=SCOPES)
_HINTED = InstructionField("optimization_hints", FieldForm.HINTS, None, 1)
_INBOUNDS = InstructionField("inbounds", FieldForm.BYTES, None, since=V13_4, permits=True)
_NAN, _FTZ1 = _unit("propagate_nan", 0), _unit("flush_to_zero", 1)
_AXIS = InstructionField("dim", FieldForm.NUMBER, 0)
_IDENTITIES = InstructionField("identities", FieldForm.IDENTITIES)

_LIST = (
    _op("absf", 0x00, "source"),
    _op("absi", 0x01, "source"),
    _op("addf", 0x02, "lhs rhs", _FTZ, _ROUND),
    _op("addi", 0x03, "lhs rhs", _WRAP),
    _op("andi", 0x04, "lhs rhs"),
    _op("assert", 0x05, "condition", InstructionField("message", FieldForm.TEXT)),
    _op("assume", 0x06, "value", InstructionField("predicate", FieldForm.PREDICATE)),
    _op("atomic_cas_tko", 0x07, "pointers cmp val mask?0 token?1", _ORDER, _SCOPE),
    _op("atomic_rmw_tko", 0x08, "pointers arg mask?0 token?1", _ORDER, _SCOPE,
        _enum("mode", MODES)),
    _op("bitcast", 0x09, "source"),
    _op("break", 0x0A, "operands*", many=True, listed=True, ends=True),
    _op("broadcast", 0x0B, "source"),
    _op("cat", 0x0C, "lhs rhs", _AXIS),
    _op("ceil", 0x0D, "source"),
    _op("cmpf", 0x0E, "lhs rhs", _enum("comparison_predicate", COMPARISONS),
        _enum("comparison_ordering", ORDERED, 1)),
    _op("cmpi", 0x0F, "lhs rhs", _enum("comparison_predicate", COMPARISONS), _SIGN),
    _op("constant", 0x10, "", InstructionField("value", FieldForm.CONSTANT)),
    _op("continue", 0x11, "operands*", many=True, listed=True, ends=True),
    _op("cos", 0x12, "source"),
    _op("cosh", 0x13, "source"),
    _op("divf", 0x14, "lhs rhs", _FTZ, _ROUND),
    _op("divi", 0x15, "lhs rhs", _SIGN, _enum("rounding", ROUNDING, 1)),
    _op("exp", 0x17, "source", _permit("rounding_mode", ROUNDING, 5, V13_3)),
    _op("exp2", 0x18, "source", _FTZ),
    _op("exti", 0x25, "from", _SIGN),
    _op("extract", 0x26, "source indices*", many=True, listed=True),
    _op("floor", 0x27, "source"),
    _op("fma", 0x28, "lhs rhs acc", _FTZ, _ROUND),
    _op("for", 0x29, "lower upper step inits*", _unit("unsigned_cmp", 0, V13_2),
        many=True, listed=True, regions=1),
    _op("ftof", 0x2A, "from", _ROUND),
    _op("ftoi", 0x2B, "from", _unit("saturating", 0, V13_4), _SIGN,
        _enum("rounding_mode", ROUNDING, 6)),
    _op("get_global", 0x2C, "", InstructionField("name", FieldForm.TEXT)),
    _op("get_index_space_shape", 0x2D, "src", many=True),
    _op("get_num_tile_blocks", 0x2E, ""),
    _op("get_tensor_shape", 0x2F, "src", many=True),
    _op("get_tile_block_id", 0x30, ""),
    _op("if", 0x32, "condition", many=True, regions=2),
    _op("int_to_ptr", 0x33, "source"),
    _op("iota", 0x3A, ""),
    _op("itof", 0x3B, "from", _SIGN, _ROUND),
    _op("join_tokens", 0x3C, "tokens*", many=True, listed=True),
    _op("load_ptr_tko", 0x3D, "source mask?2 padding?3 token?4", _ORDER, _SCOPED, _HINTED),
    _op("load_view_tko", 0x3E, "view index* token?2", _ORDER, _SCOPED, _HINTED, _INBOUNDS,
        many=True),
    _op("log", 0x3F, "source"),
    _op("log2", 0x40, "source"),
    _op("loop", 0x41, "inits*", many=True, listed=True, regions=1),
    _op("make_partition_view", 0x42, "tensor_view"),
    _op("make_tensor_view", 0x43, "base shape* strides*", many=True),
    _op("make_token", 0x44, ""),
    _op("maxf", 0x45, "lhs rhs", _NAN, _FTZ1),
    _op("maxi", 0x46, "lhs rhs", _SIGN),
    _op("minf", 0x47, "lhs rhs", _NAN, _FTZ1),
    _op("mini", 0x48, "lhs rhs", _SIGN),
    _op("mmaf", 0x49, "lhs rhs acc",
        InstructionField("fast_acc", FieldForm.UNIT, 0, 0, V13_3, permits=True)),
    _op("mmai", 0x4A, "lhs rhs acc", _enum("signedness_lhs", SIGNS, 1),
        _enum("signedness_rhs", SIGNS, 1)),
    _op("mulf", 0x4C, "lhs rhs", _FTZ, _ROUND),
    _op("mulhii", 0x4D, "x y"),
    _op("muli", 0x4E, "lhs rhs", _WRAP),
    _op("negf", 0x4F, "source"),
    _op("negi", 0x50, "source", _permit("overflow", OVERFLOW, 0, V13_2)),
    _op("offset", 0x51, "ptr offset"),
    _op("ori", 0x52, "lhs rhs"),
    _op("permute", 0x53, "source", InstructionField("permutation", FieldForm.NUMBERS)),
    _op("pow", 0x54, "source exponent"),
    OpCode("print_tko", 0x55, (OperandSlot("args", "*"), OperandSlot("token", "?", 0, V13_2)),
           (InstructionField("str", FieldForm.TEXT),), counts_results=True,
           last_result_since=V13_2),
    _op("ptr_to_int", 0x56, "source"),
    _op("ptr_to_ptr", 0x57, "source"),
    _op("reduce", 0x58, "operands*", _AXIS, _IDENTITIES, many=True, listed=True, regions=1),
    _op("remf", 0x59, "lhs rhs"),
    _op("remi", 0x5A, "lhs rhs", _SIGN),
    _op("reshape", 0x5B, "source"),
    _op("return", 0x5C, "operands*", many=True, listed=True, ends=True),
    _op("rsqrt", 0x5D, "source", _FTZ),
    _op("scan", 0x5E, "operands*", _AXIS, InstructionField("reverse", FieldForm.BYTE, 0),
        _IDENTITIES,
        many=True, listed=True, regions=1),
    _op("select", 0x5F, "cond val_if_true val_if_false"),
    _op("shli", 0x60, "lhs rhs", _WRAP),
    _op("shri", 0x61, "lhs rhs", _SIGN),
    _op("sin", 0x62, "source"),
    _op("sinh", 0x63, "source"),
    _op("sqrt", 0x64, "source", _FTZ, _ROUND),
    _op("store_ptr_tko", 0x65, "destination value mask?2 token?3", _ORDER, _SCOPED, _HINTED),
    _op("store_view_tko", 0x66, "tile view index* token?2", _ORDER, _SCOPED, _HINTED, _INBOUNDS,
        many=True),
    _op("subf", 0x67, "lhs rhs", _FTZ, _ROUND),
    _op("subi", 0x68, "lhs rhs", _WRAP),
    _op("tan", 0x69, "source"),
    _op("tanh", 0x6A, "source", _permit("rounding_mode", ROUNDING, 5, V13_2)),
    _op("trunci", 0x6B, "from", _WRAP),
    _op("xori", 0x6C, "lhs rhs"),
    _op("yield", 0x6D, "operands*", many=True, listed=True, ends=True),
    _op("atan2", 0x6E, "x y", since=V13_2),
    _op("pack", 0x6F, "source", since=V13_3),
    _op("unpack", 0x70, "source", since=V13_3),
    _op("alloca", 0x71, "", _unit("global", 0, V13_3), InstructionField("num_elem",
                                                                        FieldForm.NUMBER, 1),
        InstructionField("alignment", FieldForm.NUMBER, 4), since=V13_3),
    _op("mmaf_scaled", 0x72, "lhs rhs acc lhs_scale rhs_scale", since=V13_3),
    _op("make_gather_scatter_view", 0x73, "tensor_view", since=V13_3),
    _op("make_strided_view", 0x74, "tensor_view", since=V13_3),
    _op("atomic_red_view_tko", 0x75, "view index* value token?0", _ORDER, _SCOPE,
        _enum("mode", MODES), since=V13_3, many=True),
    _op("insert", 0x76, "source destination indices*", since=V13_4, many=True, listed=True),
    _op("gdc_launch_dependents_tko", 0x77, "token*", since=V13_4, listed=True),
    _op("gdc_wait_tko", 0x78, "token*", since=V13_4, listed=True),
    _op("fpowi", 0x79, "source exponent", since=V13_4),
    _op("memory_fence_alias_tko", 0x7A, "token", since=V13_4),
)  # fmt: skip

OPCODES: dict[str, OpCode] = {op.name: op for op in _LIST}
BY_CODE: dict[int, OpCode] = {op.code: op for op in _LIST}
RENAMED: dict[str, str] = {"fpowf": "pow"}
"""Names that newer tools print, and ours."""
