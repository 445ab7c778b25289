"""What tuning has tried and found, as a table and as a plot."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from ..base.showing import preformatted
from .records import Record, Tried

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
SHOWN = 60
"""Characters of a reason in a table."""


Watcher: TypeAlias = "Callable[[Report], object]"

_WATCHERS: list[Watcher] = []


@contextmanager
def watching(watcher: Watcher) -> Generator[None, None, None]:
    """Report each choice that is made in a `with` block to a function."""
    _WATCHERS.append(watcher)
    try:
        yield
    finally:
        _WATCHERS.remove(watcher)


def note(report: Report) -> Report:
    """Report a choice to the watchers; return it."""
    for watcher in tuple(_WATCHERS):
        watcher(report)
    return report


@dataclass(frozen=True)
class Report:
    """One choice of a tuned kernel, and how it was made."""

    kernel: str
    key: Any
    device: str
    chosen: str
    """The text of the configuration."""
    tried: tuple[Tried, ...]
    """All configurations, the fastest first; those that were dropped unmeasured come last."""
    seconds: float | None = None
    """What tuning took; None: the choice comes from a record."""

    @classmethod
    def of(cls, record: Record, seconds: float | None = None) -> Report:
        """Return the report of a record."""
        facts = record.facts
        device = str(facts["device"].get("model", "unknown"))
        return cls(facts["kernel"], facts["key"], device, record.config, record.tried, seconds)

    @property
    def best(self) -> float | None:
        """The time of what was chosen, in seconds."""
        return next((t.seconds for t in self.tried if t.config == self.chosen), None)

    def __str__(self) -> str:
        how = "from a record" if self.seconds is None else f"tuned in {_said(self.seconds)}"
        head = f"{self.kernel} on {self.device}: {self.chosen}, {how}"
        rows = [("", "time", "samples", "configuration", "")]
        rows += [self._row(tried) for tried in self.tried]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([head, *(line.rstrip() for line in lines)])

    def _row(self, tried: Tried) -> tuple[str, str, str, str, str]:
        mark = ">" if tried.config == self.chosen else ""
        time = "-" if tried.seconds is None else _said(tried.seconds)
        return mark, time, str(tried.samples), tried.config, tried.dropped[:SHOWN]

    def _repr_html_(self) -> str:
        return preformatted(str(self))

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the times of all configurations that were measured, into a file if one is named.

        Needs matplotlib; gives its figure.
        """
        pyplot: Any = _matplotlib()
        timed = [tried for tried in self.tried if tried.seconds is not None]
        figure, axes = pyplot.subplots(figsize=(8, 1 + 0.3 * len(timed)), layout="constrained")
        colors = ["tab:green" if t.config == self.chosen else "tab:gray" for t in timed]
        axes.barh([t.config for t in timed], [_of(t) * 1e6 for t in timed], color=colors)
        axes.invert_yaxis()
        axes.set_xlabel("microseconds")
        axes.set_title(f"{self.kernel} on {self.device}")
        if path is not None:
            figure.savefig(path)
            pyplot.close(figure)
        return figure


def _of(tried: Tried) -> float:
    return tried.seconds or 0.0


def _matplotlib() -> Any:
    try:
        return import_module("matplotlib.pyplot")
    except ImportError:
        raise ImportError("plots need matplotlib: pip install matplotlib") from None


def _said(seconds: float) -> str:
    scale, unit = next(((s, u) for s, u in _UNITS if seconds >= s), _UNITS[-1])
    return f"{seconds / scale:.3g} {unit}"


def first_line(error: BaseException) -> str:
    """Return an error in one line, as a reason to drop a configuration."""
    lines: Sequence[str] = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
