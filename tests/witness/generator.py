"""Random programs: graphs of all kinds of ops, loops and branches, state, derivatives, optimizers.

Values carry their dtype, shape and a bound, so that nothing overflows and no function is used where it is
steep. The same seed gives the same program on every version of Python.
"""

import random

from tests.witness import templates
from tests.witness.programs import (
    Array,
    Block,
    Call,
    Code,
    Cond,
    Custom,
    Grad,
    Loop,
    Program,
    Ref,
    Rows,
    Train,
)

FLOAT, INT, BOOL = "float64", "int32", "bool"
SHAPES = ((), (3,), (4,), (2, 3), (3, 3), (3, 2), (1, 3), (4, 2), (2, 2, 3), (3, 1), (2, 4, 4, 2))


OPTIMIZERS = (
    ("GradientDescentOptimizer", [0.1]),
    ("MomentumOptimizer", [0.1, 0.9]),
    ("AdamOptimizer", [0.05]),
    ("RMSPropOptimizer", [0.01]),
    ("AdagradOptimizer", [0.1]),
)


class Value:
    """Facts about a value: its name, dtype and shape, and a number that it does not exceed."""

    __slots__ = ("name", "dtype", "shape", "bound", "variable")

    def __init__(self, name, dtype, shape, bound=2.0, variable=False):
        self.name, self.dtype, self.shape = Ref(name), dtype, tuple(shape)
        self.bound, self.variable = bound, variable

    @property
    def size(self):
        size = 1
        for n in self.shape:
            size *= n
        return size


