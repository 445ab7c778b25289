"""Vocabulary every other layer shares: errors, source places, element types, shapes, settings."""
