"""The Compose page: ε against steps under every accountant."""
