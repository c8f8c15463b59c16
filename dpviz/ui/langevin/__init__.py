"""The Langevin page: which step sizes are private, and what they really cost."""
