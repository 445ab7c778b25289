"""What kernels of others cost the host here, and ours in other frameworks."""
