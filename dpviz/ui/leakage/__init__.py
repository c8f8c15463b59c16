"""The Leakage page: what a trained network was measured to give away, beside what bounds allow."""
