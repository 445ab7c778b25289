"""Random kernels of many kinds, as text: made of a seed, run anywhere, cut down where they fail."""
