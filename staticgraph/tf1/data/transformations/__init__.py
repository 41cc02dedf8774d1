"""More steps of pipelines for `Dataset.apply`, and what is known of a dataset before it is read.

`experimental.py` in the folder above shows them under TensorFlow's names.
"""
