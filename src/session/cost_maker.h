// SPDX-License-Identifier: MIT
// Makes the account of hardware that result/cost.h holds.
#ifndef TL_SESSION_COST_MAKER_H
#define TL_SESSION_COST_MAKER_H

#include "base/status.h"
#include "result/cost.h"

// Makes the page for a machine by name or description. Designs that the machine lacks are added.
// n_units and n_counters 0: a range of sizes. TL_ENOENT: no design is called `pmu`. TL_EINVAL: the
// design has no page.
TL_MUST_CHECK tl_status tl_cost_new(const char *pmu, const char *machine, const char *const *overrides, uint32_t n_units,
                                    uint32_t n_counters, tl_cost **ret_cost, tl_error *err);
void tl_cost_free(tl_cost *cost); // NULL is fine

// For the page of a design, which has TL_COST_MAX_PARTS at most.
void tl_cost_add_part(tl_cost *cost, const char *name, bool is_wires, uint64_t each, uint64_t n, uint64_t sum);

#endif
