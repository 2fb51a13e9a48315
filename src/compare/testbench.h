// SPDX-License-Identifier: MIT
// A testbench is an idle machine for experiments. Only hart 0 runs. It executes pieces of code in
// any mode, and a trap ends a piece instead of entering a handler. Code and data are mapped once
// for supervisor mode and once for user mode; machine mode uses no tables.
#ifndef TL_COMPARE_TESTBENCH_H
#define TL_COMPARE_TESTBENCH_H

#include "compare/setup.h"
#include "isa/rv/assemble.h"

enum {
    TL_TESTBENCH_CODE_BYTES = 0x20000,
    TL_TESTBENCH_NO_TRAP = -1,
    TL_TESTBENCH_PAGE_BYTES = 4096,
    TL_TESTBENCH_WINDOW_BYTES = 0x10000, // of each of the windows below, at most
    TL_TESTBENCH_VALUE = TL_T3,          // the register in which a piece leaves what it found
};
static const uint64_t TL_TESTBENCH_DATA_USER = UINT64_C(0x2000080000); // a page
// Registers of a design with a window.
static const uint64_t TL_TESTBENCH_WINDOW_USER = UINT64_C(0x2000100000);
static const uint64_t TL_TESTBENCH_WINDOW_SUPERVISOR = UINT64_C(0x2000110000);
// The registers for user mode, once the kernel has mapped them.
static const uint64_t TL_TESTBENCH_WINDOW_GRANTED = UINT64_C(0x2000130000);
static const uint64_t TL_TESTBENCH_DATA_SUPERVISOR = UINT64_C(0x2000090000);
// The page table of all that is mapped, as the kernel sees it.
static const uint64_t TL_TESTBENCH_LEAVES_SUPERVISOR = UINT64_C(0x20000a0000);
static const uint64_t TL_TESTBENCH_NOWHERE = UINT64_C(0x2000120000); // no table leads from there

typedef struct tl_testbench {
    const tl_compare_setup *setup;
    const tl_compare_design_type *design;
    tl_machine *machine;
    tl_hart *hart;
    uint32_t used_bytes; // of the code
    bool takes_calls;
} tl_testbench;

typedef struct tl_piece {
    tl_assembler code;
    tl_priv mode;
    uint64_t begin, end;
} tl_piece;

typedef struct tl_testbench_cost {
    uint64_t instructions, cycles, l1d_accesses, l1d_misses, l1i_misses, dtlb_accesses, uncached;
} tl_testbench_cost;

// The setup's machine with little RAM. Everybody may reach everything (PMP), counters are all off
// for lower modes. A window of the design is mapped for both.
TL_MUST_CHECK tl_status tl_testbench_open(const tl_compare_setup *setup, const tl_compare_design_type *design, tl_testbench *ret_testbench,
                                          tl_error *err);
void tl_testbench_close(tl_testbench *testbench);
tl_piece tl_testbench_begin(const tl_testbench *testbench, tl_priv mode);
// Publishes the assembled piece. TL_EINVAL: no room.
TL_MUST_CHECK tl_status tl_testbench_end(tl_testbench *testbench, tl_piece *piece, tl_error *err);
// Runs a piece from begin to end. *ret_cause is the trap cause, or TL_TESTBENCH_NO_TRAP. TL_EINVAL:
// it does not end.
TL_MUST_CHECK tl_status tl_testbench_run(tl_testbench *testbench, const tl_piece *piece, int *ret_cause, tl_testbench_cost *ret_cost,
                                         tl_error *err);
// From now on ECALL of user mode enters `kernel`, and that of the supervisor `firmware`, each with
// a page of data behind its scratch register.
void tl_testbench_take_calls(tl_testbench *testbench, const tl_piece *kernel, const tl_piece *firmware);
uint64_t tl_testbench_leaf_of(uint64_t vaddr);    // offset of its entry in the page table
uint64_t tl_testbench_device_pte(uint64_t paddr); // an entry that lets user mode read and write
// One instruction for machine mode: csr := value, or its bits set or cleared.
TL_MUST_CHECK tl_status tl_testbench_set_csr(tl_testbench *testbench, uint32_t csr, tl_reg_use op, uint64_t value, tl_error *err);

#endif
