"""Sessions that initialise themselves, call hooks, run threads and survive a loss."""

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.tf1.training.monitored.creators import *
from staticgraph.tf1.training.monitored.scaffold import *
from staticgraph.tf1.training.monitored.session import *
from staticgraph.tf1.training.monitored.session_manager import *
from staticgraph.tf1.training.monitored.training import *

export_names(__name__)
