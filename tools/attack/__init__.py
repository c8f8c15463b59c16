"""Attacks on the app as commands: each module attacks one door and says what came of it in a table."""
