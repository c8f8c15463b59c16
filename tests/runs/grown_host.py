"""The host of workers that all hold too much memory."""

from dpviz.runs.cluster import host, memory

if __name__ == "__main__":
    host.LOOK = 0.1
    memory.MOST_MEMORY = 1
    host.main()
