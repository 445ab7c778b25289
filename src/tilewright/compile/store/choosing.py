"""Custom stores of compiled code, and the choice of the store that a process or a task uses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from ...base.config import cache_directory, current
from ...base.stage import Saved
from ...base.tracebacks import block
from .disk import Store
from .entry import LARGEST, InvalidEntryError, Keeper, Record, Stats, decode, encode

# --- custom stores for compiled code -----------------------------------------------------------

T = TypeVar("T")


class JitStore(Protocol):
    """A custom store of compiled code: entries, which are bytes, by names of 64 hex digits.

    Several threads call it at once. An error that it raises does not fail a launch: it is counted,
    reported once as a warning, and the kernel is compiled. A damaged entry is detected and deleted;
    a malicious one is not, and its code runs.
    """

    def get(self, name: str, /) -> bytes | None:
        """Return the entry of a name; None where there is none."""
        ...

    def put(self, name: str, entry: bytes, /) -> None:
        """Keep an entry, instead of the one of that name if there is one."""
        ...

    def contains(self, name: str, /) -> bool:
        """Return whether there is an entry; called before `put`, as others may be first."""
        ...

    def delete(self, name: str, /) -> None:
        """Forget an entry, which need not be there: it is damaged, or of no use to the device."""
        ...

    def clear(self) -> None:
        """Remove all entries."""
        ...


METHODS = ("get", "put", "contains", "delete", "clear")


class Custom(Keeper):
    """The adapter between a compilation and a custom store."""

    def __init__(self, store: JitStore) -> None:
        super().__init__()
        self._store = _checked(store)
        self._flights = WeakValueDictionary[str, threading.Lock]()
        """What threads of this process are making, by name; while any of them makes it."""

    def __repr__(self) -> str:
        return f"Custom({self._store!r})"

    @property
    def place(self) -> str:
        """The class of the store."""
        return type(self._store).__name__

    def read(self, record: Record, restore: Callable[[Saved], T]) -> T | None:
        """Read an entry and compare its checksums."""
        _, data = self._ask("get", record.name)
        if data is None:
            return None
        if not isinstance(data, bytes):
            self._failed("get", f"gave {type(data).__name__}, not bytes")
            return None
        try:
            return restore(decode(data, record))
        except (InvalidEntryError, ValueError):
            self.count(invalid=1)
            self.remove(record.name)
            return None

    def put(self, record: Record, saved: Saved) -> bool:
        """Keep something under a record; whether it is kept now."""
        data = encode(record, saved)
        if len(data) > LARGEST:
            return False
        _, there = self._ask("contains", record.name)
        if there:
            return True
        done, _ = self._ask("put", record.name, data)
        self.count(puts=done, bytes_written=done * len(data))
        return done

    @contextmanager
    def alone(self, record: Record) -> Generator[None, None, None]:
        """Keep other threads from making the same, and other processes if the store can.

        A store that can has a method `alone(name)`, which returns a context manager.
        """
        with self._lock:
            lock = self._flights.setdefault(record.name, threading.Lock())
        with lock, ExitStack() as stack:
            alone = getattr(self._store, "alone", None)
            if alone is not None:
                try:
                    stack.enter_context(alone(record.name))
                except Exception as error:  # as of any method: the kernel can be compiled twice
                    self._failed("alone", f"raised {type(error).__name__}: {error}")
            yield

    def remove(self, name: str) -> bool:
        """Remove one entry."""
        done, _ = self._ask("delete", name)
        return done

    def clear(self) -> None:
        """Let the store forget all entries."""
        self._ask("clear")

    def _ask(self, method: str, *given: object) -> tuple[bool, Any]:
        """Call a method of the store; return whether it succeeded, and its result."""
        try:
            return True, getattr(self._store, method)(*given)
        except Exception as error:  # of any kind: the kernel can be compiled all the same
            self._failed(method, f"raised {type(error).__name__}: {error}")
            return False, None

    def _failed(self, method: str, how: str) -> None:
        self.count(io_errors=1)
        self.warn(f"a store of compiled code fails: {self.place}.{method} {how}")


def _checked(store: JitStore) -> JitStore:
    """Return the store, after a check of its methods."""
    kind = type(store).__name__
    if isinstance(store, type):
        raise TypeError(f"expected a store, got the class `{store.__name__}`: instantiate it")
    missing = [name for name in METHODS if not callable(getattr(store, name, None))]
    if missing:
        raise TypeError(f"a {kind} is no JitStore: it has no method {', '.join(missing)}")
    return store


# --- the choice of the store -------------------------------------------------------------------

Choice: TypeAlias = Callable[[], Keeper | None]


def disk_store() -> Store | None:
    """Return the directory that the settings name; None where they turn it off."""
    config = current()
    root = cache_directory(config)
    return _store(root, config.cache_size) if root is not None and config.cache_size else None


@cache
def _store(root: Path, capacity: int) -> Store:
    return Store(root, capacity)


def _nowhere() -> None:
    return None


@dataclass(slots=True)
class _StoreChoice:
    choice: Choice


_PROCESS = _StoreChoice(disk_store)
_HERE: ContextVar[Choice | None] = ContextVar("tilewright_store", default=None)


def current_store() -> Keeper | None:
    """Return the store of this task or process; None if there is none."""
    return (_HERE.get() or _PROCESS.choice)()


def enable(store: JitStore) -> None:
    """Keep compiled code in a store of your own, in this process, whatever the settings say."""
    custom = Custom(store)
    _PROCESS.choice = lambda: custom


def enable_default() -> None:
    """Keep compiled code where the settings say, as a process does that says nothing."""
    _PROCESS.choice = disk_store


def disable() -> None:
    """Keep compiled code nowhere: kernels that this process has not compiled yet, it compiles."""
    _PROCESS.choice = _nowhere


@block
def using(store: JitStore | None) -> Generator[None, None, None]:
    """Use a store for a `with` block, or none, in this task or thread alone."""
    custom = None if store is None else Custom(store)
    token = _HERE.set(lambda: custom)
    try:
        yield
    finally:
        _HERE.reset(token)


def is_enabled() -> bool:
    """Return whether a store for compiled code is in use here."""
    return current_store() is not None


def stats() -> Stats:
    """Return the counters of the store in use, in this process and since it is in use."""
    keeper = current_store()
    return keeper.stats if keeper is not None else Stats()


def clear() -> None:
    """Remove all compiled code from the store in use. What this process has loaded stays."""
    keeper = current_store()
    if keeper is not None:
        keeper.clear()
