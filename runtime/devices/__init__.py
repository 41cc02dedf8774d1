"""Devices: where compiled programs run, and how text becomes machine code there."""
