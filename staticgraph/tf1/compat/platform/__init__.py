"""What programs expect around the graph: flags, files, logging, test cases, options of a session."""
