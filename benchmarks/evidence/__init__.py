"""Tables for docs/evidence.md, one module each: `table()` gives its Markdown section."""
