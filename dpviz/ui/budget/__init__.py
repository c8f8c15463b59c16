"""The Budget page: may I stop when I like?"""
