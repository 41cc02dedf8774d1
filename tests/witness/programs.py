"""Programs as data: built with `tf`, ours or TensorFlow 1.15's, and printed as a script for people.

A program declares its inputs and variables and is then a list of statements; loops and branches hold blocks
of further statements. Values have names. This file and `generator.py` also run on Python 3.7.
"""

import textwrap


class Ref(str):
    """The name of a value of the program, in the arguments of a statement."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


class Code(str):
    """A Python expression such as `tf.float64`, looked up when the program is built."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


def refs(value):
    """The names in an argument, however deep."""
    if isinstance(value, Ref):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [name for item in value for name in refs(item)]
    if isinstance(value, slice):
        return refs([value.start, value.stop, value.step])
    return []


class Block:
    """Statements with parameters and results: a branch, or the body of a loop."""

    def __init__(self, params, statements, results):
        self.params, self.statements, self.results = list(params), list(statements), list(results)

    @property
    def writes(self):
        return any(s.writes for s in self.statements)

    @property
    def touches(self):
        return any(s.touches for s in self.statements)

    def uses(self):
        return [n for s in self.statements for n in s.uses()] + list(self.results)


class Statement:
    """One line of a program. `outs`: the names of its results."""

    writes = False  # whether it changes a variable
    touches = False  # whether it reads or changes one
    blocks = ()

    def __init__(self, *outs):
        self.outs = list(outs)

    def uses(self):
        """The names that it needs."""
        return [n for b in self.blocks for n in b.uses()]

    def build(self, machine, env):
        """Build it; gives one tensor for each of `outs`."""
        raise NotImplementedError

    def lines(self):
        """The lines of a script."""
        raise NotImplementedError


class Call(Statement):
    """`out = path(*args, **kwargs)`; a path that begins with a point is a method of the first argument."""

    def __init__(self, out, path, args, kwargs=None, touches=False, writes=False):
        Statement.__init__(self, out)
        self.path, self.args, self.kwargs = path, list(args), dict(kwargs or {})
        self.touches, self.writes = touches or writes, writes

    def uses(self):
        return refs(self.args) + refs(self.kwargs)

    def build(self, machine, env):
        args, kwargs = machine.fill(self.args, env), machine.fill(self.kwargs, env)
        if self.path.startswith("."):
            made = getattr(args[0], self.path[1:])(*args[1:], **kwargs)
        else:
            made = machine.lookup(self.path)(*args, **kwargs)
        return [machine.tf.identity(made) if self.writes else made]

    def lines(self):
        args = [repr(a) for a in self.args] + ["%s=%r" % pair for pair in self.kwargs.items()]
        first = args.pop(0) if self.path.startswith(".") else ""
        text = "%s%s(%s)" % (first, self.path, ", ".join(args))
        return ["%s = %s" % (self.outs[0], "tf.identity(%s)" % text if self.writes else text)]


class Item(Statement):
    """`out = base[index]`; the index is a list of numbers, slices, None and ..."""

    def __init__(self, out, base, index):
        Statement.__init__(self, out)
        self.base, self.index = base, list(index)

    def uses(self):
        return [self.base] + refs(self.index)

    def build(self, machine, env):
        index = machine.fill(self.index, env)
        return [env[self.base][index[0] if len(index) == 1 else tuple(index)]]

    def lines(self):
        def part(i):
            if i is Ellipsis:
                return "..."
            if not isinstance(i, slice):
                return repr(i)
            ends = ["" if e is None else repr(e) for e in (i.start, i.stop)]
            return ":".join(ends + ([] if i.step is None else [repr(i.step)]))

        return ["%s = %s[%s]" % (self.outs[0], self.base, ", ".join(map(part, self.index)))]


class _Nested(Statement):
    """A statement with blocks."""

    @property
    def writes(self):
        return any(b.writes for b in self.blocks)

    @property
    def touches(self):
        return any(b.touches for b in self.blocks)

    def _function(self, number, block):
        """A `def` of a block, and its name."""
        name = "f%s_%d" % (self.outs[0], number)
        made = ["def %s(%s):" % (name, ", ".join(block.params))]
        made += ["    " + line for s in block.statements for line in s.lines()]
        writes = [o for s in block.statements if s.writes for o in s.outs]
        results = ["tf.identity(%s)" % r for r in block.results]
        if writes:
            made.append("    with tf.control_dependencies([%s]):" % ", ".join(writes))
            made.append("        return [%s]" % ", ".join(results))
        else:
            made.append("    return [%s]" % ", ".join(results))
        return name, made


