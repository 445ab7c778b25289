"""What was measured, as tables that go to JSON and to Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..records import Figures
from ..table import duration, table


@dataclass(frozen=True, slots=True)
class Goal:
    """Something a table shall show."""

    text: str
    value: float
    most: float

    @property
    def is_reached(self) -> bool:
        """Whether it does."""
        return self.value <= self.most


@dataclass(frozen=True, slots=True)
class Table:
    """One experiment: a row for each size, a column for each way of doing the same."""

    name: str
    title: str
    about: str
    label: str
    """What the rows differ in."""
    rows: Mapping[str, Mapping[str, Figures]]
    per_second: bool = False
    """Whether to show how many a second there are, at best, and not seconds."""
    goals: Sequence[Goal] = ()
    absent: Mapping[str, str] = field(default_factory=dict[str, str])
    """Ways that could not take part, and why."""

    @property
    def columns(self) -> list[str]:
        """The ways, in order; a row may lack some."""
        return list(dict.fromkeys(way for cells in self.rows.values() for way in cells))


HOW = """\
Times are minima over many samples taken in turns, medians in brackets; all are for one piece of the
work that the table names. Memory is small on purpose: what is left is the cost of the host.
"""


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run."""

    machine: Mapping[str, str]
    tables: Sequence[Table]
    profile: Sequence[str] = field(default_factory=list[str])
    """Where a launch spends its time, as lines of text."""
    title: str = "What the host costs"
    stem: str = "host"
    """The name of its files, without what follows the dot."""
    how: str = HOW
    """How it was measured."""
    picture: bool = True
    """Whether its tables are drawn."""


def to_json(report: Report) -> str:
    """Everything, with all figures in seconds."""
    return json.dumps(asdict(report), indent=1) + "\n"


def from_json(text: str) -> Report:
    """A report as it comes out of JSON."""
    data = json.loads(text)
    given: dict[str, Any] = {**data, "tables": [_table(each) for each in data["tables"]]}
    return Report(**given)


def _table(data: Mapping[str, Any]) -> Table:
    rows = {
        row: {way: Figures(**figure) for way, figure in cells.items()}
        for row, cells in data["rows"].items()
    }
    goals = [Goal(**goal) for goal in data["goals"]]
    given: dict[str, Any] = {**data, "rows": rows, "goals": goals}
    return Table(**given)


def markdown(report: Report) -> str:
    """The whole page."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield from (f"# {report.title}", "")
    yield from table(("machine", ""), list(report.machine.items()))
    yield from ("", report.how)
    if report.picture:
        yield from (f"![the tables drawn]({report.stem}.png)", "")
    for each in report.tables:
        yield from (f"## {each.title}", "", each.about, "")
        yield from table((each.label, *each.columns), _cells(each))
        yield ""
        if each.goals:
            yield from table(("wanted", "most", "found", ""), [_goal(goal) for goal in each.goals])
            yield ""
        if each.absent:
            yield from (*(f"- {way}: {why}" for way, why in each.absent.items()), "")
    if report.profile:
        yield from ("## Profile", "", PROFILE, "", "```text", *report.profile, "```")


PROFILE = """\
Where a warm launch of three tensors spends its time, `kernel(z, a, b).sync()`, by cProfile, which
makes calls look dearer than they are: time of the function itself, most first."""


def _cells(shown: Table) -> list[list[str]]:
    text = _rate if shown.per_second else _time
    return [
        [row, *(text(cells[way]) if way in cells else "" for way in shown.columns)]
        for row, cells in shown.rows.items()
    ]


def _time(figure: Figures) -> str:
    return f"{duration(figure.minimum)} ({duration(figure.median)})"


def _rate(figure: Figures) -> str:
    return f"{1 / figure.minimum:.0f} ({1 / figure.median:.0f})"


def _goal(goal: Goal) -> list[str]:
    return [goal.text, f"{goal.most:g}", f"{goal.value:.3g}", "reached" if goal.is_reached else ""]
