// SPDX-License-Identifier: MIT
// Runs one Linux program on a machine with the distributed counters. Then it asks every manager for
// every counter through the registers, as an instruction would. The identities I1 to I7 must hold
// between the answers. A block of counters on the bus (pmu/ccache) counts beside them what must be
// the same. Usage: hpc_identities_guest MACHINE PROGRAM [ARG...]; the program's output is
// discarded. Exit status: 0 they hold, 1 they do not, 2 usage.
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "isa/rv/arch.h"
#include "linux/os.h"
#include "pmu/ccache/ccache.h"
#include "pmu/dhpc/dhpc.h"
#include "readers/ccache/on.h"
#include "readers/dhpc/on.h"
#include "session/plan.h"

enum {
    CYCLE,
    INSTRET,
    L1I_READ,
    L1I_MISS,
    L1D_READ,
    L1D_READMISS,
    L1D_WRITE,
    L1D_WRITEMISS,
    L1D_WRITEBACK,
    ITLB,
    ITLB_MISS,
    DTLB,
    DTLB_MISS
};
enum {
    L2TLB = 13,
    L2TLB_MISS,
    BR_COND = 19,
    BR_TAKEN,
    BR_MISPRED,
    L1D_UPGRADE = 23,
    L1D_PROBE,
    L1D_PROBE_DATA,
    PREFETCH = 31,
    L1I_PREFETCH = 33
};
enum { LLC_READ, LLC_READMISS, LLC_WRITE, LLC_WRITEMISS, LLC_WRITEBACK, LLC_READ_I, LLC_READ_LD, LLC_READ_ST, LLC_UNC_READ, LLC_UNC_WRITE };
enum { LLC_DMA_READMISS = 21 };
enum { MEM_READ, MEM_WRITE };

static int n_broken;

static void expect(const char *what, uint64_t got, uint64_t want) {
    if (got == want)
        return;
    fprintf(stderr, "hpc_identities_guest: %s: %" PRIu64 ", not %" PRIu64 "\n", what, got, want);
    n_broken += 1;
}

static void at_most(const char *what, uint64_t part, uint64_t whole) {
    if (part <= whole)
        return;
    fprintf(stderr, "hpc_identities_guest: %s: %" PRIu64 " of %" PRIu64 "\n", what, part, whole);
    n_broken += 1;
}

static uint64_t csr(tl_dhpc *dhpc, uint64_t cycle, uint32_t number, tl_reg_use op, uint64_t operand) {
    const tl_dhpc_access access = {
        .csr = number, .op = op, .operand = operand, .is_rd_x0 = op == TL_REG_WRITE, .is_rs1_x0 = op == TL_REG_SET, .priv = TL_PRIV_M};
    uint64_t old = 0;
    if (!tl_dhpc_execute(dhpc, 0, cycle, &access, &old))
        expect("a legal access was refused", 0, 1);
    return old;
}

// All counters of a manager by hart 0's registers; `values` by bit. The cycle moves on with each
// look.
static uint64_t ask(tl_dhpc *dhpc, uint64_t *cycle, uint32_t id, uint64_t values[TL_DHPC_COUNTERS]) {
    const tl_dhpc_config *c = tl_dhpc_config_of(dhpc);
    csr(dhpc, ++*cycle, c->hpcm, TL_REG_WRITE, UINT64_MAX);
    csr(dhpc, ++*cycle, c->hpcc, TL_REG_WRITE, (uint64_t)id << TL_DHPC_ID_LSB | TL_DHPC_TRIGGER);
    for (int i = 0; i < 1000 && csr(dhpc, ++*cycle, c->hpcc, TL_REG_SET, 0) & TL_DHPC_TRIGGER; i++)
        ;
    uint64_t received = csr(dhpc, ++*cycle, c->hpcm, TL_REG_SET, 0);
    for (uint32_t bit = 0; bit < TL_DHPC_COUNTERS; bit++)
        values[bit] = received >> bit & 1 ? csr(dhpc, ++*cycle, c->hpcr, TL_REG_SET, 0) : 0;
    expect("the FIFO is empty in the end", csr(dhpc, ++*cycle, c->hpcc, TL_REG_SET, 0) & 15, TL_DHPC_EMPTY);
    return received;
}