class Cond(_Nested):
    """One of two blocks without parameters."""

    def __init__(self, outs, pred, blocks):
        Statement.__init__(self, *outs)
        self.pred, self.blocks = pred, list(blocks)

    def uses(self):
        return [self.pred] + _Nested.uses(self)

    def build(self, machine, env):
        first, second = (machine.function(b, env) for b in self.blocks)
        return list(machine.tf.cond(machine.after(env[self.pred]), first, second, strict=True))

    def lines(self):
        functions = [self._function(n, b) for n, b in enumerate(self.blocks)]
        text = "%s, = tf.cond(%s, %s, %s, strict=True)"
        names = ", ".join(self.outs), self.pred, functions[0][0], functions[1][0]
        return functions[0][1] + functions[1][1] + [text % names]


class Loop(_Nested):
    """At most `count` times a block of (round, *carried), as long as a number stays below a limit."""

    def __init__(self, outs, count, inits, block, limited=None, limit=2.5):
        Statement.__init__(self, *outs)
        self.count, self.inits, self.blocks = count, list(inits), [block]
        self.limited, self.limit = limited, limit

    def uses(self):
        return refs([self.count]) + refs(self.inits) + _Nested.uses(self)

    def build(self, machine, env):
        tf, count = machine.tf, machine.fill(self.count, env)
        step = machine.function(self.blocks[0], env)

        def test(i, *carried):
            below = tf.less(i, count)
            return (
                below if self.limited is None else tf.logical_and(below, carried[self.limited] < self.limit)
            )

        start = [tf.constant(0)] + [env[n] for n in self.inits]
        made = tf.while_loop(
            test, lambda i, *carried: [i + 1] + step(i, *carried), machine.after(start), **machine.in_turn
        )
        return list(made[1:])

    def lines(self):
        name, made = self._function(0, self.blocks[0])
        params = ", ".join(self.blocks[0].params)
        test = "%s < %r" % (self.blocks[0].params[0], self.count)
        if self.limited is not None:
            test = "tf.logical_and(%s, %s < %r)" % (test, self.blocks[0].params[1 + self.limited], self.limit)
        body = "lambda i, *c: [i + 1] + %s(i, *c)" % name
        start = "[tf.constant(0), %s]" % ", ".join(self.inits)
        text = "_, %s = tf.while_loop(lambda %s: %s, %s, %s)"
        return made + [text % (", ".join(self.outs), params, test, body, start)]


class Rows(_Nested):
    """`map_fn`, `scan`, `foldl` or `foldr` of a block over the rows of a value."""

    def __init__(self, out, path, elems, block, init=None, kwargs=None):
        Statement.__init__(self, out)
        self.path, self.elems, self.init, self.blocks = path, elems, init, [block]
        self.kwargs = dict(kwargs or {})

    def uses(self):
        return [self.elems] + ([] if self.init is None else [self.init]) + _Nested.uses(self)

    def build(self, machine, env):
        step = machine.function(self.blocks[0], env)
        args = [machine.after(env[self.elems])] + (
            [] if self.init is None else [machine.after(env[self.init])]
        )
        kwargs = dict(self.kwargs, **machine.in_turn)
        return [machine.lookup(self.path)(lambda *rows: step(*rows)[0], *args, **kwargs)]

    def lines(self):
        name, made = self._function(0, self.blocks[0])
        args = [self.elems] + ([] if self.init is None else [self.init])
        args += ["%s=%r" % pair for pair in self.kwargs.items()]
        return made + ["%s = %s(lambda *r: %s(*r)[0], %s)" % (self.outs[0], self.path, name, ", ".join(args))]


