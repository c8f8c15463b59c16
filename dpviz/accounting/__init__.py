"""Privacy accountants: numpy and scipy only."""
