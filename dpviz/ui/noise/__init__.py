"""The Noise page: how much noise does a target ε need, and what does each accountant save?"""
