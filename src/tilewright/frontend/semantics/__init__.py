"""Semantics of values at compile time: types, promotion, accesses, padding, bounds."""
