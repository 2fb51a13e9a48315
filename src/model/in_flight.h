// SPDX-License-Identifier: MIT
// Results in flight at the end of a fetch run, as values: equal contents have equal addresses
// within one hart. A front-end compares addresses to know whether two runs are entered alike.
// Implementation: timing/inorder/in_flight.c.
#ifndef TL_MODEL_IN_FLIGHT_H
#define TL_MODEL_IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct tl_pend {
    uint64_t mask;         // bit r: register r is not ready; numbers are those of the scoreboard
    uint8_t remaining[64]; // pipe time until ready, for the bits of mask; 0 elsewhere
    uint8_t cause[64];     // tl_pipe_cause that a waiting instruction charges; 0 elsewhere
} tl_pend;

typedef struct tl_pend_table tl_pend_table;        // one per hart
tl_pend_table *tl_pend_table_new(tl_arena *arena); // NULL: no memory
// The one record of the table with these contents. Bounded: latencies are small, so contents
// repeat.
const tl_pend *tl_pend_intern(tl_pend_table *table, const tl_pend *pend);
// Precondition: nobody holds a record. Forgets all of them when the arena's room is half full, so
// that the table stays in the arena.
void tl_pend_table_trim(tl_pend_table *table);
// The table has allocated nothing beyond the arena.
bool tl_pend_table_is_in_arena(const tl_pend_table *table);
// Frees memory that the table allocated beyond the arena. NULL is fine.
void tl_pend_table_done(tl_pend_table *table);

#endif
