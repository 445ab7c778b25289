"""The target of a compilation: architecture, bytecode version, hints of the caller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...base.cuda_abi import symbol
from ...base.dtypes import AnyDType, f4e2m1fn, f8e4m3fn, f8e5m2, f8e8m0fnu, i32, i64
from ...ir.signature import OutputSpec, ScalarSpec, Signature, TensorSpec
from .bytecode.enums import NEWEST, Version

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
    """Requests of the caller; None leaves a decision to the compiler."""

    occupancy: int | None = None
    num_cta_in_cga: int | None = None
    num_worker_warps_per_cta: int | None = None
    max_divisibility: int | None = None
    allow_tma: bool | None = None
    latency: int | None = None
    block_group: int | None = None
    whole_first: bool | None = None
    async_loads: bool | None = None
    register_operands: bool | None = None


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
    """Return whether a name is that of an architecture."""
    return name in ARCHITECTURES


# -------------------------------------------------------------------------------------------------
# The parameters of a kernel, as `base.cuda_abi` lays them out, from its signature.


__all__ = ["ParameterSlot", "slots", "symbol"]


@dataclass(frozen=True, slots=True)
class ParameterSlot:
    """One parameter of the compiled kernel.

    `what` is "address", "extent", "stride", "scalar", "grid" or "record"; `param` is the position
    of the signature's parameter it belongs to, `axis` which extent, stride or grid axis it is.
    `dtype` is the type of a number, and what an address points to.
    """

    what: str
    dtype: AnyDType
    param: int = -1
    axis: int = 0


def slots(signature: Signature, *, reports: bool) -> tuple[ParameterSlot, ...]:
    """Return the parameters of a kernel; `reports` says whether it has anything to report."""
    found: list[ParameterSlot] = []
    for number, spec in enumerate(signature.params):
        if isinstance(spec, TensorSpec | OutputSpec):
            found += _memory(spec, number)
        else:
            what = "scalar" if isinstance(spec, ScalarSpec) else "address"
            found.append(ParameterSlot(what, spec.dtype, number))
    if signature.folded:
        found += [ParameterSlot("grid", i32, axis=axis) for axis in range(signature.grid_rank)]
    if reports:
        found.append(ParameterSlot("record", i64))
    return tuple(found)


def _memory(spec: TensorSpec | OutputSpec, number: int) -> Iterator[ParameterSlot]:
    yield ParameterSlot("address", spec.dtype, number)
    width = i32 if spec.facts.narrow else i64
    for what, dims in (("extent", spec.shape), ("stride", spec.strides)):
        for axis, n in enumerate(dims):
            if n is None:
                yield ParameterSlot(what, width, number, axis)
