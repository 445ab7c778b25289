"""Times our kernels on a GPU, in turns with those of cuBLAS, cuDNN, Triton and cuTile Python."""
