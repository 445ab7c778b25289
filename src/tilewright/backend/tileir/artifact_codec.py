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


def artifact(made: Lowered, cubin: bytes, *, careful: bool = False) -> Artifact:
    """The artifact of a kernel, from its cubin; `careful` if its assembler needed that."""
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
        decisions=(*made.decisions.lines, *([CAREFUL] if careful else []), *_spilling(cubin)),
    )


def _spilling(cubin: bytes) -> Iterator[str]:
    """What to say of a kernel whose values do not fit into registers; a few bytes do no harm."""
    stack = resources(cubin).stack_bytes
    if stack >= WORTH_SAYING:
        yield f"each thread spills {stack} bytes: use smaller tiles, or more warps"


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
    careful = {"careful": 1} if CAREFUL in kept.decisions else {}
    return Saved({"symbol": kept.name, "arch": kept.target, **careful}, kept.code)


def restore(made: Lowered, saved: Saved) -> Artifact:
    """The artifact of a kernel, from what was saved of an equal one; ValueError if it is not."""
    if saved.metadata.get("symbol") != symbol(made.func.name):
        raise ValueError("not the code of this kernel")
    if saved.metadata.get("arch") != made.target.arch or (
        architecture(saved.code) != made.target.arch
    ):
        raise ValueError("for another architecture")
    return artifact(made, saved.code, careful=bool(saved.metadata.get("careful")))
