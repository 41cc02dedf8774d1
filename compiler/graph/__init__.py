"""The graph: types, operations, Functions, where each was made, and what is said when something is wrong."""
