"""A kernel as a function of its inputs, for frameworks that make the memory of results themselves.

What is read from the kernel's own signature: which parameters are written, which are read, which
are numbers. What it cannot say is given: its constants, and how a tile kernel's outputs are cut.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, TypeVar, cast

from ..base.shapes import Shape
from ..launch import Entry, Launch
from ..launch.foreign import ForeignEntry
from ..launch.simt import SimtEntry
from ..op.core import has_op
from ..tensors.create import asarray
from ..tensors.shape import ShapeLike
from ..tensors.tensor import Tensor
from .groups import Groups, is_group, is_varied, spread, writes

if TYPE_CHECKING:
    from ..frontend.capture.parameters import Parameter

T = TypeVar("T")

Tile: TypeAlias = ShapeLike | Callable[[Shape], ShapeLike]
"""The tiles of an output: a shape, or a function of the output's shape."""
Tiles: TypeAlias = Tile | Mapping[str, Tile]
"""One for all outputs, or one for each by name."""
OfArrays: TypeAlias = (
    Callable[[], Any]
    | Callable[[Any], Any]
    | Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any, Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any], Any]
)
"""A function of the user's on arrays and numbers; by arity, so that checkers know a lambda's."""
Grid: TypeAlias = OfArrays
"""The number of blocks, as a function of the inputs in their order; of arrays it may use the shapes
alone, and no numbers."""
Settle: TypeAlias = Callable[[], None]
"""Waits for work of a library that puts its own where ours does not wait for it."""
AnyKernel: TypeAlias = Entry | ForeignEntry
"""Of tiles, of single threads, or of another compiler."""


class Tuned(Protocol):
    """A kernel that chooses its tiles and constants by itself."""

    def __call__(self, *args: Any, **constants: Any) -> Any:
        """Build the launch; what is not chosen yet is chosen when it runs."""
        ...

    def launch(self, *args: Any, **constants: Any) -> Launch[Any]:
        """Build the launch; what is not chosen yet is chosen now."""
        ...

    def is_known(self, args: Sequence[Any], constants: Mapping[str, Any], /) -> bool:
        """Return whether a call needs no measuring."""
        ...

    def report(self, *args: Any, **constants: Any) -> Any:
        """Return what was tried for such arguments; without arguments, by the latest tuning."""
        ...


class Tune(Protocol):
    """What `tw.autotune` gives: how kernels are tuned."""

    @property
    def chosen(self) -> frozenset[str]:
        """The constants that are chosen, and `tile` if tiles are."""
        ...

    def __call__(self, kernel: Entry, /) -> Tuned:
        """Tune a kernel."""
        ...


