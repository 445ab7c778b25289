"""A Tile IR program as data: types, values, instructions, kernels; printed, written and read."""