// Reads, read misses, writes and write-backs of a slice, as selectors of the counter block.
enum { BLOCK_READ, BLOCK_READMISS, BLOCK_WRITE, BLOCK_WRITEBACK, BLOCK_N };
static const uint64_t block_selects[BLOCK_N] = {
    [BLOCK_READ] = TL_CCACHE_EVENT(1, 3) | TL_CCACHE_EVENT(1, 6) | TL_CCACHE_EVENT(1, 7) | TL_CCACHE_EVENT(1, 10),
    [BLOCK_READMISS] = TL_CCACHE_EVENT(3, 0) | TL_CCACHE_EVENT(3, 1),
    [BLOCK_WRITE] = TL_CCACHE_EVENT(1, 14) | TL_CCACHE_EVENT(1, 15),
    [BLOCK_WRITEBACK] = TL_CCACHE_EVENT(3, 9),
};

static void start_block(tl_pmu *block) {
    for (uint32_t i = 0; i < BLOCK_N; i++)
        if (!tl_pmu_store(block, TL_CCACHE_SELECT + 8 * i, 8, block_selects[i]))
            expect("a store to the block was refused", 0, 1);
}

static uint64_t ask_block(tl_pmu *block, uint32_t i) {
    uint64_t value = 0;
    if (!tl_pmu_load(block, TL_CCACHE_COUNTER + 8 * i, 8, &value))
        expect("a load from the block was refused", 0, 1);
    return value;
}

