// SPDX-License-Identifier: MIT
// Rows of an attribution, and how far the tallies are booked; see attribution.h.
#include "model/attribution.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/bits.h"
#include "model/hart_signals.h"

typedef struct own_hart {
    uint64_t space, transfer_pc;
    uint64_t *transfer_counts; // of the context of the transfer
    bool has_transfer, has_end;
    uint64_t end_space, end_pc; // of the instruction before which the last run ended
    uint64_t *end_counts;       // of its context
} own_hart;

typedef struct source { // of counts that an engine holds back
    void (*pour)(void *ctx);
    void *ctx;
    uint32_t hart;
} source;

// Tallies are compared and booked by groups of neighbors.
enum { GROUP = 8 };
typedef struct group_counts {
    uint64_t n[GROUP];
    uint32_t group;
} group_counts;

typedef struct row_groups { // counts that are not in the row yet
    group_counts *groups;
    uint32_t n, room;
    uint64_t *n_alike; // by pattern: bookings that moved it; or NULL
} row_groups;

// Counts that many accesses move alike, as a load that misses the L1 and hits the L2. A few of them
// are nine of ten bookings, and the row of a booking only counts them.
enum { MAX_PATTERNS = 32, MAX_PATTERN_GROUPS = 20, MAX_PATTERN_EVENTS = 32, N_GUESSES = 64, N_BEFORE_PATTERN = 32 };
typedef struct pattern {
    uint64_t *counts; // by cell of whole groups
    uint32_t n_groups, n_events;
    uint8_t groups[MAX_PATTERN_GROUPS]; // that it moves
    uint8_t events[MAX_PATTERN_EVENTS]; // of a call graph, with their counts
    uint64_t event_counts[MAX_PATTERN_EVENTS];
} pattern;

typedef struct guess {
    uint8_t pattern; // its number + 1; 0: none yet
    uint8_t n_wrong; // bookings that moved other counts, since the last one that moved these
} guess;

// One booking. Groups come in ascending order, and stand so in the row.
typedef struct booking {
    row_groups *own; // NULL: not known yet
    uint32_t cursor; // groups of the row before this place are below the next group
} booking;

typedef struct cell_ranges { // of groups that a kind of owner may move
    uint32_t n;
    uint32_t first[2 * TL_MAX_HARTS + 1], end[2 * TL_MAX_HARTS + 1];
} cell_ranges;

struct tl_attribution {
    const tl_probe *probe;
    uint32_t n_harts;
    // Of each tally: at the beginning, and what rows have of it or sources hold back.
    uint64_t *started, *booked;
    bool *is_clock; // of each cell
    tl_attribution_row *rows;
    uint32_t n_rows, room;
    uint32_t *index; // hash table of row numbers + 1; 0: empty
    uint32_t index_mask;
    own_hart harts[TL_MAX_HARTS];
    uint64_t owner_space, owner_pc;   // of the instruction that owns what is not booked yet
    uint64_t before_space, before_pc; // the owner before, of a run of tl_attribution_own_running
    // Of the context of the owner, and of the one before; NULL: there is no call graph.
    uint64_t *owner_counts, *before_counts;
    tl_context_sink *sink; // or NULL
    uint64_t outside;      // TL_OUTSIDE, or 0
    bool has_run;          // some hart has
    bool owner_is_access;  // it moves what tl_attribution_own_access says
    uint32_t owner_hart, before_hart;
    cell_ranges of_accesses, of_all;
    row_groups *groups; // of each row
    void (*book_groups)(tl_attribution *a, booking *b, uint32_t first, uint32_t end);
    bool (*take_pattern)(tl_attribution *a, const pattern *p);
    pattern patterns[MAX_PATTERNS];
    uint32_t n_patterns;
    guess guesses[N_GUESSES]; // by signature
    source *sources;
    uint32_t n_sources;
    bool lacks_memory;
};

// Cells that predictions move (model/bpred.h).
static const uint16_t transfer_cells[] = {
    TL_S_HART_BRANCH_TAKEN, TL_S_BP_BTB_FILL,        TL_S_BP_REDIRECT,         TL_S_HART_CYC_REDIRECT,
    TL_S_BP_COND_MISS,      TL_S_BP_COND_MISS_TAKEN, TL_S_BP_RETURN_MISS,      TL_S_BP_INDIRECT_MISS,
    TL_S_BP_TARGET_MISS,    TL_S_HART_CYC_TARGET,    TL_S_HART_CYC_MISPREDICT,
};

