/* SPDX-License-Identifier: MIT
 *
 * Counters of the secure multi-client design from software: C99, header-only, little-endian, 64 bits.
 * A program reads the totals that the device keeps for it in a read-only block of memory; it executes
 * no privileged instruction and programs no counter. The operating system hands out the mappings in
 * smpm_cap; they name one process of one virtual machine, and nothing else can be reached through
 * them.
 *
 *   struct smpm s;
 *   smpm_open(&s, &cap);
 *   smpm_snapshot(&s);                            optional: brings the block up to date
 *   smpm_read(&s, SMPM_SELF, values, &stamp);     values[s.n]
 *
 * No call returns a number without its flags. A value that nothing counts is SMPM_NO_VALUE, and its
 * bit in stamp.unavailable is set. Counts wrap modulo 2^64; smpm_since subtracts. */
#ifndef TALLY_SMPM_H
#define TALLY_SMPM_H

#include <stddef.h>
#include <stdint.h>

/* Results below 0. */
#define SMPM_INVALID (-1)  /* an argument is wrong, or the memory is no block */
#define SMPM_BUSY (-2)     /* the device was writing at every try, or a switch runs: try again */
#define SMPM_DENIED (-3)   /* this capability does not give that */
#define SMPM_TOO_SOON (-4) /* snapshots are limited; the block stays readable */
#define SMPM_GONE (-5)     /* the block was freed or belongs to somebody else now: open again */
#define SMPM_NO_SPACE (-6) /* *n says how many are needed */

/* Scopes of smpm_read. */
#define SMPM_SELF 0u        /* this process */
#define SMPM_VM 1u          /* its virtual machine, if granted */
#define SMPM_LATE (1u << 8) /* with a scope: what arrived while it did not run */

/* Flags of a stamp. 0: all values are exact. */
#define SMPM_OVF 1u             /* a counter overflowed on the way */
#define SMPM_LOSSY 2u           /* counts were lost on the way */
#define SMPM_UNAVAILABLE 4u     /* no value is a count */
#define SMPM_SATURATED 8u       /* a counter held its maximum */
#define SMPM_PARTIAL 0x100u     /* some values are not available; see unavailable[] */
#define SMPM_AGE_UNKNOWN 0x200u /* the capability has no clock */

#define SMPM_NO_VALUE UINT64_MAX
#define SMPM_MAX_METRICS 4096u
#define SMPM_TRIES 1000

/* Request registers, 64 bits each. */
#define SMPM_REG_HANDLE 0 /* written by smpm_open */
#define SMPM_REG_CMD 1    /* write SMPM_CMD_SNAPSHOT */
#define SMPM_REG_STATUS 2 /* of the last command: 0 done, else one of SMPM_STATUS_* */
#define SMPM_REG_NOW 3    /* PM cycle */
/* One access each. Tests define both, because they run the library against a model. */
#ifndef SMPM_REG_READ
#define SMPM_REG_READ(request, reg) ((request)[reg])
#define SMPM_REG_WRITE(request, reg, value) ((request)[reg] = (value))
#endif
#define SMPM_CMD_SNAPSHOT 1
#define SMPM_STATUS_DONE 0
#define SMPM_STATUS_DENIED 1
#define SMPM_STATUS_TOO_SOON 2
#define SMPM_STATUS_BUSY 3

/* The operating system gives this to a client. Members may be NULL or 0 but for `block`. */
struct smpm_cap {
    const volatile uint64_t *block, *vm_block, *list; /* blocks of the process and of its VM; names */
    uint32_t block_words, vm_block_words, list_words; /* sizes of the mappings in 64-bit words */
    volatile uint64_t *request;                       /* registers */
    uint64_t handle;
};

struct smpm {
    struct smpm_cap cap;
    uint32_t n;               /* metrics */
    uint64_t id[3], vm_id[3]; /* header words that do not change: magic, identity, parts */
};

struct smpm_metric {
    const char *name, *unit; /* in the mapping */
    uint32_t scale;          /* units per count */
    uint32_t index;          /* of values[] */
    int is_available;        /* in the own block */
};

struct smpm_stamp {
    uint64_t gen, t_commit, t_active;
    uint64_t age;   /* cycles since the commit; SMPM_NO_VALUE if unknown */
    uint32_t flags; /* of all values */
    uint32_t n;
    uint64_t unavailable[SMPM_MAX_METRICS / 64]; /* bit i % 64 of word i / 64 */
};

/* Words of a block's header, and bits of its set of parts. */
#define SMPM_W_MAGIC 0
#define SMPM_W_ID 1
#define SMPM_W_GEN 2
#define SMPM_W_COMMIT 3
#define SMPM_W_ACTIVE 4
#define SMPM_W_SIZE 5
#define SMPM_W_PARTS 7
#define SMPM_W_COUNTS 8
#define SMPM_MAGIC UINT64_C(0x00014d504d53) /* "SMPM", version 1 */
#define SMPM_LIST_MAGIC UINT64_C(0x00014c504d53)
#define SMPM_PART_LATE 1u
#define SMPM_PART_BITMAP 32u

