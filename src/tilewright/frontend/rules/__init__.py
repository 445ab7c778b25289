"""Rules: how each function of the language becomes IR, one file per op family."""