class Array(_Nested):
    """A TensorArray that a loop fills with what a block makes of the number of the row, stacked."""

    def __init__(self, out, count, dtype, block):
        Statement.__init__(self, out)
        self.count, self.dtype, self.blocks = count, dtype, [block]

    def build(self, machine, env):
        tf, step = machine.tf, machine.function(self.blocks[0], env)
        array = tf.TensorArray(machine.lookup(self.dtype), size=self.count)
        start = [machine.after(tf.constant(0)), array]
        made = tf.while_loop(
            lambda i, a: tf.less(i, self.count),
            lambda i, a: [i + 1, a.write(i, step(i)[0])],
            start,
            **machine.in_turn,
        )
        rows = made[1].stack()
        rows.set_shape([self.count] + rows.shape.as_list()[1:])  # of which a graph does not know how many
        return [rows]

    def lines(self):
        name, made = self._function(0, self.blocks[0])
        out, body = self.outs[0], "lambda i, a: [i + 1, a.write(i, %s(i)[0])]" % name
        array = "tf.TensorArray(%r, size=%d)" % (self.dtype, self.count)
        text = "_, %s = tf.while_loop(lambda i, a: i < %d, %s, [tf.constant(0), %s])"
        rows = ["%s = %s.stack()", "%s.set_shape([%d] + %s.shape.as_list()[1:])"]
        rows = [rows[0] % (out, out), rows[1] % (out, self.count, out)]
        return made + [text % (out, self.count, body, array)] + rows


class Grad(Statement):
    """Derivatives of `y` by `xs`; zeros if there is none."""

    def __init__(self, outs, y, xs, seed=None):
        Statement.__init__(self, *outs)
        self.y, self.xs, self.seed = y, list(xs), seed

    def uses(self):
        return [self.y] + self.xs + ([] if self.seed is None else [self.seed])

    def build(self, machine, env):
        seeds = None if self.seed is None else [env[self.seed]]
        made = machine.tf.gradients(
            env[self.y], [env[n] for n in self.xs], seeds, unconnected_gradients="zero"
        )
        return [machine.tf.convert_to_tensor(g) for g in made]

    def lines(self):
        seed = "" if self.seed is None else "[%s], " % self.seed
        text = "tf.gradients(%s, [%s], %sunconnected_gradients='zero')" % (self.y, ", ".join(self.xs), seed)
        return ["%s, = map(tf.convert_to_tensor, %s)" % (", ".join(self.outs), text)]


class Custom(_Nested):
    """A function of one value whose derivative the program gives: blocks of (x) and of (dy, x)."""

    def __init__(self, out, x, forward, backward):
        Statement.__init__(self, out)
        self.x, self.blocks = x, [forward, backward]

    def uses(self):
        return [self.x] + _Nested.uses(self)

    def build(self, machine, env):
        forward, backward = (machine.function(b, env) for b in self.blocks)
        made = machine.tf.custom_gradient(lambda x: (forward(x)[0], lambda dy: backward(dy, x)[0]))
        return [made(env[self.x])]

    def lines(self):
        (one, first), (two, second) = (self._function(n, b) for n, b in enumerate(self.blocks))
        text = "%s = tf.custom_gradient(lambda x: (%s(x)[0], lambda dy: %s(dy, x)[0]))(%s)"
        return first + second + [text % (self.outs[0], one, two, self.x)]


class Train(Statement):
    """A step of an optimizer; its result is the loss, after the step."""

    touches = writes = True

    def __init__(self, out, optimizer, args, loss, variables):
        Statement.__init__(self, out)
        self.optimizer, self.args = optimizer, list(args)
        self.loss, self.variables = loss, list(variables)

    def uses(self):
        return [self.loss] + self.variables

    def build(self, machine, env):
        optimizer = machine.lookup(self.optimizer)(*self.args)
        step = optimizer.minimize(env[self.loss], var_list=[env[v] for v in self.variables])
        with machine.tf.control_dependencies([step]):
            return [machine.tf.identity(env[self.loss])]

    def lines(self):
        args, variables = ", ".join(map(repr, self.args)), ", ".join(self.variables)
        step = "%s(%s).minimize(%s, var_list=[%s])" % (self.optimizer, args, self.loss, variables)
        text = "with tf.control_dependencies([%s]):" % step
        return [text, "    %s = tf.identity(%s)" % (self.outs[0], self.loss)]


