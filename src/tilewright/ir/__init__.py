"""Typed IR as data: types, values, declared ops, builder, printer, verifier, rewriting."""