static uint32_t slot_of(const tl_attribution *a, uint64_t space, uint64_t pc) {
    uint64_t key = (pc >> 1) * UINT64_C(0x9e3779b97f4a7c15) ^ space * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (uint32_t)(key ^ key >> 32) & a->index_mask;
}

static bool grow(tl_attribution *a) {
    const uint32_t room = a->room == 0 ? 1024 : 2 * a->room;
    tl_attribution_row *rows = realloc(a->rows, room * sizeof *rows);
    if (!rows)
        return false;
    a->rows = rows;
    row_groups *groups = realloc(a->groups, room * sizeof *groups);
    if (!groups)
        return false;
    a->groups = groups;
    uint32_t *index = calloc(4 * (size_t)room, sizeof *index); // at most a quarter is in use
    if (!index)
        return false;
    free(a->index);
    a->index = index;
    a->index_mask = 4 * room - 1;
    a->room = room;
    for (uint32_t i = 0; i < a->n_rows; i++) {
        uint32_t slot = slot_of(a, rows[i].space, rows[i].pc);
        while (index[slot] != 0)
            slot = (slot + 1) & a->index_mask;
        index[slot] = i + 1;
    }
    return true;
}

// NULL: the host has no memory.
static tl_attribution_row *row_of(tl_attribution *a, uint64_t space, uint64_t pc) {
    uint32_t slot = slot_of(a, space, pc);
    for (; a->index[slot] != 0; slot = (slot + 1) & a->index_mask) {
        tl_attribution_row *row = &a->rows[a->index[slot] - 1];
        if (row->pc == pc && row->space == space)
            return row;
    }
    if (a->n_rows == a->room) {
        if (!grow(a)) {
            a->lacks_memory = true;
            return NULL;
        }
        for (slot = slot_of(a, space, pc); a->index[slot] != 0;)
            slot = (slot + 1) & a->index_mask;
    }
    a->rows[a->n_rows] = (tl_attribution_row){.space = space, .pc = pc};
    a->groups[a->n_rows] = (row_groups){0};
    a->index[slot] = ++a->n_rows;
    return &a->rows[a->n_rows - 1];
}

static void add_to_row(tl_attribution *a, tl_attribution_row *row, tl_cell cell, uint64_t n) {
    for (uint32_t i = 0; i < row->n_counts; i++)
        if (row->counts[i].cell == cell) {
            row->counts[i].n += n;
            return;
        }
    if (row->n_counts == row->room) {
        const uint32_t room = row->room == 0 ? 8 : 2 * row->room;
        tl_attribution_count *counts = realloc(row->counts, room * sizeof *counts);
        if (!counts) {
            a->lacks_memory = true;
            return;
        }
        row->counts = counts;
        row->room = room;
    }
    row->counts[row->n_counts++] = (tl_attribution_count){.cell = cell, .n = n};
}

static void add_to_context(const tl_attribution *a, uint64_t *counts, tl_cell cell, uint64_t n) {
    if (counts && a->sink->event_of[cell] != TL_NO_EVENT && !a->is_clock[cell])
        counts[a->sink->event_of[cell]] += n;
}

static void move_cell(tl_attribution *a, tl_attribution_row *row, tl_cell cell, uint64_t *counts) {
    const uint64_t n = a->probe->tally[cell] - a->booked[cell];
    a->booked[cell] += n;
    add_to_context(a, counts, cell, n);
    if (n != 0 && !a->is_clock[cell] && row)
        add_to_row(a, row, cell, n);
}

// A place for the group, before groups[at]. NULL: the host has no memory.
static TL_NOINLINE group_counts *insert_group(tl_attribution *a, row_groups *own, uint32_t at, uint32_t group) {
    if (own->n == own->room) {
        const uint32_t room = own->room == 0 ? 4 : 2 * own->room;
        group_counts *groups = realloc(own->groups, room * sizeof *groups);
        if (!groups) {
            a->lacks_memory = true;
            return NULL;
        }
        own->groups = groups;
        own->room = room;
    }
    memmove(&own->groups[at + 1], &own->groups[at], (own->n - at) * sizeof *own->groups);
    own->groups[at] = (group_counts){.group = group};
    own->n++;
    return &own->groups[at];
}

