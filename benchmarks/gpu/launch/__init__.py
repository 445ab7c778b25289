"""What a launch on a GPU costs the host, ours and of others, in turns."""
