"""Rules: the translation of each language function to IR, one file per op family."""
