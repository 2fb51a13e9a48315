// SPDX-License-Identifier: MIT
// Blocks of the hierarchical counters beside what the machine itself counted.
#ifndef TALLY_TESTS_CONTRACT_SMPM_VIEWS_H
#define TALLY_TESTS_CONTRACT_SMPM_VIEWS_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "machine/machine.h"
#include "pmu/smpm/attached.h"

// The blocks are device, D, VM and context.
enum { SMPM_TB_FLUSH = 0x00c, SMPM_TB_STATUS = 0x020, SMPM_BUSY = 1, SMPM_N_BLOCKS = 4 };

static inline tl_smpm_attached *smpm_on(tl_machine *machine) {
    return (tl_smpm_attached *)(void *)tl_machine_pmu_of(machine, &tl_pmu_smpm, 0);
}

static inline uint32_t smpm_vm_block(const tl_smpm *model) { return tl_smpm_block_of(model, TL_SMPM_ONLY_VM, TL_SMPM_NO_CTX); }

// A count of a block. false: the block is being written, or says that the count is none.
static inline bool smpm_count(const tl_smpm *model, uint32_t block, uint32_t index, uint64_t *ret_count) {
    static uint64_t copy[TL_SMPM_MAX_BLOCK_WORDS];
    tl_smpm_block decoded;
    tl_error err = {0};
    uint32_t n_words;
    const uint64_t *words = tl_smpm_block_words(model, block, &n_words);
    if (tl_smpm_block_copy(words, n_words, 1, copy) != TL_SMPM_COPIED || tl_smpm_block_decode(copy, n_words, &decoded, &err) != TL_OK)
        return false;
    const tl_smpm_value value = tl_smpm_block_value(&decoded, TL_SMPM_CTR, index);
    *ret_count = value.count;
    return value.flags == 0;
}

// Total of an event over all units of its kind.
static inline uint64_t smpm_truth(tl_machine *machine, const tl_event *event) {
    tl_arena arena = {0};
    uint64_t sum = 0;
    const bool is_hart = tl_smpm_event_kind(event) == TL_SMPM_UNIT_HART;
    for (uint32_t hart = 0; hart < (is_hart ? machine->n_harts : 1); hart++) {
        tl_sources sources;
        if (tl_sources_resolve(event->sources, &machine->probe, hart, &arena, &sources, NULL) != TL_OK)
            sources.n_cells = 0;
        for (uint32_t i = 0; i < sources.n_cells; i++)
            sum += machine->tally[sources.cells[i]];
    }
    tl_arena_done(&arena);
    return sum;
}

// Compares every view with the machine: bits exactly, pulses for whole scales. Names the first that
// differs. Returns how many totals are not 0; 0: some view differs.
static inline uint32_t smpm_compare(tl_machine *machine, bool (*is_left_out)(const tl_event *event)) {
    tl_smpm_attached *a = smpm_on(machine);
    const uint32_t blocks[SMPM_N_BLOCKS] = {0, 1, smpm_vm_block(a->model), tl_smpm_block_of(a->model, TL_SMPM_ONLY_VM, TL_SMPM_ONLY_CTX)};
    uint32_t n = 0;
    for (uint32_t t = 0; t < a->layout.n_types; t++)
        for (uint32_t c = 0; c < a->config.ulc_ctrs; c++) {
            const tl_smpm_unit_type *type = &a->layout.types[t];
            const tl_smpm_ctr *ctr = &type->ctrs[c];
            const bool is_pulse = ctr->feed == TL_SMPM_FEED_PULSE;
            if (ctr->feed == TL_SMPM_FEED_NONE)
                continue;
            const tl_event *event = &tl_smpm_events[is_pulse ? type->multi[ctr->input] : type->bits[ctr->input]];
            if (is_left_out(event))
                continue;
            uint32_t n_ulcs = 0;
            for (uint32_t u = 0; u < a->layout.n_ulcs; u++)
                n_ulcs += a->layout.ulcs[u].type == t;
            const uint64_t truth = smpm_truth(machine, event), scale = is_pulse ? 32 : 1;
            for (uint32_t b = 0; b < SMPM_N_BLOCKS; b++) {
                uint64_t count = 0;
                const bool is_count = smpm_count(a->model, blocks[b], tl_smpm_ctr_index(&a->config, t, c), &count);
                count *= scale;
                if (!is_count || count > truth || truth - count > (is_pulse ? 31 * n_ulcs : 0)) {
                    fprintf(stderr, "%s: block %u has %" PRIu64 ", the machine %" PRIu64 "\n", event->name, blocks[b], count, truth);
                    return 0;
                }
            }
            n += truth != 0;
        }
    return n;
}

static inline bool smpm_is_committing(tl_machine *machine) {
    bool is_one = false;
    for (uint32_t block = 0; block < SMPM_N_BLOCKS; block++) {
        uint32_t n_words;
        is_one |= tl_smpm_block_words(smpm_on(machine)->model, block, &n_words)[2] % 2;
    }
    return is_one;
}

#endif