TL_ALWAYS_INLINE group_counts *group_of(tl_attribution *a, booking *b, uint32_t group) {
    if (!b->own) {
        const tl_attribution_row *row = row_of(a, a->owner_space, a->owner_pc);
        if (!row)
            return NULL;
        b->own = &a->groups[row - a->rows];
    }
    const row_groups *own = b->own;
    uint32_t at = b->cursor;
    while (at < own->n && own->groups[at].group < group)
        at++;
    b->cursor = at + 1;
    return TL_LIKELY(at < own->n && own->groups[at].group == group) ? &own->groups[at] : insert_group(a, b->own, at, group);
}

static void book_groups(tl_attribution *a, booking *b, uint32_t first, uint32_t end) {
    for (uint32_t group = first; group < end; group++) {
        const uint64_t *tally = a->probe->tally + (size_t)group * GROUP;
        uint64_t *booked = a->booked + (size_t)group * GROUP;
        uint64_t moved = 0;
        for (uint32_t i = 0; i < GROUP; i++)
            moved |= tally[i] ^ booked[i];
        if (TL_LIKELY(moved == 0))
            continue;
        group_counts *counts = group_of(a, b, group);
        if (!counts)
            return;
        for (uint32_t i = 0; i < GROUP; i++) {
            add_to_context(a, a->owner_counts, group * GROUP + i, tally[i] - booked[i]);
            counts->n[i] += tally[i] - booked[i];
            booked[i] = tally[i];
        }
    }
}

// Whether the cells of accesses moved by just the counts of the pattern since the last booking. If
// so, they are booked. NULL: whether they did not move.
static bool take_pattern(tl_attribution *a, const pattern *p) {
    const cell_ranges *ranges = &a->of_accesses;
    uint64_t wrong = 0;
    for (uint32_t r = 0; r < ranges->n; r++)
        for (tl_cell cell = ranges->first[r] * GROUP; cell < ranges->end[r] * GROUP; cell++)
            wrong |= a->probe->tally[cell] - a->booked[cell] - (p ? p->counts[cell] : 0);
    for (uint32_t i = 0; wrong == 0 && p && i < p->n_groups; i++)
        memcpy(a->booked + p->groups[i] * GROUP, a->probe->tally + p->groups[i] * GROUP, GROUP * sizeof *a->booked);
    return wrong == 0;
}

#ifdef __x86_64__
// The function above with 32 bytes at once. A program whose accesses miss comes here with each of
// them.
__attribute__((target("avx2"))) static bool take_pattern_avx2(tl_attribution *a, const pattern *p) {
    _Static_assert(GROUP == 8, "a group is two vectors");
    const __m256i *tally = (const void *)a->probe->tally, *own = p ? (const void *)p->counts : NULL;
    __m256i *booked = (void *)a->booked, wrong = _mm256_setzero_si256();
    const cell_ranges *ranges = &a->of_accesses;
    for (uint32_t r = 0; r < ranges->n; r++) {
        const size_t end = 2 * (size_t)ranges->end[r];
        size_t i = 2 * (size_t)ranges->first[r];
        if (own) {
#pragma GCC unroll 8
            for (; i < end; i++)
                wrong =
                    _mm256_or_si256(wrong, _mm256_xor_si256(_mm256_sub_epi64(_mm256_loadu_si256(tally + i), _mm256_loadu_si256(booked + i)),
                                                            _mm256_loadu_si256(own + i)));
        } else {
#pragma GCC unroll 8
            for (; i < end; i++)
                wrong = _mm256_or_si256(wrong, _mm256_xor_si256(_mm256_loadu_si256(tally + i), _mm256_loadu_si256(booked + i)));
        }
    }
    if (!_mm256_testz_si256(wrong, wrong))
        return false;
    for (uint32_t g = 0; p && g < p->n_groups; g++) {
        const size_t at = 2 * (size_t)p->groups[g];
        _mm256_storeu_si256(booked + at, _mm256_loadu_si256(tally + at));
        _mm256_storeu_si256(booked + at + 1, _mm256_loadu_si256(tally + at + 1));
    }
    return true;
}

