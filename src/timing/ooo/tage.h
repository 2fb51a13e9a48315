// SPDX-License-Identifier: MIT
// A TAGE predictor of directions: a base table of two-bit counters, and tagged tables that are
// indexed with geometrically longer parts of the global history. The longest match provides.
//
// Sources: A. Seznec, P. Michaud, "A case for (partially) TAgged GEometric history length branch
// prediction", JILP 8, 2006, for structure, allocation and graceful reset; A. Seznec, "A new case
// for the TAGE branch predictor", MICRO 2011, for the choice of the alternate prediction and for
// reading the tables again at retirement.
//
// History is speculative: tage_push appends a bit at fetch, tage_restore goes back. Tables change
// only in tage_train, which retirement calls, so the sequence of retired branches decides alone
// what they learn from given indices. Deterministic: draws come from the seed of the machine.
#ifndef TL_TIMING_OOO_TAGE_H
#define TL_TIMING_OOO_TAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "model/config.h"

typedef struct tage tage;

// Uses config->bp and config->seed; tl_config_check must have passed.
TL_MUST_CHECK tl_status tage_init(const tl_config *config, tl_arena *arena, tage **ret_tage, tl_error *err);

// Predicts the direction of the branch at pc, whose history bit is the next to be pushed.
bool tage_predict(tage *t, uint64_t pc);
// Appends one bit to the global history, and one bit of pc to the path. At most TL_MAX_IN_FLIGHT
// bits can be taken back.
void tage_push(tage *t, uint64_t pc, bool bit);
uint64_t tage_mark(const tage *t); // how many bits were pushed
void tage_restore(tage *t, uint64_t mark);
// Learns the outcome of the branch that was predicted at this mark.
void tage_train(tage *t, uint64_t pc, uint64_t mark, bool is_taken);

uint64_t tage_storage_bits(const tage *t); // of counters, tags, history and registers of the design
uint32_t tage_history_bits(const tage *t, uint32_t table);

#endif
