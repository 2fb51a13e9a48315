// SPDX-License-Identifier: MIT
// Memory blocks of the secure multi-client design: layout, writer, coherent copy, values,
// differences.
//
// A block is an array of 64-bit little-endian words in device memory. Its header has 8 words:
//
//   word 0   bits 0..31 magic 'SMPM', 32..47 version, 48..63 kind
//   word 1   bits 0..31 vm, 32..63 ctx; TL_SMPM_NO_CTX in every kind but CTX
//   word 2   gen: odd while a commit is in progress; begin and end add 1 each
//   word 3   t_commit: PM cycle of the last completed commit
//   word 4   t_active: PM cycles in which this block was the target
//   word 5   bits 0..31 n, 32..63 flags of the block
//   word 6   late: sum of the LATE part, modulo 2^64
//   word 7   bits 0..31 set of parts that follow ctr[n]
//            bits 32..63 birth: bits 0..31 that gen had when the block was formatted
//
// ctr[n] follows, and then each part of the set in the order of its bit. A part has n words; the
// bitmap UNAVAILABLE has one bit per metric. A block of profile LITERAL has no parts. Sources:
// specification section 10 with corrections K1 (a block that does not run keeps ctr; LATE takes
// such units), K5 (the device block fits a latch of 4 KiB), K20 (parts of the VM0 block,
// UNAVAILABLE per metric).
//
// Counts wrap modulo 2^64 by definition. No function yields a value without its flags.
#ifndef TL_PMU_SMPM_BLOCK_H
#define TL_PMU_SMPM_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum {
    TL_SMPM_BLOCK_MAGIC = 0x4d504d53, // "SMPM" in memory
    TL_SMPM_BLOCK_VERSION = 1,
    TL_SMPM_HEADER_WORDS = 8,
    TL_SMPM_LATCH_WORDS = 512,  // 4 KiB
    TL_SMPM_MAX_METRICS = 4096, // of one block; more is a damaged header
    TL_SMPM_MAX_BLOCK_WORDS = TL_SMPM_HEADER_WORDS + 6 * TL_SMPM_MAX_METRICS + TL_SMPM_MAX_METRICS / 64,
};
#define TL_SMPM_NO_CTX UINT32_MAX

typedef enum tl_smpm_kind { TL_SMPM_VM0, TL_SMPM_VM, TL_SMPM_CTX, TL_SMPM_DEV, TL_SMPM_N_KINDS } tl_smpm_kind;

typedef enum tl_smpm_flag {
    TL_SMPM_OVF = 1 << 0,         // a counter below 64 bits overflowed
    TL_SMPM_LOSSY = 1 << 1,       // a frame or record was dropped
    TL_SMPM_UNAVAILABLE = 1 << 2, // nothing counted this: the number is no count
    TL_SMPM_SATURATED = 1 << 3,   // a counter held its maximum
    TL_SMPM_ALL_FLAGS = (1 << 4) - 1,
} tl_smpm_flag;

// Parts that may follow ctr[n]. TL_SMPM_CTR is no member of the set, because ctr[n] is always
// there.
typedef enum tl_smpm_part {
    TL_SMPM_CTR,
    TL_SMPM_LATE,       // units of shared-unit traffic added while (vm, ctx) did not run
    TL_SMPM_NOCTX,      // VM0, VM: units of a VM that match no context
    TL_SMPM_UNASSIGNED, // VM0: units that match no VM
    TL_SMPM_SWITCH,     // VM0: units counted within context switches
    TL_SMPM_RETIRED,    // VM0: totals of blocks of destroyed VMs
    TL_SMPM_BITMAP,     // UNAVAILABLE: bit i % 64 of word i / 64 stands for metric i in all parts
    TL_SMPM_N_PARTS
} tl_smpm_part;
#define TL_SMPM_PART_BIT(part) (1u << ((part)-1)) // TL_SMPM_LATE is bit 0

typedef struct tl_smpm_shape {
    tl_smpm_kind kind;
    uint32_t vm, ctx; // vm is 0 in VM0 and DEV
    uint32_t n;       // metrics, 1 to TL_SMPM_MAX_METRICS
    uint32_t parts;   // set of TL_SMPM_PART_BIT
} tl_smpm_shape;

// Parts that profile SAFE gives a kind. LITERAL gives none.
uint32_t tl_smpm_safe_parts(tl_smpm_kind kind);
// TL_EINVAL: n is out of range, parts do not belong to the kind, or a device block exceeds the
// latch.
TL_MUST_CHECK tl_status tl_smpm_shape_check(const tl_smpm_shape *shape, tl_error *err);

