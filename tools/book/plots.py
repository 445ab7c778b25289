"""Draw plots as SVG: speeds by size as lines, and times as bars, in the colours of the pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10

from book.drawing import Canvas

KINDS = ("a", "b", "c", "d", "e")
TALL, LEFT, RIGHT, TOP = 300, 70, 560, 40


def bars(
    title: str, unit: str, groups: Mapping[str, Mapping[str, float]], most: float = float("inf")
) -> Canvas:
    """Draw one group of horizontal bars per row, with values by contestant; bars end at `most`."""
    names = list(dict.fromkeys(name for values in groups.values() for name in values))
    height = sum(22 + 20 * len(values) for values in groups.values())
    c = Canvas(720, 70 + height, title)
    c.text(20, 24, f"{title} [{unit}]", "strong")
    found = [min(v, most) for values in groups.values() for v in values.values()]
    largest = max(found, default=1.0) or 1.0
    y = 46.0
    for group, values in groups.items():
        c.text(20, y + 8, group, "small note")
        y += 14
        for name, value in values.items():
            c.text(150, y + 13, name, "small", anchor="end")
            long = max(2.0, 430 * min(value, most) / largest)
            c.box(160, y, long, 16, KINDS[names.index(name) % len(KINDS)])
            if value > most:
                c.line((160 + long - 14, y + 18), (160 + long - 6, y - 2))
            c.text(168 + long, y + 13, short(value), "small")
            y += 20
        y += 8
    return c


def lines(
    title: str, across: str, up: str, sizes: Sequence[float], series: Mapping[str, Sequence[float]]
) -> Canvas:
    """Draw one line per contestant over sizes, both axes logarithmic."""
    c = Canvas(720, TALL + 80, title)
    c.text(20, 24, f"{title} [{up}]", "strong")
    values = [v for each in series.values() for v in each if v > 0]
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    high += high == low
    first, last = log10(sizes[0]), log10(sizes[-1])

    def place(size: float, value: float) -> tuple[float, float]:
        over = (log10(size) - first) / ((last - first) or 1)
        return (
            LEFT + over * (RIGHT - LEFT),
            TOP + TALL - (log10(value) - low) / (high - low) * TALL,
        )

    c.box(LEFT, TOP, RIGHT - LEFT, TALL, "none")
    for power in range(low, high + 1):
        _, y = place(sizes[0], 10.0**power)
        c.line((LEFT, y), (RIGHT, y))
        c.text(LEFT - 8, y + 4, short(10.0**power), "small note", anchor="end")
    for size in sizes:
        x, _ = place(size, 10.0**low)
        c.text(x, TOP + TALL + 16, f"{size:.7g}", "small note", anchor="middle")
    for index, (name, each) in enumerate(series.items()):
        points = [place(s, v) for s, v in zip(sizes, each, strict=True) if v > 0]
        kind = KINDS[index % len(KINDS)]
        c.line(*points, kind=f"l{kind}")
        for x, y in points:
            c.box(x - 4, y - 4, 8, 8, f"s{kind}", radius=4)
        c.box(RIGHT + 16, TOP + index * 22, 12, 12, f"s{kind}", radius=6)
        c.text(RIGHT + 34, TOP + index * 22 + 11, name, "small")
    c.text((LEFT + RIGHT) / 2, TOP + TALL + 34, across, "note", anchor="middle")
    return c


def short(value: float) -> str:
    """Return a number with three digits, and a suffix from a thousand on.

    >>> short(0.01234), short(12.0), short(4096), short(2_000_000)
    ('0.0123', '12', '4.1k', '2M')
    """
    for bound, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= bound:
            return (
                f"{value / bound:.2g}{suffix}"
                if value < 100 * bound
                else f"{value / bound:.0f}{suffix}"
            )
    return f"{value:.3g}"
