"""What a live run has spent: all accountants fed step by step, what earlier trainings spent, and the one claim."""
