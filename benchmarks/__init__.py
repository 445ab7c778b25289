"""Times Tilewright's kernels on the CPU against NumPy, torch and numba: `make bench`."""
