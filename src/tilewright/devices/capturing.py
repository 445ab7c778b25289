"""Recording for devices without native graphs: streams, and what they recorded."""

from __future__ import annotations

from typing import Generic, TypeVar

from ..base.errors import DriverError

N = TypeVar("N")


class Capturing(Generic[N]):
    """The half of a stream that records: a node for each thing that is put there meanwhile."""

    __slots__ = ("_nodes",)

    def __init__(self) -> None:
        self._nodes: list[N] | None = None

    @property
    def is_capturing(self) -> bool:
        """Whether work is recorded instead of run."""
        return self._nodes is not None

    @property
    def captured(self) -> int:
        """How many nodes have been recorded."""
        return len(self._nodes or ())

    def begin_capture(self) -> None:
        """Record from now on what is put here."""
        if self._nodes is not None:
            raise DriverError(f"{self!r} is being captured already")
        self._nodes = []

    def _recorded(self) -> list[N]:
        """Stop recording; gives the nodes."""
        nodes, self._nodes = self._nodes, None
        if nodes is None:
            raise DriverError(f"{self!r} is not being captured")
        return nodes
