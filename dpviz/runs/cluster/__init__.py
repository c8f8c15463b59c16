"""Where runs are computed: the Dask cluster, its host and worker processes, and the thread that feeds them."""
