"""Commands that a process in the background executes, with its modules and workers warm."""
