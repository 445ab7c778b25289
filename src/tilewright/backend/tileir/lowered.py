"""A kernel between typed IR and cubin, the resources of a cubin, and cubins in the disk cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias, TypeGuard, cast

from ...base.config import current
from ...base.cubin import architecture
from ...base.elf import MAGIC
from ...base.errors import Code, CompileError
from ...base.stage import ArtifactCodec, Facts, Saved
from ...ir.artifact import Artifact, sites_of
from ...ir.core import Func
from .abi import symbol
from .bytecode.enums import version_text
from .bytecode.program import Program
from .bytecode.writer import TooOldError, write
from .choices import Choices, requested
from .heuristics import Decisions
from .resources import resources
from .target import TileTarget
from .toolchain import Toolchain

# -------------------------------------------------------------------------------------------------
# A kernel between typed IR and cubin: its function, the decisions, and its Tile IR program.


@dataclass(frozen=True, slots=True)
class Lowered:
    """A function, the decisions about it, and the Tile IR program made from both."""

    func: Func
    target: TileTarget
    decisions: Decisions
    program: Program

    def bytecode(self, *, places: bool = True) -> bytes:
        """Return the program as bytes, with the lines of Python it comes from."""
        try:
            return write(self.program, self.target.version, places=places)
        except TooOldError as error:
            raise CompileError(
                f"{error.what} needs a newer tileiras",
                expected=f"one that reads Tile IR {version_text(error.since)}",
                got=f"one that reads Tile IR up to {version_text(self.target.version)}",
                hint="pip install --upgrade nvidia-cuda-tileiras",
                span=self.program.kernels[0].span,
                code=Code.TARGET,
            ) from None


def is_cubin(code: object) -> TypeGuard[bytes]:
    """Return whether code is a cubin; that of SIMT kernels is PTX."""
    return isinstance(code, bytes) and code.startswith(MAGIC)


# -------------------------------------------------------------------------------------------------
# The disk-cache encoding of cubins: their dependencies, the saved bytes, the restoration.
#
# The bytecode determines a kernel. Nothing else of this compiler, of Python or of the machine is
# part of the name, so that kernels compiled elsewhere are found here.

WORTH_SAYING = 64
"""Bytes of stack per thread from which on a kernel is said to spill."""

MODEL = 2
"""Counts up when the model or the generator of candidates may select another one."""

Again: TypeAlias = Callable[["Lowered", Choices], "Lowered"]
"""Lower a kernel once more, by other choices."""

CAREFUL = "branches use the alternative lowering: the assembler failed on the default one"


def codec_for(tool: Toolchain, again: Again) -> ArtifactCodec:
    """Return how cubins of one assembler are kept; `again` lowers a kernel by other choices."""
    return ArtifactCodec(
        facts=lambda made: facts(made, tool),
        save=save,
        restore=lambda made, saved: restore(made, saved, again),
    )


def artifact(
    made: Lowered,
    cubin: bytes,
    *,
    careful: bool = False,
    seconds: float | None = None,
    selected: Choices | None = None,
    candidates: Sequence[str] = (),
) -> Artifact:
    """Return the artifact of a kernel, from its cubin; `careful` if its assembler needed that.

    `seconds` is how long the assembler took, for all `candidates`, which are lines about them;
    `selected` are choices other than the default ones.
    """
    func = made.func
    hints = made.decisions.hints.get(made.target.arch, {})
    return Artifact(
        name=symbol(func.name),
        target=made.target.arch,
        signature=func.signature,
        code=cubin,
        launch_checks=func.launch_checks,
        sites=sites_of(func),
        occupancy=int(hints.get("occupancy", 1)),
        cluster=int(hints.get("num_cta_in_cga", 1)),
        turned=made.decisions.turned,
        decisions=(
            *made.decisions.lines,
            *([CAREFUL] if careful else []),
            *candidates,
            *_needs(cubin),
        ),
        choices=() if selected is None else tuple(selected.given.items()),
        candidates=tuple(candidates),
        seconds=None if seconds is None else round(seconds, 1),
    )


def _needs(cubin: bytes) -> Iterator[str]:
    """Yield the size of a kernel's code and its resources; a few spilled bytes are not reported."""
    found = resources(cubin)
    yield (
        f"machine code: {found.code_bytes / 1024:.1f} KiB, {found.registers} registers and"
        f" {found.stack_bytes} bytes of stack per thread, {found.shared_bytes} bytes of shared"
        " memory"
    )
    if found.stack_bytes >= WORTH_SAYING:
        yield f"each thread spills {found.stack_bytes} bytes: use smaller tiles, or more warps"


def facts(made: Lowered, tool: Toolchain) -> Facts:
    """Return everything that can change the cubin. Places in the source do where it names them."""
    with_lines, seconds = current().line_info, current().selection_seconds
    asked = requested(made.target.codegen_hints)
    return {
        "made": "cubin",
        "kernel": made.func.name,
        "arch": made.target.arch,
        "version": version_text(made.target.version),
        "bytecode": sha256(made.bytecode(places=with_lines)).hexdigest(),
        "lines": int(with_lines),
        # What the search may vary: a hint that equals the default is in no other way seen.
        "selection": f"model {MODEL}, {seconds:g} s, fixed: {asked}" if seconds else None,
        "tileiras": tool.fingerprint,
    }


def save(made: Lowered, kept: Artifact) -> Saved:
    """Return the cubin; all else follows from the kernel at hand."""
    assert isinstance(kept.code, bytes)
    more: dict[str, object] = {"careful": 1} if CAREFUL in kept.decisions else {}
    if kept.choices:
        more["choices"] = dict(kept.choices)
    if kept.candidates:
        more["candidates"] = list(kept.candidates)
    if kept.seconds is not None:
        more["tenths"] = round(10 * kept.seconds)
    return Saved({"symbol": kept.name, "arch": kept.target, **more}, kept.code)


def restore(made: Lowered, saved: Saved, again: Again) -> Artifact:
    """Return the artifact of a kernel from the saved one of an equal kernel, or raise."""
    if saved.metadata.get("symbol") != symbol(made.func.name):
        raise ValueError("not the code of this kernel")
    if saved.metadata.get("arch") != made.target.arch or (
        architecture(saved.code) != made.target.arch
    ):
        raise ValueError("for another architecture")
    tenths = saved.metadata.get("tenths")
    seconds = tenths / 10 if isinstance(tenths, int) else None
    careful = bool(saved.metadata.get("careful"))
    selected = _choices(saved.metadata.get("choices"))
    winner = made if selected is None else again(made, selected)
    lines = _lines(saved.metadata.get("candidates", []))
    return artifact(
        winner, saved.code, careful=careful, seconds=seconds, selected=selected, candidates=lines
    )


def _choices(found: object) -> Choices | None:
    if found is None:
        return None
    if not isinstance(found, dict):
        raise ValueError("not choices")
    return Choices.of_mapping(cast("dict[str, object]", found))


def _lines(found: object) -> list[str]:
    lines = cast("list[object]", found) if isinstance(found, list) else [None]
    if not all(isinstance(line, str) for line in lines):
        raise ValueError("not lines")
    return cast("list[str]", lines)