// The function book_groups with 32 bytes at once, for what patterns have not.
__attribute__((target("avx2"))) static void book_groups_avx2(tl_attribution *a, booking *b, uint32_t first, uint32_t end) {
    _Static_assert(GROUP == 8, "a group is two vectors");
    const __m256i *tally = (const void *)a->probe->tally;
    __m256i *booked = (void *)a->booked;
    for (uint32_t group = first; group < end; group++) {
        const size_t at = 2 * (size_t)group;
        const __m256i t0 = _mm256_loadu_si256(tally + at), t1 = _mm256_loadu_si256(tally + at + 1);
        const __m256i b0 = _mm256_loadu_si256(booked + at), b1 = _mm256_loadu_si256(booked + at + 1);
        const __m256i moved = _mm256_or_si256(_mm256_xor_si256(t0, b0), _mm256_xor_si256(t1, b1));
        if (TL_LIKELY(_mm256_testz_si256(moved, moved)))
            continue;
        group_counts *counts = group_of(a, b, group);
        if (!counts)
            return;
        if (a->owner_counts)
            for (uint32_t i = 0; i < GROUP; i++)
                add_to_context(a, a->owner_counts, group * GROUP + i, a->probe->tally[group * GROUP + i] - a->booked[group * GROUP + i]);
        __m256i *n = (void *)counts->n;
        _mm256_storeu_si256(n, _mm256_add_epi64(_mm256_loadu_si256(n), _mm256_sub_epi64(t0, b0)));
        _mm256_storeu_si256(n + 1, _mm256_add_epi64(_mm256_loadu_si256(n + 1), _mm256_sub_epi64(t1, b1)));
        _mm256_storeu_si256(booked + at, t0);
        _mm256_storeu_si256(booked + at + 1, t1);
    }
}
#endif

static void add_range(cell_ranges *ranges, tl_cell first, tl_cell last) {
    uint32_t group = first / GROUP;
    if (ranges->n > 0 && group < ranges->end[ranges->n - 1])
        group = ranges->end[ranges->n - 1];
    ranges->first[ranges->n] = group;
    ranges->end[ranges->n++] = last / GROUP + 1;
}

// Cells in groups as far as groups are whole.
static void set_ranges(tl_attribution *a) {
    const tl_cell last = a->probe->n_cells - a->probe->n_cells % GROUP - 1, others = a->n_harts * TL_S_N_CELLS;
    add_range(&a->of_all, 0, last);
    for (uint32_t hart = 0; hart < a->n_harts; hart++) {
        const tl_cell first = hart * TL_S_N_CELLS;
        add_range(&a->of_accesses, first + TL_S_HART_CYC_FETCH, first + TL_S_HART_CYC_DTLB);
        add_range(&a->of_accesses, first + TL_S_L1I_READ, first + TL_S_PTW_CYCLE);
    }
    if (others <= last)
        add_range(&a->of_accesses, others, last);
}

tl_status tl_attribution_new(const tl_probe *probe, uint32_t n_harts, tl_attribution **ret_attribution, tl_error *err) {
    enum { FIRST_INDEX = 1 << 12 };
    tl_attribution *a = calloc(1, sizeof *a);
    *ret_attribution = a;
    if (a) {
        a->probe = probe;
        a->n_harts = n_harts;
        a->started = malloc(probe->n_cells * sizeof *a->started);
        a->booked = malloc(probe->n_cells * sizeof *a->booked);
        a->is_clock = calloc(probe->n_cells, sizeof *a->is_clock);
        a->index = calloc(FIRST_INDEX, sizeof *a->index);
        a->index_mask = FIRST_INDEX - 1;
    }
    if (!a || !a->started || !a->booked || !a->is_clock || !a->index) {
        tl_attribution_free(a);
        *ret_attribution = NULL;
        return tl_fail(err, TL_ENOMEM, "no memory for counts by instruction");
    }
    set_ranges(a);
    tl_attribution_use_plain_code(a);
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        a->book_groups = book_groups_avx2;
        a->take_pattern = take_pattern_avx2;
    }
#endif
    memcpy(a->started, probe->tally, probe->n_cells * sizeof *a->started);
    memcpy(a->booked, probe->tally, probe->n_cells * sizeof *a->booked);
    for (uint32_t cell = 0; cell < n_harts * TL_S_N_CELLS; cell++)
        a->is_clock[cell] = tl_hart_signal_kind(cell % TL_S_N_CELLS) == TL_SIGNAL_CLOCK;
    return TL_OK;
}

void tl_attribution_use_plain_code(tl_attribution *a) {
    a->book_groups = book_groups;
    a->take_pattern = take_pattern;
}

