"""Memory: cache lines and pages that one core takes from each level, and their clocks."""
