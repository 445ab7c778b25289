"""Typed IR to results or to code: one folder per backend, none of which knows the others."""
