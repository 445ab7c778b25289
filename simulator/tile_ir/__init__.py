"""Run Tile IR programs in NumPy, block after block; raise where their behaviour is undefined.

The reference interpreter defines the language. This one defines the result of a lowered program, so
that the lowering and the bytecode can be compared with the reference without a GPU.
"""