class KernelFunction:
    """What is known of a kernel before it is called, and how to launch it on arrays."""

    def __init__(
        self,
        kernel: AnyKernel,
        tiles: Tiles | None,
        constants: Mapping[str, Any],
        tune: Tune | None = None,
        grid: Grid | None = None,
    ) -> None:
        _refuse_no_kernel(kernel)
        self.kernel = kernel
        self._grid: Any = grid
        self._chosen = frozenset[str]() if tune is None else tune.chosen
        """What tuning chooses."""
        self.name = kernel.__name__
        self.parameters: Sequence[Parameter] = kernel.source.parameters
        self.groups: Groups | None = None
        """Of a variant: which of its parameters belong together."""
        self._constants = dict(constants)
        self._refuse_pointers()
        self._refuse_constants()
        self._find_order()
        self._tiles = self._tiles_by_name(tiles)
        """How outputs are cut; empty where the kernel takes them whole."""
        self._cuts = [self._tiles.get(name) for name in self.outputs]
        self._refuse_grid()
        self._read = [i for i, p in enumerate(self.parameters) if p.kind != "output"]
        """Which arguments are inputs."""
        self.tuned = None if tune is None else tune(_of_our_own(kernel))
        """The kernel if it is tuned."""

    def _find_order(self) -> None:
        self.sums = tuple(p.shared for p in self.parameters if writes(p))
        """Which outputs are accumulators: they are 0 before a launch adds to them."""
        kinds = [writes(p) for p in self.parameters]
        written = kinds.count(True)
        numbers = iter(range(written)), iter(range(written, len(kinds)))
        self._order = [next(numbers[0] if is_output else numbers[1]) for is_output in kinds]
        """Where each argument is among the outputs and the inputs behind them."""
        self._is_ordered = self._order == sorted(self._order)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The parameters that the kernel writes."""
        return tuple(p.name for p in self.parameters if writes(p))

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """The others: tensors and numbers."""
        return tuple(p for p in self.parameters if not writes(p))

    @property
    def declared_inputs(self) -> tuple[Parameter, ...]:
        """The inputs as the kernel declares them; those of a variant are some of their items."""
        declared: Sequence[Parameter] = self.kernel.source.parameters
        return tuple(p for p in declared if not writes(p))

    @property
    def is_varied(self) -> bool:
        """Whether its calls differ in structure, and only its variants are launched."""
        return self.groups is None and is_varied(self.parameters)

    def variant(self, given: Mapping[str, Sequence[Parameter]]) -> KernelFunction:
        """Return the variant whose parameters are these, by the name of the kernel's."""
        found = copy.copy(self)
        found.groups = groups = Groups(self.parameters, given)
        found.parameters = groups.flat
        found._find_order()
        owners = {item.name: group.parameter.name for group in groups.all for item in group.items}
        found._cuts = [self._tiles.get(owners[name]) for name in found.outputs]
        found._tiles = {
            name: self._tiles[owner] for name, owner in owners.items() if owner in self._tiles
        }
        return found

    def launch(self, values: Mapping[str, Any], settle: Settle | None = None) -> Launch[Any]:
        """Return the launch on these arrays and numbers, by name; it writes outputs in place.

        `settle` is called before a tuned kernel is measured: its inputs must be complete by then.
        """
        given = [self._argument(p, values[p.name]) for p in self.parameters]
        return self._launched(given, settle)

    def launch_in_order(
        self,
        outputs: Sequence[Any],
        inputs: Sequence[Any],
        shapes: Sequence[Shape] | None = None,
        settle: Settle | None = None,
    ) -> Launch[Any]:
        """Return the launch on outputs, and inputs in the kernel's order.

        Outputs are tensors, which are written in place, or ops that make some of these shapes.
        `settle` as for `launch`.
        """
        known = [output.shape for output in outputs] if shapes is None else shapes
        given = [*map(_divided, outputs, known, self._cuts, self.sums), *inputs]
        if not self._is_ordered:
            given = [given[i] for i in self._order]
        return self._launched(given, settle)

    def _launched(self, given: Sequence[Any], settle: Settle | None) -> Launch[Any]:
        kernel: Any = self.kernel  # type checkers see the call by arity
        args = given if self.groups is None else self.groups.arguments(given)
        if self.tuned is not None:
            kernel = self.tuned  # where outputs are ops the call is one, too: it tunes when it runs
            if not has_op(tuple(given)):
                if settle is not None and not self.tuned.is_known(args, self._constants):
                    settle()
                kernel = self.tuned.launch
        launch: Launch[Any] = kernel(*args, **self._constants)
        if self._grid is None:
            return launch
        return launch.grid(self._grid(*self._inputs_of(given)))

    def _inputs_of(self, given: Sequence[Any]) -> Sequence[Any]:
        """Return the inputs among all arguments as the kernel would be called with them."""
        if self.groups is None:
            return [given[i] for i in self._read]
        return spread(self.groups.inputs, self.groups.inputs_of(given))

    def _argument(self, parameter: Parameter, value: Any) -> Any:
        if parameter.kind != "output":
            return value
        target = value if _is_tensor(value) else asarray(value)
        return _divided(target, target.shape, self._tiles.get(parameter.name))

    def _tiles_by_name(self, tiles: Tiles | None) -> dict[str, Tile]:
        if not _is_of_tiles(self.kernel):
            if tiles is not None:
                raise TypeError(f"`{self.name}` takes its outputs undivided, and has no `tiles`")
            return {}
        if "tile" in self._chosen:
            if tiles is not None:
                raise TypeError(f"`tiles` of `{self.name}` are chosen by `tune`: leave them out")
            return {}
        if tiles is None and not all(self.sums):
            raise TypeError(
                f"`{self.name}` is a tile kernel: pass the tile shape of its outputs, `tiles`"
            )
        if tiles is None:
            return {}
        names = [name for name, sums in zip(self.outputs, self.sums, strict=True) if not sums]
        found = _by_name(names, tiles)
        if set(found) != set(names):
            raise TypeError(
                f"`tiles` of `{self.name}` names its outputs {listed(names)}, got {listed(found)}"
            )
        for tile in found.values():
            signature = _signature_of(tile)
            if signature is not None and not _binds(signature, ("shape",), {}):
                raise TypeError(
                    f"`tiles` of `{self.name}` is a function of the shape of an output, got one of"
                    f" {signature}"
                )
        return found

    def _refuse_grid(self) -> None:
        if _is_of_tiles(self.kernel) and all(self.sums) and self._grid is None:
            raise TypeError(
                f"`{self.name}` only adds to accumulators: pass the number of its blocks, `grid`,"
                " a function of its inputs"
            )
        names = [p.name for p in self.inputs]
        signature = _signature_of(self._grid)
        if signature is not None and not _binds(signature, names, {}):
            raise TypeError(
                f"`grid` of `{self.name}` is a function of its inputs {listed(names)}, got one of"
                f" {signature}"
            )

    def _refuse_pointers(self) -> None:
        wrong = [p.name for p in self.parameters if p.kind == "pointer" or p.mapped]
        if wrong:
            raise TypeError(
                f"`{self.name}` cannot be a function of arrays: {listed(wrong)} is a raw pointer,"
                " or an output that is mapped; write an op that launches it"
            )
        if not self.outputs:
            raise TypeError(f"`{self.name}` has no output, and so no result")

    def _refuse_constants(self) -> None:
        """Refuse constants in a call: they belong to the compilation and are given before."""
        constants = self.kernel.source.constants
        known = [p.name for p in constants if p.name not in self._chosen]
        needed = {p.name for p in constants if p.default is inspect.Parameter.empty} & {*known}
        if not needed <= set(self._constants) <= set(known):
            raise TypeError(
                f"`constants` of `{self.name}` gives its constants {listed(known)},"
                f" got {listed(self._constants)}"
            )


