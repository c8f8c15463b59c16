"""PATE: votes of teachers, what their answers cost, and how that cost may be published."""
