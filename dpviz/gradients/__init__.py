"""Sources of gradient distances: synthetic families, known laws, an uploaded file, a measured network."""
