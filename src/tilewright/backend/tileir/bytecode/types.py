"""The types of Tile IR values; as text they read as the disassembler writes them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from ....base.dtypes import (
    AnyDType,
    bf16,
    bool_,
    f4e2m1fn,
    f4e2m1fnx2,
    f8e4m3fn,
    f8e5m2,
    f8e8m0fnu,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    tf32,
    u8,
    u16,
    u32,
    u64,
)
from ....base.shapes import Shape, size
from ....ir.types import PtrType, TileType, TokenType, Type

Dims: TypeAlias = tuple[int | None, ...]
"""Extents or strides; None is known at run time only."""


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A number; integers have no sign. `width` is in bits."""

    name: str
    width: int

    @property
    def is_int(self) -> bool:
        """Whether this is an integer, one bit included."""
        return self.name.startswith("i")

    @property
    def nbytes(self) -> int:
        """Bytes of one element of a constant."""
        return (self.width + 7) // 8

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Pointer:
    """The address of a number."""

    to: ScalarType

    def __str__(self) -> str:
        return f"ptr<{self.to}>"


@dataclass(frozen=True, slots=True)
class TileValueType:
    """A tile of numbers or pointers of static shape; every extent is a power of two."""

    elem: ScalarType | Pointer
    shape: Shape = ()

    @property
    def scalar(self) -> ScalarType:
        """The element of a tile known to hold numbers."""
        assert isinstance(self.elem, ScalarType), f"{self} holds pointers"
        return self.elem

    @property
    def size(self) -> int:
        """The number of elements."""
        return size(self.shape)

    def of(self, elem: ScalarType | Pointer) -> TileValueType:
        """Return a tile type of this shape with another element."""
        return TileValueType(elem, self.shape)

    def shaped(self, shape: Shape) -> TileValueType:
        """Return a tile type of this element with another shape."""
        return TileValueType(self.elem, shape)

    def __str__(self) -> str:
        return f"tile<{_dims(self.shape, self.elem)}>"


@dataclass(frozen=True, slots=True)
class TensorView:
    """A tensor in memory."""

    elem: ScalarType
    shape: Dims
    strides: Dims

    def __str__(self) -> str:
        strides = ",".join(map(_dim, self.strides))
        return f"tensor_view<{_dims(self.shape, self.elem)}, strides=[{strides}]>"


class PaddingMode(Enum):
    """The value of loads outside of the tensor; the enum value is the code."""

    zero = 0
    neg_zero = 1
    nan = 2
    pos_inf = 3
    neg_inf = 4


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A tensor cut into tiles; tile axis k runs along tensor axis dim_map[k]."""

    tile: Shape
    tensor: TensorView
    dim_map: Shape
    padding: PaddingMode | None = None

    def __str__(self) -> str:
        return f"partition_view<{_view(self.tile, '', self.padding, self.tensor, self.dim_map)}>"


@dataclass(frozen=True, slots=True)
class StridedView:
    """A tensor seen as tiles that start `steps` apart."""

    tile: Shape
    steps: Shape
    tensor: TensorView
    dim_map: Shape
    padding: PaddingMode | None = None

    def __str__(self) -> str:
        steps = f", traversal_strides=[{','.join(map(str, self.steps))}]"
        return f"strided_view<{_view(self.tile, steps, self.padding, self.tensor, self.dim_map)}>"


@dataclass(frozen=True, slots=True)
class GatherView:
    """A tensor whose axis `sparse` is indexed by a tile of row numbers."""

    tile: Shape
    tensor: TensorView
    sparse: int
    padding: PaddingMode | None = None

    def __str__(self) -> str:
        rest = f", sparse_dim={self.sparse}"
        identity = tuple(range(len(self.tile)))
        inner = _view(self.tile, "", self.padding, self.tensor, identity)
        return f"gather_scatter_view<{inner}{rest}>"


@dataclass(frozen=True, slots=True)
class FunctionType:
    """The parameters of a kernel."""

    args: tuple[Kind, ...]
    results: tuple[Kind, ...] = ()

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.args))}) -> ({', '.join(map(str, self.results))})"


@dataclass(frozen=True, slots=True)
class Token:
    """A token that orders memory accesses."""

    def __str__(self) -> str:
        return "token"


View: TypeAlias = PartitionView | StridedView | GatherView
Kind: TypeAlias = ScalarType | Pointer | TileValueType | TensorView | View | FunctionType | Token

I1, I4, I8, I16, I32, I64 = (ScalarType(f"i{n}", n) for n in (1, 4, 8, 16, 32, 64))
F16, BF16, F32, F64 = (
    ScalarType("f16", 16),
    ScalarType("bf16", 16),
    ScalarType("f32", 32),
    ScalarType("f64", 64),
)
TF32 = ScalarType("tf32", 19)
F8E4M3FN, F8E5M2 = ScalarType("f8E4M3FN", 8), ScalarType("f8E5M2", 8)
F8E8M0FNU, F4E2M1FN = ScalarType("f8E8M0FNU", 8), ScalarType("f4E2M1FN", 4)
SCALARS = (
    I1, I4, I8, I16, I32, I64, F16, BF16, F32, TF32, F64, F8E4M3FN, F8E5M2, F8E8M0FNU, F4E2M1FN,
)  # fmt: skip
TOKEN = Token()
INDEX = TileValueType(I32)
FLAG = TileValueType(I1)

SCALAR_OF: dict[AnyDType, ScalarType] = {
    bool_: I1, i8: I8, i16: I16, i32: I32, i64: I64, u8: I8, u16: I16, u32: I32, u64: I64,
    f16: F16, bf16: BF16, f32: F32, f64: F64, tf32: TF32, f8e4m3fn: F8E4M3FN, f8e5m2: F8E5M2,
    f8e8m0fnu: F8E8M0FNU, f4e2m1fn: F4E2M1FN, f4e2m1fnx2: I8,
}  # fmt: skip
"""Element types here; packed pairs are bytes until they are unpacked."""


def kind_of(t: Type) -> TileValueType | Token:
    """Return the type of an operand that must be a tile or a token."""
    if isinstance(t, TokenType):
        return TOKEN
    assert isinstance(t, TileType), f"{t} is no value of Tile IR"
    elem = Pointer(SCALAR_OF[t.elem.to]) if isinstance(t.elem, PtrType) else SCALAR_OF[t.elem]
    return TileValueType(elem, t.shape)


def tile_of(t: Type) -> TileValueType:
    """Return the type here of a tile there."""
    kind = kind_of(t)
    assert isinstance(kind, TileValueType), f"{t} is not a tile"
    return kind


def _dim(n: int | None) -> str:
    return "?" if n is None else str(n)


def _dims(shape: Dims, elem: ScalarType | Pointer) -> str:
    return "x".join([*map(_dim, shape), str(elem)])


def _view(tile: Shape, steps: str, padding: PaddingMode | None, tensor: Kind, order: Shape) -> str:
    parts = [f"tile=({'x'.join(map(str, tile))}){steps}"]
    if padding is not None:
        parts.append(f"padding_value = {padding.name}")
    parts.append(str(tensor))
    if order != tuple(range(len(order))):
        parts.append(f"dim_map=[{', '.join(map(str, order))}]")
    return ", ".join(parts)
