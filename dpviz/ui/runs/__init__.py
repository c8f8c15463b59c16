"""The Runs page: every run that was recorded, compared, named, exported."""
