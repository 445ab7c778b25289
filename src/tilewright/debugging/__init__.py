"""Debuggers of Python in kernels: `pdb`, `debugpy`, and others that trace lines.

The reference interpreter runs a kernel's IR. It cannot run the Python function itself: numbers of
Python are no tiles, and the language would have a second meaning. So for each call of a function
there is a stand-in: a Python frame with the function's file, name and lines, and its variables as
NumPy arrays. It runs no code of the kernel; at each line it lets the interpreter go on to the next
statement. Whatever follows Python frames can follow these.

untraced   calls that tracing does not see, and that themselves are seen inside of those
stand_in   code objects with the lines of a function
values     what is in the interpreter as NumPy arrays
stepping   a block, or a thread, between its stand-ins and the interpreter
"""

from .stepping import Stepper, follow

__all__ = ["Stepper", "follow"]
