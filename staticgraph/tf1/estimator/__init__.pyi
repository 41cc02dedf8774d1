"""Models that a function builds, with their training, evaluation and use (TF1's `tf.estimator`). Made by tools/type_stubs.py."""

from staticgraph.tf1.estimator import (
    experimental as experimental,
    export as export,
    inputs as inputs,
)
from staticgraph.tf1.estimator.baseline import (
    BaselineClassifier as BaselineClassifier,
    BaselineEstimator as BaselineEstimator,
    BaselineRegressor as BaselineRegressor,
)
from staticgraph.tf1.estimator.combined import (
    DNNLinearCombinedClassifier as DNNLinearCombinedClassifier,
    DNNLinearCombinedEstimator as DNNLinearCombinedEstimator,
    DNNLinearCombinedRegressor as DNNLinearCombinedRegressor,
)
from staticgraph.tf1.estimator.dnn import (
    DNNClassifier as DNNClassifier,
    DNNEstimator as DNNEstimator,
    DNNRegressor as DNNRegressor,
)
from staticgraph.tf1.estimator.estimator import (
    Estimator as Estimator,
)
from staticgraph.tf1.estimator.exporters import (
    BestExporter as BestExporter,
    Exporter as Exporter,
    FinalExporter as FinalExporter,
    LatestExporter as LatestExporter,
)
from staticgraph.tf1.estimator.extenders import (
    add_metrics as add_metrics,
)
from staticgraph.tf1.estimator.heads import (
    BinaryClassHead as BinaryClassHead,
    MultiClassHead as MultiClassHead,
    RegressionHead as RegressionHead,
)
from staticgraph.tf1.estimator.linear import (
    LinearClassifier as LinearClassifier,
    LinearEstimator as LinearEstimator,
    LinearRegressor as LinearRegressor,
)
from staticgraph.tf1.estimator.parsing import (
    classifier_parse_example_spec as classifier_parse_example_spec,
    regressor_parse_example_spec as regressor_parse_example_spec,
)
from staticgraph.tf1.estimator.run_config import (
    RunConfig as RunConfig,
)
from staticgraph.tf1.estimator.spec import (
    EstimatorSpec as EstimatorSpec,
    ModeKeys as ModeKeys,
)
from staticgraph.tf1.estimator.training import (
    EvalSpec as EvalSpec,
    TrainSpec as TrainSpec,
    train_and_evaluate as train_and_evaluate,
)
from staticgraph.tf1.estimator.warm_start import (
    WarmStartSettings as WarmStartSettings,
)
