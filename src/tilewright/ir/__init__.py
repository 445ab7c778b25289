"""The typed IR as data: types, values, op declarations, builder, printer, verifier, rewriting."""
