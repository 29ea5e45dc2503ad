"""The worker as a process: its pipes, its children, their ends."""
