"""The native half of the CPU device, as LLVM text by role.

None of it needs the interpreter, so handing over work costs no switch of threads in Python.
"""
