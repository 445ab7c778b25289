"""Typed IR as data: types, values, declared ops, builder, printer, verifier, rewriting."""

from .core import Block, Func, LaunchCheck, Obligation, Op, Placement, Value
from .ops import FAMILIES, OPS
from .signature import (
    GlobalSpec,
    OutputSpec,
    ParamSpec,
    PointerSpec,
    ScalarSpec,
    Signature,
    TensorSpec,
)
from .types import (
    I1,
    I32,
    TOKEN,
    PtrType,
    SharedType,
    TensorType,
    TileType,
    TokenType,
    Type,
    ViewType,
)

__all__ = [
    "FAMILIES",
    "I1",
    "I32",
    "OPS",
    "TOKEN",
    "Block",
    "Func",
    "GlobalSpec",
    "LaunchCheck",
    "Obligation",
    "Op",
    "OutputSpec",
    "ParamSpec",
    "Placement",
    "PointerSpec",
    "PtrType",
    "ScalarSpec",
    "SharedType",
    "Signature",
    "TensorSpec",
    "TensorType",
    "TileType",
    "TokenType",
    "Type",
    "Value",
    "ViewType",
]
