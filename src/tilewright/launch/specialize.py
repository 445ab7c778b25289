"""What the compiled code of a launch depends on: the signature, made once per kind of launch.

The CPU specializes on element types, ranks, tile shapes, extents that annotations fix, and on the
one axis along which elements are neighbours. CUDA also on what wide and bulk copies need, in two
steps each: addresses, strides and the length of rows that are multiples of 16 bytes; and on whether
extents, strides and the offsets of elements fit in 31 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..backend.tileir.target import ARCHITECTURES, is_architecture
from ..base.cuda_abi import POINTER_ALIGNMENT
from ..base.errors import Code as ErrorCode
from ..base.errors import CompileError, LaunchError
from ..base.shapes import Shape
from ..devices.protocol import Device
from ..ir.signature import (
    NOTHING_KNOWN,
    MemoryFacts,
    OutputSpec,
    ParamSpec,
    PointerSpec,
    ScalarSpec,
    Signature,
    TensorSpec,
    constant_kind,
)
from ..tensors.layout import MOST_KEPT, Layout
from ..tensors.region import Region
from .arguments import Arg, OutputArg, PointerArg, ScalarArg, TensorArg
from .links import Links, scalar_type, static_dims
from .recent import Recent

Constants = tuple[tuple[str, Any], ...]

SIGNATURES = 1024
"""Signatures that are remembered for launches alike."""


class Specializer:
    """The signatures of one kernel; launches alike share the same object while it is remembered."""

    def __init__(self, kernel: str) -> None:
        self._kernel = kernel
        self._known: Recent[tuple[Any, ...], Signature] = Recent(SIGNATURES)

    def signature(
        self,
        args: Sequence[Arg],
        links: Links,
        constants: Constants,
        const_grid: Shape | None,
        grid_rank: int,
        memory: Sequence[MemoryFacts] = (),
        *,
        folded: bool = False,
        tall: bool | None = None,
    ) -> Signature:
        """Return the signature of a launch; `memory` has the known facts of each argument's."""
        facts = tuple([self._fact(arg, links) for arg in args])
        fixed = links.constants() + constants
        kinds = tuple([constant_kind(value) for _, value in fixed])
        about = tuple(memory) or (NOTHING_KNOWN,) * len(args)
        key: tuple[Any, ...] = (facts, fixed, kinds, const_grid, grid_rank, about, folded, tall)
        found = self._known.get(key)
        if found is None:
            pairs = zip(args, about, strict=True)
            params = tuple(self._spec(arg, links, known) for arg, known in pairs)
            found = Signature(params, fixed, const_grid, grid_rank, folded=folded, tall=tall)
            self._known.keep(key, found)
        return found

    def _fact(self, arg: Arg, links: Links) -> Any:
        if isinstance(arg, ScalarArg):
            return scalar_type(self._kernel, arg.parameter, links)
        if isinstance(arg, PointerArg):
            return arg.dtype
        fact = (arg.dtype, static_dims(arg, links), arg.layout.unit_axis)
        if isinstance(arg, OutputArg):
            return (fact, arg.tile, arg.groups, arg.tiling.partial)
        return fact

    def _spec(self, arg: Arg, links: Links, memory: MemoryFacts) -> ParamSpec:
        name = arg.parameter.name
        if isinstance(arg, ScalarArg):
            return ScalarSpec(name, scalar_type(self._kernel, arg.parameter, links))
        if isinstance(arg, PointerArg):
            return PointerSpec(name, arg.dtype)
        shape, strides = static_dims(arg, links), _static_strides(arg)
        if isinstance(arg, OutputArg):
            groups, partial = arg.groups, arg.tiling.partial
            rest = (memory, groups, partial, arg.shared)
            return OutputSpec(name, arg.dtype, shape, strides, arg.tile, *rest)
        return TensorSpec(name, arg.dtype, shape, strides, memory)


def refuse_unhashable(kernel: str, constants: Constants) -> None:
    """Raise for a constant that may change: code is found by its constants."""
    try:
        hash(constants)
    except TypeError:
        wrong = [(n, v) for n, v in constants if type(v).__hash__ is None]
        shown = ", ".join(f"{name}={value!r}" for name, value in wrong) or "one of them"
        raise LaunchError(
            f"a constant of `{kernel}` cannot be part of the compilation's key",
            expected="values that do not change: numbers, strings, dtypes, tuples of them",
            got=shown,
        ) from None


def _static_strides(arg: TensorArg | OutputArg) -> tuple[int | None, ...]:
    unit = arg.layout.unit_axis
    return tuple(1 if axis == unit else None for axis in range(len(arg.layout.shape)))


# --- what CUDA kernels know of memory
# --------------------------------------------------------------


def refuse_unknown_target(kernel: str, device: Device) -> None:
    """Raise for a GPU that there are no tile kernels for."""
    if not is_architecture(device.target):
        raise CompileError(
            f"`{kernel}` cannot be compiled for {device.name}",
            expected=f"one of {', '.join(ARCHITECTURES)}",
            got=device.target,
            code=ErrorCode.TARGET,
        )


def address_on(region: Region, device: Device) -> int:
    """Return the address of memory on a device, as far as its alignment matters.

    Host arrays are copied there unchanged, to an aligned address.
    """
    return region.address if region.storage.device is device else region.address - region.start


def cuda_facts(layout: Layout, address: int) -> MemoryFacts:
    """Return what a CUDA kernel is compiled to know of a tensor's memory."""
    return _facts(layout, address % POINTER_ALIGNMENT == 0)


@lru_cache(MOST_KEPT)
def _facts(layout: Layout, aligned: bool) -> MemoryFacts:
    whole = max(POINTER_ALIGNMENT // layout.dtype.itemsize, 1)
    shape, strides, unit = layout.shape, layout.strides, layout.unit_axis
    narrow = all(0 <= n <= NARROW for n in (*shape, *strides))
    last = sum(max(n - 1, 0) * step for n, step in zip(shape, strides, strict=True))
    return MemoryFacts(
        POINTER_ALIGNMENT if aligned else 1,
        tuple(whole if axis == unit and n % whole == 0 else 1 for axis, n in enumerate(shape)),
        tuple(whole if n % whole == 0 else 1 for n in strides),
        narrow,
        narrow and last <= NARROW,
    )


NARROW = (1 << 31) - 1
"""The largest extent, stride or offset that fits in a signed 32-bit integer."""
