"""The engines of the simulated GPU: interpreters of Tile IR and of PTX, in NumPy.

Tests run on them what is compiled for a GPU. The package does not need them, so it has no part of
them.
"""
