"""Operations without cost.

They are hints, register budgets, allocations of tensor memory, descriptors, the host side of a
lowered function, printing and assertions.

Sources: tilelang ``src/op/builtin.cc``, ``src/cuda/op/builtin.cc``; TVM ``tirx/op.py``,
``src/tirx/op/builtin.cc`` and ``backend/cuda/cpp/instrument.py``.
"""

from __future__ import annotations

from typing import Any, Dict

from ..facts import Annotate, RegisterRequest, Statement
from .build import short_name
from .registry import Context, accounts

TILELANG = """
    annotate_producer_reg_dealloc annotate_consumer_reg_alloc no_set_max_nreg set_max_nreg
    conflict_hint mvb_stage_index prefetch_tma_descriptor create_tma_descriptor
    create_tma_im2col_descriptor initialize_wgmma_descriptor initialize_tcgen05_descriptor
    increase_descriptor_offset deallocate_tmem ptx_init_tensor_memory
    ptx_deallocate_tensor_memory device_assert device_assert_with_msg rng_init loop_break
    tvm_ffi_call_with_result ascend_set_* ascend_get_buf ascend_rls_buf ascend_set_atomic_none
    access_ptr region
"""

TVM = """
    assume likely ret thread_return break_loop continue_loop prefetch print_buffer
    tvm_struct_set
    tvm_throw_last_error tvm_stack_* tvm_kernel_replace_point tvm_static_handle
    throw_last_error stack_alloca stack_make_* kernel_replace_point static_handle abi_field_*
    assume_aligned assume_always
    TVMBackend* anylist_* nd_mem_alloc_with_scope start_profile_intrinsic end_profile_intrinsic
    timer_* type_annotation tensormap_encode_tiled
    address_of tvm_access_ptr undef tvm_tuple lookup_param
    cuda.printf cuda.trap_when_assert_failed cuda.iket* cuda.clock64
    cuda.tcgen05_encode_* cuda.wgmma_encode_* cuda.runtime_instr_desc
    ptx.setmaxnreg ptx.tcgen05_alloc* ptx.tcgen05_dealloc* ptx.tcgen05_relinquish_alloc_permit
    ptx.tcgen05_encode_* ptx.wgmma_encode_* ptx.prefetch* ptx.applypriority* ptx.discard
    ptx.createpolicy* ptx.tensormap_replace* ptx.cp_async_bulk_prefetch*
    ptx.cp_async_bulk_tensor_prefetch*
"""

#: The allocation of tensor memory: ``tcgen05_alloc(address, columns, blocks)``.
_TENSOR_MEMORY = "tcgen05_alloc"
#: The register requests of operations.
_REGISTER_REQUESTS: Dict[str, RegisterRequest] = {
    "setmaxnreg": "divide",
    "set_max_nreg": "divide",
    "no_set_max_nreg": "keep",
}


@accounts(*("tl." + name for name in TILELANG.split()), *("tir." + name for name in TVM.split()))
def annotate(call: Any, context: Context) -> Statement:
    """A statement without arithmetic, accesses or time."""
    name = short_name(call.op.name)
    columns = context.literal(call.args[1]) if name == _TENSOR_MEMORY else None
    return Annotate(
        label="T.{}()".format(name),
        register_request=_REGISTER_REQUESTS.get(name),
        tensor_memory_columns=columns if isinstance(columns, int) else 0,
    )
