"""What all operations share: how they take arrays of any library, ops and tensors.

An operation is a Python function over `Function`s, so it has the gradients of these. Arrays are
rearranged by their own library; a result of our tensors is an op, and is rearranged when it exists.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

import numpy as np

from ..base.dtypes import AnyDType, DType
from ..base.shapes import Shape
from ..functions.describing import element_type
from ..functions.tracing import one_node
from ..op.core import DeviceOp, value
from ..op.zipping import zip as zip_ops
from ..tensors.tensor import Tensor
from .arguments import place_of_axis, problem_of, refuse_two_axes
from .autocasting import autocast
from .tiles import sum_type

P = ParamSpec("P")
A = TypeVar("A")
F = TypeVar("F", bound=Callable[..., Any])
E = TypeVar("E", bound=DType)


class Operation(Protocol[P]):
    """An operation with one result: of the same kind as its first argument."""

    __name__: str

    @overload
    def __call__(
        self, x: Tensor[E] | DeviceOp[Tensor[E]], /, *args: P.args, **named: P.kwargs
    ) -> DeviceOp[Tensor[E]]: ...
    @overload
    def __call__(self, x: A, /, *args: P.args, **named: P.kwargs) -> A: ...


def operation(function: Callable[Concatenate[Any, P], Any]) -> Operation[P]:
    """Let a function of arrays also take ops that give tensors.

    It is typed by its first argument, and called when these ops have run.
    """
    return cast("Operation[P]", _operation(function, refuse_no_elements))


def float_operation(function: Callable[Concatenate[Any, P], Any]) -> Operation[P]:
    """Let a function of arrays of floats also take ops that give tensors; as `operation`."""
    return cast("Operation[P]", _operation(function, _refuse_no_floats))


def _operation(given: Callable[..., Any], refuse: Callable[[str, Any], None]) -> Any:
    name = given.__name__
    function, place = autocast(name, given), place_of_axis(given)

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        for arg in args:
            if _KINDS(type(arg), DeviceOp):
                return _call_later(call, args, named)
        for arg in named.values():
            if _KINDS(type(arg), DeviceOp):
                return _call_later(call, args, named)
        if place is not None and "dim" in named:
            refuse_two_axes(given, len(args), named, place)
        try:
            if args:
                refuse(name, args[0])
            return function(*args, **named)
        except Exception as error:
            problem = problem_of(given, args, named, error)
            if problem is None:
                raise
            raise problem from error

    return one_node(call)


def _call_later(call: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Return the op that calls a function when the ops among its arguments have run."""
    names = list(named)
    joined: Any = zip_ops

    def later(*values: Any) -> Any:
        keywords = dict(zip(names, values[len(args) :], strict=True))
        found = call(*values[: len(args)], **keywords)
        return found if is_op(found) else value(found)  # as it was given

    return joined(*args, *named.values()).then(later)


_FLOATS = set[Any]()
"""Element types of libraries that are known to be floats."""


def _refuse_no_floats(name: str, x: Any) -> None:
    dtype = getattr(x, "dtype", None)
    if dtype in _FLOATS:
        return
    refuse_no_array(name, x)
    try:
        kind = element_type(dtype)
    except TypeError:
        raise TypeError(f"`{name}` takes elements of f16, bf16, f32 or f64; got {dtype}") from None
    if not (kind.is_float and kind.bits >= 16):
        raise TypeError(f"`{name}` takes elements of f16, bf16, f32 or f64; got {kind}")
    _FLOATS.add(dtype)


def refuse_no_elements(name: str, x: Any) -> None:
    """Raise if an argument is no array of numbers that kernels know."""
    refuse_no_array(name, x)
    try:
        element_type(x.dtype)
    except TypeError:
        raise TypeError(f"`{name}` takes integers, bools or floats; got {x.dtype}") from None


def refuse_no_array(name: str, x: Any) -> None:
    """Raise if an argument is no array."""
    if not hasattr(x, "shape"):
        raise TypeError(
            f"`{name}` takes an array (from NumPy, PyTorch, JAX, CuPy or another library with"
            f" DLPack) or a tensor; got {type(x).__name__}"
        )


def is_op(x: object) -> bool:
    """Return whether x is an op."""
    return bool(_KINDS(type(x), DeviceOp))


def is_ours(x: object) -> bool:
    """Return whether x is a tensor of ours."""
    return bool(_KINDS(type(x), Tensor))


def _is_kind(kind: type, of: type) -> bool:
    return issubclass(kind, of)


_KINDS: Any = cache(_is_kind)
"""An instance check of an abstract class costs a tenth of a small call."""


def remembered(function: F) -> F:
    """Remember results by arguments; for extents that are symbols, which have no hash, compute."""
    known: Any = lru_cache(1024)(function)

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        try:
            return known(*args)
        except TypeError:
            return function(*args)

    return cast("F", call)


