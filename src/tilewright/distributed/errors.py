"""What goes wrong between processes: a rank that is gone or late, ranks that disagree."""

from __future__ import annotations

from typing import Any

from ..base.errors import DeviceError


class RankError(DeviceError):
    """A collective cannot complete; `rank` is the one that is gone, late or different.

    `op` is the collective. The process stays usable, the group does not: close it, and make
    another.
    """

    def __init__(
        self, message: str, *, rank: int | None = None, op: str = "", **facts: Any
    ) -> None:
        super().__init__(message, **facts)
        self.rank = rank
        self.op = op

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "rank": self.rank, "op": self.op}
