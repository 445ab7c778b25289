"""Draw the pictures of the concepts, and write all pictures of the book into docs/pictures.

    python tools/book/pictures.py

A test compares the files with what this module draws.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

sys.path.insert(0, str(Path(__file__).parents[1]))
from book import tutorial_pictures
from book.drawing import Canvas

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"
Draw: TypeAlias = Callable[[], Canvas]


def tiles() -> Canvas:
    """Draw a tensor, its partition into tiles, and the block that computes one of them."""
    c = Canvas(720, 300, "A tensor of 6 x 10 elements in tiles of 4 x 4: a grid of 2 x 3 blocks")
    x, y, side = 30, 50, 24
    kinds = [[("a", "b", "c")[j // 4] if i < 4 else ("d", "e", "a")[j // 4] for j in range(10)]
             for i in range(6)]  # fmt: skip
    c.text(x, 28, "out: 6 x 10 elements", "strong")
    c.grid(x, y, 10, 6, side, kinds)
    for i, j in [(i, j) for i in range(2) for j in range(3)]:
        width, height = min(4, 10 - 4 * j) * side, min(4, 6 - 4 * i) * side
        c.box(x + j * 4 * side, y + i * 4 * side, width, height, "none", bold=True)
    c.text(x, y + 6 * side + 26, "out.partition_mut((4, 4))", "code")
    c.text(x, y + 6 * side + 46, "tiles of 4 x 4: the grid is (2, 3)", "note")
    c.arrow((290, 120), (370, 120), label="one block each")
    for i, j in [(i, j) for i in range(2) for j in range(3)]:
        kind = (("a", "b", "c"), ("d", "e", "a"))[i][j]
        c.box(390 + j * 104, 50 + i * 84, 92, 68, kind, f"block|({i}, {j})", radius=6)
    c.text(390, 240, "Each block stores its own tile and no other,", "note")
    c.text(390, 258, "so no two blocks write the same element.", "note")
    return c


def padding() -> Canvas:
    """Draw the boundary tile of a row of 10 elements, as loads and stores see it."""
    c = Canvas(
        720, 290, "A row of 10 elements in tiles of 4: the last tile has 2 elements of padding"
    )
    side = 40
    c.text(30, 26, "x: 10 elements", "strong")
    for i in range(10):
        c.box(30 + i * side, 38, side, side, "abc"[i // 4], str(i))
    c.box(30 + 10 * side, 38, side, side, "none", dashed=True)
    c.box(30 + 11 * side, 38, side, side, "none", dashed=True)
    c.text(30 + 12 * side + 14, 62, "tile 2 is a boundary tile", "note")
    c.arrow((30 + 10 * side, 80), (30 + 10 * side, 112))
    c.text(30 + 10 * side + 10, 102, "load", "code")
    for row, (what, filler) in enumerate(
        [("x.load_tile((4,), [2])", "0"), ("padding=tl.neg_inf", "-inf")]
    ):
        top = 118 + row * 52
        c.text(30, top + 25, what, "code")
        for i, value in enumerate(["8", "9", filler, filler]):
            c.box(30 + (8 + i) * side, top, side, side, "c" if i < 2 else "e", value)
    c.text(30 + 12 * side + 14, 143, "zeros, if nothing is said", "note")
    c.text(30 + 12 * side + 14, 195, "neutral for a maximum", "note")
    c.text(30, 252, "out.store(tile)", "code")
    c.text(220, 252, "stores elements 8 and 9; what lies outside the tensor is dropped", "note")
    return c


def mapped_order() -> Canvas:
    """Draw the order in which persistent blocks visit tiles, row by row and in groups."""
    c = Canvas(720, 300, "The order of 4 x 6 tiles: row-major, and in groups of 4 x 1")
    side = 46
    for left, title, down, across in (
        (30, ".map((1, 1)): row-major", 6, 1),
        (390, ".map((4, 1)): groups of 4 rows", 1, 4),
    ):
        c.text(left, 26, title, "code")
        for i in range(4):
            for j in range(6):
                number = i * down + j * across
                c.box(left + j * side, 40 + i * side, side, side, "abcd"[number % 4], str(number))
        first = [(i, j) for i in range(4) for j in range(6) if i * down + j * across < 4]
        for i, j in first:
            c.box(left + j * side, 40 + i * side, side, side, "none", bold=True)
    c.text(30, 250, "Colours: four blocks, which take the tiles in turn.", "note")
    c.text(30, 268, "Framed: tiles that run at once. In a matrix product", "note")
    c.text(30, 286, "they read 1 row of tiles and 4 columns of tiles.", "note")
    c.text(390, 286, "Here they read 4 rows and 1 column.", "note")
    return c


def streams() -> Canvas:
    """Draw ops on two streams: independent ones overlap, dependent ones wait for an event."""
    c = Canvas(720, 260, "Ops on two streams, ordered by the memory they use")
    c.text(20, 74, "stream 0", "strong")
    c.text(20, 144, "stream 1", "strong")
    c.line((100, 70), (700, 70))
    c.line((100, 140), (700, 140))
    for x, y, width, kind, label in (
        (110, 50, 150, "a", "a = f(x)"), (110, 120, 210, "b", "b = g(y)"),
        (270, 50, 120, "a", "c = h(a)"), (400, 50, 180, "c", "d = add(c, b)"),
        (330, 120, 150, "d", "e = k(z)"),
    ):  # fmt: skip
        c.box(x, y, width, 40, kind, label, code=True, radius=4)
    c.arrow((320, 120), (360, 106), (430, 91), dashed=True)
    c.text(230, 110, "event: d reads b", "small note")
    c.arrow((100, 190), (700, 190))
    c.text(640, 184, "time", "small note")
    for row, words in enumerate(
        (
            "f and g share no memory: they overlap. h reads a, so it follows f on its stream.",
            "add reads c and b: it waits for g by an event. No program names stream or event.",
        )
    ):
        c.text(20, 220 + 20 * row, words, "note")
    return c


def ownership() -> Canvas:
    """Draw the states of a tensor: owned, borrowed for reading or writing, moved, shared."""
    c = Canvas(720, 330, "Who may use a tensor: many readers, or one writer")
    c.box(280, 130, 160, 60, "paper", "x|a tensor you own", radius=8)
    for x, y, kind, title, line in (
        (20, 20, "a", "borrowed for reading", "f(out, x): many at once"),
        (480, 20, "b", "borrowed for writing", "x.partition_mut((64,)): one"),
        (20, 240, "c", "shared", "tw.Arc(x): read-only clones"),
        (480, 240, "e", "moved", "tw.move(x), x.partition((64,))"),
    ):
        c.box(x, y, 220, 64, kind, f"{title}|", radius=8)
        c.text(x + 110, y + 50, line, "code small", anchor="middle")
    c.arrow((300, 130), (215, 88))
    c.arrow((185, 88), (280, 146))
    c.text(158, 122, "ends with the op", "small note", anchor="middle")
    c.arrow((420, 130), (505, 88))
    c.arrow((535, 88), (440, 146))
    c.text(566, 122, "ends with the op", "small note", anchor="middle")
    c.arrow((300, 190), (215, 238))
    c.arrow((185, 238), (280, 178))
    c.text(150, 214, "unwrap_arc()", "small note code", anchor="middle")
    c.arrow((420, 190), (505, 238))
    c.text(560, 214, "returned by the op: .out()", "small note", anchor="middle")
    return c


def kernel_path() -> Canvas:
    """Draw the stages from the source of a kernel to the code of each device."""
    c = Canvas(720, 300, "The path of a kernel: one front end, one IR, three ways to run it")
    for x, kind, label in (
        (20, "a", "Python source|of the kernel"), (200, "a", "typed IR|of this launch"),
        (380, "a", "IR after|the passes"),
    ):  # fmt: skip
        c.box(x, 40, 140, 60, kind, label, radius=6)
    c.arrow((160, 70), (198, 70))
    c.arrow((340, 70), (378, 70))
    c.text(90, 122, "one per line of Python", "small note", anchor="middle")
    c.text(270, 122, "types, shapes, constants", "small note", anchor="middle")
    c.text(450, 122, "checks proved, hoisted", "small note", anchor="middle")
    for y, kind, name, steps in (
        (20, "b", "reference", "NumPy, op by op"),
        (110, "c", "cpu", "loop nests, LLVM"),
        (200, "d", "cuda", "Tile IR, tileiras, cubin"),
    ):
        c.box(570, y, 130, 56, kind, f"{name}|", radius=6)
        c.text(635, y + 42, steps, "small note", anchor="middle")
        c.arrow((520, 70), (545, 70), (545, y + 28), (568, y + 28))
    c.text(20, 180, "Each launch looks for code by kernel, types, layouts and constants;", "note")
    c.text(20, 198, "only the first launch of a kind goes this way.", "note")
    c.text(20, 232, "kernel.inspect(...) shows every stage:", "note")
    c.text(20, 252, "tilewright explain FILE", "code")
    return c


CONCEPTS: dict[str, Draw] = {
    each.__name__: each for each in (tiles, padding, mapped_order, streams, ownership, kernel_path)
}
PICTURES: dict[str, Draw] = CONCEPTS | tutorial_pictures.PICTURES
"""All pictures of the book, by the name of their file."""


def write() -> None:
    """Write every picture whose file is missing or has another content."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        path, text = FOLDER / f"{name}.svg", draw().svg()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
