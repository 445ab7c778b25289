"""Shows what becomes of a kernel for given arguments: code, IR, stages, decisions, recompiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .. import compile as compiler
from ..analysis.bounds.check_placement import shown
from ..backend.tileir.target import ARCHITECTURES, is_architecture
from ..base.errors import ContextError
from ..base.shapes import Shape
from ..compile.checks import lines as check_lines
from ..compile.inspect import Compilation, Made, compilation, make, stage_texts
from ..compile.options import CompileOptions
from ..frontend.interp.build import build
from ..ir.artifact import Artifact
from ..ir.core import Func
from ..ir.signature import OutputSpec, Signature
from ..op.core import is_op
from .arguments import Arg, Bound, OutputArg
from .grid import padded
from .kernel import Kernel
from .links import by_hand
from .run import LOADERS
from .watching import Needed, note


class Inspection:
    """One way of calling a kernel, looked at without running it. Takes nothing over."""

    def __init__(
        self,
        kernel: Kernel,
        args: Sequence[Any],
        keywords: Mapping[str, Any],
        target: str | None = None,
        options: CompileOptions | None = None,
    ) -> None:
        needed, bound = _asked(kernel, args, keywords, options)
        self._look(needed, bound.device.target if target is None else target)

    @classmethod
    def of_launch(cls, needed: Needed, target: str) -> Inspection:
        """Return the same for a launch that was seen elsewhere."""
        self = cls.__new__(cls)
        self._look(needed, target)
        return self

    def _look(self, needed: Needed, target: str) -> None:
        self._kernel, self._request = needed.kernel, needed.request
        self._form, self._grid = needed.form, needed.grid
        self._addresses = needed.addresses
        self.target = _checked(target)

    @property
    def signature(self) -> Signature:
        """What the code is compiled for."""
        if not is_architecture(self.target):
            return self._kernel.signature(self._form, self._request, len(self._grid))
        return self._kernel.cuda_signature(self._form, self._request, self._grid, self._addresses)

    @property
    def _options(self) -> CompileOptions:
        return self._kernel.options(self.target, self._request)

    def artifact(self) -> Artifact:
        """Return the compiled code."""
        return self._kernel.compiled(self.signature, self.target, self._request).artifact

    def made(self) -> Made:
        """Return the compiled code with its bytecode, for a CUDA architecture."""
        if not is_architecture(self.target):
            raise ContextError(
                f"`{self._kernel.name}` can be exported for CUDA alone",
                expected=", ".join(ARCHITECTURES),
                got=self.target,
            )
        # The programs that launch it choose the grid.
        signature = replace(self.signature, tall=None)
        return make(self._kernel.captured, signature, self.target, self._options)

    def stages(self) -> dict[str, str]:
        """Return the text of every stage of the compilation, by name, in order."""
        return stage_texts(self._kernel.captured, self.signature, self.target, self._options)

    def compilation(self) -> Compilation:
        """Return all stages of a fresh compilation, with the places of their lines."""
        return compilation(self._kernel.captured, self.signature, self.target, self._options)

    def frontend(self) -> Func:
        """Return the IR as the front end gives it, before any pass."""
        return build(self._kernel.captured, self.signature)

    def ir(self) -> str:
        """Return the IR as backends get it."""
        return stage_texts(self._kernel.captured, self.signature, "reference")["passes"]

    def decisions(self) -> str:
        """Return what the compiler decided, and what each launch checks, one line each."""
        origins = self._kernel.hints.origins(self._options, self.target)
        return _explained(self.artifact(), origins)


def announce(
    kernel: Kernel,
    args: Sequence[Any],
    keywords: Mapping[str, Any],
    options: CompileOptions | None = None,
) -> None:
    """Report a launch to watchers without running it; arguments may be shapes alone."""
    needed, _ = _asked(kernel, args, keywords, options)
    note(needed.kernel, needed.form, needed.request, needed.grid, needed.addresses)


def _asked(
    kernel: Kernel,
    args: Sequence[Any],
    keywords: Mapping[str, Any],
    options: CompileOptions | None,
) -> tuple[Needed, Bound]:
    """Return the request of a call, and its arguments."""
    args, keywords = kernel.placed(tuple(args), keywords)
    kernel, args = kernel.variant(args), kernel.flat(args)
    known = {p.name for p in (*kernel.source.parameters, *kernel.source.constants)}
    given = {name: value for name, value in keywords.items() if name in known}
    generics = {name: value for name, value in keywords.items() if name not in known}
    kernel.check_generics(generics)
    request = kernel.request(args, given)
    if any(is_op(a) for a in args):
        raise TypeError(f"to compile `{kernel.name}`, pass tensors or tw.meta(...), not ops")
    request = request._replace(generics=by_hand(generics), options=options)
    bound = kernel.bind(args, given, request.generics)
    addresses = [region.address for region in bound.memory]
    return Needed(kernel, bound.form, request, _likely_grid(bound.form.args), addresses), bound


def _explained(artifact: Artifact, origins: Sequence[str]) -> str:
    """Describe the decisions and their origins, the launch checks, and where each check went."""
    # A CPU also says which one it is.
    target = artifact.target.split()[0]
    lines = [f"{artifact.name} for {target}", *artifact.decisions, *origins]
    if artifact.seconds is not None:
        lines.append(f"assembled in {artifact.seconds:.1f} s")
    lines += [
        f"visit the tiles of {spec.name} in groups of {spec.groups}"
        for spec in artifact.signature.params
        if isinstance(spec, OutputSpec) and spec.groups is not None
    ]
    lines += [f"hidden parameter: global `{g.name}`" for g in artifact.signature.globals]
    lines += [f"checked at launch: {shown(check)}" for check in artifact.launch_checks]
    return "\n".join([*lines, *check_lines(artifact.obligations)])


def explained_latest(kernel: Kernel) -> str:
    """Describe what the compiler decided in the latest compilation of a kernel."""
    key = _latest_key(kernel)
    return _explained(latest(kernel), kernel.hints.origins(key.options, key.target))


def latest(kernel: Kernel) -> Artifact:
    """Return the latest compilation of a kernel."""
    key = _latest_key(kernel)
    return compiler.find(kernel.captured, key.signature, key.target, key.options).artifact


def _latest_key(kernel: Kernel) -> compiler.Key:
    history = compiler.history(kernel.captured)
    if not history:
        raise ContextError(
            f"`{kernel.name}` has not been compiled",
            hint="launch it first, or pass arguments; tw.meta(...) stands for tensors",
        )
    return history[-1].key


def _checked(target: str) -> str:
    if is_architecture(target) or target in LOADERS:
        return target
    raise ContextError(
        f"kernels cannot be compiled for {target!r}",
        expected=f"{', '.join(LOADERS)}, {', '.join(ARCHITECTURES)}",
        got=repr(target),
    )


def recompiles(kernel: Kernel) -> str:
    """Return the reason of each compilation of a kernel, one line each, in order."""
    history = compiler.history(kernel.captured)
    if not history:
        return f"{kernel.name} has not been compiled"
    return "\n".join(f"{i}. {c.key.target}: {c.reason}" for i, c in enumerate(history, 1))


def _likely_grid(args: Sequence[Arg]) -> Shape:
    outputs = [a.tiling for a in args if isinstance(a, OutputArg) and not a.shared]
    grids = [padded(t.grid if t.mapping is None else (1,)) for t in outputs]
    return max(grids, key=len, default=padded(()))
