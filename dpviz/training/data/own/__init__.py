"""A user's own data sets: a folder of files, each set described by a NAME.toml whose numbers its owner declares public.

`describe` reads a description, `place` finds it, `read` reads the files; none of them needs PyTorch.
"""
