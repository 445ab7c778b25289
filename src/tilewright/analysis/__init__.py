"""Analyses of IR. Each takes a function and returns facts about it; none edits it."""
