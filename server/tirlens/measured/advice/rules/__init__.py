"""Rules of advice on measured operations, a module for each."""
