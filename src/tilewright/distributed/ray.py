"""Tilewright on Ray: tensors in its object store, tasks, and actors with a device each.

`import tilewright.distributed.ray` imports Ray.
"""

from __future__ import annotations

import functools
import socket
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..base.errors import ContextError
from ..op.ambient import as_device, set_default_device
from ..tensors.arc import Arc
from ..tensors.tensor import Tensor
from .ambient import init
from .parcels import Parcel

ray: Any = import_module("ray")
"""Any: type checkers need not have it installed."""

GPU = "cuda"
JOIN, ADDRESS = "tilewright_join", "tilewright_address"
"""Methods that every actor of `actors` has, beside its own."""


def register() -> None:
    """Let this process send tensors: tasks and actors of this module do that by themselves.

    A tensor that is sent arrives as a tensor on the CPU. Its bytes are copied once, into the
    object store, and processes of one node read them in place: such a tensor cannot be written.
    """
    for kind in (Tensor, Arc):
        ray.util.register_serializer(kind, serializer=Parcel, deserializer=_as_it_is)


def _as_it_is(found: Any) -> Any:
    """Return what came out of a parcel: the tensor."""
    return found


def remote(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Do as `ray.remote` of a function whose arguments and results may be tensors, and may hold
    kernels; `options` are Ray's, such as `num_cpus` and `max_retries`.
    """
    if function is None:
        return functools.partial(remote, **options)
    register()

    @functools.wraps(function)
    def run(*args: Any, **named: Any) -> Any:
        register()
        return function(*args, **named)

    return ray.remote(**options)(run) if options else ray.remote(run)


def actors(
    kind: type,
    count: int,
    *args: Any,
    device: str = "cpu",
    together: bool = False,
    options: dict[str, Any] | None = None,
    **named: Any,
) -> list[Any]:
    """Start actors of a class, each with its own device, and return their handles.

    With the device "cuda" each has a GPU to itself; its work that names no device goes there.
    `together` makes them the ranks of one group, in their order, before any is constructed: a
    collective in their methods is one of all of them. `args` and `named` are for all constructors,
    and `options` for Ray.
    """
    if count < 1:
        raise ContextError("there is no actor to start", expected="1 or more", got=str(count))
    register()
    needed = {"num_gpus": 1} if device.startswith(GPU) else {}
    make = ray.remote(**{"num_cpus": 1, **needed, **(options or {})})(
        _with_device(kind, device, together)
    )
    made = [make.remote(rank, *args, **named) for rank in range(count)]
    if together:
        backend = "nccl" if device.startswith(GPU) else "gloo"
        address = ray.get(getattr(made[0], ADDRESS).remote())
        joined = [getattr(each, JOIN).remote(backend, address, count) for each in made]
        ray.get(joined)
    return made


def _with_device(kind: Any, device: str, together: bool) -> type:
    """Return a class of actors that constructs the user's object once its device is there, and
    the group if there is to be one.
    """

    def begin(self: Any, rank: int, *args: Any, **named: Any) -> None:
        register()
        set_default_device(as_device(device))
        self.rank, self._given = rank, (args, named)
        if not together:
            construct(self)

    def construct(self: Any) -> None:
        args, named = self._given
        self._given = None
        kind.__init__(self, *args, **named)

    def address(self: Any) -> str:
        return f"tcp://{ray.util.get_node_ip_address()}:{_free_port()}"

    def join(self: Any, backend: str, address: str, size: int) -> None:
        init(backend, address=address, rank=self.rank, size=size)
        construct(self)

    members: dict[str, Any] = {"__init__": begin, ADDRESS: address, JOIN: join}
    return type(kind.__name__, (kind,), members)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("", 0))
        port: int = found.getsockname()[1]
        return port
