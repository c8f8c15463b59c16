"""Tables of evidence, each remade by its own `table()`."""
