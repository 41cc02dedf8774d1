"""Kernels: loops over scalar expressions, all that a code generator sees.

`expr.py` and `stmt.py` are the expressions and statements, `contraction.py` the products.
`lower_expressions.py` makes loops, `schedule_cpu/` and `schedule_gpu/` order them, by what `loops/` and
`indices/` find.
"""
