"""Collectives as ops: in stream order, lazy, awaitable; they borrow memory as kernels do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from ..base.dtypes import AnyDType
from ..base.errors import ShapeError
from ..base.shapes import Shape, size
from ..devices.protocol import Device
from ..op.ambient import set_aside
from ..op.context import ExecutionContext
from ..op.core import DeviceOp, is_op
from ..tensors import storage
from ..tensors.layout import row_major
from ..tensors.op_borrows import OpBorrow, borrow_to_read, borrow_to_write, written_region
from ..tensors.ownership import Handle, refuse_unreadable
from ..tensors.region import Region
from ..tensors.submission import submit_work
from ..tensors.tensor import BorrowMut, Tensor, new_tensor
from ..tensors.transfer import Copying
from .ambient import group_or_default
from .call import REDUCTIONS, SUM, Call
from .group import Group, Run

T_co = TypeVar("T_co", covariant=True)


class Collective(Copying, DeviceOp[T_co]):
    """What the processes of a group do together: each of them starts the op."""

    holds = ("_source", "_targets", "_result")

    def __init__(
        self,
        call: Call,
        group: Group,
        *,
        source: Handle | None = None,
        targets: Sequence[Any] = (),
        result: Any = None,
        made: Shape | None = None,
        peer: int = -1,
    ) -> None:
        """Take a `result` if the op gives what exists; else `made`, the shape of a new one."""
        self._name, self._call, self._group, self._peer = call.op, call, group, peer
        self._result, self._made = result, made
        regions = [written_region(target, call.op) for target in targets]
        regions += [] if source is None else [source.region]
        self._home: Device = regions[0].storage.device
        for region in regions:
            _refuse_gaps(call.op, region)
        group.check(call, self._home)
        self._source = None if source is None else borrow_to_read(source, call.op)
        self._targets = [borrow_to_write(target, call.op) for target in targets]
        self.effect = made is None

    def _lent(self) -> list[OpBorrow]:
        return [*self._targets, *([] if self._source is None else [self._source])]

    def check_standing(self) -> None:
        """Raise if a borrow has ended."""
        for lent in self._lent():
            lent.check_standing()

    def borrows(self, given: Any) -> str | None:
        """Return what it reads or writes that is borrowed."""
        return next((why for lent in self._lent() if (why := lent.borrows(given))), None)

    def give_back(self) -> None:
        """Return the arguments to their origin."""
        if not self.spent:
            for lent in self._lent():
                lent.give_back()

    def execute(self, ctx: ExecutionContext) -> T_co:
        """Enqueue the collective."""
        group, lent = self._group, self._lent()
        group.check_usable(self._call)
        if ctx.is_capturing:
            group.refuse_capture(self._call)
        for each in lent:
            each.check(ctx)
        if self._call.op == "all_reduce" or self._call.root == group.rank:
            for each in self._targets:
                refuse_unreadable(each.region, f"`{self.name}`", each.handle)
        source = None if self._source is None else self._source.region
        parts = [each.region for each in self._targets]
        target = self._target_of(ctx, parts, source)
        own = ctx if ctx.is_capturing else self._on_its_lane(ctx)
        call, several = self._call, parts if len(parts) > 1 else ()
        submit_work(
            own, self, partial(group.put, call, target, source, self._peer, own.stream, several),
            writes=[*several, *([] if target is None else [target])],
            reads=[] if source is None else [source], report=_error_of,
        )  # fmt: skip
        if own is not ctx:
            ctx.stream.wait_for(own.stream.record())
            set_aside(ctx.stream)  # work that does not need the data shall not wait for it
        for each in lent:
            each.settle(ctx)
        if self._made is None:
            given: Any = self._result
            results = cast("Sequence[Any]", given) if isinstance(given, tuple) else (given,)
            ctx.borrowed(*results)
            return cast("T_co", given)
        assert target is not None
        if not ctx.is_capturing:
            target.mark_written()
        made: Any = new_tensor(target)
        result: T_co = made
        return result

    def _target_of(
        self, ctx: ExecutionContext, parts: Sequence[Region], source: Region | None
    ) -> Region | None:
        """Return what is overwritten: a tensor, a new one, or one for several; None: nothing, or
        several one by one.
        """
        if source is not None:
            return None if self._made is None else self._new_region(ctx, source, self._made)
        if len(parts) == 1:
            return parts[0]
        if not self._group.joins:
            return None
        return self._new_region(ctx, parts[0], (sum(size(part.shape) for part in parts),))

    def _on_its_lane(self, ctx: ExecutionContext) -> ExecutionContext:
        """Return the context of the stream on which the group moves data; mostly another one.

        There it waits for work on its memory, and not for other work that happens to be before it:
        that may be a collective that another rank starts after this one.
        """
        stream = self._group.stream(self._call, self._peer, ctx.stream)
        if stream is ctx.stream:
            return ctx
        own = ExecutionContext(stream)
        own.outcomes, own.running, own.ended_at = ctx.outcomes, ctx.running, ctx.ended_at
        return own

    def _new_region(self, ctx: ExecutionContext, source: Region, shape: Shape) -> Region:
        ctx.creating(self.name)  # a graph scope refuses it
        layout = row_major(source.dtype, shape)
        memory = storage.allocate(self._home, size(shape) * source.dtype.itemsize, zeroed=False)
        return Region(memory, layout, memory.address)


def _error_of(run: Run) -> Exception | None:
    return run.error


def all_reduce(x: Any, op: str = SUM, *, group: Group | None = None) -> DeviceOp[Any]:
    """Return an op that overwrites `x`, on every rank, with the sum of that of all ranks.

    `op` may also be "mean", "product", "min" or "max". `x` is a tensor, an exclusive borrow of one,
    a tuple or list of these, or an op that gives one of all that; it is the result. Several tensors
    are of one element type, and move together.
    """
    if is_op(x):
        chained: DeviceOp[Any] = _after(x, all_reduce, op, group=group)
        return chained
    several = isinstance(x, (tuple, list))
    given: tuple[Any, ...] = tuple(cast("tuple[Any, ...]", x)) if several else (x,)
    shapes, dtype = _all_looks(given, "all_reduce")
    reduction, shape = _reduction("all_reduce", op), shapes if several else shapes[0]
    call = Call("all_reduce", shape, dtype.name, reduction)
    return Collective(call, group_or_default(group), targets=given, result=given if several else x)


def all_gather(x: Any, *, group: Group | None = None) -> DeviceOp[Tensor[Any]]:
    """Return an op that joins the tensors of all ranks, in their order, along the first axis."""
    if is_op(x):
        chained: DeviceOp[Any] = _after(x, all_gather, group=group)
        return chained
    group, (shape, dtype) = group_or_default(group), _looks(x, "all_gather")
    made = (group.size * _first(shape, "all_gather"), *shape[1:])
    return Collective(Call("all_gather", shape, dtype.name), group, source=_read(x), made=made)


def reduce_scatter(x: Any, op: str = SUM, *, group: Group | None = None) -> DeviceOp[Tensor[Any]]:
    """Return an op that gives each rank its part, along the first axis, of the sum of all ranks."""
    if is_op(x):
        chained: DeviceOp[Any] = _after(x, reduce_scatter, op, group=group)
        return chained
    group, (shape, dtype) = group_or_default(group), _looks(x, "reduce_scatter")
    call = Call("reduce_scatter", shape, dtype.name, _reduction("reduce_scatter", op))
    made = (_divided(shape, group, call.op) // group.size, *shape[1:])
    return Collective(call, group, source=_read(x), made=made)


def all_to_all(x: Any, *, group: Group | None = None) -> DeviceOp[Tensor[Any]]:
    """Return an op that sends the n-th part of `x`, along the first axis, to rank n.

    The result has the parts that came from all ranks, in their order.
    """
    if is_op(x):
        chained: DeviceOp[Any] = _after(x, all_to_all, group=group)
        return chained
    group, (shape, dtype) = group_or_default(group), _looks(x, "all_to_all")
    _divided(shape, group, "all_to_all")
    return Collective(Call("all_to_all", shape, dtype.name), group, source=_read(x), made=shape)


def broadcast(x: Any, root: int = 0, *, group: Group | None = None) -> DeviceOp[Any]:
    """Return an op that overwrites `x` with that of the rank `root`; `x` is the result."""
    if is_op(x):
        chained: DeviceOp[Any] = _after(x, broadcast, root, group=group)
        return chained
    group, (shape, dtype) = group_or_default(group), _looks(x, "broadcast")
    group.refuse_rank(root, "broadcast")
    call = Call("broadcast", shape, dtype.name, root=root)
    return Collective(call, group, targets=[x], result=x)


def send(x: Any, to: int, *, group: Group | None = None) -> DeviceOp[Any]:
    """Return an op that sends `x` to another rank, which receives it; `x` is the result."""
    if is_op(x):
        chained: DeviceOp[Any] = _after(x, send, to, group=group)
        return chained
    group, (shape, dtype) = group_or_default(group), _looks(x, "send")
    _refuse_peer(group, to, "send")
    return Collective(
        Call("send", shape, dtype.name, root=group.rank), group, source=_read(x), result=x, peer=to
    )


def recv(x: Any, source: int, *, group: Group | None = None) -> DeviceOp[Any]:
    """Return an op that overwrites `x` with what another rank sends; `x` is the result."""
    if is_op(x):
        chained: DeviceOp[Any] = _after(x, recv, source, group=group)
        return chained
    group, (shape, dtype) = group_or_default(group), _looks(x, "recv")
    _refuse_peer(group, source, "recv")
    return Collective(
        Call("recv", shape, dtype.name, root=source), group, targets=[x], result=x, peer=source
    )


def _after(x: Any, collective: Callable[..., DeviceOp[Any]], *args: Any, **named: Any) -> Any:
    """Chain a collective behind the op that gives its tensor, or several of them."""

    def then(*given: Any) -> DeviceOp[Any]:
        return collective(given[0] if len(given) == 1 else given, *args, **named)

    return x.then(then)


def _read(x: Any) -> Handle:
    """Return the tensor that is read, also of an `Arc`."""
    found: Handle = getattr(x, "value", x)
    return found


def _looks(x: Any, op: str) -> tuple[Shape, AnyDType]:
    """Return shape and element type of a tensor, or a borrow of one."""
    given: Any = x
    handle = given.tensor if isinstance(x, BorrowMut) else _read(given)
    if not isinstance(handle, Tensor):
        raise TypeError(
            f"`{op}` takes a tensor or an op that gives one, got {type(given).__name__}"
        )
    region: Region = handle.region
    return region.shape, region.dtype


def _all_looks(given: Sequence[Any], op: str) -> tuple[tuple[Shape, ...], AnyDType]:
    """Return the shapes of some tensors, and their element type; raise if they cannot move
    together.
    """
    if not given:
        raise ShapeError(f"`{op}` needs a tensor", expected="one tensor or more", got="none")
    if len(given) > 1 and any(is_op(each) for each in given):
        raise TypeError(f"`{op}` takes several tensors, or one op that gives them: tw.zip(a, b)")
    looks = [_looks(each, op) for each in given]
    _refuse_several(op, "element type", [dtype.name for _, dtype in looks])
    _refuse_several(op, "device", [written_region(x, op).storage.device.name for x in given])
    return tuple(shape for shape, _ in looks), looks[0][1]


def _refuse_several(op: str, what: str, names: Sequence[str]) -> None:
    """Raise if tensors that move together are not alike."""
    if len(known := [*dict.fromkeys(names)]) > 1:
        raise ShapeError(
            f"`{op}` moves tensors together that are not of one {what}",
            expected=f"one {what}", got=", ".join(names),
            hint=f"call `{op}` once for those of each: {', '.join(known)}",
        )  # fmt: skip


def _first(shape: Shape, op: str) -> int:
    if not shape:
        raise ShapeError(f"`{op}` needs an axis", expected="a tensor of rank 1 or more", got="()")
    return shape[0]


def _divided(shape: Shape, group: Group, op: str) -> int:
    extent = _first(shape, op)
    if extent % group.size:
        raise ShapeError(
            f"`{op}` divides the first axis among {group.size} ranks",
            expected=f"a multiple of {group.size}",
            got=f"{extent}, of the shape {shape}",
        )
    return extent


def _reduction(op: str, kind: str) -> str:
    if kind not in REDUCTIONS:
        raise ShapeError(
            f"`{op}` does not know the reduction {kind!r}",
            expected=" or ".join(map(repr, REDUCTIONS)), got=repr(kind),
        )  # fmt: skip
    return kind


def _refuse_peer(group: Group, rank: int, op: str) -> None:
    group.refuse_rank(rank, op)
    if rank == group.rank:
        raise ShapeError(f"`{op}` is between two ranks, and {rank} is this one")


def _refuse_gaps(op: str, region: Region) -> None:
    if not region.layout.is_contiguous:
        raise ShapeError(
            f"`{op}` moves contiguous memory",
            expected="a contiguous tensor",
            got=f"shape {region.shape}, strides {region.strides}",
            hint="copy it first: x.dup().sync()",
        )
