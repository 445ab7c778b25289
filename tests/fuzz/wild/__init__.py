"""Random kernels of many kinds, as text: written by a seed, run anywhere, cut down where they fail."""
