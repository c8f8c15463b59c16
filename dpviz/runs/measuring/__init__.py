"""Measurements on networks and data, in a child process: the app itself loads no PyTorch."""
