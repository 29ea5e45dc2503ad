"""Recording of the kernels that a user's program launches, in its own process and without a GPU."""
