"""Tables of docs/evidence.md, each measured by its module: `table()` gives a Markdown section."""