void tl_attribution_free(tl_attribution *a) {
    if (!a)
        return;
    for (uint32_t i = 0; i < a->n_rows; i++)
        free(a->rows[i].counts);
    for (uint32_t i = 0; i < a->n_rows; i++) {
        free(a->groups[i].groups);
        free(a->groups[i].n_alike);
    }
    for (uint32_t i = 0; i < a->n_patterns; i++)
        free(a->patterns[i].counts);
    free(a->rows);
    free(a->groups);
    free(a->index);
    free(a->started);
    free(a->booked);
    free(a->is_clock);
    free(a->sources);
    free(a);
}

// A number that tells patterns apart, below N_GUESSES. 0: probably nothing has moved.
static uint32_t signature_of(const tl_attribution *a) {
    const size_t first = (size_t)a->owner_hart * TL_S_N_CELLS;
    const uint64_t *tally = a->probe->tally + first, *booked = a->booked + first;
#define MOVED(cell) ((uint32_t)(tally[cell] - booked[cell]))
    const uint32_t sum = MOVED(TL_S_HART_CYC_LOAD_MISS) * 3 + MOVED(TL_S_HART_CYC_STORE_MISS) * 5 + MOVED(TL_S_HART_CYC_FETCH) * 9 +
                         MOVED(TL_S_HART_CYC_DTLB) * 17 + MOVED(TL_S_L1D_EVICT_DIRTY) * 33 + MOVED(TL_S_L2TLB_ACCESS) * 65;
#undef MOVED
    return sum == 0 ? 0 : 1 + (sum * UINT32_C(0x9e3779b1) >> 26) % (N_GUESSES - 1);
}

// Counts that are not booked yet become a pattern, if there is room for it.
static void make_pattern(tl_attribution *a, guess *of) {
    const cell_ranges *ranges = &a->of_accesses;
    pattern p = {.counts = calloc(a->of_all.end[0], GROUP * sizeof *p.counts)};
    bool fits = p.counts != NULL;
    for (uint32_t r = 0; r < ranges->n; r++)
        for (uint32_t group = ranges->first[r]; fits && group < ranges->end[r]; group++) {
            bool has_moved = false;
            for (tl_cell cell = group * GROUP; fits && cell < (group + 1) * GROUP; cell++) {
                p.counts[cell] = a->probe->tally[cell] - a->booked[cell];
                has_moved |= p.counts[cell] != 0;
                if (p.counts[cell] == 0 || !a->sink || a->sink->event_of[cell] == TL_NO_EVENT || a->is_clock[cell])
                    continue;
                fits = p.n_events < MAX_PATTERN_EVENTS;
                if (fits) {
                    p.events[p.n_events] = a->sink->event_of[cell];
                    p.event_counts[p.n_events++] = p.counts[cell];
                }
            }
            fits &= !has_moved || (p.n_groups < MAX_PATTERN_GROUPS && group <= UINT8_MAX);
            if (fits && has_moved)
                p.groups[p.n_groups++] = (uint8_t)group;
        }
    if (!fits) {
        free(p.counts);
        return;
    }
    a->patterns[a->n_patterns++] = p;
    of->pattern = (uint8_t)a->n_patterns;
}

// Books the pattern of an access to its owner. false: it moved other counts, and nothing is booked.
static bool book_pattern(tl_attribution *a) {
    const uint32_t signature = signature_of(a);
    if (signature == 0)
        return a->take_pattern(a, NULL);
    guess *of = &a->guesses[signature];
    const uint32_t number = of->pattern - UINT32_C(1);
    const pattern *p = &a->patterns[number % MAX_PATTERNS];
    const tl_attribution_row *row = of->pattern != 0 ? row_of(a, a->owner_space, a->owner_pc) : NULL;
    row_groups *own = row ? &a->groups[row - a->rows] : NULL;
    // Without memory for it, counts go to the row themselves.
    if (own && TL_UNLIKELY(!own->n_alike))
        own->n_alike = calloc(MAX_PATTERNS, sizeof *own->n_alike);
    if (!own || !own->n_alike || !a->take_pattern(a, p)) {
        if (++of->n_wrong == N_BEFORE_PATTERN) {
            of->n_wrong = 0;
            if (a->n_patterns < MAX_PATTERNS)
                make_pattern(a, of);
        }
        return false;
    }
    of->n_wrong = 0;
    own->n_alike[number]++;
    if (a->owner_counts)
        for (uint32_t i = 0; i < p->n_events; i++)
            a->owner_counts[p->events[i]] += p->event_counts[i];
    return true;
}

