// SPDX-License-Identifier: MIT
// Blocks as words; block.h has the layout. Words that two sides touch are read and written by
// atomic accesses of 64 bits, the unit in which the arbiter adds.
#include "pmu/smpm/block.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "base/bits.h"

enum { MAGIC_WORD, ID_WORD, GEN_WORD, COMMIT_WORD, ACTIVE_WORD, SIZE_WORD, LATE_WORD, PARTS_WORD };

static uint64_t load(const uint64_t *word) { return le64toh(__atomic_load_n(word, __ATOMIC_RELAXED)); }
static void store(uint64_t *word, uint64_t value) { __atomic_store_n(word, htole64(value), __ATOMIC_RELAXED); }
static uint32_t low(uint64_t word) { return (uint32_t)word; }
static uint32_t high(uint64_t word) { return (uint32_t)(word >> 32); }
static uint64_t pair(uint32_t first, uint32_t second) { return first | (uint64_t)second << 32; }
static uint32_t n_bitmap_words(uint32_t n) { return n / 64 + (n % 64 != 0); }

uint32_t tl_smpm_safe_parts(tl_smpm_kind kind) {
    static const uint32_t parts[TL_SMPM_N_KINDS] = {
        [TL_SMPM_VM0] = TL_SMPM_PART_BIT(TL_SMPM_NOCTX) | TL_SMPM_PART_BIT(TL_SMPM_UNASSIGNED) | TL_SMPM_PART_BIT(TL_SMPM_SWITCH) |
                        TL_SMPM_PART_BIT(TL_SMPM_RETIRED) | TL_SMPM_PART_BIT(TL_SMPM_BITMAP),
        [TL_SMPM_VM] = TL_SMPM_PART_BIT(TL_SMPM_LATE) | TL_SMPM_PART_BIT(TL_SMPM_NOCTX) | TL_SMPM_PART_BIT(TL_SMPM_BITMAP),
        [TL_SMPM_CTX] = TL_SMPM_PART_BIT(TL_SMPM_LATE) | TL_SMPM_PART_BIT(TL_SMPM_BITMAP),
        [TL_SMPM_DEV] = TL_SMPM_PART_BIT(TL_SMPM_BITMAP),
    };
    return (unsigned)kind < TL_SMPM_N_KINDS ? parts[kind] : 0;
}

tl_status tl_smpm_shape_check(const tl_smpm_shape *shape, tl_error *err) {
    if ((unsigned)shape->kind >= TL_SMPM_N_KINDS)
        return tl_fail(err, TL_EINVAL, "block of kind %u: must be 0 (VM0), 1 (VM), 2 (CTX) or 3 (DEV)", (unsigned)shape->kind);
    if (shape->n == 0 || shape->n > TL_SMPM_MAX_METRICS)
        return tl_fail(err, TL_EINVAL, "block of %u metrics: must be 1 to %d", shape->n, TL_SMPM_MAX_METRICS);
    if (shape->parts & ~tl_smpm_safe_parts(shape->kind))
        return tl_fail(err, TL_EINVAL, "block of kind %u with parts 0x%x: it may have 0x%x only", (unsigned)shape->kind, shape->parts,
                       tl_smpm_safe_parts(shape->kind));
    if ((shape->ctx != TL_SMPM_NO_CTX) != (shape->kind == TL_SMPM_CTX))
        return tl_fail(err, TL_EINVAL, "block of kind %u with context 0x%x: only a CTX block names one", (unsigned)shape->kind, shape->ctx);
    if ((shape->kind == TL_SMPM_VM0 || shape->kind == TL_SMPM_DEV) && shape->vm != 0)
        return tl_fail(err, TL_EINVAL, "block of kind %u with VM %u: only VM and CTX blocks name one", (unsigned)shape->kind, shape->vm);
    if (shape->kind == TL_SMPM_DEV && tl_smpm_block_n_words(shape->n, shape->parts) > TL_SMPM_LATCH_WORDS)
        return tl_fail(err, TL_EINVAL, "device block of %u metrics: exceeds the latch of %d bytes; attach fewer unit types", shape->n,
                       TL_SMPM_LATCH_WORDS * 8);
    return TL_OK;
}

uint32_t tl_smpm_block_part_at(uint32_t n, uint32_t parts, tl_smpm_part part) {
    if (part == TL_SMPM_CTR)
        return TL_SMPM_HEADER_WORDS;
    if (!(parts & TL_SMPM_PART_BIT(part)))
        return 0;
    uint32_t below = parts & (TL_SMPM_PART_BIT(part) - 1);
    return TL_SMPM_HEADER_WORDS + n * (1 + (uint32_t)__builtin_popcount(below));
}

uint32_t tl_smpm_block_n_words(uint32_t n, uint32_t parts) {
    uint32_t arrays = parts & ~TL_SMPM_PART_BIT(TL_SMPM_BITMAP);
    return TL_SMPM_HEADER_WORDS + n * (1 + (uint32_t)__builtin_popcount(arrays)) + (arrays != parts ? n_bitmap_words(n) : 0);
}

//  ---- writer

