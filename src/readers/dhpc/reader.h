// SPDX-License-Identifier: MIT
// Makes a reader of the distributed counters, runs it on hart 0 of a machine that stands still, and
// judges what it read.
#ifndef TL_READERS_DHPC_READER_H
#define TL_READERS_DHPC_READER_H

#include "base/status.h"
#include "machine/machine.h"
#include "model/pmu.h"
#include "result/reading.h"

// Which of tl_dhpc_events to read, by their index; NULL: the columns of the paper's table.
typedef struct tl_reader_choice {
    const bool *is_chosen;
} tl_reader_choice;

bool tl_reader_is_column(const tl_event *event); // one of that table

// Fills values, identity, cost and largest_error of `reading`. The last pages of RAM must be
// unused. Restores registers, mode and program counter of the hart. The hart's clock advances.
TL_MUST_CHECK tl_status tl_reader_run(tl_machine *machine, const tl_reader_choice *choice, tl_reading *reading, tl_error *err);

enum { TL_READER_BYTES = 65536 }; // at the end of RAM: the upper quarter is for results

#endif
