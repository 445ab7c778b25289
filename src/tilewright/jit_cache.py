"""Where compiled code is kept for other processes: on disk, in a store of your own, or nowhere.

`from tilewright import jit_cache`, or `import tilewright.jit_cache`.
"""

from .base.tracebacks import publish
from .compile.store import JitStore, Stats
from .compile.store.choosing import (
    clear,
    disable,
    enable,
    enable_default,
    is_enabled,
    stats,
    using,
)  # fmt: skip

__all__ = [
    "JitStore",
    "Stats",
    "clear",
    "disable",
    "enable",
    "enable_default",
    "is_enabled",
    "stats",
    "using",
]

publish(__all__, globals())
