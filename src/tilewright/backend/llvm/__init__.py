"""The native CPU backend, and PTX for SIMT kernels: typed IR to LLVM, to machine code."""
