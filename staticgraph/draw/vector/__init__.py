"""A drawing as SVG of our own: sizes of boxes, the layout, shapes, colours for light and dark.

`vector_svg` is the way in. Graphviz has no part in it.
"""
