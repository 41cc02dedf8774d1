"""Running totals, and order: what goes along rows, by many threads for each of them."""
