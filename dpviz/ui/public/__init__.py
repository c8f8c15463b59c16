"""The door of a public server: which requests and messages are let in (`doors`, `messages`), how many (`limits`), and
the one place that asks them (`guard`)."""
