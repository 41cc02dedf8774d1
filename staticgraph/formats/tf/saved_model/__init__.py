"""Folders with a graph, its signatures and its variables, as TensorFlow Serving reads them
(`tf.saved_model`).
"""

from staticgraph.formats.tf.saved_model import (
    builder,
    constants,
    loader,
    main_op,
    signature_constants,
    signature_def_utils,
    tag_constants,
    utils,
)
from staticgraph.formats.tf.saved_model.builder import SavedModelBuilder as Builder
from staticgraph.formats.tf.saved_model.constants import *
from staticgraph.formats.tf.saved_model.loader import load, maybe_saved_model_directory
from staticgraph.formats.tf.saved_model.loader import maybe_saved_model_directory as contains_saved_model
from staticgraph.formats.tf.saved_model.main_op import main_op_with_restore
from staticgraph.formats.tf.saved_model.signature_constants import *
from staticgraph.formats.tf.saved_model.signature_def_utils import (
    build_signature_def,
    classification_signature_def,
    is_valid_signature,
    predict_signature_def,
    regression_signature_def,
)
from staticgraph.formats.tf.saved_model.simple_save import simple_save
from staticgraph.formats.tf.saved_model.tag_constants import *
from staticgraph.formats.tf.saved_model.utils import build_tensor_info, get_tensor_from_tensor_info
