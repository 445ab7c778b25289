"""A kernel between typed IR and cubin, the resources of a cubin, and cubins in the disk cache."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeGuard

from ...base.config import current
from ...base.cubin import architecture, sections
from ...base.elf import MAGIC
from ...base.errors import Code, CompileError
from ...base.stage import ArtifactCodec, Facts, Saved
from ...ir.artifact import Artifact, sites_of
from ...ir.core import Func
from .abi import symbol
from .bytecode.enums import version_text
from .bytecode.program import Program
from .bytecode.writer import TooOldError, write
from .heuristics import Decisions
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


# -------------------------------------------------------------------------------------------------
# The resources that a cubin declares for its kernels.

INFO, SHARED, CODE = ".nv.info", ".nv.shared.", ".text."
SIZED = 4
"""Attributes whose value has a length before it."""
FRAME_SIZE, REGISTERS = 0x11, 0x2F
"""Attributes of one kernel each, in bytes and registers per thread."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel needs: registers and stack per thread, shared memory per block, code.

    Values that do not fit into registers spill to the stack.
    """

    registers: int
    stack_bytes: int
    shared_bytes: int
    code_bytes: int


def is_cubin(code: object) -> TypeGuard[bytes]:
    """Return whether code is a cubin; that of SIMT kernels is PTX."""
    return isinstance(code, bytes) and code.startswith(MAGIC)


def resources(cubin: bytes) -> Resources:
    """Return what the kernels of a cubin need at most."""
    found: dict[int, int] = {}
    shared = code = 0
    for section in sections(cubin):
        if section.name == INFO:
            for attribute, value in _attributes(section.data):
                found[attribute] = max(found.get(attribute, 0), value)
        elif section.name.startswith(SHARED):
            shared = max(shared, section.nbytes)
        elif section.name.startswith(CODE):
            code += section.nbytes
    return Resources(found.get(REGISTERS, 0), found.get(FRAME_SIZE, 0), shared, code)


def _attributes(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the attributes that have a kernel and a number."""
    at = 0
    while at + 4 <= len(data):
        form, attribute, length = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == SIZED:
            if length == 8 and at + 8 <= len(data):
                yield attribute, struct.unpack_from("<II", data, at)[1]
            at += length


# -------------------------------------------------------------------------------------------------
# The disk-cache encoding of cubins: their dependencies, the saved bytes, the restoration.
#
# The bytecode determines a kernel. Nothing else of this compiler, of Python or of the machine is
# part of the name, so that kernels compiled elsewhere are found here.

WORTH_SAYING = 64
"""Bytes of stack per thread from which on a kernel is said to spill."""

CAREFUL = "branches use the alternative lowering: the assembler failed on the default one"


def codec_for(tool: Toolchain) -> ArtifactCodec:
    """Return how cubins of one assembler are kept."""
    return ArtifactCodec(facts=lambda made: facts(made, tool), save=save, restore=restore)


def artifact(
    made: Lowered, cubin: bytes, *, careful: bool = False, seconds: float | None = None
) -> Artifact:
    """Return the artifact of a kernel, from its cubin; `careful` if its assembler needed that.

    `seconds` is how long the assembler took.
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
        decisions=(*made.decisions.lines, *([CAREFUL] if careful else []), *_needs(cubin)),
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
    with_lines = current().line_info
    return {
        "made": "cubin",
        "kernel": made.func.name,
        "arch": made.target.arch,
        "version": version_text(made.target.version),
        "bytecode": sha256(made.bytecode(places=with_lines)).hexdigest(),
        "lines": int(with_lines),
        "tileiras": tool.fingerprint,
    }


def save(made: Lowered, kept: Artifact) -> Saved:
    """Return the cubin; all else follows from the kernel at hand."""
    assert isinstance(kept.code, bytes)
    more = {"careful": 1} if CAREFUL in kept.decisions else {}
    if kept.seconds is not None:
        more["tenths"] = round(10 * kept.seconds)
    return Saved({"symbol": kept.name, "arch": kept.target, **more}, kept.code)


def restore(made: Lowered, saved: Saved) -> Artifact:
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
    return artifact(made, saved.code, careful=careful, seconds=seconds)
