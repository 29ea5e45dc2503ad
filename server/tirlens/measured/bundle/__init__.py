"""What of a residual can be attached to an issue: facts and figures without text and names."""
