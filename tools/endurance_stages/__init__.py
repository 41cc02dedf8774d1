"""The stages of endurance.py: each has `run(count, seed, folder)`, which returns a line or raises."""
