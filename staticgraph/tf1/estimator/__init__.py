"""Models that a function builds, with their training, evaluation and use (TF1's `tf.estimator`)."""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.tf1.estimator import export, inputs
from staticgraph.tf1.estimator.baseline import *
from staticgraph.tf1.estimator.combined import *
from staticgraph.tf1.estimator.dnn import *
from staticgraph.tf1.estimator.estimator import *
from staticgraph.tf1.estimator.exporters import *
from staticgraph.tf1.estimator.heads import *
from staticgraph.tf1.estimator.linear import *
from staticgraph.tf1.estimator.parsing import *
from staticgraph.tf1.estimator.run_config import *
from staticgraph.tf1.estimator.spec import *
from staticgraph.tf1.estimator.training import *
from staticgraph.tf1.estimator.warm_start import *

export_names(__name__, "export inputs")
