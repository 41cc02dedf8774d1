"""Hooks: what happens around the runs of a monitored session."""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.tf1.training.hooks.around import *
from staticgraph.tf1.training.hooks.checkpoints import *
from staticgraph.tf1.training.hooks.points import *
from staticgraph.tf1.training.hooks.profiling import *
from staticgraph.tf1.training.hooks.run_hook import *
from staticgraph.tf1.training.hooks.stopping import *
from staticgraph.tf1.training.hooks.summaries import *
from staticgraph.tf1.training.hooks.timer import *
from staticgraph.tf1.training.hooks.watching import *

export_names(__name__)
