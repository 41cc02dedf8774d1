"""Code generators: from a kernel to the text of a program for one device."""