def _divided(target: Any, shape: Shape, tile: Tile | None, sums: bool = False) -> Any:
    """Return an output as a kernel takes it: in tiles, or whole."""
    is_there = _is_tensor(target)
    if sums:
        return target.borrow_mut() if is_there else target.map(_borrowed)
    if tile is None:
        return target.borrow_mut() if is_there else target
    cut = tile(shape) if callable(tile) else tile
    return target.partition_mut(cut) if is_there else target.partition(cut)


def _borrowed(target: Tensor[Any]) -> Any:
    return target.borrow_mut()


def _is_of_tiles(kernel: object) -> bool:
    return isinstance(kernel, Entry) and not isinstance(kernel, SimtEntry)


def _of_our_own(kernel: AnyKernel) -> Entry:
    if isinstance(kernel, Entry):
        return kernel
    raise TypeError(f"`{kernel.__name__}` cannot be tuned: it is a kernel of another compiler")


def _refuse_no_kernel(kernel: object) -> None:
    if not isinstance(kernel, Entry | ForeignEntry):
        name = getattr(kernel, "__name__", repr(kernel))
        raise TypeError(
            "a kernel made by @tw.entry or @simt.kernel, or one of another compiler that was made"
            f" an op, is needed, got {type(kernel).__name__} `{name}`"
        )


