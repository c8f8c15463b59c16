"""Where gradient distances come from: synthetic families, an uploaded file, a measured network."""
