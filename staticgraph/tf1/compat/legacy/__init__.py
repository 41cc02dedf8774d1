"""The surroundings of a graph that programs expect: flags, files, logging, test cases, session options."""