// Gives the owner what is not booked yet. The last transfer must be settled.
static void book_owned(tl_attribution *a) {
    const cell_ranges *ranges = a->owner_is_access ? &a->of_accesses : &a->of_all;
    booking b = {0};
    if (!a->owner_is_access || !book_pattern(a))
        for (uint32_t i = 0; i < ranges->n; i++)
            a->book_groups(a, &b, ranges->first[i], ranges->end[i]);
    for (tl_cell cell = a->of_all.end[0] * GROUP; cell < a->probe->n_cells; cell++)
        if (a->probe->tally[cell] != a->booked[cell])
            move_cell(a, row_of(a, a->owner_space, a->owner_pc), cell, a->owner_counts);
    a->owner_is_access = true;
}

// Counts of groups go to the counts of rows.
static void spread(tl_attribution *a) {
    for (uint32_t r = 0; r < a->n_rows; r++) {
        row_groups *own = &a->groups[r];
        for (uint32_t p = 0; own->n_alike && p < a->n_patterns; p++) {
            const uint64_t n = own->n_alike[p];
            own->n_alike[p] = 0;
            for (uint32_t g = 0; n != 0 && g < a->patterns[p].n_groups; g++)
                for (uint32_t i = 0; i < GROUP; i++) {
                    const tl_cell cell = a->patterns[p].groups[g] * GROUP + i;
                    if (a->patterns[p].counts[cell] != 0 && !a->is_clock[cell])
                        add_to_row(a, &a->rows[r], cell, n * a->patterns[p].counts[cell]);
                }
        }
        for (uint32_t g = 0; g < own->n; g++)
            for (uint32_t i = 0; i < GROUP; i++) {
                const tl_cell cell = own->groups[g].group * GROUP + i;
                if (own->groups[g].n[i] != 0 && !a->is_clock[cell])
                    add_to_row(a, &a->rows[r], cell, own->groups[g].n[i]);
                own->groups[g].n[i] = 0;
            }
    }
}

void tl_attribution_set_source(tl_hart *h, void (*pour)(void *ctx), void *ctx) {
    tl_attribution *a = h->attribution;
    for (uint32_t i = 0; i < a->n_sources; i++)
        if (a->sources[i].pour == pour && a->sources[i].ctx == ctx)
            return;
    source *sources = realloc(a->sources, (a->n_sources + 1) * sizeof *sources);
    if (!sources) {
        a->lacks_memory = true;
        return;
    }
    a->sources = sources;
    a->sources[a->n_sources++] = (source){.pour = pour, .ctx = ctx, .hart = h->id};
}

static void pour_all(tl_attribution *a, uint32_t hart) { // TL_MAX_HARTS: of all harts
    for (uint32_t i = 0; i < a->n_sources; i++)
        if (hart == TL_MAX_HARTS || a->sources[i].hart == hart)
            a->sources[i].pour(a->sources[i].ctx);
}

void tl_attribution_set_space(tl_attribution *a, uint32_t hart, uint64_t space) {
    if (a->harts[hart].space == (space | a->outside))
        return;
    pour_all(a, hart);
    a->harts[hart].space = space | a->outside;
    if (a->sink)
        a->sink->space_changed(a->sink->graph, hart, space);
}

void tl_attribution_set_sink(tl_attribution *a, tl_context_sink *sink) {
    a->sink = sink;
    for (uint32_t hart = 0; hart < a->n_harts; hart++)
        sink->space_changed(sink->graph, hart, a->harts[hart].space & ~TL_OUTSIDE);
    a->owner_counts = sink->counts[0];
}

tl_context_sink *tl_attribution_sink(const tl_hart *h) { return h->attribution->sink; }

void tl_attribution_begin(tl_hart *h) {
    tl_context_sink *sink = h->attribution->sink;
    if (sink)
        sink->began(sink->graph, h->id, h->pc);
}

static void settle(tl_attribution *a, uint32_t hart) {
    own_hart *own = &a->harts[hart];
    if (!own->has_transfer)
        return;
    own->has_transfer = false;
    const uint64_t *tally = a->probe->tally;
    const tl_cell first = hart * TL_S_N_CELLS;
    uint64_t moved = 0;
    for (uint32_t i = 0; i < TL_COUNT_OF(transfer_cells); i++)
        moved |= tally[first + transfer_cells[i]] ^ a->booked[first + transfer_cells[i]];
    if (moved == 0)
        return;
    tl_attribution_row *row = row_of(a, own->space, own->transfer_pc);
    for (uint32_t i = 0; i < TL_COUNT_OF(transfer_cells); i++)
        move_cell(a, row, first + transfer_cells[i], own->transfer_counts);
}

