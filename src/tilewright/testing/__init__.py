"""What helps to test and measure programs that use tensors; the pytest fixtures are in `plugin`."""

from ..base.tracebacks import publish
from .compare import assert_close
from .poisoning import poison
from .timing import Comparison, Timing, bench

__all__ = ["Comparison", "Timing", "assert_close", "bench", "poison"]

publish(__all__, globals())
