"""Pictures of objects for notebooks, as HTML and SVG. All text is escaped; nothing here raises."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar


def escape(text: str) -> str:
    """Return text as HTML shows it."""
    from html import escape as escaped  # which no program needs that shows nothing

    return escaped(text)


MOST_ROWS = 40
"""Rows of a table; a graph may have thousands of nodes."""


class Text(str):
    """A report of several lines: a notebook shows it as it is printed."""

    __slots__ = ()

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        printer.text(str(self))  # type: ignore[attr-defined]

    def _repr_html_(self) -> str:
        return preformatted(self)


def table(title: str, rows: Iterable[tuple[str, object]], below: str = "") -> str:
    """Format a small table with one fact per row, with other HTML below."""
    cells = "".join(
        f"<tr><th>{escape(name)}</th><td><code>{escape(str(fact))}</code></td></tr>"
        for name, fact in rows
    )
    return f"<table><caption>{escape(title)}</caption>{cells}</table>{below}"


def grid(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Format a table with columns; the first rows of a long one."""
    columns = "".join(f"<th>{escape(word)}</th>" for word in head)
    shown = "".join(
        f"<tr>{''.join(f'<td><code>{escape(str(fact))}</code></td>' for fact in row)}</tr>"
        for row in rows[:MOST_ROWS]
    )
    more = len(rows) - MOST_ROWS
    note = f"<div>{more} more rows not shown</div>" if more > 0 else ""
    return f"<table><caption>{escape(title)}</caption><tr>{columns}</tr>{shown}</table>{note}"


def preformatted(text: str) -> str:
    """Format text whose lines stay as they are."""
    return f"<pre>{escape(text)}</pre>"


SIDE, LEAST, MOST_LINES = 180, 24, 64
"""The longer side of a drawing in pixels, the least, and how many tiles are drawn along an axis."""


def tiles_drawing(shape: Sequence[int], tile: Sequence[int]) -> str:
    """Draw how the last two axes are divided into tiles; what lies outside of the tensor is dim."""
    rows, columns = (1, 1, *shape)[-2:]
    high, wide = (1, 1, *tile)[-2:]
    if not (rows and columns and high and wide):
        return ""
    down, across = -(-rows // high), -(-columns // wide)
    if max(down, across) > MOST_LINES:
        return f"<div>{down} x {across} tiles, too many to draw</div>"
    scale = SIDE / max(down * high, across * wide)
    height, width = max(down * high * scale, LEAST), max(across * wide * scale, LEAST)
    y, x = height / (down * high), width / (across * wide)
    lines = [
        _rect(j * wide * x, i * high * y, wide * x, high * y, 'fill="none" stroke="currentColor"')
        for i in range(down)
        for j in range(across)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 2:.0f}" height="{height + 2:.0f}"'
        f' viewBox="-1 -1 {width + 2:.1f} {height + 2:.1f}" role="img"'
        f' aria-label="{down} x {across} tiles">'
        + _rect(0, 0, across * wide * x, down * high * y, 'fill="currentColor" opacity="0.12"')
        + _rect(0, 0, columns * x, rows * y, 'fill="#4c8dd6" opacity="0.45"')
        + "".join(lines)
        + "</svg>"
    )


def _rect(x: float, y: float, width: float, height: float, style: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {style}/>'


WIDTH, HEIGHT, GAP, LETTER = 120, 28, 24, 7.2


def chain_drawing(names: Sequence[str]) -> str:
    """Draw work that runs one after the other, in rows of six."""
    shown, in_row = list(names[:MOST_ROWS]), 6
    boxes: list[str] = []
    for i, name in enumerate(shown):
        x, y = 1 + (i % in_row) * (WIDTH + GAP), 1 + (i // in_row) * (HEIGHT + 14)
        most = int(WIDTH / LETTER) - 2
        text = name if len(name) <= most else f"{name[: most - 1]}…"
        boxes.append(_rect(x, y, WIDTH, HEIGHT, 'rx="5" fill="none" stroke="currentColor"'))
        boxes.append(
            f'<text x="{x + WIDTH // 2}" y="{y + HEIGHT // 2 + 4}" text-anchor="middle"'
            f' font-family="monospace" font-size="12" fill="currentColor">'
            f"<title>{escape(name)}</title>{escape(text)}</text>"
        )
        if (i + 1) % in_row and i + 1 < len(shown):
            boxes.append(
                f'<path d="M {x + WIDTH} {y + HEIGHT // 2} h {GAP}" stroke="currentColor"/>'
            )
    across = min(len(shown), in_row) * (WIDTH + GAP) + 2
    down = -(-len(shown) // in_row) * (HEIGHT + 14)
    left_out = len(names) - len(shown)
    more = f"<div>{left_out} more not shown</div>" if left_out else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across}" height="{down}" role="img">'
        f"{''.join(boxes)}</svg>{more}"
    )


# -------------------------------------------------------------------------------------------------
# Names that `dir` and completion show: those that users use.


class Listed:
    """An object that lists what its class and its bases name in `LISTED`, for completion.

    Its other attributes are those of the implementation, and names of other libraries, which say
    what they are called here.
    """

    __slots__ = ()
    LISTED: ClassVar[str] = ""

    def __dir__(self) -> list[str]:
        """Return these names, and the special ones."""
        bases = type(self).__mro__
        listed = {name for base in bases for name in str(vars(base).get("LISTED", "")).split()}
        return sorted(listed.union(name for name in super().__dir__() if name.startswith("__")))