void tl_attribution_settle(tl_hart *h) { settle(h->attribution, h->id); }

static uint64_t *counts_under_way(const tl_hart *h) { return h->attribution->sink ? h->attribution->sink->counts[h->id] : NULL; }

TL_ALWAYS_INLINE void own(tl_hart *h, uint64_t pc, uint64_t *counts, bool is_access) {
    tl_attribution *a = h->attribution;
    settle(a, h->id);
    const uint64_t space = a->harts[h->id].space;
    if (a->owner_pc != pc || a->owner_space != space || a->owner_counts != counts) {
        book_owned(a);
        a->owner_hart = h->id;
        a->owner_pc = pc;
        a->owner_space = space;
        a->owner_counts = counts;
    }
    a->owner_is_access &= is_access;
}

void tl_attribution_own(tl_hart *h, uint64_t pc) { own(h, pc, counts_under_way(h), false); }

void tl_attribution_own_running(tl_hart *h, uint64_t pc, uint64_t *counts) {
    tl_attribution *a = h->attribution;
    a->has_run = true;
    a->before_space = a->owner_space;
    a->before_pc = a->owner_pc;
    a->before_counts = a->owner_counts;
    a->before_hart = a->owner_hart;
    own(h, pc, counts, false);
}

void tl_attribution_own_in(tl_attribution *a, uint64_t *counts) {
    book_owned(a);
    a->owner_counts = counts;
    a->owner_is_access = false;
}

void tl_attribution_own_as_before(tl_hart *h) {
    tl_attribution *a = h->attribution;
    book_owned(a);
    a->owner_space = a->before_space;
    a->owner_pc = a->before_pc;
    a->owner_counts = a->before_counts;
    a->owner_hart = a->before_hart;
    a->owner_is_access = false;
}

void tl_attribution_own_access(tl_hart *h, uint64_t pc) { own(h, pc, counts_under_way(h), true); }

void tl_attribution_book(tl_hart *h) {
    book_owned(h->attribution);
    h->attribution->owner_is_access = false;
}

void tl_attribution_end(tl_hart *h) {
    tl_attribution *a = h->attribution;
    own_hart *own = &a->harts[h->id];
    tl_attribution_own(h, h->pc);
    own->has_end = a->has_run = true;
    own->end_space = a->owner_space;
    own->end_pc = a->owner_pc;
    own->end_counts = a->owner_counts;
}

void tl_attribution_own_end(tl_hart *h) {
    tl_attribution *a = h->attribution;
    const own_hart *end = &a->harts[h->id];
    if (!end->has_end) {
        if (a->has_run) // else the program is being loaded
            tl_attribution_own(h, h->pc);
        return;
    }
    if (a->owner_space == end->end_space && a->owner_pc == end->end_pc)
        return;
    for (uint32_t hart = 0; hart < a->n_harts; hart++)
        settle(a, hart);
    book_owned(a);
    a->owner_space = end->end_space;
    a->owner_pc = end->end_pc;
    a->owner_counts = end->end_counts;
    a->owner_is_access = false;
}

void tl_attribution_transfer(tl_hart *h, uint64_t pc) {
    own_hart *own = &h->attribution->harts[h->id];
    settle(h->attribution, h->id);
    own->transfer_pc = pc;
    own->transfer_counts = h->attribution->sink ? h->attribution->sink->counts[h->id] : NULL;
    own->has_transfer = true;
}

uint64_t *tl_attribution_booked(tl_hart *h) { return h->attribution->booked + h->id * TL_S_N_CELLS; }

void tl_attribution_pour_executed(tl_hart *h, uint64_t pc, int64_t n) {
    tl_attribution_row *row = row_of(h->attribution, h->attribution->harts[h->id].space, pc);
    if (row)
        row->n_executed += (uint64_t)n;
}

void tl_attribution_pour(tl_hart *h, uint64_t pc, uint32_t cell, uint64_t n) {
    tl_attribution *a = h->attribution;
    tl_attribution_row *row = n != 0 ? row_of(a, a->harts[h->id].space, pc) : NULL;
    if (row)
        add_to_row(a, row, h->id * TL_S_N_CELLS + cell, n);
}

