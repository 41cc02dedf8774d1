"""Layers of Keras are those of `sg.layers`, and all optimizers are names for rules of one table."""

import inspect

import pytest

import staticgraph as sg
from staticgraph.layers.convolution import Transposed
from staticgraph.tf1.compat.contrib.optimizers import rules as contrib
from staticgraph.train.optimizers import rules

BASES = {name: made for name in sg.layers.__all__ if inspect.isclass(made := getattr(sg.layers, name))}
BASES["Conv2DTranspose"] = Transposed  # which is of two and three axes in Keras
del BASES["Flatten"]  # the two leave other operations in the graph

ARGUMENTS = {"learning_rate": 0.1, "momentum": 0.9, "global_step": 0}
ABSTRACT = (sg.train.Optimizer, sg.train.SyncReplicasOptimizer, sg.keras.optimizers.Optimizer)
OF_CONTRIB = [made for name, made in vars(contrib).items() if name[0] != "_" and inspect.isclass(made)]
OPTIMIZERS = {
    made.__name__: made
    for made in [
        *(getattr(module, name) for module in (sg.train, sg.keras.optimizers) for name in module.__all__),
        *(made for made in OF_CONTRIB if made.__module__ == contrib.__name__),
    ]
    if hasattr(made, "apply_gradients") and made not in ABSTRACT
}


@pytest.mark.parametrize("name", BASES)
def test_a_layer_of_keras_is_that_of_sg(name):
    assert issubclass(getattr(sg.keras.layers, name), BASES[name])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_has_a_rule_of_the_table(name):
    parameters = inspect.signature(OPTIMIZERS[name]).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    made = OPTIMIZERS[name](**{each: ARGUMENTS[each] for each in needed})
    assert made.rule in vars(rules).values()


def test_an_update_is_one_operation_and_numbers_are_made_once():
    a, b = sg.Variable([1.0], name="a"), sg.Variable([1.0], name="b")
    step = sg.keras.optimizers.Adam().minimize(a * b, [a, b])
    updates = [step.graph.get_operation_by_name(f"Adam/update_{name}/ApplyAdam") for name in "ab"]
    assert [op.name for op in step.graph.get_operations() if "update_" in op.name] == [
        u.name for u in updates
    ]
    assert updates[0].tensors[3:-1] == updates[1].tensors[3:-1]
