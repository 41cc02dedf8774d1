"""Operations on data of a kind: images, signals and strings, with TensorFlow 1's names.

Their public paths are short: `staticgraph.image`.
"""
