"""All rows of the corpus, by name."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from .case import Row

FAMILIES = (
    "activations", "norms", "losses", "rope", "attention", "products", "quantized", "convolution",
    "scans", "reductions", "gathers", "stencils", "optimizers",
)  # fmt: skip


def _rows() -> Iterator[Row]:
    for family in FAMILIES:
        yield from importlib.import_module(f".problems.{family}", __package__).ROWS


ROWS: dict[str, Row] = {row.name: row for row in _rows()}
