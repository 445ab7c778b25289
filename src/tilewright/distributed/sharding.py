"""Tensors in pieces over a mesh: each piece is an ordinary tensor on the device of its position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import numpy as np

from ..base.dtypes import AnyDType
from ..base.errors import ShapeError
from ..base.shapes import Shape
from ..base.showing import grid
from ..devices.mesh import Mesh
from ..devices.protocol import Device
from ..launch.pieces import InPieces, OutputInPieces
from ..op.ambient import as_device
from ..op.core import DeviceOp, is_op, value
from ..op.on_devices import OnDevices
from ..op.zipping import zip as zip_ops
from ..tensors.create import asarray, empty
from ..tensors.partition import Partition
from ..tensors.shape import ShapeLike
from ..tensors.tensor import Tensor, memcpy

_TENSOR: type = Tensor


class Sharded(InPieces):
    """What tensors in pieces and their partitions have in common: the whole, and how it is cut."""

    def __init__(
        self, mesh: Mesh, shape: Shape, cuts: Mapping[int, str], pieces: Sequence[Any]
    ) -> None:
        self.mesh, self.shape = mesh, shape
        """Where the pieces are, and the shape of the whole."""
        self.cuts = dict(cuts)
        """Over which axis of the mesh each axis is divided that is divided."""
        self.pieces = tuple(pieces)
        """The pieces by position; positions that differ in no axis of `cuts` have equal ones."""

    @property
    def dtype(self) -> type[Any]:
        """The element type."""
        found: type[Any] = self.pieces[0].dtype
        return found

    def index(self, number: int) -> tuple[slice, ...]:
        """Return which part of the whole the piece at a position is."""
        return _index(self.mesh, self.shape, self.cuts, self.mesh.position(number))

    def __repr__(self) -> str:
        cut = ", ".join([f"axis {axis} over {name!r}" for axis, name in self.cuts.items()])
        how = f"divided: {cut}" if cut else "replicated"
        name = type(self).__name__
        return f"{name}(shape={self.shape}, dtype={self.dtype.name}, {how}, {self.mesh!r})"

    def _repr_html_(self) -> str:
        rows = [
            (*position.values(), self._part(number), device.name)
            for number, (position, device) in enumerate(
                zip(self.mesh.positions(), self.mesh.devices, strict=True)
            )
        ]
        title = f"{type(self).__name__} {self.shape}, {self.dtype.name}"
        return grid(title, [*self.mesh.axes, "part", "device"], rows)

    def _part(self, number: int) -> str:
        """Return a piece as an index of the whole: `[0:2, :]`."""
        cuts = zip(self.index(number), self.shape, strict=True)
        said = [":" if part == slice(0, n) else f"{part.start}:{part.stop}" for part, n in cuts]
        return f"[{', '.join(said)}]"


class ShardedTensor(Sharded):
    """A tensor in pieces over a mesh: made by `tw.shard` and `tw.replicate`.

    Kernels take it where they take tensors, and run once for each piece, on its device.
    """

    pieces: tuple[Tensor[Any], ...]

    def partition_mut(self, tile: ShapeLike) -> ShardedPartition:
        """Borrow all pieces for writing, cut into tiles."""
        return self._cut([piece.partition_mut(tile) for piece in self.pieces])

    def partition(self, tile: ShapeLike) -> ShardedPartition:
        """Move all pieces into partitions."""
        return self._cut([piece.partition(tile) for piece in self.pieces])

    def _cut(self, partitions: Sequence[Partition[Any]]) -> ShardedPartition:
        return ShardedPartition(self.mesh, self.shape, self.cuts, partitions)

    def written(self) -> Self:
        """Return the tensor itself."""
        return self

    def gather(self, device: Device | str | None = None) -> DeviceOp[Tensor[Any]]:
        """Return an op that joins the pieces in a new tensor, on the first device or another."""
        place = as_device(self.mesh.devices[0] if device is None else device)
        return self.part(tuple([slice(0, extent) for extent in self.shape]), place)

    def part(self, index: tuple[slice, ...], device: Device) -> DeviceOp[Tensor[Any]]:
        """Return an op that copies a part of the whole, from all pieces that have some of it."""
        numbers, shares = list[int](), list[tuple[Any, Any]]()
        for number in self._nearest(device):
            common = _common(index, self.index(number))
            if common is not None:
                numbers.append(number)
                shares.append(common)

        def join(out: Tensor[Any], *pieces: Tensor[Any]) -> DeviceOp[Tensor[Any]]:
            whole = out.borrow_mut()
            copies: Any = [
                _copied(whole[there], piece[here], device)
                for (there, here), piece in zip(shares, pieces, strict=True)
            ]
            joined: DeviceOp[Any] = zip_ops(*copies) if len(copies) > 1 else copies[0]
            return joined.map(lambda *_: out)

        shape = tuple([part.stop - part.start for part in index])
        made: DeviceOp[Tensor[Any]] = empty(shape, self.dtype, device=device)
        if not numbers:
            return made
        given: Any = zip_ops(made, *[value(self.pieces[n]) for n in numbers])  # borrowed from now
        result: DeviceOp[Tensor[Any]] = given.then(join)
        return result

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """Return a copy of the whole as a NumPy array, now."""
        dtype = cast("AnyDType", self.dtype)
        whole = np.empty(self.shape, dtype.np)
        for number in self._nearest(None):
            whole[self.index(number)] = self.pieces[number].to_numpy()
        return whole

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Do as `to_numpy`, for NumPy, which would make an array of one object else."""
        if copy is False:
            raise ValueError("a tensor in pieces becomes one array by a copy alone")
        return np.asarray(self.to_numpy(), dtype)

    def _nearest(self, device: Device | None) -> list[int]:
        """Return a position of each different part of the whole, on this device if one is."""
        found: dict[str, int] = {}
        for number in range(self.mesh.size):
            part = str(self.index(number))
            if part not in found or self.mesh.devices[number] is device:
                found[part] = number
        return [*found.values()]


