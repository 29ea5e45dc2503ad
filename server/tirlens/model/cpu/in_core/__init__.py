"""In-core time: clocks of one core for a loop nest with all data in L1."""
