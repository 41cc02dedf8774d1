"""Recurrent layers over images, whose products are convolutions."""

from __future__ import annotations

from typing import Any

from staticgraph import nn
from staticgraph.arrays.creation import zeros_like
from staticgraph.compiler.graph.checks.arguments import text_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.layers.adapters import with_weights
from staticgraph.layers.spatial import data_format_of, sizes_of
from staticgraph.state.input_spec import InputSpec
from staticgraph.state.layer import known_size
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras.engine.arguments import OF_WINDOWS
from staticgraph.tf1.keras.layers.cells import LSTMCell
from staticgraph.tf1.keras.layers.recurrent import _Named
from staticgraph.tf1.keras.settings import checked_format


class ConvLSTM2DCell(LSTMCell):
    """A long short-term memory whose products are convolutions: that of the state keeps its size."""

    config_names: tuple[str, ...] = (*OF_WINDOWS, "dilation_rate")

    @with_weights(
        before="dropout", activity=False, kernel="glorot_uniform", recurrent="orthogonal", bias="zeros"
    )
    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        unit_forget_bias: bool = True,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            activation,
            recurrent_activation,
            use_bias,
            unit_forget_bias=unit_forget_bias,
            dropout=dropout,
            recurrent_dropout=recurrent_dropout,
            **kwargs,
        )
        self.filters = self.units
        self.kernel_size = sizes_of(kernel_size, 2, "kernel_size")
        self.strides = sizes_of(strides, 2, "strides")
        self.padding = text_of(padding, "padding").lower()
        if self.padding not in ("valid", "same"):
            raise misuse(ValueError, f"padding={padding!r} is not valid or same")
        self.data_format = checked_format(data_format)
        self.dilation_rate = sizes_of(dilation_rate, 2, "dilation_rate")
        self.channel_axis = 1 if self.data_format == "channels_first" else 3

    def build(self, input_shape: Any) -> None:
        channels, wide = known_size(input_shape, self.channel_axis, self.name), 4 * self.filters
        options, sizes = self.weight_options, self.kernel_size
        self.kernel = self.add_weight("kernel", [*sizes, channels, wide], **options["kernel"])
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel", [*sizes, self.filters, wide], **options["recurrent"]
        )
        shape, make = self._bias(options["bias"]["initializer"])
        self.bias = (
            self.add_weight("bias", shape, **options["bias"] | {"initializer": make})
            if self.use_bias
            else None
        )
        self.built = True

    def _transformed(self, x: Any, kernel: Any, kind: str) -> Any:
        if kind == "state":
            return K.conv2d(x, kernel, padding="same", data_format=self.data_format)
        return K.conv2d(x, kernel, self.strides, self.padding, self.data_format, self.dilation_rate)

    def _biased(self, made: Any) -> Any:
        return nn.bias_add(made, self.bias, data_format_of(self.data_format, 2))

    def first_state(self, inputs: Any) -> Any:
        """Zeros of the shape of a state, for the images of one time step."""
        return zeros_like(self._transformed(inputs, self.kernel[..., : self.filters], "input"))

    def get_config(self) -> dict[str, Any]:
        return {name: value for name, value in super().get_config().items() if name not in _OF_LSTM}


_OF_LSTM = ("units", "implementation")


class ConvLSTM2D(_Named):
    """A recurrent layer over images [batch, time, rows, columns, channels], with convolutions for products.

    The state is images of `filters` channels. The input is convolved with `strides`, `padding` and
    `dilation_rate`, the state with zeros around it, so that it keeps its size. Options that all recurrent
    layers share are those of `RNN`, but `unroll` and stacked cells are refused.

    Args:
        filters: The number of channels of the output.
        kernel_size: The size of the windows: a number, or one for rows and one for columns.
        *args: Further arguments by their place: `strides`, `padding`, and so on.
        **kwargs: `strides` (1), `padding` ("valid" or "same"), `data_format`, `dilation_rate` (1),
            `activation` ("tanh"), `recurrent_activation` ("hard_sigmoid"), `use_bias`, `unit_forget_bias`,
            `dropout`, `recurrent_dropout`; initializers, regularizers and constraints of `kernel`,
            `recurrent` and `bias`; and those of `RNN`.

    Raises:
        TypeError: For `unroll`.

    >>> import staticgraph as sg
    >>> x = sg.keras.Input([5, 8, 8, 3])
    >>> sg.keras.layers.ConvLSTM2D(4, 3, padding="same", return_sequences=True)(x).shape.as_list()
    [None, 5, 8, 8, 4]
    """

    cell_class = ConvLSTM2DCell

    def __init__(self, filters: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("unroll"):
            raise misuse(TypeError, "ConvLSTM2D(unroll=True): unrolling is not possible with convolutions")
        super().__init__(filters, kernel_size, *args, **kwargs)
        self.input_spec = InputSpec(ndim=5)

    def _state_sizes(self, input_shape: Any) -> list[list[int]]:
        shape = self.compute_state_shape(input_shape).as_list()
        if None in shape[1:]:
            text = f"{self.name}: a stateful layer needs images of known size, and they are {input_shape}"
            raise misuse(ValueError, text, "give batch_input_shape with all of its sizes")
        return [shape[1:]] * 2

    def compute_state_shape(self, input_shape: Any) -> Any:
        """Return the static shape of a state, for inputs of this shape."""
        sizes = input_shape.as_list()
        images = K.placeholder([sizes[0], *sizes[2:]])
        return self.cell.first_state(images).shape

    def get_initial_state(self, inputs: Any) -> list[Any]:
        first = self.cell.first_state(inputs[:, 0])
        return [first, first]
