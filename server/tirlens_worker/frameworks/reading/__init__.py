"""Translation of expressions of the IR to those of the facts: values, regions, accesses, costs."""
