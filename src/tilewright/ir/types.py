"""Types of IR values. Signedness is part of the element type, so no op needs to repeat it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ..base.dtypes import AnyDType, bool_, i32
from ..base.shapes import Shape, size
from ..base.trees import Leaf


@dataclass(frozen=True, slots=True)
class PtrType:
    """A raw pointer to elements of `to`; only the element of a tile, only in unsafe entries."""

    to: AnyDType

    def __str__(self) -> str:
        return f"ptr<{self.to.name}>"


Elem: TypeAlias = "AnyDType | PtrType"


@dataclass(frozen=True, slots=True)
class TileType(Leaf):
    """An immutable value of static shape; rank 0 is a scalar."""

    elem: Elem
    shape: Shape = ()

    @property
    def dtype(self) -> AnyDType:
        """The element type; it is an error to ask this of pointers."""
        assert not isinstance(self.elem, PtrType), "a tile of pointers has no dtype"
        return self.elem

    @property
    def is_pointer(self) -> bool:
        """Whether the elements are pointers."""
        return isinstance(self.elem, PtrType)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return size(self.shape)

    def with_elem(self, elem: Elem) -> TileType:
        """Return a tile type of this shape with another element."""
        return TileType(elem, self.shape)

    def with_shape(self, shape: Shape) -> TileType:
        """Return a tile type of this element with another shape."""
        return TileType(self.elem, shape)

    def __str__(self) -> str:
        elem = str(self.elem) if self.is_pointer else self.dtype.name
        return f"tile<{'x'.join([*map(str, self.shape), elem])}>"


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor in global memory: a parameter, or made from a raw pointer.

    A None extent or stride is known at launch only. `param` names the parameter it is.
    """

    dtype: AnyDType
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    mutable: bool = False
    param: str | None = None

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __str__(self) -> str:
        dims = "x".join(["?" if n is None else str(n) for n in self.shape] + [self.dtype.name])
        strides = ",".join("?" if n is None else str(n) for n in self.strides)
        return f"{'tensor_mut' if self.mutable else 'tensor'}<{dims}, strides=[{strides}]>"


@dataclass(frozen=True, slots=True, eq=False)
class ViewType:
    """A tensor cut into tiles. Tile axis k runs along tensor axis dim_map[k].

    `step` is how far apart tiles start (None: `tile`, so they do not overlap).
    `frame` is the shape of one block's region: indices then count inside the region of this
    block, which starts at block_id * frame, and what leaves the region is clipped.
    `sparse` is the axis indexed by a tile of row numbers (gather and scatter).
    """

    tensor: TensorType
    tile: Shape
    dim_map: Shape
    padding: float | int | None = 0
    step: Shape | None = None
    frame: Shape | None = None
    sparse: int | None = None

    # Paddings are the same if their bits are: NaN equals itself, and 0.0 is not -0.0.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, ViewType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        rest = (self.step, self.frame, self.sparse)
        return (self.tensor, self.tile, self.dim_map, repr(self.padding), *rest)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.tile)

    @property
    def loaded(self) -> TileType:
        """The type of a tile loaded through this view."""
        return TileType(self.tensor.dtype, self.tile)

    def __str__(self) -> str:
        parts = [f"tile={self.tile}", str(self.tensor)]
        if self.dim_map != tuple(range(self.rank)):
            parts.append(f"dim_map={self.dim_map}")
        for name in ("step", "frame", "sparse"):
            if (value := getattr(self, name)) is not None:
                parts.append(f"{name}={value}")
        if self.padding != 0:
            parts.append(f"padding={self.padding}")
        return f"view<{', '.join(parts)}>"


@dataclass(frozen=True, slots=True)
class TokenType:
    """A token that orders memory operations; only the pass `insert_tokens` makes one."""

    def __str__(self) -> str:
        return "token"


DYNAMIC = -1
"""The number of the shared memory whose size a launch says."""


@dataclass(frozen=True, slots=True)
class SharedType:
    """Shared memory of a block: a static array, or the dynamic part that a launch requests.

    Equal numbers are the same memory; a None extent is known at launch only.
    """

    dtype: AnyDType
    shape: tuple[int | None, ...]
    number: int = DYNAMIC

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of a static array."""
        return size(tuple(n for n in self.shape if n is not None)) * self.dtype.itemsize

    def __str__(self) -> str:
        dims = "x".join(["?" if n is None else str(n) for n in self.shape] + [self.dtype.name])
        return f"shared<{dims}, {'dynamic' if self.number == DYNAMIC else self.number}>"


Type: TypeAlias = TileType | TensorType | ViewType | TokenType | SharedType

I1 = TileType(bool_)
I32 = TileType(i32)
TOKEN = TokenType()
