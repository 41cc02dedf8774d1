"""The fast tier, `pytest -m fast`: the first case of the first two tests of each file that are not in SLOW.

It takes less than a minute with `-n 2`. tests/test_fast.py checks that no folder is left out.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import pytest

OF_EACH_FILE = 2

# Tests of which one case takes a second or more, by their file. The next one of the file takes their place.
SLOW: dict[str, str] = {
    "ahead/test_program.py": "test_a_program_learns_digits_as_a_session_does test_the_example_runs_as_it_is",
    "ahead/test_random_programs.py": "test_steps",
    "ahead/test_same_bits.py": "test_digits_are_learned_and_told_apart",
    "ahead/test_targets.py": (
        "test_the_object_is_of_the_target_s_format_and_needs_only_its_c_library "
        "test_a_thread_pool_for_each_system test_an_older_processor_gives_the_same_up_to_rounding "
        "test_what_a_processor_can_do_is_found_out"
    ),
    "audit/test_operands.py": (
        "test_no_position_in_the_registry_needs_a_clamp test_some_between_guarded_pages"
    ),
    "codegen/test_llvm_random.py": "test_compiled_kernels_keep_the_meaning",
    "codegen/test_sanitizers.py": (
        "test_calls_stay_within_their_memory test_the_pool_stays_within_its_memory "
        "test_the_pool_has_no_data_races test_a_read_past_the_end_is_found test_a_race_is_found"
    ),
    "commands/test_launch.py": "test_processes_and_arguments test_a_run_that_fails_starts_again_with_fewer",
    "commands/test_replay.py": "test_a_part_of_it",
    "commands/test_watch.py": (
        "test_the_current_folder_is_served_until_ctrl_c test_other_machines_get_an_address_with_a_token"
    ),
    "compat/test_contrib_learn.py": (
        "test_linear_models_learn_as_tensorflow test_a_network test_a_network_of_numbers"
    ),
    "compat/test_cudnn_layers.py": "test_layers_compute_their_formulas",
    "compat/test_standin.py": "test_flags_data_and_the_exit_status",
    "fuzz/test_random_graphs.py": (
        "test_compiled_equals_interpreted test_optimised_equals_plain test_simplification_comes_to_rest "
        "test_kernels_can_run_in_their_order"
    ),
    "fuzz/test_random_nests.py": "test_compiled_equals_interpreted",
    "fuzz/test_random_odd_values.py": "test_some_graphs",
    "fuzz/test_random_steps.py": "test_steps_in_small_pieces",
    "fuzz/test_random_training.py": "test_steps",
    "gpu/test_attention.py": "test_attention_is_what_it_is_on_the_processor test_tensor_cores_may_multiply",
    "gpu/test_barriers.py": "test_no_barrier_can_be_left_out test_no_barrier_of_the_prelude_can_be_left_out",
    "gpu/test_bisect.py": (
        "test_a_training_step_agrees test_a_wrong_kernel_is_found_in_a_loop "
        "test_kernels_in_a_loop_are_those_that_the_card_runs"
    ),
    "gpu/test_choose.py": "test_random_nests",
    "gpu/test_columns.py": "test_sums_of_all_shapes",
    "gpu/test_compiles.py": "test_every_function_compiles_and_keeps_its_numbers_in_registers",
    "gpu/test_convolutions.py": "test_a_residual_block_trains_as_on_the_processor",
    "gpu/test_disk_programs.py": "test_what_was_compiled_once_is_only_loaded",
    "gpu/test_gpu_check.py": "test_a_stage_that_hangs_is_ended_with_what_it_started_and_keeps_what_it_found",
    "gpu/test_gpu_check_kernels.py": "test_tasks_are_shared_out_and_what_breaks_a_process_is_told",
    "gpu/test_gpu_check_speed.py": (
        "test_rounds_of_loops_are_timed test_tokens_are_made test_sizes_change "
        "test_a_second_process_finds_what_the_first_has_left"
    ),
    "gpu/test_half_nets.py": (
        "test_tensor_cores_do_all_products_and_nothing_only_converts test_losses_are_those_of_float64"
    ),
    "gpu/test_merging.py": "test_a_merged_function_does_what_its_functions_do",
    "gpu/test_open_sizes.py": (
        "test_functions_are_loaded_once_and_bits_are_those_of_a_fresh_session "
        "test_compiles_guards_and_refusals_are_those_of_the_processor "
        "test_a_fifth_program_is_warned_of_and_a_fifth_size_is_not"
    ),
    "gpu/test_overlap.py": "test_a_step_of_adam_is_no_chain",
    "gpu/test_pointwise.py": "test_random_nests test_every_length_and_dtype",
    "gpu/test_reductions.py": "test_reductions",
    "gpu/test_registry.py": "test_ops_on_a_card_equal_their_meaning",
    "gpu/test_rows.py": "test_functions_of_rows",
    "gpu/test_scalar_text.py": "test_primitives",
    "gpu/test_scans.py": "test_rows_by_their_number_and_length",
    "gpu/test_session.py": "test_a_card_gives_what_the_processor_gives",
    "gpu/test_statements.py": "test_random_kernels",
    "gpu/test_tile.py": "test_contractions_of_graphs test_every_shape_of_tiles test_tensor_cores",
    "gpu/test_tile_text.py": "test_registers_are_enough",
    "gpu/test_train_steps.py": "test_the_order_of_threads_does_not_matter",
    "gpu/test_watched.py": (
        "test_an_access_is_held_to_the_bytes_of_the_launch test_programs_touch_what_is_theirs "
        "test_a_sample_of_the_registry_touches_what_is_its_own"
    ),
    "graph/test_collector.py": "test_what_was_made_in_the_pause_is_old_and_still_garbage_one_day",
    "graph_def/test_nets.py": "test_a_net_is_trained_as_it_was",
    "graph_def/test_stacks.py": "test_below_a_scope_and_among_other_nodes",
    "keras/test_callbacks.py": "test_what_is_called_when",
    "kernel/test_random_kernels.py": "test_place_and_schedule_keep_the_meaning",
    "nets/test_on_gpu.py": "test_a_gpu_computes_the_same",
    "onnx/test_export_models.py": "test_perceptron",
    "ops/test_vector_widths.py": "test_compiled_equals_meaning",
    "page/test_watch.py": (
        "test_a_new_point_is_seen_at_once test_a_million_points test_five_runs_are_compared_and_toggled "
        "test_axes_scales_smoothing_and_keys test_names_and_texts_of_files_never_become_markup "
        "test_one_file_shows_the_same_without_a_server test_a_telephone_and_dark_colours"
    ),
    "processes/test_collectives.py": (
        "test_results_are_those_of_numpy test_the_meaning_of_an_op_is_an_exchange_too "
        "test_gradients_are_those_of_the_sum_of_all_losses test_a_step_calls_mpi_without_python "
        "test_inside_of_loops_and_branches test_gradients_travel_while_others_are_computed"
    ),
    "processes/test_faults.py": (
        "test_an_error_is_raised_in_all_and_all_go_on "
        "test_the_same_error_everywhere_is_told_once_by_each test_an_error_that_ends_a_process "
        "test_a_process_without_data test_steps_that_differ_are_found_at_the_first_run "
        "test_another_step_than_one_that_the_others_know "
        "test_a_process_that_hangs_is_waited_for_so_long "
        "test_a_process_that_does_not_answer_is_waited_for_so_long "
        "test_a_process_that_computes_is_waited_for "
        "test_a_monitored_session_ends_with_the_process_that_others_wait_for "
        "test_a_process_that_is_killed_ends_the_run "
        "test_mpi_is_not_installed"
    ),
    "processes/test_first_end.py": "test_the_launcher_names_the_process_that_ended_first",
    "processes/test_horovod.py": "test_a_script_with_a_monitored_session",
    "processes/test_mirrored.py": "test_numbers_are_those_of_tensorflow",
    "processes/test_optimizer.py": (
        "test_two_processes_learn_what_one_learns_of_both_batches "
        "test_first_values_are_those_of_the_first_process test_one_process_needs_no_mpi"
    ),
    "processes/test_processors.py": "test_threads_are_those_of_a_share test_a_number_that_is_given_stays",
    "processes/test_scripts.py": (
        "test_synchronous_training_with_a_server test_a_parameter_server_has_nothing_to_do "
        "test_asynchronous_training_is_refused test_workers_train_a_model_of_keras "
        "test_workers_train_and_evaluate_an_estimator test_keras_with_horovod "
        "test_a_strategy_has_the_gradients_of_all test_a_cluster_of_other_processes"
    ),
    "processes/test_sharded_state.py": (
        "test_the_numbers_of_whole_state test_any_number_of_processes_goes_on_from_a_checkpoint"
    ),
    "processes/test_shards.py": (
        "test_any_number_of_processes_writes_the_same_checkpoint test_more_threads_compute_the_same_bits "
        "test_processors_that_differ_are_refused_with_their_names test_more_processes_than_shards"
    ),
    "runtime/test_cpu_jit.py": "test_memory_and_disk test_damaged_entry test_entry_of_another_function",
    "runtime/test_freed.py": (
        "test_a_graph_is_freed test_a_loop_that_makes_graphs_does_not_fill_the_memory "
        "test_files_that_are_refused_are_closed_at_once"
    ),
    "runtime/test_interrupts.py": (
        "test_an_interrupted_run_changes_all_variables_or_none test_an_interrupt_leaves_the_lock_as_it_was"
    ),
    "runtime/test_old_processor.py": "test_results_on_an_older_processor",
    "runtime/test_open_bits.py": "test_orders_of_sizes",
    "runtime/test_open_errors.py": "test_errors_are_the_same",
    "runtime/test_pool.py": "test_random_graphs_in_many_chunks",
    "runtime/test_recycle.py": "test_memory_that_can_be_seen_is_not_used_again",
    "saving/test_damage.py": "test_every_truncation_is_noticed",
    "saving/test_kills.py": "test_at_each_call_of_the_system",
    "saving/test_mapped.py": "test_assignments_do_not_reach_the_file",
    "seeing/test_open_observers.py": "test_steps_with_open_sizes_can_be_looked_at",
    "seeing/test_growth.py": "test_an_assignment_in_the_loop_is_told_once_with_its_line",
    "seeing/test_switches.py": "test_only_the_table_knows_variables_of_the_environment",
    "solver/test_examples.py": "test_an_example_reads_right_what_it_has_not_trained_on",
    "solver/test_kills.py": "test_a_killed_training_goes_on_bit_for_bit",
    "test_english.py": (
        "test_summaries_are_no_questions test_names_of_files_and_classes_are_terms_of_the_field"
    ),
    "test_benchmark_of_sizes.py": (
        "test_a_story_has_the_results_of_a_session_that_compiles_each_size test_a_first_step "
        "test_a_net_of_two_losses_trains_the_weights_of_each "
        "test_rows_of_the_readme_with_open_sizes_compute_the_same"
    ),
    "test_examples.py": (
        "test_two_layer_net_trains_to_the_loss_of_numpy test_two_layer_net_ends_where_numpy_ends"
    ),
    "test_layering.py": "test_imports_run_one_way",
    "test_manual.py": (
        "test_every_op_has_one_section_and_is_listed test_a_section_tells_types_gradient_and_loops"
    ),
    "watch/test_server.py": "test_a_graph_is_drawn_by_another_process",
    "witness/test_random_programs.py": "test_programs",
}

# Folders of the product that no first test enters.
ALSO = {
    "graph_def/test_models.py": "test_nodes_that_only_tensorflow_makes",
    "keras/test_changed_models.py": "test_every_place",
    "keras/test_data.py": "test_the_formats_of_mnist_and_cifar",
}
# One file for all that TensorFlow was asked: the first case of each subject.
BY_SUBJECT = "golden/test_golden.py"


def chosen(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """The fast ones of tests that come in the order of their files."""
    taken: dict[str, set[str]] = defaultdict(set)
    for item in items:
        file, _, case = item.nodeid.removeprefix("tests/").partition("::")
        test = case.partition("[")[0]
        if test in SLOW.get(file, "").split() or item.get_closest_marker("slow"):
            continue
        always = test in ALSO.get(file, "").split() or file == BY_SUBJECT
        if file == BY_SUBJECT:
            test = case.partition(": ")[0]
        if test not in taken[file] and (always or len(taken[file]) < OF_EACH_FILE):
            taken[file].add(test)
            yield item
