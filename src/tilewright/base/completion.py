"""What `dir` and completion show of objects: the names that users use."""

from __future__ import annotations

from typing import ClassVar


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
