"""The target of a compilation: architecture, bytecode version, and what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from ...base.dtypes import AnyDType, f4e2m1fn, f8e4m3fn, f8e5m2, f8e8m0fnu
from ...base.errors import Code, CompileError
from ...base.source import Span
from ...ir.core import Func, Value
from ...ir.types import PtrType, TensorType, TileType, ViewType
from .bytecode.enums import NEWEST, Version

# -------------------------------------------------------------------------------------------------
# What a kernel is compiled for: the architecture, the bytecode its assembler reads, the hints.

ARCHITECTURES = (
    "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_100", "sm_103", "sm_107", "sm_110",
    "sm_120", "sm_121",
)  # fmt: skip
"""What tileiras compiles for."""

DTYPES_SINCE: dict[AnyDType, int] = {f8e4m3fn: 90, f8e5m2: 90, f8e8m0fnu: 100, f4e2m1fn: 100}
"""Element types that older architectures do not have."""

OPS_SINCE: dict[str, tuple[int, str]] = {
    "mmaf_scaled": (100, "products of block-scaled tiles (mmaf_scaled)"),
}
"""Operations that older architectures do not have, and what they are called."""


@dataclass(frozen=True, slots=True)
class CodegenHints:
    """What the caller wants decided in a certain way; None leaves it to the compiler."""

    occupancy: int | None = None
    num_cta_in_cga: int | None = None
    num_worker_warps_per_cta: int | None = None
    max_divisibility: int | None = None
    allow_tma: bool | None = None
    latency: int | None = None
    block_group: int | None = None
    whole_first: bool | None = None
    scaled_exp: bool | None = None


@dataclass(frozen=True, slots=True)
class TileTarget:
    """One architecture, one version of the bytecode, and what the caller wants."""

    arch: str
    version: Version = NEWEST
    codegen_hints: CodegenHints = CodegenHints()
    careful: bool = False
    """Whether to write what assemblers have failed on in other words; see `lower.control`."""

    @property
    def number(self) -> int:
        """The architecture as a number: 90 for sm_90."""
        return int(self.arch.removeprefix("sm_"))


def is_architecture(name: str) -> bool:
    """Whether a name is that of an architecture."""
    return name in ARCHITECTURES


# -------------------------------------------------------------------------------------------------
# Refuses what an architecture does not have, before its assembler would, and with the place.


def refuse_unknown(func: Func, target: TileTarget) -> None:
    """Raise for an operation or an element type that a target does not have."""
    for op in func.walk():
        since, what = OPS_SINCE.get(op.name, (0, ""))
        if since > target.number:
            _refuse(target, what, since, op.span)
    for what, span, value in _values(func):
        dtype = _dtype(value)
        since = DTYPES_SINCE.get(dtype, 0) if dtype is not None else 0
        if dtype is not None and since > target.number:
            _refuse(target, f"{dtype.name}{what}", since, span)


def _refuse(target: TileTarget, what: str, since: int, span: Span | None) -> NoReturn:
    raise CompileError(
        f"{target.arch} has no {what}",
        expected=f"sm_{since} or newer, or another element type",
        got=target.arch,
        hint="convert on the host, or run on the CPU, which has all element types",
        span=span,
        code=Code.TARGET,
    )


def _values(func: Func) -> Iterator[tuple[str, Span | None, Value]]:
    """All values; those of ops first, for they have places."""
    for op in func.walk():
        yield from (("", op.span, result) for result in op.results)
    for spec, param in zip(func.signature.params, func.params, strict=True):
        yield f", the element type of `{spec.name}` of `{func.name}`", None, param


def _dtype(value: Value) -> AnyDType | None:
    match value.type:
        case TileType():
            elem = value.type.elem
            return elem.to if isinstance(elem, PtrType) else elem
        case TensorType():
            return value.type.dtype
        case ViewType():
            return value.type.tensor.dtype
        case _:
            return None
