"""Encodes cubins for the disk cache: what they depend on, what is saved, how they are restored.

The bytecode says all there is to know of a kernel, so nothing else of this compiler, of Python or
of the machine is part of the name: what was compiled elsewhere is found here.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from ...base.config import current
from ...base.cubin import architecture
from ...base.stage import ArtifactCodec, Facts, Saved
from ...ir.artifact import Artifact
from ...ir.sites import sites_of
from .abi import symbol
from .cubin import resources
from .encoding.versions import version_text
from .lowered import Lowered
from .toolchain import Toolchain

WORTH_SAYING = 64
"""Bytes of stack per thread from which on a kernel is said to spill."""

CAREFUL = "branches use the alternative lowering: the assembler failed on the default one"


def codec_for(tool: Toolchain) -> ArtifactCodec:
    """How cubins of one assembler are kept."""
    return ArtifactCodec(facts=lambda made: facts(made, tool), save=save, restore=restore)


def artifact(
    made: Lowered, cubin: bytes, *, careful: bool = False, seconds: float | None = None
) -> Artifact:
    """The artifact of a kernel, from its cubin; `careful` if its assembler needed that.

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
    """How large the code of a kernel is, and what it needs; a few spilled bytes do no harm."""
    found = resources(cubin)
    yield (
        f"machine code: {found.code_bytes / 1024:.1f} KiB, {found.registers} registers and"
        f" {found.stack_bytes} bytes of stack per thread, {found.shared_bytes} bytes of shared"
        " memory"
    )
    if found.stack_bytes >= WORTH_SAYING:
        yield f"each thread spills {found.stack_bytes} bytes: use smaller tiles, or more warps"


def facts(made: Lowered, tool: Toolchain) -> Facts:
    """Everything that can change the cubin. Places in the source do where it names them."""
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
    """The cubin; all else follows from the kernel at hand."""
    assert isinstance(kept.code, bytes)
    more = {"careful": 1} if CAREFUL in kept.decisions else {}
    if kept.seconds is not None:
        more["tenths"] = round(10 * kept.seconds)
    return Saved({"symbol": kept.name, "arch": kept.target, **more}, kept.code)


def restore(made: Lowered, saved: Saved) -> Artifact:
    """The artifact of a kernel, from what was saved of an equal one; ValueError if it is not."""
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
