"""Memory of arrays: aligned for the widest vectors, and handed out again when the caller has dropped it."""
