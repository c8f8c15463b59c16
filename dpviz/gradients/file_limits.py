"""The largest number of rows and columns of an uploaded file of numbers."""

MOST_ROWS = 20_000_000
MOST_COLUMNS = 10_000


def check_rows(name: str, rows: int, names: int = 0) -> None:
    """Refuses a file with too many rows; so many of its lines may hold names."""
    if rows > MOST_ROWS + names:
        raise ValueError(f"Expected at most {MOST_ROWS:,} rows in {name}, found {rows:,}: take a random part of them.")
