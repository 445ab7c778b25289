"""SIMT kernels against the same kernels in CUDA C++ and numba-cuda, on a GPU."""
