"""The object behind `@tw.entry`: builds launches, and shows what they compile to."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, cast

from .._core import Entry as NativeEntry
from ..base.showing import Text, table
from ..base.source import file_text
from ..base.tracebacks import public
from ..compile.options import CompileOptions, GivenHints, Hints
from ..frontend.capture.parameters import NOTHING_ASKED, DeclaredConditions
from ..frontend.capture.sources import KernelSource
from ..op.arity import Maker
from ..op.place import Location, user_frame
from .kernel import Kernel
from .operation import Launch
from .pickling import reduced
from .pieces import has_pieces, launch_pieces

if TYPE_CHECKING:
    from ..compile.checks import Checks
    from ..ir.artifact import Artifact
    from .exporting import Exported
    from .inspection import Inspection


@dataclass(frozen=True, slots=True)
class Declared:
    """Arguments that launches of a kernel will have."""

    args: tuple[Any, ...]
    constants: dict[str, Any]
    options: CompileOptions | None = None


class Entry(NativeEntry, Maker):
    """A kernel. Calling it with its arguments gives the op that runs it.

    Arguments are values or ops that give them, by position or by keyword; constants go by keyword.
    """

    __slots__ = ("__dict__", "__weakref__")

    launches: ClassVar[type[Launch[Any]]] = Launch
    """The class of its launches."""

    __name__: str
    __qualname__: str
    kernel: Kernel
    """What builds its launches."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        unsafe: bool = False,
        source: str | None = None,
        frame_locals: dict[str, Any] | None = None,
        asked: DeclaredConditions = NOTHING_ASKED,
        hints: GivenHints = None,
    ) -> None:
        from ..frontend.capture.annotations import capture

        captured = capture(
            function, unsafe=unsafe, source=source, frame_locals=frame_locals, asked=asked
        )
        carried = Hints.of(captured.name, hints)
        self._adopt(Kernel(captured, function, carried), function)

    def _adopt(self, kernel: Kernel, function: Callable[..., Any]) -> None:
        self.kernel = kernel
        self._set_launches(self.launches)
        self._arity = len(kernel.source.parameters)
        parameters = kernel.source.parameters
        varies = any(p.variadic or p.kind == "tuple" or p.default is None for p in parameters)
        self.result_count = None if varies else self._arity
        self.declared: list[Declared] = []
        """The arguments of `declare`."""
        functools.update_wrapper(cast("Any", self), function)

    @property
    def source(self) -> KernelSource:
        """The kernel as captured: its parameters and its source."""
        return self.kernel.source

    def inspection(
        self,
        args: Sequence[Any],
        constants: Mapping[str, Any],
        target: str | None = None,
        options: CompileOptions | None = None,
    ) -> Inspection:
        """Return one way of calling the kernel, to inspect without running it."""
        from .inspection import Inspection

        return Inspection(self.kernel, args, constants, target, options)

    def compile(self, *args: Any, **constants: Any) -> Artifact:
        """Compile for such arguments without running; `tw.meta(...)` stands for tensors."""
        return self.inspection(args, constants).artifact()

    def compile_for(
        self, target: str, *args: Any, options: CompileOptions | None = None, **constants: Any
    ) -> Artifact:
        """Compile for another target than the arguments' device: `sm_90`, or `cpu`.

        A CUDA architecture needs no GPU here, only its assembler.
        """
        return self.inspection(args, constants, target, options).artifact()

    def export(
        self,
        folder: str | Path,
        target: str,
        *args: Any,
        options: CompileOptions | None = None,
        name: str | None = None,
        **constants: Any,
    ) -> Exported:
        """Write the kernel for programs without Python: cubin, bytecode, C header, JSON.

        `target` and the arguments are those of `compile_for`; the files are called `name`, or as
        the kernel.
        """
        from .exporting import write

        made = self.inspection(args, constants, target, options).made()
        return write(made, Path(folder), name or made.artifact.name)

    def declare(
        self, *args: Any, options: CompileOptions | None = None, **constants: Any
    ) -> Declared:
        """Note that launches with such arguments will come, so that `tilewright compile` knows.

        Nothing is compiled yet; `tw.meta(...)` stands for tensors.
        """
        declared = Declared(args, constants, options)
        self.declared.append(declared)
        return declared

    def ir(self, *args: Any, **constants: Any) -> str:
        """Return the kernel's IR for such arguments, as text."""
        return Text(self.inspection(args, constants).ir())

    def inspect(
        self,
        *args: Any,
        device: str | None = None,
        options: CompileOptions | None = None,
        **constants: Any,
    ) -> dict[str, str]:
        """Return every stage of the compilation for such arguments, as text by name.

        `device` may name another target than the arguments' own, as in `compile_for`.
        """
        return self.inspection(args, constants, device, options).stages()

    def explain(
        self,
        *args: Any,
        device: str | None = None,
        options: CompileOptions | None = None,
        **constants: Any,
    ) -> str:
        """Return what the compiler decided for such arguments, and where each check went.

        Without arguments: for the latest launch, or the latest compilation.
        """
        if not (args or constants):
            from .inspection import explained_latest

            return Text(explained_latest(self.kernel))
        return Text(self.inspection(args, constants, device, options).decisions())

    def checks(
        self,
        *args: Any,
        device: str | None = None,
        options: CompileOptions | None = None,
        **constants: Any,
    ) -> Checks:
        """Count the checks of accesses that are proved, made at launch, hoisted, or made in place.

        Without arguments: in the latest compilation.
        """
        from ..compile.checks import Checks
        from .inspection import latest

        if not (args or constants):
            return Checks.of(latest(self.kernel).obligations)
        artifact = self.inspection(args, constants, device, options).artifact()
        return Checks.of(artifact.obligations)

    def explain_recompile(self) -> str:
        """Return the reason of each compilation so far."""
        from .inspection import recompiles

        return Text(recompiles(self.kernel))

    def _repr_html_(self) -> str:
        rows = [(p.name, f"{p.kind} {p.dtype or ''}") for p in self.source.parameters]
        rows += [(p.name, "constant") for p in self.source.constants]
        span = self.source.source.node
        file = self.source.source.file
        place = f"{file_text(file.name)}:{span.lineno}"
        said = [("says", self.source.doc.strip().splitlines()[0])] if self.source.doc else []
        return table(f"kernel {self.kernel.name}", [*said, *rows, ("defined", place)])

    def __repr__(self) -> str:
        return f"<kernel `{self.kernel.name}`>"

    def _call_at_slowly(self, location: Location, args: tuple[Any, ...], /) -> Launch[Any]:
        """Do as `_call_slowly`, for a call at a given location."""
        if has_pieces(args):
            in_pieces: Launch[Any] = self._call_pieces(args, {})
            return in_pieces
        args, _ = self.kernel.placed(args, {})
        kernel = self.kernel
        return self.launches.of(kernel.variant(args), kernel.flat(args), {}, location)

    def _call_slowly(self, /, *args: Any, **constants: Any) -> Launch[Any]:
        """Build the op that runs the kernel on these arguments, where the core could not."""
        named: Mapping[str, Any] = constants
        if len(args) < self._arity:
            args, named = self.kernel.placed(args, named)
        if has_pieces(args):
            in_pieces: Launch[Any] = self._call_pieces(args, named)
            return in_pieces
        kernel = self.kernel
        return self.launches.of(kernel.variant(args), kernel.flat(args), named)

    def _call_pieces(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Build one launch for each piece of the arguments that are in pieces."""
        kernel = self.kernel
        call = cast("Any", self)
        return launch_pieces(call, kernel.name, args, named, kernel.variant(args).written)

    if not TYPE_CHECKING:

        def __getitem__(self, grid: object) -> NoReturn:
            raise TypeError(
                "kernels are not indexed by a grid: it follows from the output's partition;"
                f" for another one use {self.kernel.name}(...).grid((x, y, z))"
            )

        def __reduce__(self) -> tuple[Any, ...]:
            return reduced(self)

        def __copy__(self) -> Self:
            return self

        def __deepcopy__(self, memo: object) -> Self:
            return self


def make_entry(
    function: Callable[..., Any] | None = None,
    /,
    *,
    unsafe: bool = False,
    source: str | None = None,
    asked: DeclaredConditions = NOTHING_ASKED,
    hints: GivenHints = None,
) -> Any:
    """Turn a function into a kernel, as `entry` describes."""
    if function is None:
        return functools.partial(
            public(make_entry), unsafe=unsafe, source=source, asked=asked, hints=hints
        )
    names = locals_of_caller()
    return Entry(
        function, unsafe=unsafe, source=source, frame_locals=names, asked=asked, hints=hints
    )


def locals_of_caller() -> dict[str, Any]:
    """Return the names where the kernel is being defined; at module level they are its globals
    already.
    """
    frame = user_frame()
    if frame is None or frame.f_locals is frame.f_globals:
        return {}
    return dict(frame.f_locals)
