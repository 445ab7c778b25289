"""Configurations of a kernel: what a tuner may choose for its launches, and spaces of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeAlias, TypeGuard, overload

from ..base.dtypes import DTypeMeta
from ..base.showing import grid
from ..compile.options import CompileOptions
from ..tensors.shape import ShapeLike

TileChoice: TypeAlias = "ShapeLike | Mapping[str, ShapeLike] | None"
"""The tiles of all outputs of a kernel, or of each by name."""

HINTS = tuple(f.name for f in fields(CompileOptions) if f.name != "checks")
"""What may be chosen for the code generator."""
LAUNCH = ("tile", "map", "blocks", "block", "hints")
"""What is chosen for a launch by these names; no constant of a tuned kernel may have one."""


class Config:
    """One way of launching a kernel: tiles of its outputs, constants, hints.

    `tile` cuts the outputs of a tile kernel, all or each by name; `map` and `blocks` are the
    arguments of `.map(...)` for mapped outputs. `block` is the block of a SIMT kernel. `hints` is a
    `tw.CompileOptions`, whose fields may also be given by name. All else is constants of the
    kernel.

    >>> Config(tile=(64, 64), BK=32, occupancy=2)
    Config(tile=(64, 64), occupancy=2, BK=32)
    """

    __slots__ = ("block", "blocks", "constants", "hints", "map", "text", "tile")

    def __init__(
        self,
        *,
        tile: TileChoice = None,
        map: ShapeLike | None = None,  # noqa: A002 - the name of the method it is given to
        blocks: int | None = None,
        block: ShapeLike | None = None,
        hints: CompileOptions | None = None,
        **values: Any,
    ) -> None:
        _refuse_no_hints(hints)
        named = {name: values.pop(name) for name in HINTS if name in values}
        self.tile: Any = tile
        self.map = map
        self.blocks = blocks
        self.block = block
        self.hints = CompileOptions(**named).over(hints or CompileOptions())
        """Hints that are not left to the code generator, and None for the others."""
        self.constants: Mapping[str, Any] = dict(values)
        """Constants of the kernel, by name."""
        self.text = ", ".join(f"{name}={shown(value)}" for name, value in self._items())
        """What tells configurations apart, also in records."""

    def _items(self) -> Iterator[tuple[str, Any]]:
        for name in ("tile", "map", "blocks", "block"):
            if getattr(self, name) is not None:
                yield name, getattr(self, name)
        yield from self.hints.given.items()
        yield from self.constants.items()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Config({self.text})"


def is_mapping(given: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether something is given by name."""
    return isinstance(given, Mapping)


def _is_list(given: object) -> TypeGuard[list[Any]]:
    return isinstance(given, list)


def _is_sequence(given: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(given, Sequence) and not isinstance(given, str)


class Space(Sequence[Config]):
    """Configurations in a fixed order. The first is the one that all others are compared with."""

    __slots__ = ("_configs",)

    def __init__(self, configs: Sequence[Config]) -> None:
        self._configs = tuple(configs)
        _refuse_strangers(self._configs)
        known = set[str]()
        for config in self._configs:
            if config.text in known:
                raise ValueError(f"{config!r} is in the search space twice")
            known.add(config.text)
        if not known:
            raise ValueError(
                "the search space is empty: give a tw.Config, or tw.search(...) with alternatives"
                " of which `where` leaves some"
            )

    @overload
    def __getitem__(self, index: int) -> Config: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Config]: ...
    def __getitem__(self, index: int | slice) -> Config | Sequence[Config]:
        """Return one of them, or several."""
        return self._configs[index]

    def __len__(self) -> int:
        return len(self._configs)

    def __add__(self, other: Sequence[Config]) -> Space:
        return Space((*self._configs, *other))

    def __repr__(self) -> str:
        return f"<{len(self)} configurations, the first is {self._configs[0]!r}>"

    def _repr_html_(self) -> str:
        return grid(
            f"{len(self)} configurations", ["configuration"], [(repr(each),) for each in self]
        )


def search(*, where: Callable[[Config], bool] | None = None, **alternatives: Any) -> Space:
    """Make a space of all combinations: `tw.search(tile=[(32, 32), (64, 64)], BK=[16, 32])`.

    Names are those of `tw.Config`. A list has alternatives; anything else is the only one. `where`
    says which combinations are meant.

    >>> len(search(tile=[(32, 32), (64, 64)], BK=[16, 32, 64], occupancy=2))
    6
    """
    if not alternatives:
        raise TypeError("tw.search takes alternatives: tw.search(tile=[(32, 32), (64, 64)])")
    each = [value if _is_list(value) else [value] for value in alternatives.values()]
    empty = [n for n, values in zip(alternatives, each, strict=True) if not values]
    if empty:
        raise ValueError(f"tw.search has no alternatives for `{empty[0]}`: its list is empty")
    made = [Config(**dict(zip(alternatives, chosen, strict=True)))
            for chosen in itertools.product(*each)]  # fmt: skip
    return Space([config for config in made if where is None or where(config)])


def as_space(given: object) -> Space:
    """Return a space of what `tw.autotune` was given: one, or configurations."""
    if isinstance(given, Space):
        return given
    if isinstance(given, Config):
        return Space((given,))
    if _is_sequence(given):
        return Space(given)
    raise TypeError(
        "tw.autotune takes what to choose from: tw.search(...), or a list of tw.Config, got"
        f" {type(given).__name__}"
    )


def _refuse_no_hints(hints: object) -> None:
    if not isinstance(hints, CompileOptions | None):
        raise TypeError(f"hints of a Config are a tw.CompileOptions, got {hints!r:.60}")


def _refuse_strangers(configs: Sequence[object]) -> None:
    for config in configs:
        if not isinstance(config, Config):
            raise TypeError(f"a search space consists of tw.Config, got {config!r:.60}")


def shown(value: Any) -> str:
    """Return the text of something chosen; equal values have equal texts in every process."""
    if isinstance(value, DTypeMeta):
        return str(value.name)
    if is_mapping(value):
        return "{" + ", ".join(f"{k}: {shown(v)}" for k, v in sorted(value.items())) + "}"
    if _is_sequence(value):
        parts = [shown(v) for v in value]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    raise TypeError(
        f"a tuner chooses among numbers, texts, element types and tuples of them, got {value!r:.60}"
    )
