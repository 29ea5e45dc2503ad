"""Two measured runs compared: what became of their operations, in each format."""
