"""One test for each claim of the documents that define the system, named after the claim.

They are four pages of cuTile Rust and cuda-oxide: interoperability (A), the host API (B), the
introduction (C), and tile and SIMT kernels in one program (D). `claims.md` lists all claims.
"""
