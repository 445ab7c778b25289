"""Many threads on the same kernels, tensors, ops, graphs and arrays, with and without the GIL."""
