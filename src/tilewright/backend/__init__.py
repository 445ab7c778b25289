"""Backends: typed IR to results or code. One folder each; none imports another device's folder."""
