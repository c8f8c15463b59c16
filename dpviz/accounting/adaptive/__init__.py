"""Adaptive composition, for steps chosen from earlier results: filters, odometers, individual filters, and policies."""