// Words of a block, and the first word of a part. 0: the part is not in the set.
uint32_t tl_smpm_block_n_words(uint32_t n, uint32_t parts);
uint32_t tl_smpm_block_part_at(uint32_t n, uint32_t parts, tl_smpm_part part);

//  ---- writer: the device. One writer per block; `words` are in device memory.

// Zeroes all words and writes the header. A block that had a gen keeps counting it, so that old
// handles see a new one (F-15). All metrics are UNAVAILABLE if the set has BITMAP, else the block
// is.
void tl_smpm_block_format(uint64_t *words, const tl_smpm_shape *shape);
// Zeroes the memory of a block, header included, but for gen.
void tl_smpm_block_erase(uint64_t *words, uint32_t n_words);
// A commit: begin makes gen odd, end makes it even and sets t_commit.
void tl_smpm_block_begin(uint64_t *words);
void tl_smpm_block_end(uint64_t *words, uint64_t t_commit);
// Within a commit: adds modulo 2^64. An add to TL_SMPM_LATE adds to the header's late as well.
// The part must be in the set and index < n.
void tl_smpm_block_add(uint64_t *words, tl_smpm_part part, uint32_t index, uint64_t units);
// As many commits that add nothing, but for their time stamps.
void tl_smpm_block_pass(uint64_t *words, uint64_t n_commits);
void tl_smpm_block_add_active(uint64_t *words, uint64_t cycles);
void tl_smpm_block_set_flags(uint64_t *words, uint32_t flags); // sticky: ORs
// Says that a metric is routed to this block, or no longer. Without BITMAP it clears or sets the
// block's own flag UNAVAILABLE.
void tl_smpm_block_set_available(uint64_t *words, uint32_t index, bool is_available);

//  ---- reader

typedef enum tl_smpm_copied {
    TL_SMPM_COPIED,
    TL_SMPM_BUSY,    // a commit was in progress at every try
    TL_SMPM_NO_BLOCK // no header of this version, or it is larger than the memory
} tl_smpm_copied;

// Copies a block that a writer may change meanwhile: gen is even and the same before and after. The
// header is checked in the copy, so a hostile writer cannot make the copy exceed `n_words`.
// ret_words has room for n_words, and holds the block's words only on TL_SMPM_COPIED.
TL_MUST_CHECK tl_smpm_copied tl_smpm_block_copy(const uint64_t *words, uint32_t n_words, unsigned n_tries, uint64_t *ret_words);

// A checked copy. `words` is borrowed.
typedef struct tl_smpm_block {
    tl_smpm_shape shape;
    uint64_t gen, t_commit, t_active, late;
    uint32_t flags, birth;
    const uint64_t *words;
} tl_smpm_block;

// TL_EFORMAT: the words are no block; the sentence says which field is wrong. A torn block (gen is
// odd) is refused as well.
TL_MUST_CHECK tl_status tl_smpm_block_decode(const uint64_t *words, uint32_t n_words, tl_smpm_block *ret_block, tl_error *err);

// flags: those of the block, and TL_SMPM_UNAVAILABLE if the metric, the part or the block is not
// available; count is then 0 and means nothing.
typedef struct tl_smpm_value {
    uint64_t count;
    uint32_t flags;
} tl_smpm_value;

// Takes any index.
tl_smpm_value tl_smpm_block_value(const tl_smpm_block *block, tl_smpm_part part, uint32_t index);
// after - before modulo 2^64, with the flags of both. UNAVAILABLE unless both are copies of the
// same block: same kind, vm, ctx, n, parts and birth, and neither gen nor t_active decreased.
tl_smpm_value tl_smpm_block_since(const tl_smpm_block *before, const tl_smpm_block *after, tl_smpm_part part, uint32_t index);

//  ---- directory of metrics: a read-only page beside the blocks
//
// Word 0 has magic 'SMPL' and the version, word 1 has n; words 2..7 are zero. Then n rows of 8
// words: bytes 0..43 name, 44..55 unit, both NUL-padded; 56..59 scale; 60..63 metric index.

enum {
    TL_SMPM_LIST_MAGIC = 0x4c504d53, // "SMPL" in memory
    TL_SMPM_NAME_BYTES = 44,
    TL_SMPM_UNIT_BYTES = 12,
    TL_SMPM_ROW_WORDS = 8,
};

typedef struct tl_smpm_metric {
    const char *name, *unit; // cut to fit, with a NUL
    uint32_t scale;          // units per count: 1, or that of a multi-bit input
    uint32_t index;          // of ctr
} tl_smpm_metric;

static inline uint32_t tl_smpm_list_n_words(uint32_t n) { return TL_SMPM_HEADER_WORDS + TL_SMPM_ROW_WORDS * n; }
void tl_smpm_list_format(uint64_t *words, const tl_smpm_metric *metrics, uint32_t n);

#endif
