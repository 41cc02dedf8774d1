"""CUDA: the driver's few calls that the runtime needs, over CuPy and NVIDIA's libraries.

`driver.py` is the protocol, which the simulator implements too; nothing else touches a GPU.
"""
