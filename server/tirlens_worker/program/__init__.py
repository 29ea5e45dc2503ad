"""Execution of the user's program without a GPU."""
