"""Speed beside other libraries, and evidence for what the docs claim."""
