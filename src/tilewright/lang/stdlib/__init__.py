"""The standard library: functions written in the kernel language itself, which kernels inline.

A function here is `@composed`: it has a body of other `tl` functions, so every backend knows it.
"""
