"""Binds a call's arguments to a kernel's parameters, changing nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar, cast

import numpy as np

from ..base.dtypes import AnyDType
from ..base.errors import BorrowError, ContextError, LaunchError, ShapeError
from ..base.shapes import Shape
from ..devices.host import CPU
from ..frontend.capture.parameters import Dim, Kind, Parameter
from ..op.core import is_op
from ..op.place import here, place_of
from ..tensors.arc import Arc
from ..tensors.foreign import aliased, is_array
from ..tensors.gpu_imports import memory_on_gpu
from ..tensors.layout import refuse_shared_indices, tiling_of
from ..tensors.ownership import Handle, Ours
from ..tensors.partition import Partition
from ..tensors.pointer import DevicePointer
from ..tensors.region import Region, region_of_array
from ..tensors.tensor import BorrowMut, Tensor
from .arguments import (
    Arg,
    Bound,
    Foreign,
    ForeignOnGpu,
    OutputArg,
    PointerArg,
    ScalarArg,
    TensorArg,
    is_arc,
    is_borrow,
    is_partition,
    kind_of,
)
from .grid import MAX_EXTENT
from .protocol import Declared

T = TypeVar("T")

Placed: TypeAlias = "tuple[tuple[Any, ...], Mapping[str, Any]]"
"""What a call gives by position, and by keyword."""

CONSTANTS: dict[type, tuple[type, ...]] = {
    int: (int, np.integer),
    float: (float, int, np.floating, np.integer),
    bool: (bool, np.bool),
    str: (str,),
    tuple: (tuple,),
}
"""What a constant takes by the class in its annotation; all others are taken as they come."""


class Binder:
    """Binds calls of one kernel, whose parameters it sorts by kind once."""

    def __init__(self, kernel: Declared) -> None:
        self._kernel = kernel
        self._parameters = kernel.parameters
        self.outputs, self.inputs = self._at("output"), self._at("tensor")
        """Where they stand among the arguments."""
        self.scalars, self.pointers = self._at("scalar"), self._at("pointer")
        self.keyword_numbers = [p for p in kernel.constants if p.kind == "scalar"]
        """The numbers that are given by keyword."""
        self._constants = [p for p in kernel.constants if p.kind == "const"]
        self._has_numbers = bool(self.scalars or self.keyword_numbers)
        self._named = {p.name: not p.nameless for p in self._parameters if not p.variadic}
        """Whether what is given by position may be given by its name instead, by name."""
        self._absent = {p.name for p in self._parameters if p.default is None}
        """What is None where it is left out."""
        self._known = {p.name for p in kernel.constants}
        empty = inspect.Parameter.empty
        self._needed = [p.name for p in kernel.constants if p.default is empty]

    def _at(self, kind: Kind) -> list[int]:
        return [i for i, p in enumerate(self._parameters) if p.kind == kind]

    @property
    def whole(self) -> list[bool]:
        """Of each output, whether it is borrowed as a whole, not cut into tiles."""
        return [self._parameters[i].shared for i in self.outputs]

    def as_output(self, borrow: BorrowMut[Any]) -> Partition[Any]:
        """Return a whole borrow as an output of a launch to which all blocks add."""
        layout = borrow.tensor.region.layout
        refuse_shared_indices(layout)
        return Partition(borrow.tensor, tiling_of(layout, (1,) * len(layout.shape)), borrow.ticket)

    def calls(self) -> tuple[tuple[tuple[str, bool, bool], ...], tuple[tuple[Any, ...], ...]]:
        """Return how calls pass the arguments, as the core sorts them.

        By position: the name, whether it may be passed by name, and whether it may be omitted. By
        keyword: the name and the default of each number, if it has one.
        """
        empty = inspect.Parameter.empty
        places = [(name, named, name in self._absent) for name, named in self._named.items()]
        numbers = [
            (p.name,) if p.default is empty else (p.name, p.default) for p in self.keyword_numbers
        ]
        return tuple(places), tuple(numbers)

    def without_numbers(self, keywords: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the keywords of a call that are no numbers."""
        if not self.keyword_numbers:
            return keywords
        numbers = {p.name for p in self.keyword_numbers}
        return {name: value for name, value in keywords.items() if name not in numbers}

    def placed(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Placed:
        """Return the arguments by position, also those passed by name, and the other keywords.

        Arguments that fit no position are unchanged; `check_call` reports them.
        """
        missing = [*self._named][len(args) :]
        absent = {name: None for name in missing if name in self._absent and name not in keywords}
        if not all(name in absent or (name in keywords and self._named[name]) for name in missing):
            return args, keywords
        given = {**keywords, **absent}
        others = {name: value for name, value in keywords.items() if name not in missing}
        return (*args, *[given[name] for name in missing]), others

    def check_call(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        """Raise TypeError where the number of arguments or a keyword is wrong, as Python would."""
        for name in keywords:
            if name not in self._known:
                self._refuse_keyword(name, args, keywords)
        if len(args) != len(self._parameters):
            self._refuse_number(len(args))
        for name in self._needed:
            if name not in keywords:
                kernel = self._kernel.name
                raise TypeError(f"`{kernel}` needs the constant `{name}`: pass {name}=...")

    def _refuse_number(self, given: int) -> NoReturn:
        names = [f"*{p.name}" if p.variadic else p.name for p in self._parameters]
        least = len(self._named)
        noun = "argument" if least == 1 else "arguments"
        at_least = "at least " if least < len(names) else ""
        raise TypeError(
            f"`{self._kernel.name}` takes {at_least}{least} positional {noun}"
            f" ({', '.join(names)}), {given} given"
        )

    def _refuse_keyword(
        self, name: str, args: Sequence[Any], keywords: Mapping[str, Any]
    ) -> NoReturn:
        """Raise for a keyword that names no constant and was not placed."""
        kernel, places = self._kernel.name, [*self._named]
        unknown = [other for other in keywords if other not in (*places, *self._known)]
        if unknown:  # which may be another name, misspelt: so it comes first
            listed = ", ".join([*places, *sorted(self._known)]) or "none"
            raise TypeError(f"`{kernel}` has no parameter `{unknown[0]}`; it has {listed}")
        alone = [other for other in keywords if not self._named.get(other, True)]
        if alone:
            raise TypeError(f"`{alone[0]}` of `{kernel}` is positional-only")
        if name in places[: len(args)]:
            raise TypeError(
                f"`{kernel}` is given `{name}` twice: as argument {places.index(name) + 1} and by"
                f" keyword; leave {name}=... out"
            )
        missing = [f"`{other}`" for other in places[len(args) :] if other not in keywords]
        raise TypeError(
            f"`{kernel}` needs {', '.join(missing)} too: it takes ({', '.join(places)})"
        )

    def constants(self, keywords: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        """Return the compile-time constants of a call, defaults filled in."""
        return tuple([(p.name, self._constant(p, keywords)) for p in self._constants])

    def _constant(self, p: Parameter, keywords: Mapping[str, Any]) -> Any:
        value: Any = keywords.get(p.name, p.default)
        if p.of not in CONSTANTS or value is p.default:
            return value
        if not isinstance(value, CONSTANTS[p.of]):
            raise LaunchError(
                f"the constant `{p.name}` of `{self._kernel.name}` has the wrong type",
                expected=f"{p.of.__name__}, as it is annotated",
                got=f"{p.name}={value!r}",
            )
        return cast("Any", value).item() if isinstance(value, np.generic) else value

    def bind(self, values: Sequence[Any], keywords: Mapping[str, Any]) -> Bound:
        """Return the arguments by kind; refuse those of a wrong kind."""
        outputs: list[Partition[Any]] = []
        inputs: list[Handle] = []
        memory: list[Region] = []
        for i in self.outputs:
            partition: Partition[Any] = values[i]
            if self._parameters[i].shared:
                partition = self._accumulator(self._parameters[i], values[i])
            if not is_partition(partition):
                _refuse_unpartitioned(self._kernel.name, self._parameters[i], partition)
            outputs.append(partition)
            memory.append(partition.tensor.region)
        for i in self.inputs:
            tensor = values[i]
            if not isinstance(tensor, Handle):
                tensor = self._input(self._parameters[i], tensor)
            inputs.append(tensor)
            memory.append(tensor.region)
        pointers = self._bind_pointers(values) if self.pointers else []
        numbers = self._bind_numbers(values, keywords) if self._has_numbers else []
        return Bound(outputs, inputs, memory, len(outputs), pointers, numbers)

    def _accumulator(self, p: Parameter, value: Any) -> Partition[Any]:
        """Return an exclusive borrow to which all blocks add, as an output of the launch."""
        if is_borrow(value):
            value.check_usable()
            return self.as_output(value)
        expected = f"an exclusive borrow: {p.name}.borrow_mut()"
        if not isinstance(value, Ours) and not is_array(value):
            _refuse_object(self._kernel.name, p, value, expected)
        raise BorrowError(
            f"`{p.name}` of `{self._kernel.name}` is an accumulator, but got {_said(value)}",
            places=(("here", place_of(here())),),
            hint=f"pass {p.name}.borrow_mut(), of an array tw.asarray({p.name}).borrow_mut()",
        )

    def _bind_pointers(self, values: Sequence[Any]) -> list[DevicePointer[Any]]:
        for i in self.pointers:
            if not isinstance(values[i], DevicePointer):
                expected = "a raw pointer: t.device_pointer()"
                _refuse_object(self._kernel.name, self._parameters[i], values[i], expected)
        return [values[i] for i in self.pointers]

    def _bind_numbers(self, values: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
        given = [values[i] for i in self.scalars]
        for p in self.keyword_numbers:
            given.append(keywords.get(p.name, p.default))
        return given

    def _input(self, p: Parameter, value: Any) -> Handle:
        if is_arc(value):
            return value.value
        there = _looked_at(self._kernel.name, p, memory_on_gpu, value)
        if there is not None:
            return ForeignOnGpu(there, value)
        return Foreign(_foreign(self._kernel.name, p, value), value)

    def describe(self, bound: Bound) -> tuple[Arg, ...]:
        """Return the known properties of each argument, in the signature's order, without memory
        and numbers.
        """
        kinds: dict[Kind, Iterator[Any]] = {
            "output": iter(bound.outputs),
            "tensor": iter(bound.inputs),
            "scalar": iter(bound.numbers),
            "pointer": iter(bound.pointers),
        }
        parameters = (*self._parameters, *self.keyword_numbers)
        return tuple(_DESCRIBE[p.kind](self._kernel.name, p, next(kinds[p.kind]))
                     for p in parameters if p.kind != "absent")  # fmt: skip


def _looked_at(kernel: str, p: Parameter, look: Callable[[Any], T], value: Any) -> T:
    """Inspect an array of another library; an error names the argument."""
    try:
        return look(value)
    except BufferError as error:
        raise LaunchError(
            f"`{p.name}` of `{kernel}` cannot be read: its library does not export it",
            expected="an array that can be exported by DLPack",
            got=f"{type(value).__name__}, which says: {error}",
        ) from error
    except (ShapeError, ContextError) as error:
        error.message = f"`{p.name}` of `{kernel}` cannot be read: {error.message}"
        raise


def _region_on_cpu(array: np.ndarray[Any, Any]) -> Region:
    return region_of_array(array, CPU)


def _foreign(kernel: str, p: Parameter, value: Any) -> Region:
    if is_partition(value):
        raise TypeError(
            f"`{p.name}` of `{kernel}` is read, but got a Partition;"
            " pass the tensor: p.unpartition()"
        )
    array = _looked_at(kernel, p, aliased, value)
    if array is None:
        _refuse_object(kernel, p, value, "a tensor or an array")
    try:
        return _looked_at(kernel, p, _region_on_cpu, array)
    except TypeError:
        got = str(array.dtype)
    _wrong_dtype(kernel, p, "an element type that kernels have", got, value)


def _said(value: object) -> str:
    known: dict[type, str] = {
        Tensor: "a plain tensor (a shared borrow)", Arc: "an Arc (a shared owner)",
        Partition: "a Partition", np.ndarray: "a NumPy array",
    }  # fmt: skip
    return known.get(kind_of(value)) or named_array(value) or type(value).__name__


def _refuse_unpartitioned(kernel: str, p: Parameter, value: Any) -> NoReturn:
    forms = f"pass {p.name}.partition_mut(tile_shape), or {p.name}.partition(tile_shape)"
    known: dict[type, tuple[str, str]] = {
        Tensor: ("a plain tensor (a shared borrow)", f"{forms} to move it"),
        Arc: ("an Arc (a shared owner)", "pass arc.try_partition(tile_shape)"),
        BorrowMut: ("a whole tensor", f"{forms} to move it"),
        np.ndarray: ("a NumPy array", "pass tw.asarray(a).partition_mut(tile_shape)"),
    }
    strange = (named_array(value), f"pass tw.asarray({p.name}).partition_mut(tile_shape)")
    what, hint = known.get(kind_of(value), strange)
    if not what:
        _refuse_object(kernel, p, value, f"a partition: {p.name}.partition_mut(tile_shape)")
    raise BorrowError(
        f"`{p.name}` of `{kernel}` is written, but got {what}",
        places=(("here", place_of(here())),),
        hint=hint,
    )


def named_array(value: object) -> str:
    """Return the type of another library's array for messages; "": it is none."""
    if isinstance(value, Ours) or not hasattr(value, "__dlpack__"):
        return ""
    kind = kind_of(value)
    return f"an array of another library ({kind.__module__}.{kind.__name__})"


REFUSED: dict[type, str] = {
    type(None): "; to accept None, annotate it with `| None`",
    list: "; make one: np.array(values, np.float32)",
}


def _refuse_object(kernel: str, p: Parameter, value: Any, expected: str) -> NoReturn:
    kind = "an op" if is_op(value) else type(value).__name__
    hint = REFUSED.get(kind_of(value), "")
    raise TypeError(f"`{p.name}` of `{kernel}` must be {expected}, got {kind}{hint}")


def _tensor(kernel: str, p: Parameter, handle: Handle) -> TensorArg:
    layout = handle.region.layout
    given = handle.given if isinstance(handle, Foreign) else None
    check_element(kernel, p, layout.dtype, given)
    _check_rank(kernel, p, layout.shape)
    _check_extents(kernel, p, layout.shape)
    return TensorArg(p, layout, handle.region.storage.device if handle.rooted else None)


def _output(kernel: str, p: Parameter, partition: Partition[Any]) -> OutputArg:
    tiling = partition.tiling
    if p.mapped != (tiling.mapping is not None):
        _refuse_mapping(kernel, p, partition)
    check_element(kernel, p, tiling.layout.dtype)
    _check_rank(kernel, p, tiling.layout.shape)
    _check_extents(kernel, p, tiling.layout.shape)
    return OutputArg(p, tiling, partition.device)


def _refuse_mapping(kernel: str, p: Parameter, partition: Partition[Any]) -> NoReturn:
    """Refuse a mapped partition where each block has one tile, or the reverse."""
    plain = f"{p.name}.partition_mut(tile)"
    if p.mapped:
        rule, expected = "a tl.MappedPartitionMut takes a mapped one", f"{plain}.map(map_shape)"
        other = f"`{p.name}: tl.TensorMut`, of which each block has one tile"
        hint = f"pass partition.map(map_shape), or declare {other}"
    else:
        rule, expected = "a tl.TensorMut takes a plain one", plain
        other = f"`{p.name}: tl.MappedPartitionMut`, whose tiles a block visits"
        hint = f"leave out .map(...), or declare {other}"
    raise LaunchError(
        f"`{p.name}` of `{kernel}` has the wrong kind of partition: {rule}",
        expected=expected,
        got=repr(partition),
        hint=hint,
    )


def _scalar(kernel: str, p: Parameter, number: Any) -> ScalarArg:
    # Range and kind are checked once the type is known: it may be linked to another parameter.
    return ScalarArg(p)


def _pointer(kernel: str, p: Parameter, pointer: DevicePointer[Any]) -> PointerArg:
    check_element(kernel, p, pointer.dtype)
    return PointerArg(p, pointer.dtype, pointer.region.storage.device)


_DESCRIBE: dict[Kind, Callable[[str, Parameter, Any], Arg]] = {
    "tensor": _tensor,
    "output": _output,
    "scalar": _scalar,
    "pointer": _pointer,
}


def check_element(kernel: str, p: Parameter, dtype: AnyDType, value: Any = None) -> None:
    """Raise if memory has another element type than a parameter asks for."""
    wanted = p.dtype
    if wanted is not None and not isinstance(wanted, str) and wanted is not dtype:
        _wrong_dtype(kernel, p, wanted.name, dtype.name, value)


PAIRS = "pass the parts as an array of floats: x.view(x.real.dtype), or x.real and x.imag"
ELSE = {"complex64": PAIRS, "complex128": PAIRS}


def _wrong_dtype(kernel: str, p: Parameter, expected: str, got: str, value: Any) -> NoReturn:
    convertible = is_array(value) and expected in ("f16", "f32", "f64", "i32", "i64")
    raise ShapeError(
        f"`{p.name}` of `{kernel}` has the wrong element type",
        expected=expected,
        got=got,
        hint=f"convert it: {p.name}.astype(tw.{expected}.np)" if convertible else ELSE.get(got),
    )


def _check_rank(kernel: str, p: Parameter, shape: Shape) -> None:
    if p.dims is None:
        return
    packs = any(isinstance(d, tuple) for d in p.dims)
    least = len(p.dims) - packs
    if len(shape) == least or (packs and len(shape) >= least):
        return
    raise ShapeError(
        f"`{p.name}` of `{kernel}` has the wrong rank",
        expected=f"{'at least ' if packs else ''}{_axes(least)}: ({', '.join(map(_dim, p.dims))})",
        got=f"{_axes(len(shape))}: {shape}",
    )


def _check_extents(kernel: str, p: Parameter, shape: Shape) -> None:
    """Refuse extents beyond i32, the type of extents in kernels."""
    if shape and max(shape) > MAX_EXTENT:
        raise ShapeError(
            f"axis {shape.index(max(shape))} of `{p.name}` of `{kernel}` is too long",
            expected=f"at most {MAX_EXTENT} elements along each axis",
            got=str(shape),
            hint="give it one axis more: x.reshape(...)",
        )


def _axes(count: int) -> str:
    return "1 axis" if count == 1 else f"{count} axes"


def _dim(dim: Dim) -> str:
    if dim is None:
        return "any"
    return f"*{dim[1]}" if isinstance(dim, tuple) else str(dim)