void tl_attribution_execute(tl_hart *h, uint64_t pc, int64_t n) {
    const tl_context_sink *sink = h->attribution->sink;
    tl_attribution_pour_executed(h, pc, n);
    if (sink && sink->executed_event != TL_NO_EVENT)
        sink->counts[h->id][sink->executed_event] += (uint64_t)n;
}

uint32_t tl_attribution_row_at(tl_hart *h, uint64_t pc) {
    tl_attribution *a = h->attribution;
    const tl_attribution_row *row = row_of(a, a->harts[h->id].space, pc);
    return row ? (uint32_t)(row - a->rows) : UINT32_MAX;
}

void tl_attribution_add(tl_hart *h, uint64_t pc, uint32_t cell, uint64_t n) {
    tl_attribution *a = h->attribution;
    tl_attribution_pour(h, pc, cell, n);
    a->booked[h->id * TL_S_N_CELLS + cell] += n;
    if (a->sink)
        add_to_context(a, a->sink->counts[h->id], h->id * TL_S_N_CELLS + cell, n);
}

static void book_and_pour(tl_attribution *a) {
    for (uint32_t hart = 0; hart < a->n_harts; hart++)
        settle(a, hart);
    book_owned(a);
    a->owner_is_access = false;
    pour_all(a, TL_MAX_HARTS);
}

static void book_all(tl_attribution *a) {
    book_and_pour(a);
    spread(a);
}

static uint64_t placed(uint64_t space, uint64_t outside) { return (space & ~TL_OUTSIDE) | outside; }

bool tl_attribution_is_outside(const tl_attribution *a) { return a->outside != 0; }

void tl_attribution_set_outside(tl_attribution *a, bool is_outside) {
    book_and_pour(a);
    a->outside = is_outside ? TL_OUTSIDE : 0;
    a->owner_space = placed(a->owner_space, a->outside);
    a->before_space = placed(a->before_space, a->outside);
    if (a->sink) {
        a->sink->set_outside(a->sink->graph, is_outside);
        a->owner_counts = a->sink->counts[a->owner_hart];
    }
    for (uint32_t hart = 0; hart < a->n_harts; hart++) {
        own_hart *own = &a->harts[hart];
        own->space = placed(own->space, a->outside);
        own->end_space = placed(own->end_space, a->outside);
        own->end_counts = a->sink ? a->sink->counts[hart] : NULL;
    }
}

const tl_attribution_row *tl_attribution_rows(tl_attribution *a, uint32_t *ret_n_rows) {
    book_all(a);
    *ret_n_rows = a->n_rows;
    return a->rows;
}

static tl_status differs(const tl_attribution *a, tl_cell cell, uint64_t by_rows, uint64_t total, tl_error *err) {
    const tl_unit *unit = tl_probe_unit_of(a->probe, cell);
    return tl_fail(err, TL_EINVAL,
                   "%s.%s is %" PRIu64 ", but its counts by instruction sum up to %" PRIu64 "; this is a defect of tally, please report it",
                   unit->path, unit->type->signals[cell - unit->first_cell].name, total, by_rows);
}

tl_status tl_attribution_check(tl_attribution *a, tl_error *err) {
    book_all(a);
    if (a->lacks_memory)
        return tl_fail(err, TL_ENOMEM, "no memory for counts by instruction: %u instructions have some", a->n_rows);
    uint64_t *sums = calloc(a->probe->n_cells, sizeof *sums);
    if (!sums)
        return tl_fail(err, TL_ENOMEM, "no memory to check counts by instruction");
    uint64_t n_executed = 0, instret = 0;
    for (uint32_t i = 0; i < a->n_rows; i++) {
        n_executed += a->rows[i].n_executed;
        for (uint32_t k = 0; k < a->rows[i].n_counts; k++)
            sums[a->rows[i].counts[k].cell] += a->rows[i].counts[k].n;
    }
    tl_status status = TL_OK;
    for (tl_cell cell = 0; status == TL_OK && cell < a->probe->n_cells; cell++) {
        const uint64_t total = a->probe->tally[cell] - a->started[cell];
        if (!a->is_clock[cell] && sums[cell] != total)
            status = differs(a, cell, sums[cell], total, err);
        if (a->is_clock[cell] && cell % TL_S_N_CELLS == TL_S_HART_INSTRET)
            instret += total;
    }
    if (status == TL_OK && n_executed != instret)
        status = differs(a, TL_S_HART_INSTRET, n_executed, instret, err);
    free(sums);
    return status;
}
