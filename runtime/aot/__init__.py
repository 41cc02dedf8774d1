"""Ahead of time: the functions of a saved graph as an object file for C, for this machine or another one.

* `functions`, `steps`: the functions of a file, compiled; `staged`: those of which the data decide sizes
* `names`: names of a graph as names of C
* `interface`: what a C program sees of them
* `layout`: where everything is that they work on
* `header`, `example`: the header, and a program that uses it
* `build`: the object file, and everything together
"""
