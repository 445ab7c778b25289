"""The CUDA backend: typed IR to Tile IR, its bytecode and, by tileiras, a cubin."""
