"""NVIDIA GPUs through the CUDA driver: streams, memory, code and graphs behind the protocol."""
