"""SIMT kernels for GPUs: scalar code for one thread, through LLVM, to PTX."""
