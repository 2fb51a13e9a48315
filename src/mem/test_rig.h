// SPDX-License-Identifier: MIT
// A memory system without a machine around it, for tests. Its harts have only the members that mem/
// asks for, and its tallies have no other writer. Helpers write page tables.
#ifndef TL_MEM_TEST_RIG_H
#define TL_MEM_TEST_RIG_H

#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "isa/rv/regime.h"
#include "mem/memory.h"

typedef struct tl_rig {
    tl_config config;
    tl_arena arena;
    uint8_t *ram;
    tl_hart *harts[TL_MAX_HARTS];
    uint64_t *shared_tally[TL_MAX_MEMORY_UNITS];
    uint32_t n_shared;
    tl_memory *memory;
} tl_rig;

static inline void tl_rig_start(tl_rig *rig, const tl_config *config) {
    *rig = (tl_rig){.config = *config};
    rig->ram = calloc(1, config->ram_bytes);
    assert_non_null(rig->ram);
    for (uint32_t i = 0; i < config->n_harts; i++) {
        tl_hart *h = rig->harts[i] = tl_arena_alloc(&rig->arena, sizeof(tl_rv_hart));
        assert_non_null(h);
        h->isa = &tl_isa_rv64;
        h->isa->init(h);
        h->id = i;
        h->config = &rig->config;
        h->ram = rig->ram;
        h->tally = tl_arena_alloc(&rig->arena, TL_S_N_CELLS * sizeof *h->tally);
        assert_non_null(h->tally);
    }
    rig->n_shared = tl_memory_n_units(config);
    for (uint32_t k = 0; k < rig->n_shared; k++) {
        tl_memory_unit unit;
        tl_memory_unit_at(config, k, &unit);
        rig->shared_tally[k] = tl_arena_alloc(&rig->arena, unit.type->n_signals * sizeof(uint64_t));
        assert_non_null(rig->shared_tally[k]);
    }
    tl_error err;
    if (tl_memory_new(&rig->config, &rig->arena, rig->harts, rig->ram, rig->shared_tally, &rig->memory, &err) != TL_OK)
        fail_msg("%s", err.text);
}

static inline void tl_rig_stop(tl_rig *rig) {
    tl_memory_done(rig->memory);
    tl_arena_done(&rig->arena);
    free(rig->ram);
}

// A small machine in which every latency is a number of its own, so that a sum has one explanation.
// One hart, direct-mapped caches of four lines of 64 bytes, an L2 of sixteen lines in two ways,
// TLBs of two entries, an L2 TLB of eight, 16 MiB of RAM.
static inline tl_config tl_rig_config(void) {
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.pipeline.misaligned_cycles = 3;
    config.l1i = config.l1d = (tl_cache_config){.size_bytes = 256, .ways = 1, .line_bytes = 64};
    config.l2 = (tl_cache_config){.size_bytes = 1024, .ways = 2, .line_bytes = 64};
    config.itlb = config.dtlb = (tl_tlb_config){.entries = 2, .ways = 2};
    config.l2tlb = (tl_tlb_config){.entries = 8, .ways = 2};
    config.mem = (tl_mem_config){.l2_hit_cycles = 11,
                                 .l2_busy_cycles = 2,
                                 .probe_cycles = 17,
                                 .upgrade_cycles = 13,
                                 .l2tlb_hit_cycles = 5,
                                 .walk_step_cycles = 1,
                                 .mem_row_hit_cycles = 100,
                                 .mem_row_miss_cycles = 200,
                                 .mem_row_conflict_cycles = 400,
                                 .mem_busy_cycles = 7,
                                 .mem_banks = 4,
                                 .mem_row_bytes = 1024};
    return config;
}

static inline uint64_t tl_rig_paddr(uint64_t offset) { return TL_RAM_BASE_PADDR + offset; }

static inline void tl_rig_write_u64(uint8_t *ram, uint64_t paddr, uint64_t value) {
    memcpy(ram + (paddr - TL_RAM_BASE_PADDR), &value, sizeof value);
}

static inline uint64_t tl_rig_read_u64(const uint8_t *ram, uint64_t paddr) {
    uint64_t value;
    memcpy(&value, ram + (paddr - TL_RAM_BASE_PADDR), sizeof value);
    return value;
}

static inline uint64_t tl_rig_pte(uint64_t paddr, uint64_t flags) { return paddr >> 12 << 10 | flags; }

