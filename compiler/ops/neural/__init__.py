"""Nets and images: convolution, pooling, normalisation, losses and resizing."""
