"""SIMT kernels on the CPU: adjacent threads are SIMD lanes, masked where they diverge."""