class Program:
    """A whole program: what is fed, variables, statements, and what is fetched."""

    def __init__(self, feeds, variables, statements, fetches, runs):
        self.feeds = feeds  # name -> (dtype, shape)
        self.variables = variables  # name -> (dtype, nested lists)
        self.statements, self.fetches = list(statements), list(fetches)
        self.runs = runs  # for each run: name -> nested lists; also of inner values

    def build(self, tf, ordered=False, functions=None):
        """Build it in the default graph.

        Args:
            tf: The module to build it with.
            ordered: Order what touches variables by control dependencies, as TF1 needs.
            functions: An object with the Python functions for `py_func`.

        Returns:
            The tensors and variables of the program by name.
        """
        machine, env = Machine(tf, ordered, functions), {}
        for name, (dtype, shape) in self.feeds.items():
            env[name] = tf.placeholder(getattr(tf, dtype), shape, name=name)
        for name, (dtype, value) in self.variables.items():
            start = tf.constant(value, getattr(tf, dtype))
            env[name] = tf.get_variable(name, initializer=start, use_resource=True)
        machine.run(self.statements, env)
        return env

    @property
    def writes(self):
        """The results of the statements that change variables."""
        return [out for s in self.statements if s.writes for out in s.outs]

    def script(self):
        """The program as a script that prints what it fetches."""
        made = ["import numpy as np", "import tensorflow as tf  # or: import staticgraph as tf", ""]
        for name, (dtype, shape) in self.feeds.items():
            made.append("%s = tf.placeholder(tf.%s, %r, name=%r)" % (name, dtype, list(shape), name))
        for name, (dtype, value) in self.variables.items():
            text = "%s = tf.get_variable(%r, initializer=tf.constant(%r, tf.%s), use_resource=True)"
            made.append(text % (name, name, value, dtype))
        made += [line for s in self.statements for line in s.lines()]
        fetches = self.fetches + self.writes + list(self.variables)
        made += ["", "with tf.Session() as sess:", "    sess.run(tf.global_variables_initializer())"]
        for feeds in self.runs:
            given = ", ".join("%s: %r" % pair for pair in feeds.items())
            made.append("    print(sess.run([%s], {%s}))" % (", ".join(dict.fromkeys(fetches)), given))
        return "\n".join(made) + "\n"


class Machine:
    """Builds statements with a module `tf`."""

    def __init__(self, tf, ordered, functions):
        self.tf, self.ordered, self.functions = tf, ordered, functions
        self.in_turn = {"parallel_iterations": 1} if ordered else {}  # TF1 overlaps rounds of a loop
        self._last = []  # what the next use of a variable has to wait for

    def lookup(self, path):
        """Return the object of a path such as `tf.nn.relu`."""
        first, *rest = path.split(".")
        found = self.tf if first == "tf" else self.functions
        for name in rest:
            found = getattr(found, name)
        return found

    def fill(self, value, env):
        """An argument with tensors in place of names."""
        if isinstance(value, Ref):
            return env[value]
        if isinstance(value, Code):
            return self.lookup(value)
        if isinstance(value, dict):
            return {key: self.fill(item, env) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)([self.fill(item, env) for item in value])
        return value

    def run(self, statements, env):
        """Build statements one after the other, and add their results to `env`."""
        for s in statements:
            if self.ordered and s.touches:
                with self.tf.control_dependencies(self._last):
                    # TF1's `cast` gives the variable itself if there is nothing to convert.
                    made = [
                        self.tf.identity(v) if hasattr(v, "initializer") else v for v in s.build(self, env)
                    ]
                self._last = [t for v in made for t in (v if isinstance(v, tuple) else [v])]
            else:
                made = s.build(self, env)
            env.update(zip(s.outs, made))

    def after(self, value):
        """A value, or several, after all that touched variables before."""
        if not self.ordered:
            return value
        with self.tf.control_dependencies(self._last):
            if isinstance(value, list):
                return [self.tf.identity(v) for v in value]
            return self.tf.identity(value)

    def function(self, block, env):
        """A block as a function of its parameters; what it changes is done when its results are there."""

        def call(*args):
            inner, outer = dict(env), self._last
            inner.update(zip(block.params, args))
            self._last = []
            self.run(block.statements, inner)
            waits = (
                self._last
                if self.ordered
                else [inner[o] for s in block.statements if s.writes for o in s.outs]
            )
            self._last = outer
            with self.tf.control_dependencies(waits):
                return [self.tf.identity(inner[r]) for r in block.results]

        return call


def described(program, error):
    """Return a program that went wrong as it is shown to a person."""
    return "%s\n\n%s" % (error, textwrap.indent(program.script(), "    "))
