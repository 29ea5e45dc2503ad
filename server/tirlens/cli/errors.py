"""What a user got wrong on the command line."""


class UsageError(Exception):
    """A message for the user; the exit status is 2."""
