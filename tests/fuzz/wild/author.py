"""What a random kernel is written with: values in scope, lines, and choices that follow a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from fuzz.wild.program import DTYPES, Input
from tilewright.base.dtypes import AnyDType, bf16, bool_, f8e4m3fn, f8e5m2, f16, f32, f64

Shape = tuple[int, ...]
LIMIT: dict[AnyDType, float] = {
    f64: 2.0**50, f32: 2.0**23, f16: 2.0**10, bf16: 2.0**7, f8e4m3fn: 16.0, f8e5m2: 8.0,
}  # fmt: skip
"""Up to here whole numbers and their sums are exact."""
INTEGERS = tuple(DTYPES[name] for name in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"))
FLOATS = (f16, bf16, f32, f64)
TINY = (f8e4m3fn, f8e5m2)
ALL = (*INTEGERS, *FLOATS, *FLOATS, *TINY, bool_, bool_)
MOST = 1024
"""Elements of a tile."""


@dataclass(frozen=True)
class Var:
    """A tile in scope; `bound` limits the magnitude of floats."""

    name: str
    dtype: AnyDType
    shape: Shape
    bound: float = 0.0

    @property
    def size(self) -> int:
        """Its number of elements."""
        count = 1
        for n in self.shape:
            count *= n
        return count

    def fits(self, other: Var) -> bool:
        """Whether both broadcast to one shape."""
        return joined(self.shape, other.shape) is not None


def joined(a: Shape, b: Shape) -> Shape | None:
    """The shape that two broadcast to, if they do."""
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        return None
    return tuple(max(x, y) for x, y in zip(a, b, strict=True))


@dataclass
class Author:
    """Writes one kernel."""

    rng: random.Random
    tile: Shape
    blocks: list[str]
    """Names of the numbers that say which tile this is."""
    inputs: list[Input] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)
    scopes: list[list[Var]] = field(default_factory=lambda: [[]])
    depth: int = 1
    loops: list[str] = field(default_factory=list)
    count: int = 0

    # --- choices -------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        """True so often."""
        return self.rng.random() < share

    def pick(self, accepts: Callable[[Var], bool]) -> Var | None:
        """A value in scope, rather a new one."""
        found = [v for scope in self.scopes for v in scope if accepts(v)]
        if not found:
            return None
        return found[-1] if self.chance(0.4) else self.rng.choice(found)

    def shape_of(self, size: int, rank: int) -> Shape:
        """A shape of so many elements, a power of two."""
        cuts = sorted(self.rng.randint(0, size.bit_length() - 1) for _ in range(rank - 1))
        edges = [0, *cuts, size.bit_length() - 1]
        return tuple(1 << (b - a) for a, b in pairwise(edges))

    def constant(self, dtype: AnyDType) -> tuple[str, float]:
        """A number of a type as text, and its magnitude."""
        if dtype.is_bool:
            return self.rng.choice(["True", "False"]), 1.0
        if dtype.is_float:
            value = self.rng.randint(-4, 4)
            return f"{float(value)}", float(abs(value))
        low = 0 if dtype.kind == "u" else -(1 << dtype.bits - 1)
        high = low + (1 << dtype.bits) - 1
        ends = [low, high, dtype.bits, dtype.bits - 1]
        value = self.rng.choice([0, 1, 2, 3, 5, 7, 57, *ends]) if self.chance(0.8) else -1
        return str(max(value, low)), 0.0

    # --- lines ---------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """A line at the depth of the block."""
        self.lines.append("    " * self.depth + text)

    def fresh(self) -> str:
        """A name that is not in use."""
        self.count += 1
        return f"v{self.count}"

    def make(self, text: str, dtype: AnyDType, shape: Shape, bound: float = 0.0) -> Var | None:
        """Bind an expression, unless its numbers would be too large or its tile too long."""
        made = Var(self.fresh(), dtype, shape, bound)
        if made.size > MOST or bound > LIMIT.get(dtype, bound):
            return None
        self.line(f"{made.name} = {text}")
        self.scopes[-1].append(made)
        return made

    @contextmanager
    def block(self, head: str) -> Generator[None, None, None]:
        """Lines inside of a statement; what is bound there ends there."""
        self.line(head)
        self.depth += 1
        self.scopes.append([])
        start = len(self.lines)
        try:
            yield
        finally:
            if len(self.lines) == start:
                self.line("pass")
            self.depth -= 1
            self.scopes.pop()

    # --- memory --------------------------------------------------------------------------------

    def new_input(self, dtype: AnyDType, shape: Shape, layouts: Sequence[str]) -> str:
        """Another array; gives its name."""
        layout = self.rng.choice(layouts)
        self.inputs.append(Input(dtype.__name__, shape, layout, self.rng.randrange(1 << 30)))
        return f"x{len(self.inputs) - 1}"

    def index(self, view: str, axis: int) -> str:
        """The index of some tile of a view, along an axis."""
        number = self.rng.choice([*self.blocks, *self.loops, str(self.rng.randint(0, 3))])
        return f"({number} + {self.rng.randint(0, 3)}) % tl.num_tiles({view}, {axis})"
