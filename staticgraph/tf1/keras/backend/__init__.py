"""The functions below the layers (TF1's `tf.keras.backend`): tensors, sessions, learning phase, settings."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.building.framework": "name_scope",
        "staticgraph.control_flow.functional": "foldl foldr map_fn",
        "staticgraph.tf1.keras.backend.functions": "Function function",
        "staticgraph.tf1.keras.backend.local": "local_conv1d local_conv2d",
        "staticgraph.tf1.keras.backend.maths": (
            "abs all any argmax argmin clip cos cumprod cumsum equal exp greater greater_equal l2_normalize "
            "less less_equal log logsumexp max maximum mean min minimum not_equal pow prod round sign sin "
            "sqrt square std sum var"
        ),
        "staticgraph.tf1.keras.backend.nn": (
            "batch_normalization bias_add binary_crossentropy categorical_crossentropy conv1d conv2d "
            "conv2d_transpose conv3d dropout elu hard_sigmoid in_test_phase in_top_k in_train_phase "
            "normalize_batch_in_training pool2d pool3d relu selu separable_conv2d sigmoid softmax softplus "
            "softsign sparse_categorical_crossentropy switch tanh"
        ),
        "staticgraph.tf1.keras.backend.recurrence": "rnn",
        "staticgraph.tf1.keras.backend.sequences": "ctc_batch_cost ctc_decode ctc_label_dense_to_sparse",
        "staticgraph.tf1.keras.backend.shapes": (
            "arange batch_dot batch_flatten cast concatenate dot dtype expand_dims flatten gather int_shape "
            "is_keras_tensor is_sparse ndim one_hot ones_like permute_dimensions repeat repeat_elements "
            "reshape resize_images resize_volumes reverse shape spatial_2d_padding spatial_3d_padding "
            "squeeze stack temporal_padding tile to_dense transpose zeros_like"
        ),
        "staticgraph.tf1.keras.backend.values": (
            "backend cast_to_floatx constant count_params eval eye gradients is_placeholder "
            "moving_average_update ones placeholder print_tensor random_binomial random_normal "
            "random_normal_variable random_uniform random_uniform_variable stop_gradient truncated_normal "
            "update update_add update_sub variable zeros"
        ),
        "staticgraph.tf1.keras.settings": (
            "epsilon floatx image_data_format set_epsilon set_floatx set_image_data_format"
        ),
        "staticgraph.tf1.keras.state": (
            "batch_get_value batch_set_value clear_session get_session get_uid get_value learning_phase "
            "learning_phase_scope manual_variable_initialization reset_uids set_learning_phase set_session "
            "set_value"
        ),
    },
)
