"""From the IR's expressions to those of the facts: values, regions, accesses, costs."""
