"""The in-process cache: one compilation per key, from any number of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ..base.errors import Error
from ..base.shield import lifted, shielded
from ..base.threads import begin_lengthy_work, end_lengthy_work
from ..frontend.capture.sources import GONE, Captured, KernelSource
from ..ir.signature import Signature
from .options import CompileOptions, Key, differences

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ..frontend.interp.build import Built
    from ..ir.artifact import Artifact

ENTRIES = 256
"""Compilations of a kernel that are kept, those asked for lately.

Of one that is let go some 11 kB stay: its reason, as long as `HISTORY` has room, and 4 kB of LLVM,
which never forgets a library that it has linked.
"""
HISTORY = 1024
"""Compilations of a kernel whose reasons are known, the latest ones."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled kernel and the outside names it must be checked against."""

    artifact: Artifact
    captured: tuple[Captured, ...]

    def stale(self) -> str | None:
        """Return the captured name whose value has changed, or None."""
        try:
            # A look at what is most often the same: each launch asks.
            for captured in self.captured:
                if captured.read() is not captured.value:
                    break
            else:
                return None
        except GONE:
            pass
        return next((captured.name for captured in self.captured if captured.changed()), None)


@dataclass(frozen=True, slots=True)
class LaunchCompilation:
    """One compilation by a launch, and its reason."""

    key: Key
    reason: str


@dataclass(eq=False, slots=True)
class _Kernel:
    """The state of one kernel: finished and running compilations, and their history."""

    entries: dict[Key, Future[Compiled]] = field(default_factory=dict[Key, "Future[Compiled]"])
    history: list[LaunchCompilation] = field(default_factory=list[LaunchCompilation])
    stale: dict[Key, str] = field(default_factory=dict[Key, str])
    """Why an entry was dropped, until its key is compiled again."""

    def note(self, compilation: LaunchCompilation) -> None:
        """Count a compilation; drop those that were not used during many later ones.

        Its users keep a reference; a later request finds it on disk, or compiles it.
        """
        self.history.append(compilation)
        del self.history[:-HISTORY]
        done = [key for key, future in self.entries.items() if future.done()]
        for key in done[: max(0, len(self.entries) - ENTRIES)]:
            del self.entries[key]
        while len(self.stale) > ENTRIES:
            self.stale.pop(next(iter(self.stale)))


