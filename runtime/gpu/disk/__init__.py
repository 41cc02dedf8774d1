"""Programs of a GPU on disk: `records.py` has their form in files, `programs.py` finds and keeps them."""
