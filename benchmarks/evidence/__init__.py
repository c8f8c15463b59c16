"""What the docs claim, measured: each module makes one table."""
