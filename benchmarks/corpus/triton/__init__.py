"""The kernels of the corpus in Triton."""
