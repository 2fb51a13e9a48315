// SPDX-License-Identifier: MIT
// Resource usage as getrusage and wait4 report it.
#ifndef TL_OS_RUSAGE_H
#define TL_OS_RUSAGE_H

#include "linux/process/process.h"

typedef struct tl_guest_rusage { // struct rusage
    int64_t user[2], system[2];  // seconds, microseconds
    int64_t max_resident_kib, shared, data, stack, minor_faults, major_faults, swaps, blocks_in, blocks_out, messages_sent,
        messages_received, signals, voluntary_switches, involuntary_switches;
} tl_guest_rusage;
_Static_assert(sizeof(tl_guest_rusage) == 144, "struct rusage");

// Of all its threads, ended ones included; with_children: and of the children it waited for.
tl_guest_rusage tl_rusage_of_process(const tl_process *p, bool with_children);

#endif
