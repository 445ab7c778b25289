"""Meaning of values while a kernel is compiled: types, promotion, accesses, padding, bounds."""
