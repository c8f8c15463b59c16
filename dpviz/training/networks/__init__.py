"""Networks in torch, by name (`by_name`), and the fixed features that some of them learn from."""
