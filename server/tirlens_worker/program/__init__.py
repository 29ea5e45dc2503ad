"""The user's program: its text, and what comes of running it without a GPU."""
