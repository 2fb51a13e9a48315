// SPDX-License-Identifier: MIT
// Register files as data. A register is a row: where it stands, which fields it has, what kind of
// access each field permits, what it holds after reset. The engine reads, writes and resets by
// these rows; hooks say only what a kind cannot. The same rows print the manual page of a PMU and
// drive the battery that every PMU passes (tests/contract/test_pmu.c).
//
// An array is one row with a count. A register wider than one access of its file (64 bits on a
// 32-bit machine) is reached in two halves, the upper one at high_addr.
#ifndef TL_MODEL_REGMAP_H
#define TL_MODEL_REGMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct tl_regfile { // a device that has registers begins with one
    const struct tl_regmap *map;
    uint64_t *stored;     // tl_regmap_n_cells(map) of them
    uint32_t access_bits; // 32 or 64: what one access moves
} tl_regfile;

typedef enum tl_reg_access {
    TL_RW,   // holds what was written
    TL_RO,   // holds what the hardware put there; writes are ignored
    TL_WO,   // takes writes, reads 0
    TL_W1C,  // writing 1 clears, writing 0 leaves
    TL_W1S,  // writing 1 sets, writing 0 leaves
    TL_RC,   // reading clears; writes are ignored
    TL_WARL, // holds what `legalize` makes of a write
    TL_WPRI, // reserved: reads 0, writes are ignored
} tl_reg_access;

typedef struct tl_field {
    const char *name, *meaning; // meaning: one sentence
    uint8_t lsb, width_bits;
    tl_reg_access access;
    uint64_t reset;
    // For TL_WARL only. Values start at bit 0.
    uint64_t (*legalize)(const tl_regfile *file, uint32_t index, uint64_t old, uint64_t wanted);
} tl_field;

typedef enum tl_presence {
    TL_PRESENT,
    TL_ZERO,   // is there, reads 0 and ignores writes
    TL_ABSENT, // is not there: as an address that no row has
} tl_presence;

typedef struct tl_reg {
    const char *name, *cite, *meaning; // "mhpmevent#": # is the number within the array
    uint32_t addr;
    uint32_t high_addr; // of the upper halves, 0: not reachable in halves
    // count 0 or 1: one register. `first` is the number of the first in names.
    uint32_t count, stride, first;
    uint8_t width_bits, n_fields;
    // From bit 0 up, without gaps.
    const tl_field *fields;
    // NULL: TL_PRESENT.
    tl_presence (*presence)(const tl_regfile *file, uint32_t index, bool is_high);
    // Returns the value, without effect; NULL: the stored value.
    uint64_t (*read)(tl_regfile *file, uint32_t index, uint64_t stored);
    // Does the side effects of reading; NULL: nothing but TL_RC.
    void (*was_read)(tl_regfile *file, uint32_t index, bool is_high);
    // Called after the access rules; NULL: there are no others.
    void (*written)(tl_regfile *file, uint32_t index, uint64_t old_value, uint64_t value);
} tl_reg;

typedef struct tl_regmap {
    const char *space;  // "CSR": what an address is an address of
    const char *access; // a sentence: how software reaches the addresses; NULL: the space says it
    const tl_reg *regs;
    uint32_t n_regs;
} tl_regmap;

typedef struct tl_reg_at { // one register, found
    const tl_reg *reg;
    uint32_t index; // within the array
    uint32_t cell;  // in `stored`
    bool is_high;   // its upper half
} tl_reg_at;

static inline uint32_t tl_reg_count(const tl_reg *reg) { return reg->count > 1 ? reg->count : 1; }
// The address at which it was found.
static inline uint32_t tl_reg_number(const tl_reg_at *at) {
    return (at->is_high ? at->reg->high_addr : at->reg->addr) + at->index * (at->reg->stride > 0 ? at->reg->stride : 1);
}
uint32_t tl_regmap_n_cells(const tl_regmap *map);
// Index in `stored` of the register with that address. It must exist.
uint32_t tl_regmap_cell_at(const tl_regmap *map, uint32_t addr);
// false: no register of this file answers there.
bool tl_regfile_find(const tl_regfile *file, uint32_t addr, tl_reg_at *ret_at);
bool tl_regfile_read(tl_regfile *file, uint32_t addr, uint64_t *ret_value);
bool tl_regfile_write(tl_regfile *file, uint32_t addr, uint64_t value);
// Nothing that software sees changes.
uint64_t tl_regfile_value_at(tl_regfile *file, const tl_reg_at *at);
void tl_regfile_was_read_at(tl_regfile *file, const tl_reg_at *at); // what reading does
uint64_t tl_regfile_read_at(tl_regfile *file, const tl_reg_at *at); // both
void tl_regfile_write_at(tl_regfile *file, const tl_reg_at *at, uint64_t value);
// Resets stored values only. A device that keeps more resets it itself.
void tl_regfile_reset(tl_regfile *file);
// Checks a table: fields fill their register without gaps or overlap, addresses are unique, reset
// values fit. TL_EINVAL names the row.
TL_MUST_CHECK tl_status tl_regmap_check(const tl_regmap *map, tl_error *err);
// "mhpmevent3" of row "mhpmevent#", index 0; with an "h" for an upper half. Returns the length like
// snprintf.
int tl_reg_name(const tl_reg *reg, uint32_t index, bool is_high, char *buffer, size_t size);
const char *tl_reg_access_name(tl_reg_access access); // "WARL"

#endif
