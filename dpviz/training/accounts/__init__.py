"""Privacy accounts of a live run: accountants fed step by step, the cost of earlier trainings, and the one claim."""
