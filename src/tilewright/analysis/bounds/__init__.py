"""The bounds prover: symbolic ranges, proofs about linear forms, placement of bounds checks."""
