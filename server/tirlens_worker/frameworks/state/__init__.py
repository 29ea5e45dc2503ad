"""The state of the walk over the statements of a kernel."""
