"""Files of arrays by name that other programs read and write too: safetensors and NumPy's `.npz`."""
