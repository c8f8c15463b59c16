"""Runs on disk: records and events in one SQLite file that survives kills, damage and deletion.

From outside: `store` (Store, open_store), `records`, `folders` (home), `jsontext`.
"""
