"""What is kept from an analysis: memory, time, other processes, the network."""
