"""Speed beside other libraries, and tables of evidence."""
