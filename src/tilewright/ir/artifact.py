"""The result of a backend: code to launch, and the sites at which a running kernel may report.

Sections: the artifact and the records of a launch, and the numbering of reporting ops.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .core import Func, Op
from .opdef import Effect
from .ops.control import ASSERT
from .ops.memory import CHECK
from .ops.simt import CHECK_INDEX

if TYPE_CHECKING:
    from ..base.source import Span
    from .core import BoundsCheck
    from .launch_expr import LaunchCheck
    from .signature import Signature
    from .types import TileType


# -------------------------------------------------------------------------------------------------
# Artifacts, and what a launch reports: failures and prints.


@dataclass(frozen=True, slots=True)
class Site:
    """An op that may report from a running kernel: a check, an assertion or a print."""

    kind: str
    span: Span | None
    tensor: str = ""
    axis: int = 0
    message: str = ""
    template: tuple[Any, ...] = ()
    types: tuple[TileType, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """The first failed check or assertion of a launch; `block` is the logical block index.

    `thread` is the place in its block of the thread of a SIMT kernel, along x, y and z.
    """

    site: Site
    block: tuple[int, ...]
    index: int = 0
    extent: int = 0
    thread: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Printed:
    """One print record: the values are NumPy arrays (rank 0 for scalars)."""

    site: Site
    block: tuple[int, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Artifact:
    """Compiled code, and the facts that a launch of it needs.

    `code` is the backend's own: an object file for the CPU, the function itself for the reference.
    `scratch_bytes` is what each worker must hand in, `together` how many blocks in a row one had
    better run. On a GPU `occupancy` blocks share a processor, or one takes a `cluster` of them, and
    the grid is `turned` if its last axis is launched as the first, along which blocks run first.
    `decisions` are lines for `explain()`, `candidates` those of them about other code that was
    tried, `choices` what was chosen other than by default. `obligations` say where checks went, and
    `seconds` how long an assembler took, in tenths.
    """

    name: str
    target: str
    signature: Signature
    code: bytes | Func = field(repr=False)
    launch_checks: tuple[LaunchCheck, ...] = ()
    sites: tuple[Site, ...] = ()
    scratch_bytes: int = 0
    together: int = 1
    occupancy: int = 1
    cluster: int = 1
    turned: bool = False
    decisions: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    choices: tuple[tuple[str, int | bool], ...] = ()
    obligations: tuple[BoundsCheck, ...] = ()
    seconds: float | None = None

    def resident(self, processors: int) -> int:
        """Return the number of blocks that so many processors run at once."""
        return max(processors * self.occupancy // self.cluster, 1)


# -------------------------------------------------------------------------------------------------
# Reporting ops: checks, assertions and prints, numbered in walk order.

REPORTING = Effect.CHECK | Effect.PRINT


def reporting_ops(func: Func) -> list[Op]:
    """Return the ops that may report, in walk order; an op's position is its site number."""
    return [op for op in func.walk() if op.defn.effects & REPORTING]


def sites_of(func: Func) -> tuple[Site, ...]:
    """Return the sites of a function, in the order of `reporting_ops`."""
    return tuple(_site(op) for op in reporting_ops(func))


def _site(op: Op) -> Site:
    if op.is_a(CHECK):
        kind = "element" if op.attrs["elements"] else "check"
        return Site(kind, op.span, op.attrs["tensor"], op.attrs["axis"])
    if op.is_a(CHECK_INDEX):
        return Site("index", op.span, op.attrs["slice"])
    if op.is_a(ASSERT):
        return Site("assert", op.span, message=op.attrs["message"])
    types = tuple(v.tile for v in op.operands)
    return Site("print", op.span, template=op.attrs["template"], types=types)
