// SPDX-License-Identifier: MIT
// The pieces of a read; see fabric_reader.h.
#include "readers/dhpc/fabric_reader.h"

#include "base/bits.h"
#include "readers/dhpc/on.h"

const char *const tl_hpc_method_names[TL_HPC_N_METHODS + 1] = {
    [TL_HPC_EMPTY_POLL] = "empty-poll", [TL_HPC_TRIGGER_POLL] = "trigger-poll", [TL_HPC_BURST_READ] = "burst-read"};

uint32_t tl_hpc_values_at_once(const tl_dhpc_config *config) {
    return config->fifo_depth < TL_HPC_MAX_VALUES ? config->fifo_depth : TL_HPC_MAX_VALUES;
}

void tl_hpc_write_wait(tl_assembler *a, const tl_dhpc_config *config, uint64_t bit) {
    uint64_t look = tl_asm_here(a);
    tl_asm_csrr(a, TL_T0, config->hpcc);
    tl_asm_andi(a, TL_T1, TL_T0, (int32_t)bit);
    tl_asm_branch_to(a, TL_ASM_NE, TL_T1, TL_X0, look);
}

uint64_t tl_hpc_write_start(tl_assembler *a, const tl_dhpc_config *config, uint32_t manager, uint64_t bitmap) {
    tl_asm_load_constant(a, TL_T0, bitmap);
    // User mode cannot change useren.
    tl_asm_load_constant(a, TL_T1, (uint64_t)manager << TL_DHPC_ID_LSB | TL_DHPC_TRIGGER);
    tl_asm_csrw(a, config->hpcm, TL_T0);
    uint64_t start = tl_asm_here(a);
    tl_asm_csrw(a, config->hpcc, TL_T1);
    return start;
}

void tl_hpc_write_takes(tl_assembler *a, const tl_dhpc_config *config, tl_hpc_method method, uint32_t n_values) {
    if (method == TL_HPC_TRIGGER_POLL)
        tl_hpc_write_wait(a, config, TL_DHPC_TRIGGER);
    else if (method == TL_HPC_BURST_READ)
        tl_hpc_write_wait(a, config, TL_DHPC_EMPTY);
    for (uint32_t i = 0; i < n_values; i++) {
        if (method == TL_HPC_EMPTY_POLL)
            tl_hpc_write_wait(a, config, TL_DHPC_EMPTY);
        tl_asm_csrr(a, TL_HPC_FIRST_VALUE + i, config->hpcr);
    }
}

void tl_hpc_write_read(tl_assembler *a, const tl_dhpc_config *config, tl_hpc_method method, uint32_t manager, uint64_t bitmap) {
    (void)tl_hpc_write_start(a, config, manager, bitmap);
    tl_hpc_write_takes(a, config, method, (uint32_t)__builtin_popcountll(bitmap));
    if (method != TL_HPC_BURST_READ)
        return;
    tl_asm_csrr(a, TL_T0, config->hpcc);
    tl_asm_andi(a, TL_T0, TL_T0, TL_DHPC_READERROR);
    uint32_t is_good = tl_asm_branch(a, TL_ASM_EQ, TL_T0, TL_X0);
    tl_asm_csrci(a, config->hpcc, 1);
    tl_hpc_write_read(a, config, TL_HPC_EMPTY_POLL, manager, bitmap);
    tl_asm_bind(a, is_good);
}

tl_status tl_hpc_too_slow(const tl_compare_setup *setup, const char *what, tl_error *err) {
    const tl_dhpc_settings c = tl_dhpc_settings_of(&setup->config);
    const struct {
        const char *key;
        uint32_t cycles;
    } parts[] = {{"dhpc.t_req", c.t_req},
                 {"dhpc.t_grant", c.t_grant},
                 {"dhpc.t_lookup", c.t_lookup},
                 {"dhpc.t_resp", c.t_resp},
                 {"dhpc.beat", c.beat}};
    uint32_t most = 0;
    for (uint32_t i = 1; i < TL_COUNT_OF(parts); i++)
        most = parts[i].cycles > parts[most].cycles ? i : most;
    return tl_fail(err, TL_EINVAL, "%s = %u: %s takes too many instructions to wait for its values; choose fewer cycles", parts[most].key,
                   parts[most].cycles, what);
}
