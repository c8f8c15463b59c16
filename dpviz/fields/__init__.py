"""Settings of questions and of training: how each is declared, read from what people type, and written for the eye."""
