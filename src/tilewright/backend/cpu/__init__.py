"""The native CPU backend for tile kernels: typed IR to loop nests, LLVM text, object code."""
