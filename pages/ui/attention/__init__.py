"""The pages Encoder attention, Masked attention and Cross attention."""
