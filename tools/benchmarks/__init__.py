"""The project's benchmark against its peers: workloads, one file per peer, and the report."""