def refuse_varied(function: KernelFunction) -> None:
    """Raise for a kernel whose calls differ in structure: an operator has one signature."""
    if function.is_varied:
        names = [p.name for p in function.parameters if p.optional or is_group(p)]
        raise TypeError(
            f"`{function.name}` cannot be one operator: {listed(names)} may be None or several"
            " arrays, and an operator has one signature; call it by `tw.function`, which registers"
            " an operator for each structure of calls"
        )


def by_output(function: KernelFunction, outputs: Mapping[str, T] | Sequence[T] | T) -> dict[str, T]:
    """Return how each output is made, by name; a name stands for "like that input"."""
    _refuse_groups_of_outputs(function)
    if isinstance(outputs, tuple | list):
        outputs = _in_order_of_outputs(function, cast(Sequence[T], outputs))
    found: dict[str, T] = _by_name(function.outputs, outputs)
    tensors = [p.name for p in function.declared_inputs if p.kind == "tensor" and not is_group(p)]
    likes = [like for like in found.values() if isinstance(like, str)]
    if set(found) != set(function.outputs) or not set(likes) <= set(tensors):
        raise TypeError(
            f"`outputs` of `{function.name}` says for each of {listed(function.outputs)} which of"
            f" {listed(tensors)} it is like, or how it is made; got {outputs!r}"
        )
    readied: dict[str, Any] = {
        name: _of_inputs(function, made) if callable(made) else made for name, made in found.items()
    }
    return readied


def _refuse_groups_of_outputs(function: KernelFunction) -> None:
    several = [p.name for p in function.parameters if writes(p) and is_group(p)]
    if several:
        raise TypeError(
            f"`{function.name}` cannot make its outputs: {listed(several)} stands for any number of"
            " them; leave `outputs` out, which writes those that are given, or name each output"
        )


def _in_order_of_outputs(function: KernelFunction, outputs: Sequence[T]) -> dict[str, T]:
    if len(outputs) != len(function.outputs):
        raise TypeError(
            f"`outputs` of `{function.name}` says how each of its {len(function.outputs)} outputs,"
            f" {listed(function.outputs)}, is made; got {len(outputs)}"
        )
    return dict(zip(function.outputs, outputs, strict=True))


def _of_inputs(function: KernelFunction, made: Any) -> Any:
    """Wrap a function to take all inputs by name.

    If its parameters have names of the kernel's, it gets them by name, else in order. What `*xs`
    stands for is one tuple by name, and further arguments of a function that takes any number.
    """
    inputs = function.declared_inputs
    names = [p.name for p in inputs]
    signature = _signature_of(made)
    if signature is None:
        return made
    if _binds(signature, (), dict.fromkeys(names)):
        return made
    if _binds(signature, names, {}):
        kinds = {p.kind for p in signature.parameters.values()}
        one_by_one = inputs[-1].variadic and inspect.Parameter.VAR_POSITIONAL in kinds
        return partial(_one_by_one if one_by_one else _in_order, made)
    raise TypeError(
        f"`outputs` of `{function.name}` takes functions of its inputs {listed(names)},"
        f" got one of {signature}"
    )


def _signature_of(function: Any) -> inspect.Signature | None:
    """Return the parameters of a function; None: it is none, or one of C that does not say."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _in_order(made: Callable[..., Any], **inputs: Any) -> Any:
    return made(*inputs.values())


def _one_by_one(made: Callable[..., Any], **inputs: Any) -> Any:
    *before, several = inputs.values()
    return made(*before, *several)


def _binds(
    signature: inspect.Signature, args: Sequence[object], keywords: Mapping[str, object]
) -> bool:
    try:
        signature.bind(*args, **keywords)
    except TypeError:
        return False
    return True


def _by_name(names: Sequence[str], given: Any) -> dict[str, Any]:
    """Return the value given for each name; one value may serve all names."""
    return dict(given) if _is_mapping(given) else dict.fromkeys(names, given)


def _is_tensor(x: object) -> TypeGuard[Tensor[Any]]:
    return isinstance(x, Tensor)


def _is_mapping(x: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(x, Mapping)


def listed(names: Any) -> str:
    """Format names for messages."""
    return ", ".join(f"`{name}`" for name in names) or "none"
