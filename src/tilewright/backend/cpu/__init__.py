"""The CPU backend of tile kernels: typed IR to loop nests, LLVM text, object code."""
