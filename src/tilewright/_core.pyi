"""The native core. Python composes and explains; this decides."""

from types import CodeType

def set_ours(table: dict[str, bool], /) -> None:
    """Say by which dict files are told to be Tilewright's own."""

def location(known: int, /) -> tuple[CodeType, int] | None:
    """Find the innermost frame that is not Tilewright's own, `known` frames up or further."""
