"""Draw pictures as SVG text: a canvas with boxes, words and arrows, legible on light and on dark.

Colours are classes. `STYLE` gives them values for a picture that a viewer shows by itself; the book
puts pictures into its pages without it, and `docs/assets/book.css` gives the same classes values by
the theme of the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

LIGHT = {
    "ink": "#24292f", "soft": "#6e7781", "line": "#8c959f", "paper": "#f6f8fa",
    "a": "#cfe3ff", "b": "#ffe0b8", "c": "#cdeccf", "d": "#ead9ff", "e": "#ffd3d6",
    "accent": "#0b61d0", "sa": "#2f6fd0", "sb": "#d9822b", "sc": "#2e9e44", "sd": "#8a5cd1",
    "se": "#d0454f",
}  # fmt: skip
DARK = {
    "ink": "#e6edf3", "soft": "#9aa4ae", "line": "#7d8590", "paper": "#1f242c",
    "a": "#1d4a86", "b": "#7a4a10", "c": "#1f5f2b", "d": "#553a86", "e": "#7d2b33",
    "accent": "#6cb6ff", "sa": "#6ea8ff", "sb": "#f0a860", "sc": "#5fd07a", "sd": "#b79bf5",
    "se": "#ff8088",
}  # fmt: skip
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
CODE = "ui-monospace, 'SFMono-Regular', 'DejaVu Sans Mono', monospace"


def variables(colours: dict[str, str]) -> str:
    """Return the colours as CSS variables.

    >>> variables({"ink": "#000"})
    '--pic-ink:#000;'
    """
    return "".join(f"--pic-{name}:{value};" for name, value in colours.items())


RULES = (
    "".join(f".pic .{name}{{fill:var(--pic-{name})}}" for name in LIGHT)
    + ".pic .edge{stroke:var(--pic-line);stroke-width:1}"
    ".pic .none{fill:none}"
    ".pic .dash{stroke-dasharray:4 3}"
    ".pic .bold{stroke:var(--pic-accent);stroke-width:2.5}"
    f".pic text{{font:13px {FONT};fill:var(--pic-ink)}}"
    f".pic text.code{{font:12px {CODE}}}"
    ".pic text.small{font-size:11px}"
    ".pic text.note{fill:var(--pic-soft)}"
    ".pic text.strong{font-weight:600}"
    ".pic text.accent{fill:var(--pic-accent)}"
    ".pic .arrow{stroke:var(--pic-ink);stroke-width:1.4;fill:none}"
    ".pic .head{fill:var(--pic-ink)}"
    + "".join(f".pic .l{k}{{stroke:var(--pic-s{k});stroke-width:2;fill:none}}" for k in "abcde")
)
"""What the classes mean, by variables."""

STYLE = (
    f".pic{{{variables(LIGHT)}}}"
    f"@media (prefers-color-scheme:dark){{.pic{{{variables(DARK)}}}}}" + RULES
)


class Canvas:
    """A picture of a width and a height in pixels, built by adding shapes."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self._parts: list[str] = []

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        kind: str = "paper",
        label: str = "",
        *,
        code: bool = False,
        radius: float = 2,
        dashed: bool = False,
        bold: bool = False,
    ) -> None:
        """Draw a rectangle with a label in its middle; lines of the label are divided by `|`."""
        more = " dash" * dashed + " bold" * bold
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}"'
            f' class="{kind} edge{more}"/>'
        )
        lines = label.split("|") if label else []
        for i, line in enumerate(lines):
            down = y + height / 2 + 4.5 + (i - (len(lines) - 1) / 2) * 16
            self.text(x + width / 2, down, line, "code" if code else "", anchor="middle")

    def text(
        self, x: float, y: float, words: str, kind: str = "", *, anchor: str = "start"
    ) -> None:
        """Write words; `kind` has classes such as `code`, `small`, `note`."""
        shown = f' class="{kind}"' if kind else ""
        placed = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self._parts.append(f'<text x="{x:g}" y="{y:g}"{placed}{shown}>{escape(words)}</text>')

    def line(self, *points: tuple[float, float], kind: str = "edge none") -> None:
        """Draw a line through points."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._parts.append(f'<polyline points="{path}" class="{kind}"/>')

    def arrow(self, *points: tuple[float, float], label: str = "", dashed: bool = False) -> None:
        """Draw a line through points that ends in a head."""
        self.line(*points, kind="arrow dash" if dashed else "arrow")
        (x0, y0), (x1, y1) = points[-2:]
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 or 1
        u, v = (x1 - x0) / length, (y1 - y0) / length
        wings = [(x1 - 8 * u + 4 * s * v, y1 - 8 * v - 4 * s * u) for s in (1, -1)]
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in [(x1, y1), *wings])
        self._parts.append(f'<polygon points="{corners}" class="head"/>')
        if label:
            (a, b), (c, d) = points[0], points[1]
            self.text((a + c) / 2, (b + d) / 2 - 5, label, "small note", anchor="middle")

    def grid(
        self,
        x: float,
        y: float,
        columns: int,
        rows: int,
        side: float,
        kinds: Sequence[Sequence[str]] | str = "paper",
        labels: Sequence[Sequence[str]] = (),
    ) -> None:
        """Draw squares in rows and columns, of one kind or of one kind each."""
        for i in range(rows):
            for j in range(columns):
                kind = kinds if isinstance(kinds, str) else kinds[i][j]
                self.box(
                    x + j * side, y + i * side, side, side, kind, labels[i][j] if labels else ""
                )

    def svg(self) -> str:
        """Return the picture as the text of a file, which carries its own colours."""
        return self._around(f"<style>{STYLE}</style>")

    def inline(self) -> str:
        """Return the picture for a page whose style sheet has the colours."""
        return self._around("")

    def _around(self, style: str) -> str:
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}"'
        title = f"<title>{escape(self.title)}</title>"
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="pic" {size} role="img">{title}{style}'
        )
        return "\n".join([head, *self._parts, "</svg>"]) + "\n"
