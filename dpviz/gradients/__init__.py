"""Where gradient distances come from: synthetic families, known laws, an uploaded file, a measured network."""