static uint32_t n_of(const uint64_t *words) { return low(load(&words[SIZE_WORD])); }
static uint32_t parts_of(const uint64_t *words) { return low(load(&words[PARTS_WORD])); }

void tl_smpm_block_begin(uint64_t *words) {
    uint64_t gen = load(&words[GEN_WORD]);
    assert(gen % 2 == 0);
    store(&words[GEN_WORD], gen + 1);
    // No later store of the commit is seen before gen is odd.
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void close_gen(uint64_t *words) {
    uint64_t gen = load(&words[GEN_WORD]);
    assert(gen % 2 == 1);
    __atomic_store_n(&words[GEN_WORD], htole64(gen + 1), __ATOMIC_RELEASE);
}

void tl_smpm_block_end(uint64_t *words, uint64_t t_commit) {
    store(&words[COMMIT_WORD], t_commit);
    close_gen(words);
}

static void zero_within(uint64_t *words, uint32_t n_words) {
    for (uint32_t i = 0; i < n_words; i++)
        if (i != GEN_WORD)
            store(&words[i], 0);
}

void tl_smpm_block_erase(uint64_t *words, uint32_t n_words) {
    tl_smpm_block_begin(words);
    zero_within(words, n_words);
    close_gen(words);
}

void tl_smpm_block_format(uint64_t *words, const tl_smpm_shape *shape) {
    assert(tl_smpm_shape_check(shape, NULL) == TL_OK);
    bool has_bitmap = shape->parts & TL_SMPM_PART_BIT(TL_SMPM_BITMAP);
    tl_smpm_block_begin(words);
    zero_within(words, tl_smpm_block_n_words(shape->n, shape->parts));
    store(&words[ID_WORD], pair(shape->vm, shape->ctx));
    store(&words[SIZE_WORD], pair(shape->n, has_bitmap ? 0 : TL_SMPM_UNAVAILABLE));
    store(&words[PARTS_WORD], pair(shape->parts, low(load(&words[GEN_WORD]))));
    for (uint32_t i = 0; has_bitmap && i < shape->n; i++)
        tl_smpm_block_set_available(words, i, false);
    store(&words[MAGIC_WORD], TL_SMPM_BLOCK_MAGIC | (uint64_t)TL_SMPM_BLOCK_VERSION << 32 | (uint64_t)shape->kind << 48);
    close_gen(words);
}

void tl_smpm_block_add(uint64_t *words, tl_smpm_part part, uint32_t index, uint64_t units) {
    uint32_t at = tl_smpm_block_part_at(n_of(words), parts_of(words), part);
    assert(at != 0 && part != TL_SMPM_BITMAP && index < n_of(words));
    store(&words[at + index], load(&words[at + index]) + units);
    if (part == TL_SMPM_LATE)
        store(&words[LATE_WORD], load(&words[LATE_WORD]) + units);
}

void tl_smpm_block_pass(uint64_t *words, uint64_t n_commits) { store(&words[GEN_WORD], load(&words[GEN_WORD]) + 2 * n_commits); }
void tl_smpm_block_add_active(uint64_t *words, uint64_t cycles) { store(&words[ACTIVE_WORD], load(&words[ACTIVE_WORD]) + cycles); }

void tl_smpm_block_set_flags(uint64_t *words, uint32_t flags) { store(&words[SIZE_WORD], load(&words[SIZE_WORD]) | (uint64_t)flags << 32); }

void tl_smpm_block_set_available(uint64_t *words, uint32_t index, bool is_available) {
    uint32_t at = tl_smpm_block_part_at(n_of(words), parts_of(words), TL_SMPM_BITMAP);
    assert(index < n_of(words));
    uint64_t *word = at ? &words[at + index / 64] : &words[SIZE_WORD];
    uint64_t bit = at ? UINT64_C(1) << index % 64 : (uint64_t)TL_SMPM_UNAVAILABLE << 32;
    store(word, is_available ? load(word) & ~bit : load(word) | bit);
}

//  ---- reader

// NULL: the header is good; else what is wrong with it.
static const char *header_fault(const uint64_t *words, uint32_t n_words, tl_smpm_shape *ret_shape) {
    if (n_words < TL_SMPM_HEADER_WORDS)
        return "it is shorter than a header";
    uint64_t first = load(&words[MAGIC_WORD]), id = load(&words[ID_WORD]), size = load(&words[SIZE_WORD]), set = load(&words[PARTS_WORD]);
    if (low(first) != TL_SMPM_BLOCK_MAGIC)
        return "its magic is wrong";
    if ((uint16_t)high(first) != TL_SMPM_BLOCK_VERSION)
        return "its version is unknown";
    tl_smpm_shape shape = {.kind = (tl_smpm_kind)(first >> 48), .vm = low(id), .ctx = high(id), .n = low(size), .parts = low(set)};
    if (tl_smpm_shape_check(&shape, NULL) != TL_OK)
        return "its kind, identity, size and parts contradict each other";
    if (high(size) & ~(uint32_t)TL_SMPM_ALL_FLAGS)
        return "its flags are unknown";
    if (tl_smpm_block_n_words(shape.n, shape.parts) > n_words)
        return "it is longer than its memory";
    *ret_shape = shape;
    return NULL;
}

tl_smpm_copied tl_smpm_block_copy(const uint64_t *words, uint32_t n_words, unsigned n_tries, uint64_t *ret_words) {
    if (n_words < TL_SMPM_HEADER_WORDS)
        return TL_SMPM_NO_BLOCK;
    for (unsigned try = 0; try < n_tries; try++) {
        uint64_t gen = __atomic_load_n(&words[GEN_WORD], __ATOMIC_ACQUIRE);
        if (le64toh(gen) % 2 != 0)
            continue;
        for (uint32_t i = 0; i < TL_SMPM_HEADER_WORDS; i++)
            ret_words[i] = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
        tl_smpm_shape shape;
        bool is_block = !header_fault(ret_words, n_words, &shape);
        uint32_t n_used = is_block ? tl_smpm_block_n_words(shape.n, shape.parts) : TL_SMPM_HEADER_WORDS;
        for (uint32_t i = TL_SMPM_HEADER_WORDS; i < n_used; i++)
            ret_words[i] = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE); // gen is read again after all of the words
        if (__atomic_load_n(&words[GEN_WORD], __ATOMIC_RELAXED) == gen && ret_words[GEN_WORD] == gen)
            return is_block ? TL_SMPM_COPIED : TL_SMPM_NO_BLOCK;
    }
    return TL_SMPM_BUSY;
}

