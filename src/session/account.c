// SPDX-License-Identifier: MIT
// The list of accounts, searched, and what rows share. Registers are counted where they are found:
// every number of the CSR space is looked up in the design's register map.
#include "session/account.h"

enum { N_CSRS = 4096 };

const tl_account_type *tl_account_find(const tl_pmu_type *pmu) {
    const tl_account_type *const *type = tl_account_types;
    while (*type && (*type)->pmu != pmu)
        type++;
    return *type;
}

void tl_account_complete(tl_config *config) {
    for (const tl_account_type *const *type = tl_account_types; *type; type++)
        (*type)->complete(config);
}

uint32_t tl_account_csrs(const tl_regfile *file) {
    uint32_t n = 0;
    for (uint32_t csr = 0; csr < N_CSRS; csr++) {
        tl_reg_at at;
        if (tl_regfile_find(file, csr, &at))
            n += !at.reg->presence || at.reg->presence(file, at.index, at.is_high) == TL_PRESENT;
    }
    return n;
}

// Every array has an element for each counter.
uint32_t tl_account_bytes_per_event(const tl_regmap *map) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < map->n_regs; i++)
        n += map->regs[i].count > 1 ? map->regs[i].stride : 0;
    return n;
}
