"""Our parameters as inputs and attributes of TensorFlow's op of the same type.

Names agree for most. Where they do not, tensors pair up in order, and the tables here name the attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from staticgraph.compiler.graph.opdef import OPS, Effect, OpDef, Param, Role
from staticgraph.compiler.graph.opdef import REQUIRED as NEEDED
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.graph_def.signatures import REQUIRED, Argument, Attribute, Signature, signature

OWN = "sg."  # before the names of ops that TensorFlow has not
GRADIENT = "_gradient_op_type"  # the attribute with the name of a node's registered gradient

# Attributes whose names differ: in all ops, and in one.
_RENAMED = {"keepdims": "keep_dims", "text": "message"}
_RENAMED_IN = {
    "cast": {"dtype": "DstT"},
    "range": {"dtype": "Tidx"},
    "squeeze": {"axis": "squeeze_dims"},
    "print_line": {"stream": "output_stream"},
}

# What TensorFlow may say and what changes nothing here: how it is carried out, or where.
_IGNORED = """
    use_cudnn_on_gpu use_locking container shared_name parallel_iterations incompatible_shape_error
    validate_indices message output_shapes bad_color
"""
IGNORED = frozenset(_IGNORED.split())

# Several of our ops are of the same type; this is the one that a node of the type is read as.
_READ_AS = {
    "Fill": "fill",
    "Identity": "identity",
    "Mul": "multiply",
    "Select": "select_rows",
    "SelectV2": "select",
    "ZerosLike": "zeros_like",
}
_ALIASES = {
    "AddV2": "Add",
    "BatchMatMul": "BatchMatMulV2",
    "Inv": "Reciprocal",
    "InvGrad": "ReciprocalGrad",
    "Mod": "TruncateMod",
    "PlaceholderV2": "Placeholder",
    "RefIdentity": "Identity",
    "Variable": "VariableV2",
    "PreventGradient": "StopGradient",
    "Snapshot": "Identity",
    "GuaranteeConst": "Identity",
}


@dataclass(frozen=True, slots=True)
class Pairs:
    """An op of ours beside TensorFlow's."""

    op: OpDef
    signature: Signature
    inputs: tuple[tuple[Argument, Param], ...]  # in TensorFlow's order
    attrs: tuple[tuple[Attribute, Param], ...]
    ours_alone: tuple[Param, ...]  # attributes and operands that TensorFlow's has not
    required: frozenset[str]  # attributes of TensorFlow's that have no default

    @property
    def theirs_alone(self) -> list[Attribute]:
        """Attributes that ours has not, and that do not just tell the dtypes and numbers of tensors."""
        arguments = (*self.signature.inputs, *self.signature.outputs)
        told = {name for a in arguments for name in (a.type_attr, a.number_attr, a.type_list)}
        paired = {attr.name for attr, _ in self.attrs}
        return [a for a in self.signature.attrs.values() if a.name not in told | paired]


@cache
def pairs(op: OpDef, type: str = "") -> Pairs | None:
    """Pair the parameters of an op of ours with those of TensorFlow's `type`, by default that of our op.

    Returns None if the two do not correspond.

    >>> from staticgraph.compiler.graph.opdef import OPS
    >>> [(theirs.name, ours.name) for theirs, ours in pairs(OPS["fill"]).inputs]
    [('dims', 'dims'), ('value', 'value')]
    """
    theirs = signature(type or op.tf)
    if theirs is None or op.effect is Effect.CONTROL:  # functions are regions here
        return None
    # TensorFlow's sorted segments have no operand for their number.
    alone = [param for param in op.params if op.counted is not None and param.name == "num_segments"]
    tensors = [param for param in op.params if param.role is not Role.ATTR and param not in alone]
    inputs = _paired(theirs.inputs, tensors)
    if inputs is None or len(inputs) != len(tensors):
        return None
    renamed = {**_RENAMED, **_RENAMED_IN.get(op.name, {})}
    attrs = []
    for param in op.params:
        if param.role is Role.ATTR:
            name = param.name if param.name in theirs.attrs else renamed.get(param.name, "")
            attrs.append((theirs.attrs[name], param)) if name in theirs.attrs else alone.append(param)
    required = frozenset(a.name for a in theirs.attrs.values() if a.default is REQUIRED)
    return Pairs(op, theirs, inputs, tuple(attrs), tuple(alone), required)


def _paired(
    arguments: tuple[Argument, ...], params: list[Param]
) -> tuple[tuple[Argument, Param], ...] | None:
    """Inputs with parameters: those of the same name first, then what is left in order."""
    named = {a.name: p for a in arguments for p in params if a.name in (p.name, p.tf)}
    rest = iter([p for p in params if p not in named.values()])
    found = []
    for argument in arguments:
        param = named.get(argument.name) or next(rest, None)
        if param is None or argument.is_list != (param.role is Role.TENSORS):
            return None
        found.append((argument, param))
    return tuple(found)


# Ops that are declared outside of the compiler, and that nodes of files are read as.
_OUTSIDE = (
    "adjust_jpeg_quality decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png "
    "encode_jpeg encode_png extract_jpeg_shape is_jpeg "
    "audio_summary histogram_summary image_summary merge_summary scalar_summary tensor_summary_v2"
)


@cache
def by_type() -> Mapping[str, Pairs]:
    """The ops that a node can be read as without more, by TensorFlow's type."""
    found: dict[str, Pairs] = {}
    for op in (*OPS.values(), *(OPS[name] for name in _OUTSIDE.split())):
        together = pairs(op)
        readable = together is not None and all(p.default is not NEEDED for p in together.ours_alone)
        if together is not None and readable and _READ_AS.get(op.tf, op.name) == op.name:
            found.setdefault(op.tf, together)
    for alias, type in _ALIASES.items():
        if type in found and (together := pairs(found[type].op, alias)) is not None:
            found[alias] = together
    return found
