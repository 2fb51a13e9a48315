// SPDX-License-Identifier: MIT
// See tage.h. A folded history is a register of w bits whose bit j is the exclusive or of the
// history bits j, j + w, j + 2w and so on, newest first; a push rotates it and corrects two bits.
// Each table is a lane of 16 bits, and loops over all lanes have no other shift than by one number,
// because compilers make vector instructions of them. With scalar code the predictor takes twice as
// many.
#include "timing/ooo/tage.h"

#include <string.h>

#include "base/bits.h"
#include "model/flow.h"

enum {
    HISTORY_RING = 4096, // bits: the longest history and those in flight
    PATH_BITS = 16,
    RESET_LOG2 = 18,   // trained branches between two resets of usefulness (2006, section 3.2.2)
    USE_ALTERNATE = 7, // greatest value of the four-bit counter
    STRONG = 3,        // greatest value of a three-bit signed counter
    USEFUL = 3,
    N_FOLDS = 3,  // of the index, and two of the tag
    N_LANES = 16, // tables, and lanes without one
};
static const uint32_t NO_TABLE = UINT32_MAX;

// A shift to the right by i + 2, as the upper half of a product.
static const uint16_t shifts[N_LANES] = {1 << 14, 1 << 13, 1 << 12, 1 << 11, 1 << 10, 1 << 9, 1 << 8, 1 << 7,
                                         1 << 6,  1 << 5,  1 << 4,  1 << 3,  1 << 2,  1 << 1, 1 << 0};
_Static_assert(TL_MAX_TAGE_TABLES <= 15, "each table has a shift");

typedef struct tagged {
    uint16_t tag;
    int8_t counter; // taken from 0 on
    uint8_t useful;
} tagged;

typedef struct fold { // of all tables
    uint16_t bits[N_LANES];
    uint16_t mask[N_LANES], top[N_LANES]; // of its width, and the highest bit of that
    uint16_t oldest[N_LANES];             // the bit from which the oldest history bit leaves
} fold;

typedef struct look_up { // of a branch in flight
    uint16_t index[N_LANES], tag[N_LANES];
} look_up;

typedef struct before { // state of the history before a push
    uint16_t folds[N_FOLDS][N_LANES];
    uint16_t path;
} before;

typedef struct reading { // what the tables say
    uint32_t provider, alternate;
    bool provider_taken, alternate_taken, is_weak, is_taken;
} reading;

struct tage {
    uint32_t n_tables, index_bits, tag_bits[TL_MAX_TAGE_TABLES], length[TL_MAX_TAGE_TABLES];
    uint16_t path_mask[N_LANES];
    uint64_t base_mask;
    uint8_t *base;
    tagged *table[TL_MAX_TAGE_TABLES];
    fold folds[N_FOLDS];
    uint64_t n_pushed, n_trained, random;
    uint32_t path;
    int8_t use_alternate; // from 0 on: a weak provider is not believed
    uint8_t history[HISTORY_RING];
    look_up flights[TL_MAX_IN_FLIGHT];
    before marks[TL_MAX_IN_FLIGHT];
};

// ---- History.

static uint16_t history_bit(const tage *t, uint32_t age) { return t->history[(t->n_pushed - 1 - age) & (HISTORY_RING - 1)]; }

static void fold_push(fold *f, uint16_t bit, const uint16_t *leaves) {
    for (uint32_t i = 0; i < N_LANES; i++) {
        const uint16_t carry = (f->bits[i] & f->top[i]) == f->top[i] ? 1 : 0;
        f->bits[i] = (uint16_t)((((uint32_t)f->bits[i] << 1 & f->mask[i]) | carry) ^ bit ^ (f->oldest[i] & leaves[i]));
    }
}

void tage_push(tage *t, uint64_t pc, bool bit) {
    before *mark = &t->marks[t->n_pushed & (TL_MAX_IN_FLIGHT - 1)];
    uint16_t leaves[N_LANES] = {0}; // ones if the oldest bit of the table's history is one
    for (uint32_t i = 0; i < t->n_tables; i++)
        leaves[i] = (uint16_t)-history_bit(t, t->length[i] - 1);
    mark->path = (uint16_t)t->path;
    for (uint32_t k = 0; k < N_FOLDS; k++) {
        memcpy(mark->folds[k], t->folds[k].bits, sizeof mark->folds[k]);
        fold_push(&t->folds[k], bit, leaves);
    }
    t->path = (t->path << 1 | (uint32_t)(pc >> 1 & 1)) & ((1u << PATH_BITS) - 1);
    t->history[t->n_pushed & (HISTORY_RING - 1)] = bit;
    t->n_pushed += 1;
}

uint64_t tage_mark(const tage *t) { return t->n_pushed; }

