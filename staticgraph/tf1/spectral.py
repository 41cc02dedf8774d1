"""The transforms of `sg.signal` under the older name of their module, `sg.spectral`."""

from typing import TYPE_CHECKING

from staticgraph.compiler.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from staticgraph.domains.signal.transforms import *  # noqa: F403

_TRANSFORMS = "dct fft fft2d fft3d idct ifft ifft2d ifft3d irfft irfft2d irfft3d rfft rfft2d rfft3d"
lazy_names(__name__, {"staticgraph.domains.signal.transforms": _TRANSFORMS})