static void check(tl_machine *machine) {
    tl_dhpc *dhpc = tl_dhpc_on(machine);
    uint64_t l1_misses = 0, l1_writebacks = 0, llc_reads = 0, llc_writes = 0, llc_readmisses = 0, llc_writebacks = 0;
    uint64_t unc_reads = 0, unc_writes = 0, dma_misses = 0, mem_reads = 0, mem_writes = 0, instret = 0, cycle = 0;
    uint32_t n_managers, n_llc = 0;
    const tl_dhpc_manager *managers = tl_dhpc_managers(dhpc, &n_managers);
    for (uint32_t h = 0; h < machine->n_harts; h++)
        cycle = machine->harts[h]->now > cycle ? machine->harts[h]->now : cycle;
    for (uint32_t m = 0; m < n_managers; m++) {
        uint64_t v[TL_DHPC_COUNTERS];
        expect("all that is built is returned", ask(dhpc, &cycle, managers[m].id, v), managers[m].implemented);
        if (tl_dhpc_extend_of(managers[m].id) != 0)
            continue;
        switch (tl_dhpc_class_of(managers[m].id)) {
        case TL_DHPC_CORE: {
            const tl_hart *h = machine->harts[managers[m].hart];
            expect("I6: instret", v[INSTRET], h->instret);
            at_most("I6: cycle is no less than what the hart ran", h->now - h->idle_cycles, v[CYCLE]);
            at_most("I6: nor more than has passed since", v[CYCLE], cycle - h->idle_cycles);
            if (!h->client)
                expect("I6: cycle, which stands still on a hart with nothing to run", v[CYCLE], h->now - h->idle_cycles);
            instret += v[INSTRET];
            l1_misses += v[L1I_MISS] + v[L1D_READMISS] + v[L1D_WRITEMISS] + v[PREFETCH] + v[L1I_PREFETCH];
            l1_writebacks += v[L1D_WRITEBACK];
            at_most("I7: l1i", v[L1I_MISS], v[L1I_READ]);
            at_most("I7: l1d read", v[L1D_READMISS], v[L1D_READ]);
            at_most("I7: l1d write", v[L1D_WRITEMISS], v[L1D_WRITE]);
            at_most("I7: itlb", v[ITLB_MISS], v[ITLB]);
            at_most("I7: dtlb", v[DTLB_MISS], v[DTLB]);
            at_most("I7: l2tlb", v[L2TLB_MISS], v[L2TLB]);
            at_most("I7: taken branches", v[BR_TAKEN], v[BR_COND]);
            at_most("I7: mispredicted branches", v[BR_MISPRED], v[BR_COND]);
            at_most("I7: upgrades", v[L1D_UPGRADE], v[L1D_WRITEMISS]);
            at_most("I7: probes with data", v[L1D_PROBE_DATA], v[L1D_PROBE]);
            break;
        }
        case TL_DHPC_LLC:
            n_llc += 1;
            llc_reads += v[LLC_READ];
            llc_writes += v[LLC_WRITE];
            llc_readmisses += v[LLC_READMISS];
            llc_writebacks += v[LLC_WRITEBACK];
            unc_reads += v[LLC_UNC_READ];
            unc_writes += v[LLC_UNC_WRITE];
            dma_misses += v[LLC_DMA_READMISS];
            expect("I3: writemiss of an inclusive cache", v[LLC_WRITEMISS], 0);
            expect("I5: causes of reads", v[LLC_READ_I] + v[LLC_READ_LD] + v[LLC_READ_ST] + v[LLC_UNC_READ], v[LLC_READ]);
            at_most("I7: llc", v[LLC_READMISS], v[LLC_READ]);
            break;
        case TL_DHPC_MEM:
            mem_reads += v[MEM_READ];
            mem_writes += v[MEM_WRITE];
            break;
        default: break;
        }
    }
    expect("I1: L2 reads are L1 misses", llc_reads, l1_misses + unc_reads);
    expect("I2: L2 writes are L1 write-backs", llc_writes, l1_writebacks + unc_writes);
    expect("I4: memory reads are L2 misses", mem_reads, llc_readmisses + dma_misses);
    expect("I4: memory writes are L2 write-backs", mem_writes, llc_writebacks);
    expect("P-17: reads of the block", ask_block(&tl_ccache_on(machine)->pmu, BLOCK_READ), llc_reads);
    expect("P-17: read misses of the block", ask_block(&tl_ccache_on(machine)->pmu, BLOCK_READMISS), llc_readmisses);
    expect("P-17: writes of the block", ask_block(&tl_ccache_on(machine)->pmu, BLOCK_WRITE), llc_writes);
    expect("P-17: write-backs of the block", ask_block(&tl_ccache_on(machine)->pmu, BLOCK_WRITEBACK), llc_writebacks);
    if (llc_reads < 100 || mem_reads < 100 || instret < 10000 || n_llc != machine->config.l2_slices) {
        fprintf(stderr, "hpc_identities_guest: the program made too little happen to prove anything\n");
        n_broken += 1;
    }
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: hpc_identities_guest MACHINE PROGRAM [ARG...]\n");
        return 2;
    }
    static char *const no_env[] = {NULL};
    static const char *const overrides[] = {"hpc=timed", "l2.counters=4", NULL};
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC), status = 1;
    tl_os_options options = {.program = argv[2], .argv = argv + 2, .envp = no_env, .std_fd = {null_fd, null_fd, null_fd}};
    tl_os_limits limits = {.until_cycle = UINT64_MAX, .until_instret = UINT64_C(20000000), .break_pc = {TL_NO_LINE, TL_NO_LINE}};
    tl_os_report report;
    tl_config config;
    tl_machine *machine = NULL;
    tl_os *os = NULL;
    tl_error err = {0};
    if (tl_plan_config(argv[1], overrides, &config, &err) == TL_OK && tl_machine_new(&config, &tl_engine_interp, &machine, &err) == TL_OK)
        start_block(&tl_ccache_on(machine)->pmu);
    if (!machine || tl_os_new(machine, &options, &os, &err) != TL_OK || tl_os_run(os, &limits, &report, &err) != TL_OK) {
        fprintf(stderr, "hpc_identities_guest: %s\n", err.text);
    } else {
        tl_machine_sync(machine);
        check(machine);
        status = n_broken != 0;
    }
    tl_os_free(os);
    tl_machine_free(machine);
    close(null_fd);
    return status;
}
