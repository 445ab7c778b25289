"""Programs of several processes, beside the same programs in plain torch.distributed."""
