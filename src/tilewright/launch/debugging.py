"""tw.debug(): a launch that Python's debugger follows line by line, in one block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from ..compile.options import Stops
from ..tensors.shape import ShapeLike, as_shape
from .definition import Entry

P = ParamSpec("P")
L = TypeVar("L")


def debug(
    kernel: Callable[P, L], /, *, block: ShapeLike | None = (), thread: ShapeLike | None = ()
) -> Callable[P, L]:
    """Return a kernel whose launches stop in Python's debugger, at the first line of one block.

    The launch is interpreted in NumPy on the calling thread, on tensors of any device of the host;
    `breakpoint()` calls the debugger, or what `sys.breakpointhook` is. `block` is an index in the
    grid, and axes that are left out are 0; None follows all blocks, in order. Of a SIMT kernel one
    `thread` of the block is followed.

    >>> import tilewright as tw, tilewright.lang as tl
    >>> @tw.entry
    ... def double(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32]) -> None:
    ...     z.store(tl.load_tile_like(x, z) * 2.0)
    >>> tw.debug(double, block=1)  # doctest: +ELLIPSIS
    <function ...>
    """
    given: object = kernel
    if not isinstance(given, Entry):
        raise TypeError(
            f"tw.debug takes a kernel, not {type(given).__name__}:"
            " write tw.debug(kernel, block=...)(arguments)"
        )
    place, of_block = (None if x is None else as_shape(x, "an index") for x in (block, thread))
    stops = Stops(place, of_block)

    def followed(*args: P.args, **keywords: P.kwargs) -> L:
        launch: Any = kernel(*args, **keywords)
        chosen: L = launch.compile_options(stops=stops)
        return chosen

    return followed
