"""Runs Tile IR programs in NumPy, block after block, and raises where their behaviour is undefined.

The reference interpreter defines the language; this one defines what a lowered program computes, so
that the lowering and the bytecode can be compared with the reference where there is no GPU.
"""
