"""Kernels as functions of other frameworks: `import tilewright.interop.torch`, or `.jax`.

Neither is imported before somebody asks for it.
"""
