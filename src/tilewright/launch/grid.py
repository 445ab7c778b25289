"""The launch grid: from the outputs' partitions, which must agree, or from the caller."""

from __future__ import annotations

from collections.abc import Sequence

from ..array.shape import ShapeLike, as_shape
from ..base.cpu_abi import MAX_GRID_RANK
from ..base.cuda_abi import HARDWARE_RANK, MAX_GRID
from ..base.errors import LaunchError
from ..base.shapes import Shape
from .arguments import Arg, OutputArg

LEAST_RANK = 3
"""Kernels may always ask for three axes; missing ones have one block."""

MAX_EXTENT = (1 << 31) - 1
"""Block indices are 32-bit integers."""


def as_grid(grid: ShapeLike) -> Shape:
    """A grid as the caller writes it, brought to at least three axes."""
    return padded(as_shape(grid, "the grid"))


def padded(grid: Shape) -> Shape:
    """A grid with at least three axes."""
    return grid + (1,) * (LEAST_RANK - len(grid))


def is_folded(grid: Shape) -> bool:
    """Whether CUDA has not as many axes as a grid, or not as long ones."""
    return len(grid) > HARDWARE_RANK or any(
        n > most for n, most in zip(grid, MAX_GRID, strict=False)
    )


def launch_grid(kernel: str, args: Sequence[Arg], given: Shape | None) -> Shape:
    """The grid of a launch; a LaunchError shows every grid where two differ."""
    grids = [(f"`{a.parameter.name}`", padded(a.tiling.grid)) for a in args
             if isinstance(a, OutputArg)]  # fmt: skip
    if not grids:
        if given is None:
            raise LaunchError(
                f"`{kernel}` has no outputs. Launch grid required.",
                hint=f"say how many blocks run: {kernel}(...).grid((x, y, z))",
            )
        return _checked(kernel, given)
    if given is not None:
        grids.append(("the given grid", given))
    (first, grid), *others = grids
    for who, other in others:
        if _trimmed(other) != _trimmed(grid):
            _refuse(kernel, args, given, (first, grid), (who, other))
    return _checked(kernel, max((g for _, g in grids), key=len))


def _trimmed(grid: Shape) -> Shape:
    """Without the axes of one block at its end, which mean nothing."""
    while grid and grid[-1] == 1:
        grid = grid[:-1]
    return grid


def _refuse(
    kernel: str,
    args: Sequence[Arg],
    given: Shape | None,
    one: tuple[str, Shape],
    other: tuple[str, Shape],
) -> None:
    outputs = [a for a in args if isinstance(a, OutputArg)]
    tiles = "; ".join(
        f"`{a.parameter.name}` has shape {a.layout.shape} in tiles of {a.tile}" for a in outputs
    )
    message = (
        f"launch grid {other[1]} does not match the grid of the partition of {one[0]}"
        if given is not None and other[1] is given
        else f"the outputs of `{kernel}` are cut into different grids"
    )
    raise LaunchError(
        message,
        expected=f"{one[1]}, from {one[0]}",
        got=f"{other[1]}, from {other[0]}",
        hint=tiles,
    )


def _checked(kernel: str, grid: Shape) -> Shape:
    if len(grid) > MAX_GRID_RANK or any(n > MAX_EXTENT for n in grid):
        raise LaunchError(
            f"the grid of `{kernel}` is too large",
            expected=f"at most {MAX_GRID_RANK} axes of at most {MAX_EXTENT} blocks",
            got=str(grid),
        )
    return grid
