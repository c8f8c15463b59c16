"""dpviz: see differential privacy."""
