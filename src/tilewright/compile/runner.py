"""Run the stages of a compilation for any backend: time, verify, dump, cache."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..base.config import Config, current
from ..base.stage import ArtifactCodec, Listing, Stage
from ..ir.core import Func
from ..ir.printer import list_func
from ..ir.verify import verify
from .store import Keeper, Record, current_store

# -------------------------------------------------------------------------------------------------
# The store lookup of a stage's result.


@dataclass(frozen=True, slots=True)
class Lookup:
    """The store lookups of one compilation, and the entry it would write."""

    store: Keeper
    codec: ArtifactCodec
    argument: Any
    record: Record

    def find(self) -> Any:
        """Return the result, if it is there; does not yet count as a miss."""
        return self.store.find(self.record, partial(self.codec.restore, self.argument))

    def get(self) -> Any:
        """Return the result, or None, which is a miss."""
        return self.store.get(self.record, partial(self.codec.restore, self.argument))

    def put(self, result: Any) -> None:
        """Keep a result."""
        self.store.put(self.record, self.codec.save(self.argument, result))

    def forget(self) -> None:
        """Discard the cached entry."""
        self.store.remove(self.record.name)

    @contextmanager
    def alone(self) -> Generator[None, None, None]:
        """Exclude other threads and processes that would compile the same."""
        with self.store.alone(self.record):
            yield


def look_up(store: Keeper | None, codec: ArtifactCodec, argument: Any) -> Lookup | None:
    """Return the cache lookup for a stage's argument; None if the stage is not cacheable."""
    facts = codec.facts(argument) if store is not None else None
    if store is None or facts is None:
        return None
    return Lookup(store, codec, argument, Record.of(facts))


# -------------------------------------------------------------------------------------------------
# The runner of stages.

SLOW_SECONDS = 5.0
"""Seconds after which a compilation is reported."""
TOLD = "cubin"
"""The stage that runs another program, and reports by itself while it waits."""


class Shown(NamedTuple):
    """A stage of a compilation as text; a pass that runs twice has two."""

    name: str
    listing: Listing
    seconds: float


@dataclass(slots=True)
class Runner:
    """One compilation: its steps' times in seconds, and what they showed."""

    kernel: str
    config: Config = field(default_factory=current)
    times: dict[str, float] = field(default_factory=dict[str, float])
    shown: dict[str, str] = field(default_factory=dict[str, str])
    trail: list[Shown] = field(default_factory=list[Shown])
    """All that was shown, in order, with the places of its lines and the time it took."""
    keep: bool = False
    """Whether to keep every stage's text, for `kernel.inspect()`."""
    store: Keeper | None = field(default_factory=current_store)
    """Where results are kept between processes; None compiles afresh."""
    fresh: bool = False
    """Whether to make everything anew, in the place of what is kept."""
    results: dict[str, object] | None = None
    """What each stage of the backend gave, where somebody wants it."""
    latest: float = 0.0
    """The seconds of the latest step."""

    def step(self, name: str, function: Callable[[Any], Any], argument: Any) -> Any:
        """Run one step and time it."""
        start = time.perf_counter()
        result = function(argument)
        self.latest = time.perf_counter() - start
        self.times[name] = self.times.get(name, 0.0) + self.latest
        return result

    def pass_(self, function: Callable[[Func], Func], func: Func) -> Func:
        """Run a pass; verified at once where asked for."""
        name = function.__name__
        result: Func = self.step(name, function, func)
        if self.config.verify:
            verify(result, name)
        if self.wanted(name):
            self.show(name, list_func(result))
        return result

    def verified(self, name: str, func: Func) -> Func:
        """Verify the IR and show it as the stage `name`."""
        verify(func, name)
        if self.wanted(name):
            self.show(name, list_func(func))
        return func

    def stage(self, stage: Stage, argument: Any) -> Any:
        """Run a stage of a backend."""
        result = self.step(stage.name, stage.run, argument)
        if self.results is not None:
            self.results[stage.name] = result
        if self.wanted(stage.name):
            self.show(stage.name, stage.show(result))
        if self.keep and stage.also is not None:
            self.latest = 0.0  # no part of a compilation
            for name, listing in stage.also(argument, result).items():
                self.show(name, listing)
        return result

    def stages(self, stages: Sequence[Stage], argument: Any) -> Any:
        """Run the stages of a backend in a row; those whose result is on disk are skipped."""
        for number, stage in enumerate(stages):
            rest = stages[number:]
            if stage.codec is not None and not any(self.wanted(s.name) for s in rest):
                return self.cached(stage.codec, argument, partial(self._run, rest, argument))
            argument = self.stage(stage, argument)
        return argument

    def cached(self, codec: ArtifactCodec, argument: Any, make: Callable[[], Any]) -> Any:
        """Return the result cached on disk; compute and cache it if there is none."""
        lookup = self.step("disk", partial(look_up, self.store, codec), argument)
        if lookup is None:
            return make()
        if self.fresh:
            self.step("disk", Lookup.forget, lookup)
        elif (found := self.step("disk", Lookup.find, lookup)) is not None:
            return found
        with lookup.alone():
            # Somebody else may have made it while this one waited.
            found = None if self.fresh else self.step("disk", Lookup.get, lookup)
            if found is not None:
                return found
            result = make()
            self.step("disk", lookup.put, result)
            return result

    def _run(self, stages: Sequence[Stage], argument: Any) -> Any:
        for stage in stages:
            argument = self.stage(stage, argument)
        return argument

    def tell_if_slow(self, target: str) -> None:
        """Write one line if the steps in this process took long."""
        times = {name: seconds for name, seconds in self.times.items() if name != TOLD}
        total = sum(times.values())
        if total < SLOW_SECONDS:
            return
        name, seconds = max(times.items(), key=lambda item: item[1])
        with suppress(OSError, ValueError):  # somebody closed it
            if sys.stderr is not None:
                text = f"took {total:.1f} s, of which {name} took {seconds:.1f} s"
                sys.stderr.write(f"tilewright: compiling `{self.kernel}` for {target} {text}\n")

    def wanted(self, name: str) -> bool:
        """Return whether the text of this stage is dumped or kept."""
        return self.keep or name in self.config.dump or "all" in self.config.dump

    def show(self, name: str, found: str | Listing) -> None:
        """Keep a stage's text, and dump it where asked for."""
        listing = Listing.plain(found) if isinstance(found, str) else found
        self.shown[name] = text = found if isinstance(found, str) else listing.text
        self.trail.append(Shown(name, listing, self.latest))
        if not (name in self.config.dump or "all" in self.config.dump):
            return
        if self.config.dump_dir:
            folder = Path(self.config.dump_dir)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{self.kernel}.{name}.txt").write_text(text)
        else:
            sys.stderr.write(f"=== {self.kernel}: {name} ===\n{text}\n")
