"""One call of a collective, as ranks compare it before any data moves."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias, cast

SUM, MEAN, PRODUCT, MIN, MAX = "sum", "mean", "product", "min", "max"
REDUCTIONS = (SUM, MEAN, PRODUCT, MIN, MAX)
"""What `all_reduce` and `reduce_scatter` make of the elements of all ranks."""

Shapes: TypeAlias = tuple[int, ...] | tuple[tuple[int, ...], ...]

_PAIRS = {"recv": "send"}


@dataclass(frozen=True, slots=True)
class Call:
    """What all ranks of a collective must say alike."""

    op: str
    shape: Shapes
    """Of the tensor, or of each if these are several."""
    dtype: str
    reduce: str = ""
    """How elements are combined; "" where they are not."""
    root: int = -1
    """The rank that data comes from; -1: from all."""

    def text(self) -> str:
        """Return the call as ranks exchange it."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Call:
        """Return the call that another rank has written; a ValueError if it is none."""
        found = json.loads(text)
        if not isinstance(found, dict):
            raise ValueError(text)
        known = cast("dict[str, Any]", found)
        names = {name: str(known[name]) for name in ("op", "dtype", "reduce")}
        return cls(shape=_shapes(known["shape"]), root=int(known["root"]), **names)

    def agrees(self, other: Call) -> bool:
        """Return whether ranks that say this do the same; who sends agrees with who receives."""
        return self.paired() == other.paired()

    def paired(self) -> Call:
        """Return what is equal for ranks that do the same: who receives says what its peer does."""
        return replace(self, op=_PAIRS[self.op]) if self.op in _PAIRS else self

    def __str__(self) -> str:
        detail = f", {self.reduce}" if self.reduce else ""
        root = f", from rank {self.root}" if self.root >= 0 else ""
        return f"`{self.op}` of {self.dtype} {self.shape}{detail}{root}"


def _shapes(said: Any) -> Any:
    """Return extents, or lists of them, as tuples."""
    return tuple(_shapes(each) if isinstance(each, list) else int(each) for each in said)