class Generator:
    """Writes one program.

    Args:
        seed: Decides all of it.
        size: About how many statements it has.
        deep: Also what TF1 cannot do, such as derivatives inside of loops.
    """

    def __init__(self, seed, size=14, deep=False):
        self.random = random.Random(seed)
        self.deep, self.size = deep, size
        self.scope = []  # values that can be used here, the latest last
        self.statements = []
        self.variables = []
        self.named = []  # values of the graph that a run may feed
        self.depth, self.pure = 0, False
        self.count = 0

    # Choosing

    def choose(self, items):
        return items[self.random.randrange(len(items))]

    def chance(self, p):
        return self.random.random() < p

    def number(self, low=-1.5, high=1.5):
        return round(self.random.uniform(low, high), 3)

    def values(self, dtype=FLOAT, shape=None, rank=None, where=None):
        """Values that fit; the variables themselves count, unless that is forbidden here."""
        return [
            v
            for v in self.scope
            if v.dtype == dtype
            and (shape is None or v.shape == tuple(shape))
            and (rank is None or len(v.shape) in rank)
            and (where is None or where(v))
            and not (v.variable and self.pure)
        ]

    def pick(self, dtype=FLOAT, shape=None, rank=None, where=None):
        """One of the values that fit, most often a recent one; None if there is none."""
        found = self.values(dtype, shape, rank, where)
        if not found:
            return None
        return self.choose(found[-4:] if self.chance(0.6) else found)

    def of_shape(self, shape, dtype=FLOAT):
        """A value of a shape, made if need be."""
        found = self.pick(dtype, shape) if self.chance(0.8) else None
        if found is not None:
            return found
        made, other = self.constant(shape, dtype), self.pick(where=lambda v: v.shape != tuple(shape))
        if dtype == FLOAT and other is not None and self.chance(0.5):
            mean = self.add("tf.reduce_mean", [self.calm(other)], FLOAT, (), 4.0)
            return self.add("tf.add", [made, mean], FLOAT, shape, 5.5)
        return made

    # Writing

    def name(self):
        self.count += 1
        return "t%d" % self.count

    def add(self, path, args, dtype, shape, bound, named=None, **kwargs):
        """A call, whose arguments are values, names or literals; gives its result."""
        kwargs.update(named or {})
        made = Value(self.name(), dtype, shape, bound)
        touches = any(isinstance(a, Value) and a.variable for a in self._flat(args))
        self.statements.append(Call(made.name, path, [self._ref(a) for a in args], kwargs, touches=touches))
        self.scope.append(made)
        return made

    def _flat(self, args):
        return [b for a in args for b in (self._flat(a) if isinstance(a, list) else [a])]

    def _ref(self, value):
        if isinstance(value, Value):
            return value.name
        return [self._ref(v) for v in value] if isinstance(value, list) else value

    def calm(self, value, limit=4.0):
        """The value, or one made of it that is no larger than `limit`."""
        if value.bound <= limit:
            return value
        return self.add("tf.sin" if self.chance(0.7) else "tf.tanh", [value], value.dtype, value.shape, 1.0)

    def array(self, shape, dtype=FLOAT, low=-1.5, high=1.5):
        """Nested lists of random numbers."""
        if not shape:
            if dtype == BOOL:
                return self.chance(0.5)
            return self.number(low, high) if dtype == FLOAT else self.random.randint(0, 6)
        return [self.array(shape[1:], dtype, low, high) for _ in range(shape[0])]

    def constant(self, shape, dtype=FLOAT):
        args = [self.array(shape, dtype), Code("tf." + dtype)]
        if not all(shape):
            args.append(list(shape))
        return self.add("tf.constant", args, dtype, shape, 1.5 if dtype == FLOAT else 6)

    def program(self):
        """The program."""
        feeds = {}
        for n in range(self.random.randint(1, 3)):
            shape = self.choose(SHAPES[:-1])
            feeds["x%d" % n] = (FLOAT, shape)
            self.scope.append(Value("x%d" % n, FLOAT, shape, 1.5))
        if self.chance(0.5):
            feeds["n"] = (INT, ())
            self.scope.append(Value("n", INT, (), 6))
        variables = {}
        for n in range(self.random.choice([0, 1, 1, 2, 2, 3])):
            shape = self.choose(((), (3,), (3,), (2, 3), (3, 3), (4, 2)))
            dtype, bound = (INT, 9) if self.chance(0.1) else (FLOAT, 3.0)
            variables["v%d" % n] = (dtype, self.array(shape, dtype))
            self.variables.append(Value("v%d" % n, dtype, shape, bound, variable=True))
        self.scope += self.variables
        for _ in range(self.random.randint(3, self.size)):
            self.statement()
        made = [v for v in self.scope if not v.variable and v.name not in feeds]
        fetches = [v.name for v in made if self.chance(0.5)][-8:] or [v.name for v in made[-1:]]
        given = dict(feeds)
        given.update((v.name, (v.dtype, v.shape)) for v in self.named if self.chance(0.4))
        runs = [{str(k): self.array(s, d) for k, (d, s) in given.items()} for _ in range(3)]
        return Program(feeds, variables, self.statements, fetches, runs)

    # Statements

    def statement(self):
        """Add one, of a random kind; what does not fit is tried again."""
        for _ in range(20):
            if self.choice()():
                return

    def choice(self):
        kinds = [(70, self.operation)]
        if self.depth < 3:
            kinds += [(5, self.cond), (5, self.loop), (4, self.rows), (2, self.array_loop)]
        if self.variables and not self.pure:
            kinds += [(12, self.read), (12, self.write)]
        if self.depth == 0 or (self.deep and not self.pure):
            kinds += [(12, self.grad)]
        if self.depth == 0 or self.deep:
            kinds.append((2, self.custom))
        if self.depth == 0:
            kinds += [(1, self.python), (2, self.inner)]
            if any(v.dtype == FLOAT for v in self.variables):
                kinds.append((2, self.train))
        at = self.random.uniform(0, sum(w for w, _ in kinds))
        for weight, kind in kinds:
            at -= weight
            if at <= 0:
                return kind
        return self.operation

    def operation(self):
        return self.choose(templates.TEMPLATES)(self)

    # State

    def read(self):
        v = self.choose(self.variables)
        path, args = self.choose(
            [
                (".read_value", [v]),
                (".read_value", [v]),
                (".value", [v]),
                ("tf.identity", [v]),
                ("tf.convert_to_tensor", [v]),
                ("tf.add_n", [[v]]),
                ("tf.cast", [v, Code("tf." + v.dtype)]),
            ]
        )
        self.add(path, args, v.dtype, v.shape, v.bound)
        return True

    def write(self):
        v = self.choose(self.variables)
        kind = self.random.randrange(7)
        if kind >= 4 and v.shape and v.dtype == FLOAT:
            rows = [self.random.randrange(v.shape[0]) for _ in range(self.random.randint(1, 3))]
            if kind == 4:  # of several updates of a row any may be the last in TF1
                rows = list(range(len(set(rows))))
            path = self.choose(
                ["update", "nd_update"] if kind == 4 else ["add", "add", "sub", "mul", "max", "min"]
            )
            updates = self.calm(self.of_shape((len(rows),) + v.shape[1:]), 1.5)
            args = [v, [[r] for r in rows] if path == "nd_update" else rows, updates]
            path = "tf.scatter_" + path
        else:
            value = self.of_shape(v.shape, v.dtype)
            path = self.choose(
                [".assign", ".assign", ".assign_add", ".assign_sub", "tf.assign", "tf.assign_add"]
            )
            args = [v, self.calm(value, 2.0) if v.dtype == FLOAT else value]
        made = Value(self.name(), v.dtype, v.shape, v.bound)
        self.statements.append(Call(made.name, path, [self._ref(a) for a in args], writes=True))
        self.scope.append(made)
        return True

    def inner(self):
        """A value that some runs feed, although the graph computes it."""
        x = self.pick()
        if x is None:
            return False
        made = self.add("tf.identity", [x], FLOAT, x.shape, max(x.bound, 1.5))
        self.statements[-1].kwargs["name"] = str(made.name)
        self.named.append(made)
        return True

    def train(self):
        loss = self.pick(rank=(0, 1, 2))
        if loss is None:
            return False
        loss = self.add("tf.reduce_mean", [self.calm(loss)], FLOAT, (), 4.0)
        name, args = self.choose(OPTIMIZERS)
        floats = [v for v in self.variables if v.dtype == FLOAT]
        some = [v for v in floats if self.chance(0.7)] or floats[:1]
        # TensorFlow refuses a loss that no variable is connected to.
        total = loss
        for v in some:
            total = self.add(
                "tf.add", [total, self.add("tf.reduce_sum", [v], FLOAT, (), 9.0)], FLOAT, (), 9.0
            )
        made = Value(self.name(), FLOAT, (), 9.0)
        self.statements.append(Train(made.name, "tf.train." + name, args, total.name, [v.name for v in some]))
        self.scope.append(made)
        return True

    # Derivatives

    def grad(self):
        y = self.pick(where=lambda v: not v.variable)
        if y is None:
            return False
        y = self.calm(y)
        floats = [v for v in self.scope if v.dtype == FLOAT]
        variables = [v for v in floats if v.variable]
        xs = [self.choose(floats[:6] + variables * 2 + floats[-3:]) for _ in range(self.random.randint(1, 3))]
        xs = list({v.name: v for v in xs if v.name != y.name}.values()) or [y]
        seed = self.of_shape(y.shape) if self.chance(0.2) else None
        if seed is not None and seed.variable:
            seed = None
        made = [Value(self.name(), FLOAT, x.shape, 30.0) for x in xs]
        names = [v.name for v in made], y.name, [x.name for x in xs], None if seed is None else seed.name
        self.statements.append(Grad(*names))
        self.scope += made
        return True

    def custom(self):
        x = self.pick(where=lambda v: not v.variable)
        if x is None:
            return False
        x = self.calm(x)
        forward = self.block([Value(self.name(), FLOAT, x.shape, x.bound)], [(FLOAT, None)], 3, pure=True)
        y = self._results[0]
        params = [Value(self.name(), FLOAT, y.shape, 3.0), Value(self.name(), FLOAT, x.shape, x.bound)]
        backward = self.block(params, [(FLOAT, x.shape)], 3, pure=True)
        made = Value(self.name(), FLOAT, y.shape, y.bound)
        self.statements.append(Custom(made.name, x.name, forward, backward))
        self.scope.append(made)
        return True

    def python(self):
        x = self.pick(where=lambda v: not v.variable)
        if x is None:
            return False
        name = self.choose(["functions.doubled_tanh", "functions.shifted"])
        x = self.calm(x)
        made = self.add("tf.py_func", [Code(name), [x], Code("tf.float64")], FLOAT, x.shape, 4.0)
        self.add("tf.reshape", [made, list(x.shape)], FLOAT, x.shape, 4.0)
        self.scope.remove(made)  # its shape is not known to the graph
        return True

    # Loops and branches

    def block(self, params, kinds, most, pure=False):
        """A block whose results are of these dtypes and shapes; a shape None is left to the block."""
        outer = self.scope, self.statements, self.pure
        # TF1 refuses a function with its own derivative that depends on variables in any way.
        self.scope, self.statements = ([] if pure else list(self.scope)) + list(params), []
        self.pure, self.depth = self.pure or pure, self.depth + 1
        for _ in range(self.random.randint(1, most)):
            self.statement()
        results = []
        for dtype, shape in kinds:
            if shape is None:
                found = self.pick(dtype) or self.constant((), dtype)
            else:
                found = self.of_shape(shape, dtype)
            results.append(self.calm(found, 2.0) if dtype == FLOAT else found)
        self._results = results
        # A variable itself as a result is read at the end of the block.
        made = Block([p.name for p in params], self.statements, [self._read_out(r).name for r in results])
        self.scope, self.statements, self.pure = outer
        self.depth -= 1
        return made

    def _read_out(self, value):
        return (
            self.add("tf.identity", [value], value.dtype, value.shape, value.bound)
            if value.variable
            else value
        )

    def cond(self):
        pred = self.pick(BOOL, ())
        if pred is None:
            return templates.compared(self, ())
        kinds = [self._kind() for _ in range(self.random.randint(1, 2))]
        blocks = [self.block([], kinds, 3) for _ in range(2)]
        made = [Value(self.name(), d, s, 2.0 if d == FLOAT else 9) for d, s in kinds]
        self.statements.append(Cond([v.name for v in made], pred.name, blocks))
        self.scope += made
        return True

    def _kind(self):
        """Dtype and shape of a value that there is."""
        found = self.pick(self.choose([FLOAT, FLOAT, FLOAT, INT])) or self.pick()
        return (FLOAT, ()) if found is None else (found.dtype, found.shape)

    def loop(self):
        inits = [self.pick() for _ in range(self.random.randint(1, 2))]
        if None in inits:
            return False
        inits = [self.calm(self._read_out(v), 2.0) for v in inits]
        kinds = [(v.dtype, v.shape) for v in inits]
        numbers = [i for i, (d, s) in enumerate(kinds) if d == FLOAT and s == ()]
        limited = self.choose(numbers) if numbers and self.chance(0.5) else None
        count = self.random.randint(0, 3)
        given = self.pick(INT, ())
        if given is not None and self.chance(0.4):
            count = self.add("tf.floormod", [given, 4], INT, (), 3).name
        params = [Value(self.name(), INT, (), 3)] + [Value(self.name(), d, s, 2.0) for d, s in kinds]
        block = self.block(params, kinds, 3)
        made = [Value(self.name(), d, s, 2.0) for d, s in kinds]
        self.statements.append(
            Loop([v.name for v in made], count, [v.name for v in inits], block, limited, 0.7)
        )
        self.scope += made
        return True

    def rows(self):
        elems = self.pick(rank=(1, 2), where=lambda v: not v.variable)
        if elems is None:
            return False
        elems = self.calm(elems)
        row = Value(self.name(), FLOAT, elems.shape[1:], elems.bound)
        if self.chance(0.5):
            block = self.block([row], [(FLOAT, row.shape)], 3)
            shape, init, kwargs, path = elems.shape, None, {}, "tf.map_fn"
        else:
            init = self.calm(self.of_shape(self.choose([(), row.shape])), 2.0)
            init = self._read_out(init)
            state = Value(self.name(), FLOAT, init.shape, 2.0)
            block = self.block([state, row], [(FLOAT, init.shape)], 3)
            path = self.choose(["tf.scan", "tf.scan", "tf.foldl", "tf.foldr"])
            shape = (elems.shape[0],) + init.shape if path == "tf.scan" else init.shape
            kwargs = {"reverse": True} if path == "tf.scan" and self.chance(0.4) else {}
        made = Value(self.name(), FLOAT, shape, 2.0)
        self.statements.append(Rows(made.name, path, elems.name, block, init and init.name, kwargs))
        self.scope.append(made)
        return True

    def array_loop(self):
        count, kind = self.random.randint(1, 3), self._kind()
        block = self.block([Value(self.name(), INT, (), 3)], [kind], 3)
        made = Value(self.name(), kind[0], (count,) + kind[1], 2.0 if kind[0] == FLOAT else 9)
        self.statements.append(Array(made.name, count, Code("tf." + kind[0]), block))
        self.scope.append(made)
        return True
