"""Bitwise ops on integers and booleans. Shifts by the width or more give 0 (or the sign)."""

from __future__ import annotations

from ..attrs import Overflow
from ..opdef import declare
from .rules import is_bits, is_int, same

OPS = (
    declare("andi", "core", "lhs rhs", same(is_bits), "lhs & rhs."),
    declare("ori", "core", "lhs rhs", same(is_bits), "lhs | rhs."),
    declare("xori", "core", "lhs rhs", same(is_bits), "lhs ^ rhs."),
    declare("noti", "core", "arg", same(is_bits), "All bits inverted; logical not of booleans."),
    declare("shli", "core", "lhs rhs", same(is_int),
            "lhs << rhs; rhs read as unsigned, width or more gives 0.",
            attrs={"overflow": Overflow.NONE}),
    declare("shri", "core", "lhs rhs", same(is_int),
            "lhs >> rhs, arithmetic for signed types; rhs read as unsigned, width or more gives 0"
            " or the sign."),
)  # fmt: skip