void tage_restore(tage *t, uint64_t mark) {
    if (mark == t->n_pushed)
        return;
    const before *then = &t->marks[mark & (TL_MAX_IN_FLIGHT - 1)];
    t->n_pushed = mark;
    t->path = then->path;
    for (uint32_t k = 0; k < N_FOLDS; k++)
        memcpy(t->folds[k].bits, then->folds[k], sizeof then->folds[k]);
}

// ---- Prediction.

static reading read_tables(const tage *t, uint64_t pc, const look_up *at) {
    reading r = {.provider = NO_TABLE, .alternate = NO_TABLE};
    for (uint32_t i = t->n_tables; i-- > 0 && r.alternate == NO_TABLE;) {
        if (t->table[i][at->index[i]].tag != at->tag[i])
            continue;
        if (r.provider == NO_TABLE)
            r.provider = i;
        else
            r.alternate = i;
    }
    r.alternate_taken =
        r.alternate == NO_TABLE ? t->base[pc >> 1 & t->base_mask] >= 2 : t->table[r.alternate][at->index[r.alternate]].counter >= 0;
    r.is_taken = r.provider_taken = r.alternate_taken;
    if (r.provider == NO_TABLE)
        return r;
    const tagged *entry = &t->table[r.provider][at->index[r.provider]];
    r.provider_taken = entry->counter >= 0;
    r.is_weak = entry->useful == 0 && (entry->counter == 0 || entry->counter == -1);
    r.is_taken = r.is_weak && t->use_alternate >= 0 ? r.alternate_taken : r.provider_taken;
    return r;
}

bool tage_predict(tage *t, uint64_t pc) {
    look_up *at = &t->flights[t->n_pushed & (TL_MAX_IN_FLIGHT - 1)];
    const uint64_t address = pc >> 1;
    const uint16_t low = (uint16_t)address, path = (uint16_t)t->path, mask = (uint16_t)((1u << t->index_bits) - 1);
    const uint32_t half = t->index_bits / 2;
    const fold *f = t->folds;
    const uint16_t high = (uint16_t)(address >> 16);
    uint16_t shifted[N_LANES]; // address >> (i + 2)
    for (uint32_t i = 0; i < N_LANES; i++)
        shifted[i] = (uint16_t)(((uint32_t)low * shifts[i] >> 16) | (uint32_t)high * shifts[i]);
    for (uint32_t i = 0; i < N_LANES; i++) {
        const uint16_t part = path & t->path_mask[i];
        at->index[i] = (uint16_t)((low ^ shifted[i] ^ f[0].bits[i] ^ part ^ part >> half) & mask);
    }
    for (uint32_t i = 0; i < N_LANES; i++)
        at->tag[i] = (uint16_t)((low ^ f[1].bits[i] ^ (uint32_t)f[2].bits[i] << 1) & f[1].mask[i]);
    return read_tables(t, pc, at).is_taken;
}

// ---- Training.

static void count(int8_t *counter, bool is_up, int8_t most) {
    if (is_up ? *counter < most : *counter > -most - 1)
        *counter = (int8_t)(*counter + (is_up ? 1 : -1));
}

static void count_base(tage *t, uint64_t pc, bool is_taken) {
    uint8_t *counter = &t->base[pc >> 1 & t->base_mask];
    if (is_taken ? *counter < 3 : *counter > 0)
        *counter = (uint8_t)(*counter + (is_taken ? 1 : -1));
}

static uint64_t draw(tage *t) { // xorshift64 (Marsaglia 2003)
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return t->random;
}

// An entry that is not useful, in a table of a longer history. Each such table is half as likely as
// the next shorter one. Without any, all of them become less useful.
static void allocate(tage *t, const look_up *at, uint32_t first, bool is_taken) {
    uint32_t free[TL_MAX_TAGE_TABLES], n = 0;
    for (uint32_t i = first; i < t->n_tables; i++)
        if (t->table[i][at->index[i]].useful == 0)
            free[n++] = i;
    if (n == 0) {
        for (uint32_t i = first; i < t->n_tables; i++)
            t->table[i][at->index[i]].useful -= 1;
        return;
    }
    const uint64_t ticket = 1 + draw(t) % ((UINT64_C(1) << n) - 1);
    const uint32_t i = free[n - 1 - (63 - (uint32_t)__builtin_clzll(ticket))];
    t->table[i][at->index[i]] = (tagged){.tag = at->tag[i], .counter = is_taken ? 0 : -1};
}

// High and low bits of all counters of usefulness are cleared by turns.
static void age(tage *t) {
    t->n_trained += 1;
    if (t->n_trained & ((UINT64_C(1) << RESET_LOG2) - 1))
        return;
    const uint8_t kept = t->n_trained >> RESET_LOG2 & 1 ? 1 : 2;
    for (uint32_t i = 0; i < t->n_tables; i++)
        for (uint32_t k = 0; k < 1u << t->index_bits; k++)
            t->table[i][k].useful &= kept;
}

