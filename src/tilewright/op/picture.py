"""Draws an op and its parts as SVG, for notebooks: what runs first stands left."""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

from .lazy import Lazy, state_of
from .place import place_of

MOST_SHOWN = 40
"""Ops in one drawing; a chain may have thousands."""
WIDTH, HEIGHT, GAP_X, GAP_Y, LETTER = 130, 30, 30, 14, 7.2


class Node(NamedTuple):
    """An op in the drawing: how far it is from the result, and in which row."""

    op: Lazy[Any]
    depth: int
    row: int
    user: int
    """Which node takes its result; itself: none does."""


def svg_of(op: Lazy[Any]) -> str:
    """Return the op's graph, its state and its line, as HTML; all text is escaped."""
    nodes, left_out = _nodes(op)
    depth = max(node.depth for node in nodes)
    width = (depth + 1) * (WIDTH + GAP_X)
    height = (max(node.row for node in nodes) + 1) * (HEIGHT + GAP_Y)
    shapes = [shape for node in nodes for shape in (*_edge(node, nodes, depth), *_box(node, depth))]
    more = f" ({left_out} earlier ops not shown)" if left_out else ""
    return (
        f'<div><svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' role="img" aria-label="{escape(op.name)}">{"".join(shapes)}</svg>'
        f"<div><code>{escape(op.name)}</code>: {escape(state_of(op))}; built at"
        f" {escape(str(place_of(op.built)))}{more}</div></div>"
    )


def _nodes(op: Lazy[Any]) -> tuple[list[Node], int]:
    nodes = [Node(op, 0, 0, 0)]
    rows = 1
    todo = [0]
    left_out = 0
    while todo:
        user = todo.pop()
        for i, part in enumerate(nodes[user].op.made_of):
            if len(nodes) == MOST_SHOWN:
                left_out += 1
                continue
            row = nodes[user].row if i == 0 else rows
            rows = max(rows, row + 1)
            todo.append(len(nodes))
            nodes.append(Node(part, nodes[user].depth + 1, row, user))
    return nodes, left_out


def _corner(node: Node, depth: int) -> tuple[int, int]:
    return (depth - node.depth) * (WIDTH + GAP_X) + GAP_X // 2, node.row * (HEIGHT + GAP_Y) + 7


def _box(node: Node, depth: int) -> list[str]:
    x, y = _corner(node, depth)
    label = node.op.name.rpartition(".")[2] if node.op.made_of else node.op.name
    most = int(WIDTH / LETTER) - 2
    text = label if len(label) <= most else f"{label[: most - 1]}…"
    return [
        (
            f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5" fill="none"'
            f' stroke="currentColor"><title>{escape(node.op.name)}</title></rect>'
        ),
        (
            f'<text x="{x + WIDTH // 2}" y="{y + HEIGHT // 2 + 4}" text-anchor="middle"'
            f' font-family="monospace" font-size="12" fill="currentColor">{escape(text)}</text>'
        ),
    ]


def _edge(node: Node, nodes: list[Node], depth: int) -> list[str]:
    user = nodes[node.user]
    if user is node:
        return []
    x, y = _corner(node, depth)
    to_x, to_y = _corner(user, depth)
    return [
        (
            f'<path d="M {x + WIDTH} {y + HEIGHT // 2} L {to_x} {to_y + HEIGHT // 2}"'
            ' stroke="currentColor" fill="none"/>'
        )
    ]
