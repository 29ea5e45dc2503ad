"""From a kernel that the text names to its IR function: which call of it, with which arguments."""
