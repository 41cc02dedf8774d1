"""What TF1's programs expect around the graph: flags, files, logging, test cases, options of a session."""
