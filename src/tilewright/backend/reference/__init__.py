"""The reference backend: an interpreter in NumPy, which defines the language."""
