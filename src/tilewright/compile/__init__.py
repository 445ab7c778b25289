"""From a captured kernel to an artifact: pipeline, runner, cache and inspection.

`get` is the entry point: it compiles at most once per key, from any number of threads.
"""

from .cache import KernelCache
from .options import CompileOptions, Key

CACHE = KernelCache()
get = CACHE.get
find = CACHE.find
remake = CACHE.remake
history = CACHE.history

__all__ = ["CACHE", "CompileOptions", "KernelCache", "Key", "find", "get", "history", "remake"]
