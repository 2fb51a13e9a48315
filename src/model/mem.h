// SPDX-License-Identifier: MIT
// The memory system of one machine, as the machine assembles it: TLBs, walker, L1 caches of every
// hart, the shared L2 slices with their directory, memory channels. Timing only: bytes live in RAM,
// levels answer "when" and count. Implementation: mem/.
#ifndef TL_MODEL_MEM_H
#define TL_MODEL_MEM_H

#include "base/arena.h"
#include "base/status.h"
#include "model/agent.h"
#include "model/hart.h"

typedef struct tl_memory tl_memory;
struct tl_bus; // model/bus.h

// Unit types of the shared part, in slot order after the harts' units: l2.0.., noc, mem0.., bus,
// dma, link0.. (one for each hart), bsq (of detailed cores).
typedef struct tl_memory_unit {
    const tl_unit_type *type;
    char path[24];
} tl_memory_unit;
enum { TL_MAX_MEMORY_UNITS = TL_MAX_L2_SLICES + TL_MAX_MEM_CHANNELS + TL_MAX_HARTS + 4 };
uint32_t tl_memory_n_units(const tl_config *config);
void tl_memory_unit_at(const tl_config *config, uint32_t index, tl_memory_unit *ret_unit);

// Builds the memory system in `arena` and fills each hart's port, mem, stamps, slots, line_log2,
// line_mask, reservation_paddr. The caller has set id, tally, ram, config and isa of each hart;
// shared_tally[k] is the tally array of tl_memory_unit_at(k). config->ram_bytes bytes of RAM stand
// at TL_RAM_BASE_PADDR. TL_EINVAL: a geometry the arrays cannot have.
TL_MUST_CHECK tl_status tl_memory_new(const tl_config *config, tl_arena *arena, tl_hart *const *harts, uint8_t *ram,
                                      uint64_t *const *shared_tally, tl_memory **ret_memory, tl_error *err);
void tl_memory_done(tl_memory *memory); // what the arena does not own; NULL is fine

// Software put new bytes into this physical page, or gave it a new use: its lines leave every L1I,
// decoded code is checked again (code_generation of every hart is bumped). The data caches are
// coherent and stay.
void tl_memory_code_changed(tl_memory *memory, uint64_t page_paddr);
// Software outside the harts' programs (a system call) wrote these bytes: reservations on their
// lines are lost.
void tl_memory_break_reservations(tl_memory *memory, uint64_t paddr, uint64_t size_bytes);
// The hart changes its address space (tl_isa.set_context), whose number is unknown: TLBs are
// flushed, and all slots with them.
void tl_memory_switch_context(tl_hart *h, uint64_t context);
// Accesses outside RAM go there from now on; NULL: they fault. Borrowed.
void tl_memory_set_bus(tl_memory *memory, const struct tl_bus *bus);
// A bus master other than a hart reads or writes: counted in unit dma, coherent with all caches.
// False: not all of it is RAM.
TL_MUST_CHECK bool tl_memory_dma(tl_memory *memory, const tl_agent *agent, uint64_t paddr, uint64_t size_bytes, bool is_write,
                                 uint64_t now_cycles);
// All harts stand still since `now_cycles`. Writes changed lines to memory, empties caches and
// TLBs, closes the rows of DRAM, and counts all of it. Random replacement begins anew. Channels are
// free tl_memory_flush_cycles later, however much they write.
void tl_memory_flush(tl_memory *memory, uint64_t now_cycles);
uint64_t tl_memory_flush_cycles(const tl_config *config);
// Between two runs: the data cache of the hart loses every line, which the second level takes.
void tl_memory_flush_l1d(tl_hart *h);
// Writes l1d lines etc. down? Never needed: data is always in RAM. For inspection: state of the
// line that holds paddr in one L1D: 'M' 'O' 'E' 'S' 'I'.
char tl_memory_l1d_state(const tl_memory *memory, uint32_t hart, uint64_t paddr);
// Likewise a way of a slice of the second level, set * ways + way. state: 'I', 'C' clean,
// 'D' dirty. false: there is no such way.
bool tl_memory_l2_line_at(const tl_memory *memory, uint32_t slice, uint32_t way, tl_line_view *ret_line);
bool tl_memory_is_in_l2(const tl_memory *memory, uint64_t paddr);
// Translates without side effects or timing; false: not mapped. For tests and tools.
bool tl_memory_translate(const tl_memory *memory, const tl_hart *h, uint64_t vaddr, uint64_t *ret_paddr);
// Checks what must hold between the tallies of caches, TLBs, walker, L2 and memory; they must be
// synced. TL_EINVAL with the first broken one.
TL_MUST_CHECK tl_status tl_memory_check_identities(const tl_memory *memory, tl_error *err);

#endif
