"""Writes a compiled kernel for programs without Python: cubin, bytecode, C header, JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ..backend.tileir.export import describe, header
from ..compile.export import Made

CUBIN, BYTECODE, HEADER, DESCRIPTION = ".cubin", ".tileirbc", ".h", ".json"


@dataclass(frozen=True, slots=True)
class Exported:
    """The files of one exported kernel; the description names the others and their hashes."""

    cubin: Path
    bytecode: Path
    header: Path
    description: Path


def write(made: Made, folder: Path, name: str) -> Exported:
    """Write the files `name.*` into a folder, which is made if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    assert isinstance(made.artifact.code, bytes), "code for CUDA is bytes"
    contents = {
        CUBIN: made.artifact.code,
        BYTECODE: made.bytecode,
        HEADER: header(made.artifact, name).encode(),
    }
    facts = {
        **describe(made.artifact),
        "tile_ir": made.version,
        "tileiras": made.assembler,
        "files": {f"{name}{suffix}": _hash(data) for suffix, data in contents.items()},
    }
    contents[DESCRIPTION] = (json.dumps(facts, indent=1) + "\n").encode()
    for suffix, data in contents.items():
        (folder / f"{name}{suffix}").write_bytes(data)
    return Exported(*[folder / f"{name}{s}" for s in (CUBIN, BYTECODE, HEADER, DESCRIPTION)])


def _hash(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}"
