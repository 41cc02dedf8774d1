"""Memory of arrays, aligned for the widest vectors and handed out again, and room on a thread's stack."""
