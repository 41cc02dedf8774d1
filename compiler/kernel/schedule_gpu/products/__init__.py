"""Products of matrices and convolutions: by the libraries, by tiles, or directly."""
