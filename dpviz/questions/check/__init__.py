"""A claimed ε checked against a description of the training, which a form or a pasted text gives."""