static inline uint64_t smpm_load(const volatile uint64_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }

static inline uint32_t smpm_n_arrays(uint32_t parts) { /* before the bitmap, ctr included */
    uint32_t n = 1;
    for (parts &= SMPM_PART_BITMAP - 1; parts; parts &= parts - 1)
        n++;
    return n;
}

/* 0 if a block of this header fits; kind is 1 (VM) or 2 (process). */
static inline int smpm_check(const uint64_t *header, uint32_t n_words, uint32_t kind) {
    uint64_t n = (uint32_t)header[SMPM_W_SIZE], parts = (uint32_t)header[SMPM_W_PARTS];
    if (header[SMPM_W_MAGIC] != (SMPM_MAGIC | (uint64_t)kind << 48) || n == 0 || n > SMPM_MAX_METRICS || parts >= 2 * SMPM_PART_BITMAP)
        return SMPM_INVALID;
    uint64_t words = SMPM_W_COUNTS + n * smpm_n_arrays((uint32_t)parts) + (parts & SMPM_PART_BITMAP ? (n + 63) / 64 : 0);
    return words <= n_words ? 0 : SMPM_INVALID;
}

/* Two reads of gen around a copy; `n` words from `at` on, besides the header. */
static inline int smpm_copy(const volatile uint64_t *block, uint64_t *header, uint32_t at, uint32_t n, uint64_t *values, uint32_t bitmap_at,
                            uint32_t n_bitmap, uint64_t *bitmap) {
    for (int i = 0; i < SMPM_TRIES; i++) {
        uint64_t gen = __atomic_load_n(&block[SMPM_W_GEN], __ATOMIC_ACQUIRE);
        if (gen & 1)
            continue;
        for (uint32_t w = 0; w < SMPM_W_COUNTS; w++)
            header[w] = smpm_load(&block[w]);
        for (uint32_t w = 0; w < n; w++)
            values[w] = smpm_load(&block[at + w]);
        for (uint32_t w = 0; w < n_bitmap; w++)
            bitmap[w] = smpm_load(&block[bitmap_at + w]);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (smpm_load(&block[SMPM_W_GEN]) == gen && header[SMPM_W_GEN] == gen)
            return 0;
    }
    return SMPM_BUSY;
}

static inline int smpm_open_block(const volatile uint64_t *block, uint32_t n_words, uint32_t kind, uint32_t *n, uint64_t id[3]) {
    uint64_t header[SMPM_W_COUNTS];
    if (n_words < SMPM_W_COUNTS)
        return SMPM_INVALID;
    int result = smpm_copy(block, header, 0, 0, 0, 0, 0, 0);
    if (result == 0)
        result = smpm_check(header, n_words, kind);
    if (result != 0)
        return result;
    *n = (uint32_t)header[SMPM_W_SIZE];
    id[0] = header[SMPM_W_MAGIC];
    id[1] = header[SMPM_W_ID];
    id[2] = header[SMPM_W_PARTS];
    return 0;
}

/* 0 or SMPM_*. The mappings stay the caller's. */
static inline int smpm_open(struct smpm *s, const struct smpm_cap *cap) {
    uint32_t n_vm = 0;
    if (!cap->block)
        return SMPM_INVALID;
    s->cap = *cap;
    s->n = 0;
    int result = smpm_open_block(cap->block, cap->block_words, 2, &s->n, s->id);
    if (result == 0 && cap->vm_block) {
        result = smpm_open_block(cap->vm_block, cap->vm_block_words, 1, &n_vm, s->vm_id);
        if (result == 0 && n_vm != s->n)
            result = SMPM_INVALID;
    }
    if (result == 0 && cap->request)
        SMPM_REG_WRITE(cap->request, SMPM_REG_HANDLE, cap->handle);
    return result;
}

