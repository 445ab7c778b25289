"""Native code on the processors of this machine: load it, run it, give it memory."""
