"""What helps to test and measure programs that use tensors; the pytest fixtures are in `plugin`."""

from .compare import assert_close
from .poisoning import poison
from .timing import Comparison, Timing, bench

__all__ = ["Comparison", "Timing", "assert_close", "bench", "poison"]
