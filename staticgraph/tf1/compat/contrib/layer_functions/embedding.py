"""`tf.contrib.layers` over tables of embeddings."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib.layers import opened_layer


def embed_sequence(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Any:
    """The rows of a variable `embeddings` of shape [vocab_size, embed_dim] that `ids` name."""
    with opened_layer(scope, "EmbedSequence", ids, reuse, None):
        shape = [vocab_size, embed_dim]
        table = sg.get_variable("embeddings", shape, sg.float32, initializer, regularizer, trainable)
        return sg.nn.embedding_lookup(table, ids)


def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Any:
    """Bags of words: for each row of `ids`, the mean of the rows of a variable `embeddings` that it names.

    Args:
        ids: Integers [batch, words], dense or sparse.
        vocab_size: The number of rows of `embeddings`.
        embed_dim: The number of its columns.
        sparse_lookup: Leave out zeros of dense `ids`; a row without any gets row 0.
        initializer, regularizer, trainable, scope, reuse: As for the other layers.

    Returns:
        A tensor [batch, embed_dim].

    Raises:
        ValueError: A size is 0.
        TypeError: `ids` are sparse and `sparse_lookup` is False.
    """
    if not vocab_size or not embed_dim:
        raise misuse(
            ValueError, f"bow_encoder: vocab_size is {vocab_size} and embed_dim {embed_dim}, none may be 0"
        )
    is_sparse = isinstance(ids, sg.SparseTensor)
    if is_sparse and not sparse_lookup:
        raise misuse(TypeError, "bow_encoder: ids are sparse, which needs sparse_lookup=True")
    with opened_layer(scope, "bow_encoder", ids, reuse, None):
        shape = [vocab_size, embed_dim]
        table = sg.get_variable("embeddings", shape, sg.float32, initializer, regularizer, trainable)
        if not sparse_lookup:
            return sg.reduce_mean(sg.nn.embedding_lookup(table, ids), axis=1)
        words = ids if is_sparse else sg.contrib.layers.dense_to_sparse(ids)
        return safe_embedding_lookup_sparse([table], words, combiner="mean", default_id=0)


def embedding_lookup_unique(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None
) -> sg.Tensor:
    """`embedding_lookup` that reads each row once, however often it is named.

    Args:
        params: A table, or a list of them.
        ids: Integers of any shape.
        partition_strategy: "mod" or "div", of a list of tables.
        name: The name of the scope.

    Returns:
        The rows, a tensor of the shape of `ids` and that of a row.
    """
    with sg.name_scope(name, "EmbeddingLookupUnique", [ids]):
        ids = sg.convert_to_tensor(ids)
        once, places = sg.unique(sg.reshape(ids, [-1]))
        rows = sg.nn.embedding_lookup(params, once, partition_strategy)
        found = sg.reshape(sg.gather(rows, places), sg.concat([sg.shape(ids), sg.shape(rows)[1:]], 0))
        found.set_shape(ids.shape.concatenate(rows.shape[1:]))
        return found


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = None,
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> sg.Tensor:
    """`sg.nn.safe_embedding_lookup_sparse`, whose default combiner None is "mean" too."""
    return sg.nn.safe_embedding_lookup_sparse(
        embedding_weights,
        sparse_ids,
        sparse_weights,
        combiner or "mean",
        default_id,
        name,
        partition_strategy,
        max_norm,
    )
