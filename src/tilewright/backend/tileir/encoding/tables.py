"""The tables of a file: strings, types and constants, numbered as the code that uses them is
written."""

from __future__ import annotations

from ..program.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    TF32,
    Dims,
    Function,
    GatherView,
    Kind,
    Padding,
    PartitionView,
    Pointer,
    Scalar,
    StridedView,
    TensorView,
    Tile,
    Token,
)  # fmt: skip
from .primitives import DYNAMIC, Numbering, i32s, i64s, table, varint
from .versions import OLDEST, V13_2, V13_3, V13_4, Version

SCALAR_TAGS: dict[Scalar, int] = {
    I1: 0, I8: 1, I16: 2, I32: 3, I64: 4, F16: 5, BF16: 6, F32: 7, TF32: 8, F64: 9,
    F8E4M3FN: 10, F8E5M2: 11, F8E8M0FNU: 18, F4E2M1FN: 19, I4: 22,
}  # fmt: skip
SCALARS_SINCE: dict[Scalar, Version] = {F8E8M0FNU: V13_2, F4E2M1FN: V13_3, I4: V13_3}
POINTER, TILE, TENSOR, PARTITION, FUNCTION, TOKEN_TAG, GATHER, STRIDED = (
    12, 13, 14, 15, 16, 17, 20, 21,
)  # fmt: skip


class TooOldError(Exception):
    """Something that a version of the bytecode does not have; `since` is the first that does."""

    def __init__(self, what: str, since: Version) -> None:
        super().__init__(what)
        self.what = what
        self.since = since


def need(what: str, since: Version, version: Version) -> None:
    """Refuse what came later than a version."""
    if since > version:
        raise TooOldError(what, since)


class Tables:
    """The tables of one file in the making."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self.strings: Numbering[bytes] = Numbering()
        self.constants: Numbering[bytes] = Numbering()
        self.types: Numbering[bytes] = Numbering()
        self._kinds: dict[Kind, int] = {}

    def string(self, text: str) -> bytes:
        """The number of a text, as bytes."""
        return varint(self.strings[text.encode()])

    def constant(self, data: bytes) -> bytes:
        """The number of a constant's elements, as bytes."""
        return varint(self.constants[varint(len(data)) + data])

    def type(self, kind: Kind) -> bytes:
        """The number of a type, as bytes."""
        found = self._kinds.get(kind)
        if found is None:
            found = self._kinds[kind] = self.types[self._row(kind)]
        return varint(found)

    def sections(self) -> tuple[bytes, bytes, bytes]:
        """The sections of constants, types and strings."""
        return (
            table(list(self.constants.rows), 8),
            table(list(self.types.rows), 4),
            table(list(self.strings.rows), 4),
        )

    def _row(self, kind: Kind) -> bytes:
        match kind:
            case Scalar():
                need(f"the element type {kind}", SCALARS_SINCE.get(kind, OLDEST), self.version)
                return varint(SCALAR_TAGS[kind])
            case Pointer():
                return varint(POINTER) + self._no_flags() + self.type(kind.to)
            case Tile():
                return varint(TILE) + self.type(kind.elem) + i64s(kind.shape)
            case TensorView():
                dims = i64s(_dims(kind.shape)) + i64s(_dims(kind.strides))
                return varint(TENSOR) + self._no_flags() + self.type(kind.elem) + dims
            case Function():
                args, results = ([self.type(t) for t in ts] for ts in (kind.args, kind.results))
                parts = [varint(len(args)), *args, varint(len(results)), *results]
                return varint(FUNCTION) + b"".join(parts)
            case Token():
                return varint(TOKEN_TAG)
            case _:
                return self._view(kind)

    def _view(self, kind: PartitionView | StridedView | GatherView) -> bytes:
        flags, padding = self._padding(kind.padding)
        if isinstance(kind, GatherView):
            need("gathering through views", V13_3, self.version)
            inner = i32s(kind.tile) + self.type(kind.tensor) + varint(kind.sparse)
            return varint(GATHER) + flags + inner + padding
        if isinstance(kind, StridedView):
            need("tiles that overlap or leave gaps", V13_3, self.version)
            steps, tag = i32s(kind.steps), STRIDED
        else:
            steps, tag = b"", PARTITION
        inner = i32s(kind.tile) + steps + self.type(kind.tensor) + i32s(kind.dim_map)
        return varint(tag) + flags + inner + padding

    def _padding(self, padding: Padding | None) -> tuple[bytes, bytes]:
        """What comes before a view's fields, and what after them."""
        there, code = (0, b"") if padding is None else (1, varint(padding.value))
        if self.version >= V13_3:
            return varint(there), code
        return b"", bytes([there]) + code

    def _no_flags(self) -> bytes:
        return varint(0) if self.version >= V13_4 else b""


def _dims(dims: Dims) -> list[int]:
    return [DYNAMIC if n is None else n for n in dims]
