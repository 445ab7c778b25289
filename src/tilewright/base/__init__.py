"""Vocabulary of all layers: errors, source locations, element types, shapes, settings."""
