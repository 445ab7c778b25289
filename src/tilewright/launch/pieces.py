"""Launches with arguments in pieces: one launch for each piece, on the device where it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from ..base.errors import LaunchError
from ..devices.mesh import Mesh
from ..op.context import ExecutionContext
from ..op.core import DeviceOp, is_op
from ..op.on_devices import OnDevices
from ..tensors.arc import Arc
from ..tensors.ownership import Handle, Ours
from ..tensors.shape import ShapeLike

if TYPE_CHECKING:
    from ..compile.options import CompileOptions
    from .operation import Launch

T_co = TypeVar("T_co", covariant=True)


class InPieces(ABC):
    """An argument that is in pieces, one for each position of a mesh: ordinary arguments."""

    mesh: Mesh
    pieces: tuple[Any, ...]

    @abstractmethod
    def written(self) -> Any:
        """Return the tensor in pieces behind a launch that has written it."""


class OutputInPieces(InPieces, Generic[T_co]):
    """An argument in pieces for an output: partitions, of which a tensor in pieces is the whole."""

    @abstractmethod
    def written(self) -> T_co:
        """Return the tensor in pieces behind a launch that has written it."""


def has_pieces(values: Sequence[Any]) -> bool:
    """Return whether any argument is in pieces."""
    return any(isinstance(value, InPieces) for value in values)


def launch_pieces(
    launch: Callable[..., Any],
    name: str,
    args: Sequence[Any],
    keywords: Mapping[str, Any],
    written: Sequence[int],
) -> PiecesLaunch:
    """Build a launch for each position of the mesh of the arguments; some of these are written."""
    mesh = _mesh_of(name, [*args, *keywords.values()])
    launches = [
        launch(
            *[_piece(name, arg, number, mesh) for arg in args],
            **{key: _piece(name, arg, number, mesh) for key, arg in keywords.items()},
        )
        for number in range(mesh.size)
    ]
    return PiecesLaunch(name, launches, tuple(args), written)


def _mesh_of(name: str, values: Sequence[Any]) -> Mesh:
    meshes = dict.fromkeys(value.mesh for value in values if isinstance(value, InPieces))
    first, *others = meshes
    if others:
        raise LaunchError(
            f"the tensors of `{name}` are divided over different meshes",
            expected=repr(first), got=repr(others[0]),
            hint="shard and replicate all of them over one mesh",
        )  # fmt: skip
    return first


def _piece(name: str, value: Any, number: int, mesh: Mesh) -> Any:
    """Return what the launch at a position is given for an argument."""
    if isinstance(value, InPieces):
        return value.pieces[number]
    if isinstance(value, Handle | Ours | Arc) or is_op(value):
        raise LaunchError(
            f"`{name}` runs at {mesh.size} positions of {mesh!r}, and one argument is in one piece",
            expected="tensors in pieces, host arrays and numbers",
            got=f"{value!r:.80}",
            hint="tw.replicate(x, mesh) copies a tensor to all devices, tw.shard(x, mesh, axis)"
            " divides it",
        )
    return value


class PiecesLaunch(OnDevices):
    """The launches of one kernel on all pieces of its arguments; it gives the arguments."""

    LISTED = "compile_options const_grid generics grid out"

    def __init__(
        self,
        name: str,
        launches: Sequence[Launch[Any]],
        args: tuple[Any, ...],
        written: Sequence[int],
    ) -> None:
        super().__init__(name, launches)
        self._launches, self._args, self._written = launches, args, written
        self.result_count = len(args)

    def execute(self, ctx: ExecutionContext) -> tuple[Any, ...]:
        """Run the launches; the arguments are the result."""
        super().execute(ctx)
        args, self._args, self._launches = self._args, (), ()
        ctx.borrowed(*args)
        return args

    def out(self) -> DeviceOp[Any]:
        """Return an op that gives the outputs alone, unpartitioned: tensors in pieces."""
        written = self._written

        def outputs(*args: Any) -> Any:
            made = [args[number].written() for number in written]
            return made[0] if len(made) == 1 else tuple(made)

        return self.derived(outputs, "out")

    def generics(self, **names: Any) -> Self:
        """Set TypeVars where arguments do not determine them, for all launches."""
        return self._each(lambda launch: launch.generics(**names))

    def grid(self, grid: ShapeLike) -> Self:
        """Set the number of blocks of each launch."""
        return self._each(lambda launch: launch.grid(grid))

    def const_grid(self, grid: ShapeLike) -> Self:
        """Do as `grid`, and make it a constant of the compilation."""
        return self._each(lambda launch: launch.const_grid(grid))

    def compile_options(self, options: CompileOptions | None = None, /, **changes: Any) -> Self:
        """Pass hints to the code generator, for all launches."""
        return self._each(lambda launch: launch.compile_options(options, **changes))

    def _each(self, ask: Callable[[Launch[Any]], object]) -> Self:
        for launch in self._launches:
            ask(launch)
        return self
