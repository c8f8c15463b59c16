"""Runs on disk: records, events and their checksums in SQLite, damage and deletion survived.

From outside: `interface` (Store, StoreError), `records`, `tables`.
"""
