"""One configuration of a kernel, ready to build launches with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ..base.errors import LaunchError
from ..compile.options import PLAIN
from ..functions.wrapping import OfArrays
from ..launch import Entry, Launch
from ..launch.simt import SimtEntry
from ..op.core import is_op
from ..tensors.arc import Arc
from ..tensors.partition import Partition
from ..tensors.tensor import BorrowMut, Tensor
from .space import LAUNCH, Config, Space, is_mapping

if TYPE_CHECKING:
    from ..frontend.capture.parameters import Parameter
    from ..launch.form import Request

GridRule: TypeAlias = OfArrays | None
"""The grid of a launch, as a function of arguments and constants by name."""
Cut: TypeAlias = "tuple[int, str, Any]"
"""The place of an output among the arguments, its name, and its tiles."""


class Choice:
    """A configuration of one kernel: builds its launches in that way."""

    __slots__ = ("_cuts", "_entry", "_grid", "_options", "_requests", "config")

    def __init__(self, entry: Entry, config: Config, grid: Grid | None = None) -> None:
        self.config = config
        self._grid = grid
        self._entry: Any = entry  # type checkers see calls by arity
        self._cuts = cuts_of(entry, config)
        self._options = config.hints if config.hints != PLAIN else None
        self._requests: tuple[Request, Request] | None = None
        """What a launch asked before it was given options and a block, and afterwards."""

    def launch(self, args: Sequence[Any], constants: Mapping[str, Any]) -> Launch[Any]:
        """Return the launch on these arguments, with outputs that are not divided yet."""
        if self._cuts:
            given = list(args)
            for cut in self._cuts:
                given[cut[0]] = self._divided(given[cut[0]], cut)
            args = given
        chosen = self.config.constants
        if constants:
            chosen = {**chosen, **constants}
        launch: Launch[Any] = self._entry(*args, **chosen)
        if self._options is not None or self.config.block is not None:
            self._ask(launch)
        if self._grid is not None:
            launch.grid(self._grid(args, chosen))
        return launch

    def _ask(self, launch: Launch[Any]) -> None:
        """Make a launch request the chosen options; most request the same as the last one."""
        known = self._requests
        if known is not None and launch.ask_again(*known):
            return
        before = launch.request
        if self._options is not None:
            launch.compile_options(self._options)
        if self.config.block is not None:
            simt: Any = launch
            simt.launch_config(block=self.config.block)
        self._requests = before, launch.request

    def _divided(self, target: Any, cut: Cut) -> Any:
        divided = target.partition(cut[2])
        if self.config.map is None:
            return divided
        return divided.map(self.config.map, self.config.blocks)


class Grid:
    """Computes the grids of launches of one kernel."""

    __slots__ = ("_defaults", "_names", "_places", "_rule")

    def __init__(self, entry: Entry, rule: Callable[..., Any]) -> None:
        parameters = [p.name for p in entry.source.parameters]
        constants = self._defaults = {p.name: p.default for p in entry.source.constants}
        self._rule = rule
        self._names = [*inspect.signature(rule).parameters]
        unknown = [n for n in self._names if n not in parameters and n not in constants]
        if unknown:
            raise TypeError(
                f"the grid of `{entry.__name__}` is a function of arguments and constants by name:"
                f" it has no `{unknown[0]}`, only {listed([*parameters, *constants])}"
            )
        self._places = {n: parameters.index(n) for n in self._names if n in parameters}

    def __call__(self, args: Sequence[Any], constants: Mapping[str, Any]) -> Any:
        """Return the grid of a call."""
        places, known = self._places, {**self._defaults, **constants}
        given = [args[places[n]] if n in places else known[n] for n in self._names]
        return self._rule(*given)


def refuse_outputs(entry: Entry, space: Space, args: Sequence[Any]) -> None:
    """Raise for outputs of a call that no configuration can be launched with."""
    cut = {cut[0] for config in space for cut in cuts_of(entry, config)}
    for place, (parameter, target) in enumerate(zip(entry.source.parameters, args, strict=False)):
        if parameter.kind != "output":
            continue
        name, kernel = parameter.name, entry.__name__
        if not (isinstance(target, Tensor | BorrowMut | Partition | Arc) or is_op(target)):
            raise TypeError(
                f"`{name}` of `{kernel}` is written: pass a tensor, or `.borrow_mut()` of one, got"
                f" {type(target).__name__}"
            )
        if isinstance(target, Partition) and place in cut:
            raise LaunchError(
                f"`{name}` of `{kernel}` is divided already, and its tiles are chosen by tuning",
                expected="a tensor, `.borrow_mut()` of one, or an op that gives one",
                got=repr(cast("object", target)),
                hint=f"pass {name}.borrow_mut()",
            )


def cuts_of(entry: Entry, config: Config) -> list[Cut]:
    """Return how the outputs of a kernel are cut."""
    outputs = [(i, p) for i, p in enumerate(entry.source.parameters) if is_cut(p)]
    if config.tile is None:
        return []
    tile = config.tile
    if not is_mapping(tile):
        return [(i, p.name, tile) for i, p in outputs]
    return [(i, p.name, tile[p.name]) for i, p in outputs if p.name in tile]


def is_cut(parameter: Parameter) -> bool:
    """Return whether a parameter is an output that tile kernels take in tiles."""
    return parameter.kind == "output" and not parameter.shared


def refuse_unfit(entry: Entry, space: Space) -> None:
    """Raise for a space that cannot be one of this kernel, whatever it is called with."""
    name, constants = entry.__name__, [p.name for p in entry.source.constants]
    hidden = [c for c in constants if c in LAUNCH]
    if hidden:
        raise TypeError(
            f"`{name}` cannot be tuned: its constant `{hidden[0]}` is called like something that a"
            " tw.Config chooses for all kernels; rename it"
        )
    pointers = [p.name for p in entry.source.parameters if p.kind == "pointer"]
    if pointers:
        raise TypeError(
            f"`{name}` cannot be tuned: what candidates write through the raw pointer"
            f" `{pointers[0]}` could not be undone; take a tensor"
        )
    for config in space:
        _refuse_names(f"{config!r} of `{name}`", entry, config, constants)


def _refuse_names(what: str, entry: Entry, config: Config, constants: Sequence[str]) -> None:
    unknown = [c for c in config.constants if c not in constants]
    if unknown:
        raise TypeError(
            f"{what} has an unknown constant `{unknown[0]}`; the kernel has"
            f" {listed(constants) or 'none'}"
        )
    is_simt = isinstance(entry, SimtEntry)
    if is_simt and (config.tile is not None or config.map is not None):
        raise TypeError(f"{what} has tiles, but SIMT kernels take their outputs undivided")
    if not is_simt and config.block is not None:
        raise TypeError(f"{what} has a block of threads, which only SIMT kernels have")
    outputs = [p.name for p in entry.source.parameters if is_cut(p)]
    named: list[str] = [*config.tile] if is_mapping(config.tile) else []
    strange = [n for n in named if n not in outputs]
    if strange or (config.tile is not None and not outputs):
        raise TypeError(
            f"{what} has tiles of {listed(strange) or 'outputs'}; the outputs of the kernel are"
            f" {listed(outputs) or 'none'}"
        )
    if config.map is not None and config.tile is None:
        raise TypeError(f"{what} has a `map` of tiles, and no `tile`")


def listed(names: Sequence[str]) -> str:
    """Return names as messages print them."""
    return ", ".join(f"`{name}`" for name in names)
