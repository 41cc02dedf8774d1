"""Products: by the library, by tiles, or directly."""
