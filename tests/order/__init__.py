"""Random host programs beside a sequential model: order by memory, whatever the streams."""