def reshaped(x: Any, shape: Shape) -> Any:
    """Return the elements in another shape: a view where there can be one, else a copy."""
    if not is_op(x):
        if x.shape == shape:
            return x
        if is_ours(x) and not x.is_contiguous:
            return x.dup().reshape(shape)
    return x.reshape(shape)


def permuted(x: Any, order: Shape) -> Any:
    """Return a view whose axis i is axis order[i] of x."""
    if order == tuple(range(len(order))):
        return x
    if is_op(x):

        def permute(tensor: Any) -> Any:
            return tensor.permute(*order)

        return x.map(permute)
    return x.permute(*order) if hasattr(x, "permute") else x.transpose(order)


def first(results: Any) -> Any:
    """Return the first of several results, or an op that gives it."""
    return _result(results, 0)


def second(results: Any) -> Any:
    """Return the second of several results, or an op that gives it."""
    return _result(results, 1)


def _result(results: Any, number: int) -> Any:
    if not is_op(results):
        return results[number]

    def chosen(*given: Any) -> Any:
        return given[number]

    op: Any = results
    return op.map(chosen)


def chained(results: Any, function: Callable[..., Any]) -> Any:
    """Return what a function gives for several results, or an op that gives it."""
    return results.then(function) if is_op(results) else function(*results)


def paired(result: Any, pair: Callable[[Any], tuple[Any, Any]]) -> Any:
    """Return the pair that a function makes of a result, or an op that gives it."""
    return result.map(pair) if is_op(result) else pair(result)


def is_contiguous(x: Any) -> bool:
    """Return whether the elements of x are adjacent, in the order of its indices."""
    if type(x) is np.ndarray:
        return bool(x.flags.c_contiguous)
    asked: Any = getattr(x, "is_contiguous", True)
    return bool(asked() if callable(asked) else asked)


def axis_of(name: str, rank: int, axis: int) -> int:
    """Return an axis, counted from the front; a number without axes has one, 0."""
    if not hasattr(axis, "__index__"):
        raise TypeError(f"`{name}` takes an axis as an int, got {axis!r}")
    count = max(rank, 1)
    if not -count <= axis < count:
        raise IndexError(
            f"`{name}` has no axis {axis} in an array of {rank} axes; expected {-count} to"
            f" {count - 1}"
        )
    return axis % max(rank, 1)


def axes_of(name: str, rank: int, axis: int | Sequence[int] | None) -> tuple[int, ...]:
    """Return axes, counted from the front and in order; None stands for all."""
    if axis is None:
        return tuple(range(rank))
    given: tuple[Any, ...] = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    found = tuple(sorted(axis_of(name, rank, each) for each in given))
    if not rank:
        return ()
    if len(set(found)) != len(found):
        raise ValueError(f"`{name}` was given an axis twice: {given}")
    return found


def halves(name: str, x: Any, axis: int) -> tuple[Any, Any]:
    """Return the two halves of an array along an axis, without a copy."""
    k = axis_of(name, len(x.shape), axis)
    n = x.shape[k] if len(x.shape) else 1
    if n % 2:
        raise ValueError(f"`{name}` takes the halves of an axis of even extent, got {n} elements")
    before = (slice(None),) * k
    return x[(*before, slice(0, n // 2))], x[(*before, slice(n // 2, n))]


def wide(x: Any) -> AnyDType:
    """Return the type in which the elements of an array are computed: f64 for f64, else f32."""
    return sum_type(element_type(x.dtype))


def refuse_no_integers(name: str, argument: str, x: Any) -> None:
    """Raise if an argument is not an array of integers."""
    refuse_no_array(name, x)
    kind = element_type(x.dtype)
    if not kind.is_int:
        raise TypeError(f"`{argument}` of `{name}` is an array of integers; got one of {kind}")


def refuse_other_types(name: str, lead: Any, **others: Any) -> None:
    """Raise if arrays that are multiplied with the first one have other types."""
    for argument, x in others.items():
        if getattr(x, "dtype", None) != lead.dtype:
            _refuse_other_type(name, lead, argument, x)


def _refuse_other_type(name: str, lead: Any, argument: str, x: Any) -> None:
    refuse_no_array(name, x)
    wanted, got = element_type(lead.dtype), element_type(x.dtype)
    if wanted is not got:
        raise TypeError(
            f"`{name}` multiplies arrays of one type: `{argument}` has elements of {got}, the first"
            f" one of {wanted}"
        )


def refuse_other_shape(name: str, argument: str, x: Any, shape: Sequence[int]) -> None:
    """Raise if an argument is there and has another shape."""
    if x is not None and tuple(x.shape) != tuple(shape):
        raise ValueError(
            f"`{argument}` of `{name}` has the shape {tuple(shape)}; got {tuple(x.shape)}"
        )
