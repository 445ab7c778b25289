"""Over how many threads a SIMT kernel runs: its contract, what a launch asks for, the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..base.cuda_abi import MAX_BLOCKS, MAX_INDEX
from ..base.errors import LaunchError
from ..base.shapes import Shape, ceil_div, size
from ..tensors.shape import ShapeLike, as_shape

MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024
"""In one block."""
DEFAULT_BLOCKS: dict[int, Shape] = {1: (256,), 2: (32, 8), 3: (8, 8, 4)}
AXES = "xyz"
MAX_SHARED = 227 << 10
"""Bytes of shared memory that any device has for a block; many have less."""


@dataclass(frozen=True, slots=True)
class Contract:
    """What a kernel asks of every launch: how many axes, and the exact block if it says so."""

    domain: int = 1
    block: Shape | None = None

    @classmethod
    def of(cls, domain: Any, block: ShapeLike | None) -> Contract:
        """Return a contract as the decorator was given it."""
        if domain not in DEFAULT_BLOCKS:
            raise ValueError(f"domain must be 1, 2 or 3, got {domain!r}")
        if block is None:
            return cls(domain)
        dims = as_shape(block, "the block", least=1)
        if len(dims) > domain:
            raise ValueError(f"a kernel of domain {domain} cannot have the block {dims}")
        dims = dims + (1,) * (domain - len(dims))
        refuse_large_block("the kernel", dims)
        return cls(domain, dims)


class Threads(NamedTuple):
    """The threads of a launch: blocks, and threads in each, along the axes of its kernel."""

    grid: Shape
    block: Shape


class Asked(NamedTuple):
    """What `.launch_config(...)` asked for; None where it said nothing."""

    grid: Shape | None = None
    block: Shape | None = None
    shared_mem_bytes: int = 0


def chosen(kernel: str, contract: Contract, asked: Asked, written: Mapping[str, Shape]) -> Threads:
    """Return the threads of a launch; `written` are the shapes of the tensors it writes."""
    block = block_of(kernel, contract, asked)
    if asked.grid is not None:
        grid = _in_domain(kernel, contract, asked.grid, "grid")
    else:
        needed = _needed(kernel, contract.domain, written)
        grid = tuple(ceil_div(n, b) for n, b in zip(needed, block, strict=True))
    _refuse_large_grid(kernel, grid, block)
    return Threads(grid, block)


def block_of(kernel: str, contract: Contract, asked: Asked) -> Shape:
    """Return the threads of each block of a launch."""
    if asked.block is None:
        return contract.block or DEFAULT_BLOCKS[contract.domain]
    block = _in_domain(kernel, contract, asked.block, "block")
    refuse_large_block(f"`{kernel}`", block)
    if contract.block is not None and block != contract.block:
        raise LaunchError(
            f"`{kernel}` runs in blocks of exactly {contract.block} threads",
            expected=str(contract.block),
            got=str(block),
            hint="leave the block out of launch_config(...)",
        )
    return block


def _in_domain(kernel: str, contract: Contract, given: Shape, what: str) -> Shape:
    """Return a shape with as many axes as the kernel has; further ones must be 1."""
    domain = contract.domain
    if any(n != 1 for n in given[domain:]):
        axes = "1 axis" if domain == 1 else f"{domain} axes"
        raise LaunchError(
            f"`{kernel}` is a kernel of {axes}, but the {what} has threads along"
            f" {AXES[next(k for k in range(domain, len(given)) if given[k] != 1)]}",
            expected=f"a {what} of {axes}",
            got=str(given),
            hint=f"declare it with @simt.kernel(domain={min(len(given), 3)})",
        )
    return given[:domain] + (1,) * (domain - len(given))


def _needed(kernel: str, domain: int, written: Mapping[str, Shape]) -> Shape:
    """Return how many threads give each written element a separate thread."""
    hint = f"specify it: {kernel}(...).launch_config(grid=..., block=...)"
    if not written or domain == 3:
        raise LaunchError(f"the arguments of `{kernel}` do not define the number of threads",
                          expected="a simt.DisjointSlice, in a kernel of one or two axes",
                          got="a kernel of three axes" if written else "none",
                          hint=hint)  # fmt: skip
    if domain == 1:
        return (max(size(shape) for shape in written.values()),)
    flat = [name for name, shape in written.items() if len(shape) < 2]
    if flat:
        raise LaunchError(
            f"`{flat[0]}` of `{kernel}` does not define the number of threads along x and y",
            expected="a tensor with rows and columns",
            got=f"shape {written[flat[0]]}",
            hint=hint,
        )
    rows = max(size(shape[:-1]) for shape in written.values())
    return (max(shape[-1] for shape in written.values()), rows)


def refuse_large_block(what: str, block: Shape) -> None:
    """Raise for a block that no device runs."""
    if (
        any(n > most for n, most in zip(block, MAX_BLOCK, strict=False))
        or size(block) > MAX_THREADS
    ):
        raise LaunchError(
            f"the block of {what} is too large",
            expected=f"at most {MAX_BLOCK} threads along x, y and z, {MAX_THREADS} in all",
            got=f"{block}, {size(block)} in all",
        )


def _refuse_large_grid(kernel: str, grid: Shape, block: Shape) -> None:
    if any(n > most for n, most in zip(grid, MAX_BLOCKS, strict=False)):
        raise LaunchError(
            f"the grid of `{kernel}` is too large",
            expected=f"at most {MAX_BLOCKS} blocks along x, y and z",
            got=str(grid),
        )
    for axis, (blocks, threads) in enumerate(zip(grid, block, strict=True)):
        # The last block may reach beyond the longest slice, never beyond what an index holds.
        if blocks * threads > MAX_INDEX + threads:
            raise LaunchError(
                f"the launch of `{kernel}` has too many threads along {AXES[axis]}",
                expected=f"at most {MAX_INDEX}, indices are 32-bit integers",
                got=f"{blocks} blocks of {threads} threads",
            )


def asked_for(grid: ShapeLike | None, block: ShapeLike | None, shared_mem_bytes: int) -> Asked:
    """Return the request of a launch, from the caller's arguments."""
    if not hasattr(shared_mem_bytes, "__index__"):
        raise TypeError(f"shared_mem_bytes counts bytes, got {shared_mem_bytes!r}")
    if not 0 <= shared_mem_bytes <= MAX_SHARED:
        raise LaunchError(
            "a block does not have that much shared memory",
            expected=f"0 to {MAX_SHARED} bytes of shared memory",
            got=str(shared_mem_bytes),
        )
    return Asked(
        None if grid is None else as_shape(grid, "the grid"),
        None if block is None else as_shape(block, "the block", least=1),
        shared_mem_bytes,
    )
