"""What to do with a solved value: how much of it the tight accountant would spare, a paragraph for the paper, code."""
