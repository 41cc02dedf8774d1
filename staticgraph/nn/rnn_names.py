"""The names of `sg.nn` about sequences, in one place: they are imported when the first of them is used."""

from staticgraph.nn.ctc import ctc_loss
from staticgraph.nn.ctc_decoding import (
    ctc_beam_search_decoder,
    ctc_beam_search_decoder_v2,
    ctc_greedy_decoder,
)
from staticgraph.nn.rnn_dynamic import bidirectional_dynamic_rnn, dynamic_rnn
from staticgraph.nn.rnn_raw import raw_rnn
from staticgraph.nn.rnn_static import static_bidirectional_rnn, static_rnn, static_state_saving_rnn

__all__ = [
    "bidirectional_dynamic_rnn",
    "ctc_beam_search_decoder",
    "ctc_beam_search_decoder_v2",
    "ctc_greedy_decoder",
    "ctc_loss",
    "dynamic_rnn",
    "raw_rnn",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
]
