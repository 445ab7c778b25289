"""Encodes PTX for the disk cache: what it depends on, what is saved, how it is restored.

The LLVM text says all there is to know of a kernel, and with LLVM and libdevice gives it its name.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

import llvmlite
import llvmlite.binding

from ....base.cuda_abi import symbol
from ....base.stage import ArtifactCodec, Facts, Saved
from ....ir.artifact import Artifact
from ....ir.sites import sites_of
from .code import PtxTarget
from .module import Written

llvm: Any = llvmlite.binding
"""Ships no types."""


def codec_for(target: PtxTarget) -> ArtifactCodec:
    """How PTX for one architecture is kept."""
    return ArtifactCodec(
        facts=lambda made: facts(made, target),
        save=lambda made, kept: Saved({"symbol": kept.name, "arch": kept.target}, kept.code),
        restore=lambda made, saved: restore(made, target, saved),
    )


def artifact(made: Written, target: PtxTarget, ptx: bytes) -> Artifact:
    """The artifact of a kernel; PTX is its code."""
    return Artifact(
        name=symbol(made.func.name),
        target=target.arch,
        signature=made.func.signature,
        code=ptx,
        launch_checks=made.func.launch_checks,
        sites=sites_of(made.func),
        decisions=made.decisions,
    )


def facts(made: Written, target: PtxTarget) -> Facts:
    """Everything that can change the PTX."""
    return {
        "made": "ptx",
        "kernel": made.func.name,
        "arch": target.arch,
        "features": target.features,
        "text": sha256(made.text.encode()).hexdigest(),
        "libdevice": None if made.library is None else made.library.digest,
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "llvmlite": str(llvmlite.__version__),
    }


def restore(made: Written, target: PtxTarget, saved: Saved) -> Artifact:
    """The artifact of a kernel, from what was saved of an equal one; ValueError if it is not."""
    name = symbol(made.func.name)
    if saved.metadata.get("symbol") != name or saved.metadata.get("arch") != target.arch:
        raise ValueError("not the code of this kernel")
    text = saved.code.decode("ascii")
    if re.findall(r"^\.target (\w+)", text, re.MULTILINE) != [target.arch]:
        raise ValueError("for another architecture")
    if re.findall(r"^\.visible \.entry (\w+)\(", text, re.MULTILINE) != [name]:
        raise ValueError("not an entry of this name alone")
    return artifact(made, target, saved.code)
