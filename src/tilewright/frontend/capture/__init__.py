"""Capture of a kernel: its source, its annotations, and the outside values that it reads."""
