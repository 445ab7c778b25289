"""The parameters of a kernel, as `base.cuda_abi` lays them out, from its signature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...base.cuda_abi import symbol
from ...base.dtypes import AnyDType, i32, i64
from ...ir.signature import OutputSpec, ScalarSpec, Signature, TensorSpec

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
