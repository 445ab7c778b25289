"""The launch grid: from the outputs' partitions, which must agree, or from the caller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from ..base.cpu_abi import MAX_GRID_RANK
from ..base.cuda_abi import HARDWARE_RANK, MAX_GRID
from ..base.errors import LaunchError
from ..base.shapes import Shape, largest_step, size
from ..tensors.shape import ShapeLike, as_shape
from .arguments import Arg, OutputArg

LEAST_RANK = 3
"""Kernels may always ask for three axes; missing ones have one block."""

MAX_EXTENT = (1 << 31) - 1
"""Block indices are 32-bit integers."""


def as_grid(grid: ShapeLike) -> Shape:
    """Return a grid as the caller writes it, brought to at least three axes."""
    return padded(as_shape(grid, "the grid"))


def padded(grid: Shape) -> Shape:
    """Return a grid with at least three axes."""
    return grid + (1,) * (LEAST_RANK - len(grid))


def is_folded(grid: Shape) -> bool:
    """Return whether CUDA has not as many axes as a grid, or not as long ones."""
    return len(grid) > HARDWARE_RANK or any(
        n > most for n, most in zip(grid, MAX_GRID, strict=False)
    )


def is_tall(grid: Shape) -> bool:
    """Return whether CUDA has axes for a grid, but not with the last one first."""
    return not is_folded(grid) and is_folded(tuple(reversed(grid)))


class Asked(NamedTuple):
    """A grid, and who asks for it."""

    who: str
    grid: Shape


def launch_grid(kernel: str, args: Sequence[Arg], given: Shape | None, at_once: int = 1) -> Shape:
    """Return the grid of a launch; a LaunchError shows every grid if two differ.

    `at_once` is how many blocks the device runs at the same time: as many share the tiles of mapped
    partitions, unless the caller gives a number.
    """
    outputs = [a for a in args if isinstance(a, OutputArg) and not a.shared]
    grids = [Asked(f"`{a.parameter.name}`", grid) for a in outputs if (grid := _grid_of(a))]
    if given is not None:
        grids.append(Asked("the given grid", given))
    if not grids:
        if not outputs and any(isinstance(a, OutputArg) for a in args):
            _require(f"`{kernel}` has no outputs but accumulators", kernel)
        return _checked(kernel, outputs, _free_grid(kernel, outputs, at_once))
    first, *others = grids
    for other in others:
        if _trimmed(other.grid) != _trimmed(first.grid):
            _refuse(kernel, outputs, given, first, other)
    return _checked(kernel, outputs, max((g.grid for g in grids), key=len))


def _grid_of(output: OutputArg) -> Shape | None:
    """Return the grid that an output requires; None if it requires none."""
    tiling = output.tiling
    if tiling.partial:
        return None
    if tiling.mapping is None:
        return padded(tiling.grid)
    blocks = tiling.mapping.num_tile_blocks
    return None if blocks is None else padded((blocks,))


def _free_grid(kernel: str, outputs: Sequence[OutputArg], at_once: int) -> Shape:
    """Return the grid if no output requires one: the device's, no larger than the tiles need."""
    mapped = [walked for a in outputs if (walked := _walked(a)) is not None]
    partial = [a.parameter.name for a in outputs if a.tiling.partial]
    if mapped and not partial:
        return padded((min(at_once, max(map(size, mapped))),))
    if partial:
        why = f"`{partial[0]}` of `{kernel}` is a prefix partition, which only limits the grid"
    else:
        why = f"`{kernel}` has no outputs"
    _require(why, kernel)


def _require(why: str, kernel: str) -> NoReturn:
    raise LaunchError(
        f"{why}. Launch grid required.",
        hint=f"say how many blocks run: {kernel}(...).grid((x, y, z))",
    )


def _walked(output: OutputArg) -> Shape | None:
    """Return how many tiles of a mapped partition are visited along each walked axis."""
    tiling = output.tiling
    return None if tiling.mapping is None else tiling.mapping.walked(tiling.grid)


def _trimmed(grid: Shape) -> Shape:
    """Return a grid without trailing axes of one block, which have no effect."""
    while grid and grid[-1] == 1:
        grid = grid[:-1]
    return grid


def _refuse(
    kernel: str, outputs: Sequence[OutputArg], given: Shape | None, one: Asked, other: Asked
) -> None:
    tiles = "; ".join(map(_described, outputs))
    message = (
        f"launch grid {other.grid} does not match the grid of the partition of {one.who}"
        if given is not None and other.grid is given
        else f"the partitions of the outputs of `{kernel}` have different grids"
    )
    raise LaunchError(
        message,
        expected=f"{one.grid}, from {one.who}",
        got=f"{other.grid}, from {other.who}",
        hint=tiles,
    )


def _described(output: OutputArg) -> str:
    text = f"`{output.parameter.name}` has shape {output.layout.shape} in tiles of {output.tile}"
    mapping = output.tiling.mapping
    if mapping is None or mapping.num_tile_blocks is None:
        return text
    return f"{text}, shared by {mapping.num_tile_blocks} blocks"


def _checked(kernel: str, outputs: Sequence[OutputArg], grid: Shape) -> Shape:
    if len(grid) > MAX_GRID_RANK or any(n > MAX_EXTENT for n in grid):
        raise LaunchError(
            f"the grid of `{kernel}` is too large",
            expected=f"at most {MAX_GRID_RANK} axes of at most {MAX_EXTENT} blocks",
            got=str(grid),
        )
    for output in outputs:
        if output.tiling.partial:
            _check_within(output, grid)
        elif output.tiling.mapping is not None:
            _check_mapped(output, grid)
    return grid


def _check_within(output: OutputArg, grid: Shape) -> None:
    """Refuse a grid with blocks beyond the tiles of an output."""
    tiles = padded(output.tiling.grid)
    tiles += (1,) * (len(grid) - len(tiles))
    for axis, (n, most) in enumerate(zip(padded(grid), tiles, strict=False)):
        if n > most:
            raise LaunchError(
                f"launch grid {grid} exceeds the tiles of `{output.parameter.name}` on axis {axis}",
                expected=f"at most {most} blocks",
                got=str(n),
                hint=_described(output),
            )


def _check_mapped(output: OutputArg, grid: Shape) -> None:
    """Refuse a grid for a mapped output that is not one row, or beyond 32 bits."""
    name, mapping = output.parameter.name, output.tiling.mapping
    assert mapping is not None, "it is mapped"
    walked, groups = mapping.walked(output.tiling.grid), mapping.walked(mapping.groups)
    if len(_trimmed(grid)) > 1:
        raise LaunchError(
            f"the grid of the mapped output `{name}` must have one axis",
            expected="a grid of one axis",
            got=str(grid),
        )
    if size(grid) == 0 < size(walked):
        raise LaunchError(
            f"the mapped output `{name}` needs at least one block",
            expected="1 or more blocks",
            got=str(grid),
        )
    most = largest_step(walked, groups) + grid[0]
    if most > MAX_EXTENT:
        raise LaunchError(
            f"the mapped output `{name}` has too many tiles to be counted",
            expected=f"at most {MAX_EXTENT} tiles, blocks and whole rows of groups together",
            got=f"tiles {walked} in groups of {groups}, {grid[0]} blocks",
            hint="use larger tiles or smaller groups",
        )
