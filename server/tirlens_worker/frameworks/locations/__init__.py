"""Source lines of statements of the IR."""
