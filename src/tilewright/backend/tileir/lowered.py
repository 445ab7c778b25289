"""A kernel between typed IR and cubin: its function, what was decided, and its Tile IR program."""

from __future__ import annotations

from dataclasses import dataclass

from ...base.errors import Code, CompileError
from ...ir.core import Func
from .encoding.tables import TooOldError
from .encoding.versions import version_text
from .encoding.writer import write
from .heuristics import Decisions
from .program.core import Program
from .target import TileTarget


@dataclass(frozen=True, slots=True)
class Lowered:
    """A function, the decisions about it, and the Tile IR program made from both."""

    func: Func
    target: TileTarget
    decisions: Decisions
    program: Program

    def bytecode(self, *, places: bool = True) -> bytes:
        """The program as bytes, with the lines of Python it comes from."""
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
