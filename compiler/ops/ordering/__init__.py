"""Order: sorting, searching, and sets of numbers and places."""
