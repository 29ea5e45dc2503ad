"""The performance of operations: what is selected, rates, shares, bound classes, sums and peaks."""