// Changes that system software makes through the register file: between two instructions, and
// within one.
static inline void tl_rig_set_priv(tl_hart *h, tl_priv priv) {
    h->priv = priv;
    h->view = h->isa->views[priv];
}
static inline void tl_rig_set_status(tl_hart *h, uint64_t mstatus) {
    uint64_t old = tl_rv(h)->csr.mstatus;
    tl_rv(h)->csr.mstatus = mstatus;
    tl_rv_status_changed(h, old);
}
static inline uint64_t tl_rig_mpp(tl_priv priv) { return (uint64_t)priv << 11; }

// A front-end's share: slots first, then the port; the look-ups of what retires are counted.
static inline bool tl_rig_load(tl_hart *h, uint64_t vaddr, uint32_t size) {
    const uint8_t *host = tl_read_hit(h, vaddr, size);
    if (host) {
        h->mem_value = 0;
        memcpy(&h->mem_value, host, size);
    } else if (!h->port->load(h, vaddr, size)) {
        return false;
    }
    h->tally[TL_S_L1D_LOAD] += 1;
    h->tally[TL_S_DTLB_ACCESS] += 1;
    return true;
}

static inline bool tl_rig_store(tl_hart *h, uint64_t vaddr, uint32_t size, uint64_t value) {
    uint8_t *host = tl_write_hit(h, vaddr, size);
    if (host)
        memcpy(host, &value, size);
    else if (!h->port->store(h, vaddr, size, value))
        return false;
    h->tally[TL_S_L1D_STORE] += 1;
    h->tally[TL_S_DTLB_ACCESS] += 1;
    return true;
}

static inline bool tl_rig_fetch(tl_hart *h, uint64_t vaddr) {
    tl_fetch_slot *slot = tl_fetch_slot_of(h, vaddr);
    if (tl_fetch_slot_shows(slot, vaddr)) {
        tl_fetch_hit(h, slot);
    } else if (!h->port->fetch(h, vaddr)) {
        return false;
    } else if (!tl_fetch_slot_shows(slot, vaddr)) {
        fail_msg("the fetch slot is not valid after a successful fetch");
    }
    h->tally[TL_S_L1I_ACCESS] += 1;
    h->tally[TL_S_ITLB_ACCESS] += 1;
    return true;
}

// Tables of an address space: pages are taken one after the other from next_table_paddr.
typedef struct tl_rig_tables {
    uint8_t *ram;
    uint64_t root_paddr, next_table_paddr;
    uint32_t n_levels; // 3: Sv39; 4: Sv48
} tl_rig_tables;

static inline tl_rig_tables tl_rig_tables_at(uint8_t *ram, uint64_t paddr) {
    return (tl_rig_tables){.ram = ram, .root_paddr = paddr, .next_table_paddr = paddr + 4096, .n_levels = 3};
}

static inline uint64_t tl_rig_satp(const tl_rig_tables *tables) {
    return (uint64_t)(tables->n_levels + 5) << 60 | tables->root_paddr >> 12;
}

// Where the entry of vaddr at `level` stands; makes the tables above it.
static inline uint64_t tl_rig_pte_paddr(tl_rig_tables *tables, uint64_t vaddr, uint32_t level) {
    uint64_t table = tables->root_paddr;
    for (uint32_t at = tables->n_levels - 1;; at--) {
        uint64_t entry = table + (vaddr >> (12 + 9 * at) & 511) * 8;
        if (at == level)
            return entry;
        uint64_t pte = tl_rig_read_u64(tables->ram, entry);
        if (!(pte & TL_PTE_V)) {
            pte = tl_rig_pte(tables->next_table_paddr, TL_PTE_V);
            tables->next_table_paddr += 4096;
            tl_rig_write_u64(tables->ram, entry, pte);
        }
        table = pte >> 10 << 12;
    }
}

static inline void tl_rig_map(tl_rig_tables *tables, uint64_t vaddr, uint64_t paddr, uint32_t level, uint64_t flags) {
    tl_rig_write_u64(tables->ram, tl_rig_pte_paddr(tables, vaddr, level), tl_rig_pte(paddr, flags));
}

enum {
    TL_RIG_RW = TL_PTE_V | TL_PTE_U | TL_PTE_R | TL_PTE_W | TL_PTE_A | TL_PTE_D,
    TL_RIG_RX = TL_PTE_V | TL_PTE_U | TL_PTE_R | TL_PTE_X | TL_PTE_A
};

#endif
