"""The bounds prover: symbolic ranges, proofs about linear forms, and where each check is placed."""
