"""Process groups of torch.distributed as groups of ours; torch is imported when this is."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from typing import Any

from ..base import config
from ..base.errors import ContextError
from .gloo import Gloo
from .group import Backend, Group
from .store import BEAT, GONE, Patience, Store

torch: Any = import_module("torch")
"""Any: type checkers need not have it installed."""

PREFIX = "tilewright"
KEEP_ALIVE = "TORCH_NCCL_ASYNC_ERROR_HANDLING"
"""By default torch ends the process where a collective of NCCL fails; 0: it is left to us."""


def make_group(
    backend: str | None,
    address: str | None,
    rank: int | None,
    size: int | None,
    timeout: float,
    pulse: float | None,
) -> Group:
    """Return the group of all processes; join them first if torch has not."""
    dist, made = torch.distributed, False
    _refuse_place(rank, size)
    if backend is not None and backend != "gloo" and "nccl" not in backend:
        raise _no_backend(backend)
    if not dist.is_initialized():
        if backend is not None and "nccl" in backend:
            config.give_default(KEEP_ALIVE, "0")
        given: dict[str, Any] = {} if rank is None else {"rank": rank}
        if size is not None:
            given["world_size"] = size
        try:
            dist.init_process_group(
                backend or "gloo", init_method=address, timeout=timedelta(seconds=timeout), **given
            )
        except (ValueError, RuntimeError) as error:
            raise ContextError(
                "the processes could not meet",
                expected="an address all of them reach, each with a rank, as torchrun gives them",
                got=f"{type(error).__name__}: {str(error).splitlines()[0]}",
                hint="start with `torchrun --nproc-per-node 2 program.py`, or pass"
                " address='tcp://host:port', rank=... and size=...",
            ) from error
        made = True
    world = dist.group.WORLD
    store: Any = dist.distributed_c10d._get_default_store()  # torch has no public name for it
    return _group_of(world, store, timeout, pulse, owned=made)


def _group_of(world: Any, store: Any, timeout: float, pulse: float | None, *, owned: bool) -> Group:
    beat = BEAT if pulse is None else pulse
    patience = Patience(timeout, GONE / BEAT * beat, beat)
    # Each group begins anew, also where processes have made one before.
    number = store.add(f"{PREFIX}/groups/{world.rank()}", 1)
    folder = f"{PREFIX}/{number}"
    engine = _connected(store, f"{folder}/engine")
    return Group(
        _backend_of(world, engine, patience, world if owned else None),
        lambda name: _connected(store, f"{folder}/{name}"),
        world.rank(), world.size(), name="world",
        patience=patience, holder=_holder_of(store),
    )  # fmt: skip


def _holder_of(store: Any) -> int | None:
    """Return the rank whose process holds a store; None: it is none of theirs, or not known.

    torch lets rank 0 hold a TCP store, or torchrun's own process.
    """
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    dist = torch.distributed
    return 0 if isinstance(store, dist.TCPStore) and not dist.is_torchelastic_launched() else None


def _connected(store: Any, prefix: str) -> Store:
    """Return another connection to a store, whose keys begin with a prefix."""
    prefixed: Store = torch.distributed.PrefixStore(prefix, store.clone())
    return prefixed


def _backend_of(world: Any, store: Store, patience: Patience, ends: Any) -> Backend:
    """Return what moves the data of all processes, and the group of torch that ends with it."""
    name = torch.distributed.get_backend(world)
    if name == "gloo":
        return Gloo(store, world.rank(), world.size(), patience, ends)
    if "nccl" in name:
        nccl: Any = import_module(".nccl", __package__)
        made: Backend = nccl.Nccl(world, ends)
        return made
    raise _no_backend(name)


def _no_backend(name: str) -> ContextError:
    return ContextError(
        f"no group of processes has the backend {name!r}", expected="gloo or nccl", got=name
    )


def _refuse_place(rank: int | None, size: int | None) -> None:
    """Raise for a rank that no process has: the others would wait for it, and it for them."""
    if rank is not None and (rank < 0 or (size is not None and rank >= size)):
        raise ContextError(
            f"no process has the rank {rank}",
            expected="a rank from 0" + (f" to {size - 1}" if size else ""),
            got=f"rank={rank}, size={size}",
        )
