"""Tables for docs/evidence.md: one module a promise, each with `table() -> str`."""
