"""Rules of advice, a module for each, which `tirlens.advice` discovers."""
