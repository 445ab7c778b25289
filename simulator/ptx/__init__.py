"""Runs PTX in NumPy, many threads at a time, and raises where its behaviour is undefined.

The reference interpreter defines the language; this one defines what the PTX of a SIMT kernel
computes, so that emitters, LLVM's work and launches can be compared with the reference where there
is no GPU. It reads the text that is loaded on a GPU. An instruction, a modifier or a directive that
it does not know is an error.
"""
