// SPDX-License-Identifier: MIT
// The contents of a hart's caches, TLBs and predictors, for tests that compare with them what
// software inferred. No register and no public function leads here. Nothing is counted, used or
// changed. Arrays are numbered set * ways + way; false: there is no such place.
#ifndef TL_MACHINE_ORACLE_H
#define TL_MACHINE_ORACLE_H

#include "machine/machine.h"
#include "model/isa.h"

bool tl_oracle_l1_line(const tl_machine *machine, uint32_t hart, bool is_fetch, uint32_t way, tl_line_view *ret_line);
bool tl_oracle_l2_line(const tl_machine *machine, uint32_t slice, uint32_t way, tl_line_view *ret_line);
bool tl_oracle_page(const tl_machine *machine, uint32_t hart, tl_tlb_kind kind, uint32_t entry, tl_page *ret_page);
bool tl_oracle_table(const tl_machine *machine, uint32_t hart, uint32_t entry, tl_walk_table *ret_table);

// These search by address. tl_oracle_page_of finds the entry that translates vaddr for the hart
// now; false: none. tl_oracle_state_of: of the line in an L1, 'I' if it is not there.
bool tl_oracle_page_of(const tl_machine *machine, uint32_t hart, tl_tlb_kind kind, uint64_t vaddr, tl_page *ret_page);
char tl_oracle_state_of(const tl_machine *machine, uint32_t hart, bool is_fetch, uint64_t paddr);
bool tl_oracle_is_in_l2(const tl_machine *machine, uint64_t paddr);

// The target that the branch target buffer gives a jump at pc; false: none.
bool tl_oracle_target(const tl_machine *machine, uint32_t hart, uint64_t pc, uint64_t *ret_target);
// The return stack, youngest first. Returns the number of addresses, at most `n`.
uint32_t tl_oracle_return_stack(const tl_machine *machine, uint32_t hart, uint64_t *ret_pcs, uint32_t n);
// The direction that a conditional branch would be predicted; false with *ret_is_taken unwritten:
// the predictor of detailed cores.
bool tl_oracle_direction(const tl_machine *machine, uint32_t hart, uint64_t pc, uint64_t target, bool *ret_is_taken);

#endif
