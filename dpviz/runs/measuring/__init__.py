"""Measurements on networks and data, as tasks of the cluster that trains: the app itself loads no PyTorch."""