/* `v` has s->n words. On failure neither v nor *stamp may be used. */
static inline int smpm_read(struct smpm *s, uint32_t scope, uint64_t *v, struct smpm_stamp *stamp) {
    int of_vm = (scope & 0xff) == SMPM_VM;
    const volatile uint64_t *block = of_vm ? s->cap.vm_block : s->cap.block;
    const uint64_t *id = of_vm ? s->vm_id : s->id;
    uint64_t header[SMPM_W_COUNTS];
    if ((scope & ~(SMPM_VM | SMPM_LATE)) != 0)
        return SMPM_INVALID;
    if (!block)
        return SMPM_DENIED;
    uint32_t parts = (uint32_t)id[2], has_bitmap = parts & SMPM_PART_BITMAP, at = SMPM_W_COUNTS;
    if (scope & SMPM_LATE) {
        if (!(parts & SMPM_PART_LATE))
            return SMPM_DENIED;
        at += s->n;
    }
    uint32_t n_bitmap = has_bitmap ? (s->n + 63) / 64 : 0;
    int result = smpm_copy(block, header, at, s->n, v, SMPM_W_COUNTS + s->n * smpm_n_arrays(parts), n_bitmap, stamp->unavailable);
    if (result != 0)
        return result;
    if (header[SMPM_W_MAGIC] != id[0] || header[SMPM_W_ID] != id[1] || header[SMPM_W_PARTS] != id[2] ||
        (uint32_t)header[SMPM_W_SIZE] != s->n)
        return SMPM_GONE;
    stamp->gen = header[SMPM_W_GEN];
    stamp->t_commit = header[SMPM_W_COMMIT];
    stamp->t_active = header[SMPM_W_ACTIVE];
    stamp->flags = (uint32_t)(header[SMPM_W_SIZE] >> 32);
    stamp->n = s->n;
    for (uint32_t i = n_bitmap; i < SMPM_MAX_METRICS / 64; i++)
        stamp->unavailable[i] = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (stamp->flags & SMPM_UNAVAILABLE)
            stamp->unavailable[i / 64] |= UINT64_C(1) << i % 64;
        if (!(stamp->unavailable[i / 64] >> i % 64 & 1))
            continue;
        v[i] = SMPM_NO_VALUE;
        stamp->flags |= SMPM_PARTIAL;
    }
    stamp->age = SMPM_NO_VALUE;
    if (s->cap.request)
        stamp->age = SMPM_REG_READ(s->cap.request, SMPM_REG_NOW) - stamp->t_commit;
    else
        stamp->flags |= SMPM_AGE_UNKNOWN;
    return 0;
}

/* Fills at most *n metrics and sets *n to how many there are. `metrics` may be NULL. */
static inline int smpm_list(struct smpm *s, struct smpm_metric *metrics, size_t *n) {
    const volatile uint64_t *list = s->cap.list;
    size_t room = metrics ? *n : 0;
    if (!list)
        return SMPM_DENIED;
    if (s->cap.list_words < SMPM_W_COUNTS || list[0] != SMPM_LIST_MAGIC || list[1] > (s->cap.list_words - SMPM_W_COUNTS) / 8)
        return SMPM_INVALID;
    uint32_t bitmap_at = (uint32_t)s->id[2] & SMPM_PART_BITMAP ? SMPM_W_COUNTS + s->n * smpm_n_arrays((uint32_t)s->id[2]) : 0;
    int is_whole = !(smpm_load(&s->cap.block[SMPM_W_SIZE]) >> 32 & SMPM_UNAVAILABLE);
    *n = (size_t)list[1];
    for (size_t i = 0; i < *n && i < room; i++) {
        const volatile uint64_t *row = list + SMPM_W_COUNTS + 8 * i;
        const volatile char *text = (const volatile char *)row;
        uint32_t index = (uint32_t)(row[7] >> 32);
        if (text[43] != 0 || text[55] != 0)
            return SMPM_INVALID;
        metrics[i].name = (const char *)(uintptr_t)text;
        metrics[i].unit = (const char *)(uintptr_t)(text + 44);
        metrics[i].scale = (uint32_t)row[7];
        metrics[i].index = index;
        metrics[i].is_available =
            is_whole && index < s->n && (!bitmap_at || !(smpm_load(&s->cap.block[bitmap_at + index / 64]) >> index % 64 & 1));
    }
    return *n <= room || !metrics ? 0 : SMPM_NO_SPACE;
}

/* Asks the device to write everything that was counted until now. */
static inline int smpm_snapshot(struct smpm *s) {
    if (!s->cap.request)
        return SMPM_DENIED;
    SMPM_REG_WRITE(s->cap.request, SMPM_REG_CMD, SMPM_CMD_SNAPSHOT);
    switch (SMPM_REG_READ(s->cap.request, SMPM_REG_STATUS)) {
    case SMPM_STATUS_DONE: return 0;
    case SMPM_STATUS_TOO_SOON: return SMPM_TOO_SOON;
    case SMPM_STATUS_BUSY: return SMPM_BUSY;
    default: return SMPM_DENIED;
    }
}

/* Counts of metric i between two reads of the same block, with the flags of both. SMPM_NO_VALUE
 * and SMPM_UNAVAILABLE if one of them has none, or the second is the older one. */
static inline uint64_t smpm_since(const uint64_t *before, const struct smpm_stamp *first, const uint64_t *after,
                                  const struct smpm_stamp *second, uint32_t i, uint32_t *flags) {
    *flags = (first->flags | second->flags) & ~SMPM_PARTIAL;
    if (i >= first->n || i >= second->n || second->gen < first->gen || first->unavailable[i / 64] >> i % 64 & 1 ||
        second->unavailable[i / 64] >> i % 64 & 1) {
        *flags |= SMPM_UNAVAILABLE;
        return SMPM_NO_VALUE;
    }
    return after[i] - before[i];
}

#endif