class ShardedPartition(Sharded, OutputInPieces[ShardedTensor]):
    """A tensor in pieces as an output of kernels: a partition of each piece."""

    pieces: tuple[Partition[Any], ...]

    def unpartition(self) -> ShardedTensor:
        """Return the tensor; a partition that took it over is used up by this."""
        return self._joined([piece.unpartition() for piece in self.pieces])

    def written(self) -> ShardedTensor:
        """Return the tensor behind a launch that has written it."""
        return self._joined([piece.written() for piece in self.pieces])

    def _joined(self, tensors: Sequence[Tensor[Any]]) -> ShardedTensor:
        return ShardedTensor(self.mesh, self.shape, self.cuts, tensors)


def shard(
    x: Any, mesh: Mesh, axis: int | Mapping[int, str] = 0, over: str | None = None
) -> DeviceOp[ShardedTensor]:
    """Return an op that divides a tensor, or an array of the host, among the devices of a mesh.

    `axis` is the axis that is divided, over the axis `over` of the mesh, by default the first; or
    a mapping of several. Along the other axes of the mesh the pieces are repeated. A tensor that is
    in pieces already is divided anew: each position copies what it needs from the pieces.
    """
    if is_op(x):
        divided: DeviceOp[ShardedTensor] = x.then(lambda whole: shard(whole, mesh, axis, over))
        return divided
    _refuse_no_mesh(mesh, "tw.shard")
    tensor = x if isinstance(x, ShardedTensor) else _as_tensor(x)
    cuts = dict(axis) if isinstance(axis, Mapping) else {axis: over or next(iter(mesh.axes))}
    cuts = _checked(mesh, tensor.shape, cuts)
    return _spread(tensor, mesh, cuts, "shard")


def replicate(x: Any, mesh: Mesh) -> DeviceOp[ShardedTensor]:
    """Return an op that copies a tensor to all positions of a mesh, also an array of the host, or a
    tensor in pieces.
    """
    if is_op(x):
        copied: DeviceOp[ShardedTensor] = x.then(lambda whole: replicate(whole, mesh))
        return copied
    _refuse_no_mesh(mesh, "tw.replicate")
    return _spread(x if isinstance(x, ShardedTensor) else _as_tensor(x), mesh, {}, "replicate")