static void train_provider(tage *t, uint64_t pc, const look_up *at, const reading *r, bool is_taken) {
    tagged *entry = &t->table[r->provider][at->index[r->provider]];
    const bool differs = r->provider_taken != r->alternate_taken, was_useful = entry->useful != 0;
    if (r->is_weak && differs)
        count(&t->use_alternate, r->alternate_taken == is_taken, USE_ALTERNATE);
    if (differs && r->provider_taken == is_taken)
        entry->useful = (uint8_t)(entry->useful + (entry->useful < USEFUL));
    else if (differs)
        entry->useful = (uint8_t)(entry->useful - (entry->useful > 0));
    count(&entry->counter, is_taken, STRONG);
    if (was_useful)
        return;
    if (r->alternate == NO_TABLE)
        count_base(t, pc, is_taken);
    else
        count(&t->table[r->alternate][at->index[r->alternate]].counter, is_taken, STRONG);
}

void tage_train(tage *t, uint64_t pc, uint64_t mark, bool is_taken) {
    const look_up *at = &t->flights[mark & (TL_MAX_IN_FLIGHT - 1)];
    const reading r = read_tables(t, pc, at);
    const uint32_t first = r.provider == NO_TABLE ? 0 : r.provider + 1;
    // The provider needs no help.
    const bool is_learning = r.is_weak && r.provider_taken == is_taken;
    if (r.is_taken != is_taken && first < t->n_tables && !is_learning)
        allocate(t, at, first, is_taken);
    if (r.provider == NO_TABLE)
        count_base(t, pc, is_taken);
    else
        train_provider(t, pc, at, &r, is_taken);
    age(t);
}

// ---- Structure.

// The n-th part of a ratio by bisection: the number whose n-th power it is. Multiplications of IEEE
// numbers are the same on every host, and powers of libm need not be.
static double root(double ratio, uint32_t n) {
    double low = 1, high = ratio;
    for (int i = 0; i < 64; i++) {
        const double middle = (low + high) / 2;
        double power = 1;
        for (uint32_t k = 0; k < n; k++)
            power *= middle;
        if (power < ratio)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static void set_lengths(tage *t, const tl_bp_config *want) {
    const double step = t->n_tables > 1 ? root((double)want->max_history / want->min_history, t->n_tables - 1) : 1;
    double length = want->min_history;
    for (uint32_t i = 0; i < t->n_tables; i++, length *= step) {
        t->length[i] = (uint32_t)(length + 0.5);
        if (i > 0 && t->length[i] <= t->length[i - 1])
            t->length[i] = t->length[i - 1] + 1;
    }
}

tl_status tage_init(const tl_config *config, tl_arena *arena, tage **ret_tage, tl_error *err) {
    const tl_bp_config *want = &config->bp;
    tage *t = tl_arena_alloc(arena, sizeof *t);
    uint8_t *base = tl_arena_alloc(arena, want->counters);
    if (!t || !base)
        return tl_fail(err, TL_ENOMEM, "no memory for the branch predictor");
    *t = (tage){.n_tables = want->tables,
                .index_bits = tl_log2(want->table_entries),
                .base_mask = want->counters - 1,
                .base = base,
                .random = config->seed * UINT64_C(0x9e3779b97f4a7c15) | 1};
    memset(base, 1, want->counters); // weakly not taken
    set_lengths(t, want);
    for (uint32_t i = 0; i < t->n_tables; i++) {
        t->tag_bits[i] = want->tag_bits + i / 2;
        t->path_mask[i] = (uint16_t)((1u << (t->length[i] < PATH_BITS ? t->length[i] : PATH_BITS)) - 1);
        const uint32_t widths[N_FOLDS] = {t->index_bits, t->tag_bits[i], t->tag_bits[i] - 1};
        for (uint32_t k = 0; k < N_FOLDS; k++) {
            t->folds[k].mask[i] = (uint16_t)((1u << widths[k]) - 1);
            t->folds[k].top[i] = (uint16_t)(1u << (widths[k] - 1));
            t->folds[k].oldest[i] = (uint16_t)(1u << t->length[i] % widths[k]);
        }
        t->table[i] = tl_arena_alloc(arena, want->table_entries * sizeof *t->table[i]);
        if (!t->table[i])
            return tl_fail(err, TL_ENOMEM, "no memory for the branch predictor");
    }
    *ret_tage = t;
    return TL_OK;
}

uint32_t tage_history_bits(const tage *t, uint32_t table) { return t->length[table]; }

uint64_t tage_storage_bits(const tage *t) {
    uint64_t bits = 2 * (t->base_mask + 1) + t->length[t->n_tables - 1] + PATH_BITS + 4 + RESET_LOG2 + 1 + 64;
    for (uint32_t i = 0; i < t->n_tables; i++)
        bits += (3 + 2 + (uint64_t)t->tag_bits[i]) << t->index_bits;
    return bits;
}
