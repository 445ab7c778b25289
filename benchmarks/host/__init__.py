"""What the host pays: launches by arguments, chains, graphs, await, streams, overlap."""
