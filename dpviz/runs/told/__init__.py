"""Runs of somebody else's program, priced by what it tells: settings, accounts, claims; the watch that records them."""
