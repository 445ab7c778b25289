"""Which tests of the language run as interpreted Tile IR in every run, by architecture.

They are few of all, chosen so that a wrong rule of the lowering fails one.
"""

from __future__ import annotations

EXAMPLES = ("softmax", "rms_norm", "flash_attention", "gemm", "error_handling")
PARTS: dict[str, dict[str, tuple[str, ...]]] = {
    "sm_80": {"test_atomics": ("test_sums_of_floats",)},  # those of bf16 by compare and swap
    "sm_100": {
        "test_integers": ("test_every_operation[cpu-i32]", "test_every_operation[cpu-u8]"),
        "test_floats": ("test_every_operation[cpu-f32]", "test_directed_rounding[cpu-f32]",
                        "test_multiply_and_add[cpu-bf16]"),
        "test_math": ("test_edge_values[cpu-f32]", "test_edge_values[cpu-f64]"),
        "test_conversions": ("test_to_every_type[cpu-f32]", "test_to_every_type[cpu-i64]",
                             "test_to_every_type[cpu-u8]", "test_bitcast_keeps_all_bits[cpu-32]"),
        "test_layout": ("test_arrangements[cpu-i16]", "test_long_counts_wrap_in_small_types[cpu]"),
        "test_reductions": ("test_sums[cpu-i32]", "test_extrema[cpu-f32]", "test_extrema[cpu-u8]",
                            "test_scans[cpu-i32]", "test_places_of_extrema[cpu-f32]"),
        "test_stdlib": ("test_sorting[cpu-f32]", "test_sorting[cpu-u8]",
                        "test_arrangements[cpu-i16]", "test_indices_in_order[cpu-bf16]",
                        "test_reductions[cpu-f16]"),
        "test_matmul": ("test_every_pair_of_bytes", "test_half_sums_round_once[cpu]",
                        "test_scaled_products"),
    },
    "sm_90": {
        "test_memory": ("test_padding_of_every_type[cpu-f32]", "test_permuted_partitions",
                        "test_nested_partitions[cpu-(19, 33)-(2, 4)]", "test_strided_inputs"),
        "test_pointers": ("test_gather_and_scatter[cpu-f32]", "test_masked_loads_are_filled",
                          "test_no_number_of_a_row_reaches_outside", "test_windows_and_rows[cpu]",
                          "test_views_that_run_backwards[cpu--1]"),
        "test_atomics": ("test_modes_on_integers[cpu-i32-max]", "test_sums_of_floats",
                         "test_modes_on_integers[cpu-u64-min]", "test_compare_and_swap[cpu-f32]",
                         "test_reductions_through_views"),
        "test_control_flow": ("test_steps_known_at_launch[cpu]", "test_memory_in_branches[cpu]",
                              "test_loops_at_the_end_of_the_integers[cpu]"),
        "test_grids": ("test_block_numbers", "test_three_axes[cpu]"),
        "test_mapped": ("test_boundary_extents[cpu-(3,)-5]", "test_owned_axes[cpu-2-(5, 7, 3)]"),
        "test_failures": ("test_where_indices_go_wrong", "test_indices_from_data[cpu--1]"),
        "test_printing": ("test_blocks_print_in_order[cpu]", "test_every_type_is_shown[cpu-f32]",
                          "test_tiles_are_shown_as_numpy_shows_them[cpu]"),
        "test_kernels": ("test_softmax[cpu-1025-f32]", "test_gemm_of_strided_views[cpu]"),
        "test_order": ("test_in_place",),
        "test_parameters": ("test_scalars_of_many_types[cpu]",),
        "test_tile_forms": ("test_loops_over_a_row[cpu-bf16-shape2]", "test_partial_sums_of_rows",
                            "test_products_of_converted_weights[cpu-f16-shape1]",
                            "test_products_of_gathered_rows[cpu-shape1]"),
        "test_examples": tuple(f"test_example[{name}]" for name in EXAMPLES),
    },
}  # fmt: skip
"""Tests by the architecture they run for; one of them has all element types."""


def chosen(arch: str) -> list[str]:
    """Return the ids of the tests of an architecture."""
    return [f"{_path(file)}::{test}" for file, tests in PARTS[arch].items() for test in tests]


def files() -> list[str]:
    """Return the files of these tests."""
    return sorted({_path(file) for parts in PARTS.values() for file in parts})


def options(arch: str) -> list[str]:
    """Return the options of pytest that interpret kernels for an architecture."""
    return [f"--simulate={arch}", "--on=cuda"]


def _path(file: str) -> str:
    return f"tests/{'examples' if file == 'test_examples' else 'cpu/language'}/{file}.py"
