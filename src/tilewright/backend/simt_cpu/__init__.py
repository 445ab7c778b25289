"""SIMT kernels on the CPU: neighbouring threads are lanes of vectors, masked where they part."""

from __future__ import annotations

from .module import Threads, emit_threads, plan_threads, print_threads

__all__ = ["Threads", "emit_threads", "plan_threads", "print_threads"]
