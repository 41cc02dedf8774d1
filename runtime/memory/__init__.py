"""Memory of arrays, aligned for the widest vectors and handed out again, and room on the stack of a thread."""
