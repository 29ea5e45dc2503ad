"""The commands on measured operations: their selection, tables, documents and comparison."""