class KernelCache:
    """All kernels of a process. A failed compilation leaves nothing behind."""

    def __init__(
        self, compile_: Callable[..., tuple[Artifact, tuple[Captured, ...]]] | None = None
    ) -> None:
        self._compile = compile_ or _compile
        self._kernels: WeakKeyDictionary[KernelSource, _Kernel] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def get(
        self, kernel: KernelSource, signature: Signature, target: str, options: CompileOptions
    ) -> Artifact:
        """Return the artifact for a key: the first caller compiles it, the others wait for it."""
        return self.find(kernel, signature, target, options).artifact

    def find(
        self, kernel: KernelSource, signature: Signature, target: str, options: CompileOptions
    ) -> Compiled:
        """Return the compiled kernel as `get` does; the caller checks staleness before each use."""
        key = Key.of(signature, target, options)
        while True:
            future, compiled = shielded(self._claimed, kernel, key)
            if compiled is not None:
                return compiled
            compiled = _result_of_other(future)
            if compiled is None:
                continue  # who compiled it was interrupted: this thread may take its place
            changed = compiled.stale()
            if changed is None:
                return compiled
            self._drop(kernel, key, future, f"`{changed}`, which it captured, has changed")

    def remake(
        self,
        kernel: KernelSource,
        signature: Signature,
        target: str,
        options: CompileOptions,
        reason: str,
    ) -> Compiled:
        """Recompile a kernel whose code the device rejected; replace it, on disk too."""
        return shielded(self._remade, kernel, Key.of(signature, target, options), reason)

    def history(self, kernel: KernelSource) -> tuple[LaunchCompilation, ...]:
        """Return the compilations of a kernel so far, with their reasons."""
        with self._lock:
            known = self._kernels.get(kernel)
            return tuple(known.history) if known else ()

    # What follows is shielded but for the compiling: a future that others find will be filled.

    def _claimed(self, kernel: KernelSource, key: Key) -> tuple[Future[Compiled], Compiled | None]:
        """Return the future of a key, and its result if this thread has compiled it."""
        mine = _promised()
        try:
            other = self._claim(kernel, key, mine)
            if other is not None:
                return other, None
            compiled = self._compiled(kernel, key)
            mine.set_result(compiled)
            return mine, compiled
        except BaseException as error:
            self._give_up(kernel, key, mine, error)
            del mine  # else a cycle: the future, its error, the error's frames
            raise

    def _remade(self, kernel: KernelSource, key: Key, reason: str) -> Compiled:
        mine = _promised()
        try:
            with self._lock:
                known = self._kernels.setdefault(kernel, _Kernel())
                known.entries[key] = mine
                known.note(LaunchCompilation(key, reason))
            compiled = self._compiled(kernel, key, fresh=True)
            mine.set_result(compiled)
            return compiled
        except BaseException as error:
            self._give_up(kernel, key, mine, error)
            del mine
            raise

    def _give_up(
        self, kernel: KernelSource, key: Key, mine: Future[Compiled], error: BaseException
    ) -> None:
        """Record that nothing was compiled, and pass the error to the waiting threads."""
        with self._lock:
            entries = self._kernels[kernel].entries if kernel in self._kernels else {}
            if entries.get(key) is mine:
                del entries[key]
        if not mine.done():
            mine.set_exception(error)

    def _claim(
        self, kernel: KernelSource, key: Key, mine: Future[Compiled]
    ) -> Future[Compiled] | None:
        """Enter a future for a key; return the one of another thread if there is one already."""
        with self._lock:
            known = self._kernels.setdefault(kernel, _Kernel())
            future = known.entries.pop(key, mine)
            known.entries[key] = future  # the last: those not asked for are let go
            if future is not mine:
                return future
            reason = known.stale.pop(key, None) or _reason(known.history, key)
            known.note(LaunchCompilation(key, reason))
            return None

    def _compiled(self, kernel: KernelSource, key: Key, *, fresh: bool = False) -> Compiled:
        wish = partial(self._compile, kernel, key.signature, key.target, key.options, fresh=fresh)
        work = begin_lengthy_work()
        try:
            return Compiled(*lifted(wish))
        finally:
            end_lengthy_work(work)

    def _drop(self, kernel: KernelSource, key: Key, future: Future[Compiled], reason: str) -> None:
        with self._lock:
            known = self._kernels[kernel]
            if known.entries.get(key) is future:
                del known.entries[key]
                known.stale[key] = reason


def _promised() -> Future[Compiled]:
    """Return a compilation that others can wait for."""
    from concurrent.futures import Future

    return Future()


def _result_of_other(future: Future[Compiled]) -> Compiled | None:
    """Return the result of another thread, or raise its error; None if it was interrupted."""
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, Error):
        raise error
    return None


def _reason(history: list[LaunchCompilation], key: Key) -> str:
    if not history:
        return "first launch"
    nearest = min((differences(old.key, key) for old in history), key=len)
    return "; ".join(nearest) or "compiled again after a failure"


def _compile(
    kernel: KernelSource,
    signature: Signature,
    target: str,
    options: CompileOptions,
    *,
    fresh: bool = False,
) -> tuple[Artifact, tuple[Captured, ...]]:
    from .pipeline import compile_kernel, stages
    from .runner import Runner

    runner = Runner(kernel.name, fresh=fresh)
    stages(target, options, kernel.dialect)  # loads the backend
    work = begin_lengthy_work(temporaries=True)
    try:
        # The IR is dropped before objects age again.
        artifact, captured = _without_ir(
            *compile_kernel(kernel, signature, target, runner, options)
        )
    finally:
        end_lengthy_work(work)
    runner.tell_if_slow(target)
    return artifact, captured


def _without_ir(artifact: Artifact, built: Built) -> tuple[Artifact, tuple[Captured, ...]]:
    return artifact, built.captured
