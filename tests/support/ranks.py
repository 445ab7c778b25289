"""Ranks in threads of one process: a store, and a backend that moves arrays between them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.distributed.call import Call
from tilewright.distributed.exchange import HEAD, MESSAGE
from tilewright.distributed.group import Group
from tilewright.distributed.store import Patience

PATIENCE = Patience(late=10.0, gone=0.5, beat=0.05)


class DictStore:
    """What torch's stores do, in a dict."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def set(self, key: str, value: str) -> None:
        with self._lock:
            self.values[key] = value.encode()

    def get(self, key: str) -> bytes:
        return self.values[key]

    def check(self, keys: list[str]) -> bool:
        return all(key in self.values for key in keys)

    def add(self, key: str, amount: int) -> int:
        with self._lock:
            found = int(self.values.get(key, b"0")) + amount
            self.values[key] = str(found).encode()
        return found

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        with self._lock:
            if self.values.get(key, b"") == expected.encode():
                self.values[key] = desired.encode()
            return self.values[key]

    def delete_key(self, key: str) -> bool:
        with self._lock:
            return self.values.pop(key, None) is not None


class Part:
    """The keys of a store that begin with a prefix."""

    def __init__(self, store: DictStore, prefix: str) -> None:
        self._store, self._prefix = store, prefix

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        def call(key: Any, *values: Any) -> Any:
            whole = [self._prefix + k for k in key] if name == "check" else self._prefix + key
            return method(whole, *values)

        return call


class Swap:
    """Messages between ranks that are threads, as `exchange.Channel` has it."""

    def __init__(self, all_of_them: list[Swap], barrier: threading.Barrier, size: int) -> None:
        self.sends = np.zeros((size, MESSAGE), np.uint8)
        self.came = np.zeros((size, MESSAGE), np.uint8)
        self._all, self._barrier, self._rank = all_of_them, barrier, len(all_of_them)
        self.count = 0
        """How often messages were exchanged."""
        all_of_them.append(self)

    def swap(self) -> None:
        self.count += 1
        self._barrier.wait()
        for rank, other in enumerate(self._all):
            self.came[rank] = other.sends[self._rank]
        self._barrier.wait()

    def combine(self, call: Call, target: Any) -> None:
        assert call.op == "all_reduce"
        nbytes = target.array().nbytes
        parts = [row[HEAD : HEAD + nbytes].view(np.float32) for row in self.came]
        target.array().reshape(-1)[:] = _reduced(call, parts)


class Hub:
    """Where the arrays of all ranks are while they are exchanged."""

    def __init__(self, size: int) -> None:
        self.arrays: dict[Any, Any] = {}
        self.barrier = threading.Barrier(size, timeout=20)
        self.held: threading.Event | None = None
        """Set, for a test that holds collectives up: they wait for it."""
        self.begun = threading.Semaphore(0)
        """Released when a rank begins to move data."""
        self.ran: list[tuple[int, str]] = []
        """Which collectives ran, by rank."""
        self.swaps: list[Swap] | None = None
        """Set, for a test whose ranks agree by messages: those of all ranks."""
        self._parts: dict[tuple[int, ...], Hub] = {}
        self._lock = threading.Lock()

    def part(self, members: tuple[int, ...]) -> Hub:
        """The hub of some of the ranks."""
        with self._lock:
            return self._parts.setdefault(members, Hub(len(members)))


class InThreads:
    """Moves data between ranks that are threads."""

    on_host = True

    def __init__(self, hub: Hub, rank: int, size: int) -> None:
        self._hub, self._rank, self._size = hub, rank, size
        self.broken: Exception | None = None

    def check(self, call: Call, device: Any) -> None:
        return

    def refuse_capture(self, call: Call) -> None:
        raise AssertionError("nothing is captured here")

    def channel(self, peer: int, sends: bool) -> Swap | None:
        """None: they agree in the store."""
        if self._hub.swaps is None:
            return None
        return self._hub.swaps[self._rank]

    def split(self, members: Any, patience: Patience, store: Any) -> InThreads:
        rank = members.index(self._rank)
        return InThreads(self._hub.part(tuple(members)), rank, len(members))

    def abort(self) -> None:
        return

    def close(self) -> None:
        return

    def run(self, call: Call, target: Any, source: Any, peer: int, stream: Any) -> None:
        if self.broken is not None:
            raise self.broken
        hub, size, rank = self._hub, self._size, self._rank
        hub.begun.release()
        if hub.held is not None:
            hub.held.wait()
        hub.ran.append((rank, call.op))
        mine = (source or target).array().copy()
        hub.arrays[rank] = mine
        hub.barrier.wait()
        all_of_them = [hub.arrays[n] for n in range(size)]
        out = None if target is None else target.array()
        if call.op == "all_reduce":
            out[...] = _reduced(call, all_of_them)
        elif call.op == "all_gather":
            out[...] = np.concatenate(all_of_them)
        elif call.op == "reduce_scatter":
            out[...] = np.split(_reduced(call, all_of_them), size)[rank]
        elif call.op == "all_to_all":
            out[...] = np.concatenate([np.split(each, size)[rank] for each in all_of_them])
        elif call.op == "broadcast":
            out[...] = all_of_them[call.root]
        elif call.op == "recv":
            out[...] = all_of_them[peer]
        hub.barrier.wait()


def _reduced(call: Call, arrays: list[Any]) -> Any:
    how: dict[str, Callable[..., Any]] = {
        "sum": np.sum, "mean": np.mean, "product": np.prod, "min": np.min, "max": np.max,
    }  # fmt: skip
    return how[call.reduce](arrays, axis=0)


def groups(
    size: int, patience: Patience = PATIENCE, *, messages: bool = False
) -> tuple[list[Group], Hub, DictStore]:
    """The groups of all ranks, what moves their data, and the store in which they meet; with
    `messages` they agree by messages, and not in the store.
    """
    hub, store = Hub(size), DictStore()
    if messages:
        hub.swaps, barrier = [], threading.Barrier(size, timeout=20)
        for _ in range(size):
            Swap(hub.swaps, barrier, size)
    made = [
        Group(InThreads(hub, rank, size), lambda name: Part(store, name), rank, size,
              patience=patience)
        for rank in range(size)
    ]  # fmt: skip
    return made, hub, store


def in_ranks(size: int, run: Callable[[int], Any]) -> list[Any]:
    """Run a function in a thread for each rank; what each gave, or raised.

    Each has a stream, as processes have: on a common one, a rank could wait for itself.
    """
    found: list[Any] = [None] * size

    def one(rank: int) -> None:
        try:
            policy = tw.SingleStream(tw.Device.new("cpu").new_stream())
            with tw.with_default_device_policy(policy):
                found[rank] = run(rank)
        except Exception as error:
            found[rank] = error

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found
