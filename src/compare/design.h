// SPDX-License-Identifier: MIT
// A row of the comparison's list of designs, which src/readers makes. The comparison runs programs,
// takes the truth and makes rows. Code of one design stands in src/readers/<design>.
#ifndef TL_COMPARE_DESIGN_H
#define TL_COMPARE_DESIGN_H

#include "compare/accesses.h"
#include "compare/privileges.h"
#include "compare/testbench.h"
#include "compare/watch.h"
#include "model/pmu.h"

typedef tl_status tl_compare_add_fn(tl_compare_setup *setup, tl_error *err);

struct tl_compare_design_type {
    const char *name;       // one word, as tl_compare_options.designs writes it
    const char *title;      // "A block of counters on the bus"
    const char *meaning;    // one sentence: where the counters are, and how they are read
    const tl_pmu_type *pmu; // a window, if any, is mapped for a watched program and on a testbench

    // ---- The machine
    // `complete` adds counters that a machine lacks. `permit` lets programs use them. Both call
    // tl_compare_add_setting. Every design of the list takes part, because all runs share one
    // machine. NULL: nothing is added.
    tl_compare_add_fn *complete, *permit;
    // Called for designs that are compared. TL_EINVAL: the reader cannot run on the setup's
    // machine. NULL: it always can.
    TL_MUST_CHECK tl_status (*check)(const tl_compare_setup *setup, tl_error *err);

    // ---- Watching a program
    bool (*counts)(const tl_watchable *event);
    const tl_watch_type *watch;
    // Events that wait for their turn on counters that the design shares out. A rotation has so
    // many turns, and phases begin it at different ones. NULL: nothing is shared, and every phase
    // would be equal.
    uint32_t (*n_turns)(const tl_compare_setup *setup);
    // A reader has executed so many instructions that it seems to wait forever. The error names the
    // key that slows the reader. `what`: "a look". NULL: no key of the design slows the reader.
    TL_MUST_CHECK tl_status (*too_slow)(const tl_compare_setup *setup, const char *what, tl_error *err);
    const char *slow_keys; // "fabric.*"; NULL with too_slow
    // Called after a run of any design. Adds the knowledge of a hostile bus device about this
    // design's counters. NULL: no such device.
    void (*take_overheard)(const tl_machine *machine, tl_watch_result *result);

    // ---- Access rights
    // System calls grant a process access; a7 numbers them from 0. write_grant writes the kernel's
    // part. Its code may use t0, t1 and a1. ECALL calls firmware, which writes a1 to mcounteren.
    uint32_t n_grant_calls;
    void (*write_grant)(tl_assembler *a, const tl_testbench *testbench); // NULL only with methods
    // Each trial uses a fresh testbench. Machine mode sets the trial's permissions, then the
    // trial's code stores the value it read in TL_TESTBENCH_VALUE.
    const tl_trial *trials;
    uint32_t n_trials; // 0: nothing is tried, and the hooks may be NULL
    TL_MUST_CHECK tl_status (*permit_trial)(tl_testbench *testbench, const tl_trial *trial, tl_error *err);
    void (*write_trial)(tl_assembler *a, const tl_testbench *testbench, const tl_trial *trial);
    // NULL: the value is TL_TRIAL_SECRET, which permit_trial has put into the counter.
    bool (*is_value)(const tl_testbench *testbench, uint64_t value);

    // ---- Cost
    // `methods` names the ways to read n counters in user mode, NULL-terminated. write_access
    // writes the code of one and returns the number of counters it reads: n, or fewer if the design
    // has fewer. Values end in registers from TL_ACCESS_FIRST_VALUE on; tl_access_store frees
    // registers. NULL: no methods.
    const char *const *methods;
    uint32_t (*write_access)(tl_assembler *a, const tl_testbench *testbench, uint32_t method, uint32_t n);
    // The hardware is in the account of its pmu (session/account.h), if there is one. The others
    // are also accounted with as many counters as this design has.
    bool sets_reach;
    // Name of the design's own sweep in the comparison. NULL: none.
    const char *sweep_name; // "sweep over fabrics"
    TL_MUST_CHECK tl_status (*sweep)(const tl_compare_setup *setup, tl_comparison *comparison, tl_error *err);
};

// NULL-terminated. Rows of a comparison name designs by index.
extern const tl_compare_design_type *const tl_compare_designs[];

uint32_t tl_compare_count_designs(void);
const char *tl_compare_design_name(uint32_t design); // "": no such design
// The error of a reader that waits for ever.
TL_MUST_CHECK tl_status tl_compare_too_slow(const tl_compare_design_type *design, const tl_compare_setup *setup, const char *what,
                                            tl_error *err);

#endif
