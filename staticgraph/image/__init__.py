"""Images, with TensorFlow 1's names: `sg.image`.

One image is [height, width, channels]; a batch has one more axis in front.
"""

from staticgraph.arrays.space import extract_image_patches
from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.image.augment import *
from staticgraph.image.boxes import *
from staticgraph.image.color import *
from staticgraph.image.files import *
from staticgraph.image.geometry import *
from staticgraph.image.geometry import resize_image_with_crop_or_pad as resize_with_crop_or_pad
from staticgraph.image.geometry import transpose_image as transpose
from staticgraph.image.glimpse import *
from staticgraph.image.intensity import *
from staticgraph.image.quality import *
from staticgraph.image.resizing import *
from staticgraph.image.resizing import resize_images as resize
from staticgraph.image.suppression import *
from staticgraph.random_numbers.random_ops import random_crop

export_names(__name__, "extract_image_patches random_crop resize resize_with_crop_or_pad transpose")
