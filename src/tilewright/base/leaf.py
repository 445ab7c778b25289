"""The mark of values that are leaves to a user, whatever their class is."""

from __future__ import annotations


class Leaf:
    """A value of the compiler's own: it may be a frozen dataclass, but shows no parts."""

    __slots__ = ()