tl_status tl_smpm_block_decode(const uint64_t *words, uint32_t n_words, tl_smpm_block *ret_block, tl_error *err) {
    tl_smpm_shape shape;
    const char *fault = header_fault(words, n_words, &shape);
    if (!fault && load(&words[GEN_WORD]) % 2 != 0)
        fault = "a commit is in progress; copy it again";
    if (fault)
        return tl_fail(err, TL_EFORMAT, "no counter block: %s", fault);
    *ret_block = (tl_smpm_block){
        .shape = shape,
        .gen = load(&words[GEN_WORD]),
        .t_commit = load(&words[COMMIT_WORD]),
        .t_active = load(&words[ACTIVE_WORD]),
        .late = load(&words[LATE_WORD]),
        .flags = high(load(&words[SIZE_WORD])),
        .birth = high(load(&words[PARTS_WORD])),
        .words = words,
    };
    return TL_OK;
}

tl_smpm_value tl_smpm_block_value(const tl_smpm_block *block, tl_smpm_part part, uint32_t index) {
    const tl_smpm_shape *shape = &block->shape;
    uint32_t at = part < TL_SMPM_BITMAP ? tl_smpm_block_part_at(shape->n, shape->parts, part) : 0;
    tl_smpm_value value = {.flags = block->flags};
    uint32_t bitmap = tl_smpm_block_part_at(shape->n, shape->parts, TL_SMPM_BITMAP);
    if (at == 0 || index >= shape->n || (bitmap && load(&block->words[bitmap + index / 64]) >> index % 64 & 1))
        value.flags |= TL_SMPM_UNAVAILABLE;
    if (!(value.flags & TL_SMPM_UNAVAILABLE))
        value.count = load(&block->words[at + index]);
    return value;
}

tl_smpm_value tl_smpm_block_since(const tl_smpm_block *before, const tl_smpm_block *after, tl_smpm_part part, uint32_t index) {
    const tl_smpm_shape *a = &before->shape, *b = &after->shape;
    tl_smpm_value first = tl_smpm_block_value(before, part, index), last = tl_smpm_block_value(after, part, index);
    tl_smpm_value value = {.flags = first.flags | last.flags};
    bool is_same = a->kind == b->kind && a->vm == b->vm && a->ctx == b->ctx && a->n == b->n && a->parts == b->parts;
    if (!is_same || before->birth != after->birth || after->gen < before->gen || after->t_active < before->t_active)
        value.flags |= TL_SMPM_UNAVAILABLE;
    if (!(value.flags & TL_SMPM_UNAVAILABLE))
        value.count = last.count - first.count;
    return value;
}

//  ---- directory

static void put_text(uint8_t *ret_bytes, const char *text, size_t room) {
    size_t n = strnlen(text, room - 1);
    memcpy(ret_bytes, text, n);
}

void tl_smpm_list_format(uint64_t *words, const tl_smpm_metric *metrics, uint32_t n) {
    memset(words, 0, 8 * (size_t)tl_smpm_list_n_words(n));
    store(&words[0], TL_SMPM_LIST_MAGIC | (uint64_t)TL_SMPM_BLOCK_VERSION << 32);
    store(&words[1], n);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t *row = &words[TL_SMPM_HEADER_WORDS + TL_SMPM_ROW_WORDS * i];
        put_text((uint8_t *)row, metrics[i].name, TL_SMPM_NAME_BYTES);
        put_text((uint8_t *)row + TL_SMPM_NAME_BYTES, metrics[i].unit, TL_SMPM_UNIT_BYTES);
        store(&row[TL_SMPM_ROW_WORDS - 1], pair(metrics[i].scale, metrics[i].index));
    }
}
