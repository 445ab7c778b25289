"""Capture of a kernel: its source, its annotations, and what it reads from outside."""
