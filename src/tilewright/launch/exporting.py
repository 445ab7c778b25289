"""Writes a compiled kernel for programs without Python: code, bytecode, C header, JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ..backend.tileir.export import describe, header
from ..compile.inspect import Made

CUBIN, PTX, BYTECODE, HEADER, DESCRIPTION = ".cubin", ".ptx", ".tileirbc", ".h", ".json"


@dataclass(frozen=True, slots=True)
class Exported:
    """The files of one exported kernel; the description names the others and their hashes."""

    code: Path
    """The cubin; of a SIMT kernel the PTX."""
    bytecode: Path | None
    """What the cubin was made from; a SIMT kernel has none."""
    header: Path
    description: Path

    @property
    def cubin(self) -> Path:
        """The code of a tile kernel."""
        return self.code


def code_of(made: Made) -> tuple[str, bytes]:
    """Return the code of a kernel, and how its file ends."""
    assert isinstance(made.artifact.code, bytes), "code for CUDA is bytes"
    return PTX if made.bytecode is None else CUBIN, made.artifact.code


def write(made: Made, folder: Path, name: str) -> Exported:
    """Write the files `name.*` into a folder, which is made if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    suffix, code = code_of(made)
    contents = {suffix: code}
    if made.bytecode is not None:
        contents[BYTECODE] = made.bytecode
    contents[HEADER] = header(made.artifact, name).encode()
    facts = {
        **describe(made.artifact),
        "tile_ir": made.version,
        "tileiras": made.assembler,
        "files": {f"{name}{ending}": _hash(data) for ending, data in contents.items()},
    }
    contents[DESCRIPTION] = (json.dumps(facts, indent=1) + "\n").encode()
    files = {suffix: folder / f"{name}{suffix}" for suffix in contents}
    for ending, data in contents.items():
        files[ending].write_bytes(data)
    return Exported(files[suffix], files.get(BYTECODE), files[HEADER], files[DESCRIPTION])


def _hash(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}"