def _as_tensor(x: Any) -> Tensor[Any]:
    """Return a tensor, also of an `Arc`, or over the memory of an array."""
    found: Any = getattr(x, "value", x)
    tensor: Any = asarray(found) if type(found) is not _TENSOR else found
    result: Tensor[Any] = tensor
    return result


def _spread(
    tensor: Tensor[Any] | ShardedTensor, mesh: Mesh, cuts: Mapping[int, str], name: str
) -> DeviceOp[ShardedTensor]:
    shape = tensor.shape

    def copied(device: Device, position: Mapping[str, int]) -> DeviceOp[Tensor[Any]]:
        index = _index(mesh, shape, cuts, position)
        if isinstance(tensor, ShardedTensor):
            return tensor.part(index, device)
        copy: DeviceOp[Tensor[Any]] = tensor[index].to(device)
        return copy

    copies = [copied(*each) for each in zip(mesh.devices, mesh.positions(), strict=True)]
    spread = OnDevices(name, copies)
    return spread.derived(lambda *pieces: ShardedTensor(mesh, shape, cuts, pieces), "in pieces")


def _copied(target: Any, source: Tensor[Any], device: Device) -> DeviceOp[Any]:
    """Return an op that copies to this device. Between GPUs only memory without gaps is copied."""
    near = source.device is device or (source.device.host_visible and device.host_visible)
    if near or source.is_contiguous:
        return memcpy(target, source)
    packed: DeviceOp[Any] = OnDevices("pack", [source.dup()])

    def copy(part: Tensor[Any]) -> DeviceOp[Any]:
        return memcpy(target, part)

    return packed.then(copy)


def _common(
    index: tuple[slice, ...], other: tuple[slice, ...]
) -> tuple[tuple[slice, ...], tuple[slice, ...]] | None:
    """Return what two parts have in common, as a part of each; None: nothing."""
    pairs = list(zip(index, other, strict=True))
    both = [(max(a.start, b.start), min(a.stop, b.stop)) for a, b in pairs]
    if any(begin >= end for begin, end in both):
        return None
    one, two = (
        tuple([slice(begin - part.start, end - part.start) for (begin, end), part in parts])
        for parts in (zip(both, index, strict=True), zip(both, other, strict=True))
    )
    return one, two


def _refuse_no_mesh(mesh: object, function: str) -> None:
    """Raise a TypeError unless devices are given as a mesh."""
    if not isinstance(mesh, Mesh):
        raise TypeError(
            f"{function} takes a tw.Mesh, got {mesh!r}; make one of devices: tw.Mesh(tw.devices())"
        )


def _checked(mesh: Mesh, shape: Shape, cuts: Mapping[int, str]) -> dict[int, str]:
    """Return the cuts with axes counted from the front; raise where they do not divide."""
    found: dict[int, str] = {}
    for axis, name in cuts.items():
        extent, count = mesh.extent(name), len(shape)
        if not -count <= axis < count:
            raise ShapeError(
                f"a tensor of the shape {shape} has no axis {axis}",
                expected=f"an axis from {-count} to {count - 1}", got=str(axis),
            )  # fmt: skip
        if shape[axis] % extent:
            raise ShapeError(
                f"axis {axis} of the tensor cannot be divided over the axis {name!r} of the mesh",
                expected=f"a multiple of the {extent} positions of {name!r} in {mesh!r}",
                got=f"{shape[axis]}, of the shape {shape}",
                hint=f"pad the tensor to {-(-shape[axis] // extent) * extent} along that axis",
            )
        found[axis % count] = name
    if len(set(found.values())) < len(cuts):
        raise ShapeError(
            "an axis of the mesh divides one axis of a tensor",
            got=", ".join([f"axis {axis} over {name!r}" for axis, name in cuts.items()]),
        )
    return found


def _index(
    mesh: Mesh, shape: Shape, cuts: Mapping[int, str], position: Mapping[str, int]
) -> tuple[slice, ...]:
    """Return which part of a tensor is at a position."""
    index = [slice(0, extent) for extent in shape]
    for axis, name in cuts.items():
        extent = shape[axis] // mesh.axes[name]
        start = position[name] * extent
        index[axis] = slice(start, start + extent)
    return tuple(index)
