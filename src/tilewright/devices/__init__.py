"""The machine: what a device and a stream must offer, and the ones there are."""
