"""Graphs: work captured once and replayed many times."""

from .graph import CudaGraph, Scope, capture
from .launching import GraphLaunch

__all__ = ["CudaGraph", "GraphLaunch", "Scope", "capture"]
