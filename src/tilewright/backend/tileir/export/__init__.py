"""A compiled kernel for programs that do not know Python: JSON that describes it, a C header.

naming    the name of each parameter
describe  everything a launch must know, as JSON
grid      the launch grid, as expressions
header    the same as C, with the checks and the grid as functions
"""

from .describe import describe
from .header import header

__all__ = ["describe", "header"]
