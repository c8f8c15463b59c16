"""The Train page: a form that says what a run will cost, and a run under way."""
