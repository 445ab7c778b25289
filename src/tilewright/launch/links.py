"""What TypeVars and fixed dims say: they link arguments, which must agree, and give constants.

A single dim of an output is one of its tile, as in the kernel's own types; that of an input is one
of the tensor. A pack, `*S`, stands for extents of tensors, of outputs and of inputs alike. A dim of
a tile, and what `.generics(...)` fixes, is a constant of the compilation; extents that several
tensors share are compared when a launch is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..base.dtypes import AnyDType, as_dtype
from ..base.errors import LaunchError, ShapeError
from ..base.shapes import Shape
from ..frontend.capture.parameters import Dim, Parameter
from .arguments import Arg, OutputArg, PointerArg, ScalarArg, TensorArg, is_shape

Extent: TypeAlias = int | Shape
"""What a TypeVar stands for: one extent, or a whole shape for a TypeVarTuple."""

TILE_OF = "the tile of"
BY_HAND = ".generics(...)"


def _noun(extent: Extent) -> str:
    return "shapes" if isinstance(extent, tuple) else "extents"


@dataclass(slots=True)
class Links:
    """The meaning of each linked name for one launch, and who gave it that meaning."""

    kernel: str
    dtypes: dict[str, tuple[AnyDType, str]]
    extents: dict[str, tuple[Extent, str]]
    static: set[str]

    def constants(self) -> tuple[tuple[str, Any], ...]:
        """Return the names that are constants of the compilation, for the kernel's body."""
        dtypes = [(name, dtype) for name, (dtype, _) in self.dtypes.items()]
        extents = [(name, self.extents[name][0]) for name in self.extents if name in self.static]
        return tuple(sorted([*dtypes, *extents], key=lambda pair: pair[0]))

    def element(self, name: str, dtype: AnyDType, who: str) -> None:
        """Bind `name` to an element type."""
        known, first = self.dtypes.setdefault(name, (dtype, who))
        if known is not dtype:
            raise ShapeError(
                f"`{name}` of `{self.kernel}` has two element types",
                expected=f"{known.name}, from {first}",
                got=f"{dtype.name}, from {who}",
            )

    def extent(self, name: str, extent: Extent, who: str, *, static: bool) -> None:
        """Bind `name` to an extent or a shape."""
        known, first = self.extents.setdefault(name, (extent, who))
        if static:
            self.static.add(name)
        if known != extent:
            tiled = TILE_OF in first and TILE_OF not in who
            raise ShapeError(
                f"`{name}` of `{self.kernel}` has two {_noun(extent)}",
                expected=f"{known}, from {first}",
                got=f"{extent}, from {who}",
                hint=_hint(name) if tiled else None,
            )


def _hint(name: str) -> str:
    return (
        f"a single dim of a tl.TensorMut, such as `{name}`, is one of its tile; `*S` stands for the"
        " extents of tensors"
    )


Meaning: TypeAlias = Extent | AnyDType
"""What `.generics(...)` may bind a name to."""
Generics: TypeAlias = tuple[tuple[str, Meaning], ...]


def link(kernel: str, args: Sequence[Arg], generics: Generics) -> Links:
    """Check fixed dims and linked names; outputs first, since they fix what inputs must match."""
    links = Links(kernel, {}, {}, set())
    for name, meaning in generics:
        if isinstance(meaning, int | tuple):
            links.extent(name, meaning, BY_HAND, static=True)
        else:
            links.element(name, meaning, BY_HAND)
    for arg in sorted(args, key=lambda a: not isinstance(a, OutputArg)):
        if isinstance(arg, ScalarArg):
            continue
        if isinstance(arg.parameter.dtype, str):
            links.element(arg.parameter.dtype, arg.dtype, f"`{arg.parameter.name}`")
        if not isinstance(arg, PointerArg) and arg.parameter.dims is not None:
            _link_dims(links, arg)
    return links


def by_hand(names: Mapping[str, Any]) -> Generics:
    """Return the arguments of `.generics(...)` in a comparable form: sorted by name."""
    return tuple((name, _meaning(names[name])) for name in sorted(names))


def _meaning(value: Any) -> Meaning:
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    return tuple(value) if is_shape(value) else as_dtype(value)


def _link_dims(links: Links, arg: TensorArg | OutputArg) -> None:
    static = isinstance(arg, OutputArg) and not arg.shared
    name, tensor = arg.parameter.name, arg.layout.shape
    shape = arg.tile if isinstance(arg, OutputArg) and static else tensor
    what = f"{TILE_OF} `{name}`" if static else f"`{name}`"
    for axis, dim, extents in match(arg.parameter, tensor):
        if isinstance(dim, tuple):
            links.extent(dim[1], extents, f"`{name}`", static=False)
            continue
        extent = shape[axis]
        if isinstance(dim, str):
            links.extent(dim, extent, f"axis {axis} of {what}", static=static)
        elif dim is not None and dim != extent:
            raise ShapeError(
                f"axis {axis} of {what} of `{links.kernel}` has a fixed extent",
                expected=str(dim),
                got=f"{extent}, of the shape {shape}",
            )


def match(parameter: Parameter, shape: Shape) -> Iterator[tuple[int, Dim, Extent]]:
    """Return axis, declared dim and actual extent of each dim; a pack takes the remaining axes."""
    dims = parameter.dims or ()
    extra = len(shape) - len(dims)
    axis = 0
    for dim in dims:
        if isinstance(dim, tuple):
            yield axis, dim, shape[axis : axis + extra + 1]
            axis += extra + 1
        else:
            yield axis, dim, shape[axis]
            axis += 1


def static_dims(arg: TensorArg | OutputArg, links: Links) -> tuple[int | None, ...]:
    """Return the tensor's extents as the compiler may know them: fixed ones, and constants of
    inputs.
    """
    shape = arg.layout.shape
    if isinstance(arg, OutputArg) or arg.parameter.dims is None:
        return (None,) * len(shape)
    known: list[int | None] = []
    for _, dim, extent in match(arg.parameter, shape):
        if isinstance(extent, tuple):
            pack = isinstance(dim, tuple) and dim[1] in links.static
            known += extent if pack else (None,) * len(extent)
        else:
            fixed = isinstance(dim, int) or dim in links.static
            known.append(extent if fixed else None)
    return tuple(known)


def scalar_type(kernel: str, parameter: Parameter, links: Links) -> AnyDType:
    """Return the element type of a scalar parameter; a linked one takes a tensor's."""
    wanted = parameter.dtype
    if not isinstance(wanted, str):
        assert wanted is not None, "a scalar has a type"
        return wanted
    if wanted not in links.dtypes:
        raise LaunchError(
            f"`{wanted}` of `{kernel}` cannot be inferred from the tensors",
            hint=f"bind it explicitly: {kernel}(...).generics({wanted}=tw.f32)",
        )
    return links.dtypes[wanted][0]
