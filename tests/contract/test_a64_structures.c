// SPDX-License-Identifier: MIT
// The structures of the Cortex-A53 against a model that is written to be read: micro-TLBs, main TLB
// with ASIDs and worlds, walk cache. Each access, change of address space and TLBI is done by both,
// and all tallies are equal. Reads of internal memory are decoded by the tables of the manual and
// compared with the model, with what the test stored, and with the oracle; they change nothing.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "isa/a64/block/interp.h"
#include "isa/a64/regime.h"
#include "isa/a64/sysop.h"
#include "isa/a64/sysreg.h"
#include "machine/oracle.h"
#include "mem/test_rig.h"
#include "random_code.h"

enum { RAM_BYTES = 32 << 20, TABLES = 24 << 20, N_ASIDS = 3, N_SMALL = 192, MAX_ENTRIES = 512 };
static const uint64_t BASE = TL_RAM_BASE_PADDR, GIB = UINT64_C(1) << 30, UPPER = UINT64_C(0xffff) << 48;
enum { VALID = 1, TABLE = 3, PAGE = 3, BLOCK = 1, AF = 1 << 10, INNER = 3 << 8, NON_GLOBAL = 1 << 11, NORMAL = 1 << 2 };
enum { SECURE, NON_SECURE };

// ---- the model

typedef struct entry {
    bool is_valid, is_global;
    uint64_t vaddr, paddr, bytes, block_bytes; // block: what the table entry maps
    uint32_t asid, world;
    uint64_t used;
} entry;

typedef struct table {
    uint32_t n_sets, n_ways;
    entry entries[MAX_ENTRIES]; // set by set
} table;

typedef struct counts {
    uint64_t miss, evict, flush;
} counts;

typedef struct model {
    table itlb, dtlb, main, walk;
    counts i, d, m, w;
    uint64_t main_access, ptw_read, walk_hit, walk_fill, clock;
    bool drops_all;
} model;

typedef struct world {
    tl_machine *machine;
    tl_hart *h;
    model m;
    rng r;
    uint64_t next_table;
    uint64_t roots[N_ASIDS], kernel_root;
    uint32_t asid, security; // at work
    uint64_t shadow[RAM_BYTES / 8];
} world;

static bool is_seen(const world *w, const entry *e, uint64_t vaddr) {
    return e->is_valid && vaddr - e->vaddr < e->bytes && e->world == w->security && (e->is_global || e->asid == w->asid);
}

static entry *look_up(world *w, table *t, uint64_t vaddr) {
    for (uint32_t i = 0; i < t->n_sets * t->n_ways; i++)
        if (is_seen(w, &t->entries[i], vaddr)) {
            t->entries[i].used = ++w->m.clock;
            return &t->entries[i];
        }
    return NULL;
}

static void insert(world *w, table *t, const entry *e, uint64_t *evictions) {
    entry *set = &t->entries[e->vaddr / e->bytes % t->n_sets * t->n_ways], *victim = set;
    for (uint32_t way = 0; way < t->n_ways; way++)
        if (!set[way].is_valid) {
            victim = &set[way];
            break;
        } else if (set[way].used < victim->used) {
            victim = &set[way];
        }
    *evictions += victim->is_valid;
    *victim = *e;
    victim->used = ++w->m.clock;
}

// ---- the address spaces: small pages of each ASID, blocks and pages of all

static uint64_t *word_at(world *w, uint64_t paddr) { return (uint64_t *)(void *)(w->machine->ram + (paddr - BASE)); }

static uint64_t new_table(world *w) {
    const uint64_t paddr = w->next_table;
    w->next_table += 4096;
    memset(word_at(w, paddr), 0, 4096);
    return paddr;
}

static void map(world *w, uint64_t root, uint64_t vaddr, uint32_t level, uint64_t descriptor) {
    uint64_t at = root;
    for (uint32_t i = 0;; i++) {
        uint64_t *slot = word_at(w, at + (vaddr >> (39 - 9 * i) & 511) * 8);
        if (i == level) {
            *slot = descriptor;
            return;
        }
        if (*slot == 0)
            *slot = new_table(w) | TABLE;
        at = *slot & UINT64_C(0xfffffffff000);
    }
}

static uint64_t small_vaddr(uint32_t page) { return UINT64_C(0x400000) + (uint64_t)page * 4096 * (page % 3 == 0 ? 128 : 1); }
static uint64_t small_paddr(uint32_t asid, uint32_t page) { return BASE + (((uint64_t)page * 7 + asid * 61) % 4096 << 12); }

// The tables say this of vaddr, by the rules by which they were made.
static entry expected_page(const world *w, uint64_t vaddr) {
    entry e = {.is_valid = true, .asid = w->asid, .world = w->security, .bytes = 4096, .block_bytes = 4096};
    if (vaddr >= UPPER) {
        const uint64_t offset = vaddr - UPPER;
        e.is_global = true;
        e.block_bytes = offset < GIB ? 4096 : offset < 2 * GIB ? 2 << 20 : GIB;
        // TLBs hold halves of blocks of 1 GiB.
        e.bytes = e.block_bytes == GIB ? GIB / 2 : e.block_bytes;
        e.vaddr = vaddr / e.bytes * e.bytes;
        const uint64_t place = offset < GIB ? offset / 4096 * 4096 : offset < 2 * GIB ? offset % GIB / e.bytes * e.bytes : 0;
        e.paddr = BASE + place + (e.block_bytes == GIB && offset % GIB >= GIB / 2 ? GIB / 2 : 0);
        return e;
    }
    e.vaddr = vaddr / 4096 * 4096;
    for (uint32_t page = 0; page < N_SMALL; page++)
        if (small_vaddr(page) == e.vaddr)
            e.paddr = small_paddr(w->asid, page);
    return e;
}

static void build_spaces(world *w) {
    const uint64_t leaf = AF | INNER | NORMAL;
    w->next_table = BASE + TABLES;
    w->kernel_root = new_table(w);
    for (uint64_t i = 0; i < 64; i++)
        map(w, w->kernel_root, i * 4096, 3, (BASE + i * 4096) | leaf | PAGE);
    for (uint64_t i = 0; i < 8; i++)
        map(w, w->kernel_root, GIB + (i << 21), 2, (BASE + (i << 21)) | leaf | BLOCK);
    map(w, w->kernel_root, 2 * GIB, 1, BASE | leaf | BLOCK);
    for (uint32_t asid = 0; asid < N_ASIDS; asid++) {
        w->roots[asid] = new_table(w);
        for (uint32_t page = 0; page < N_SMALL; page++)
            map(w, w->roots[asid], small_vaddr(page), 3, small_paddr(asid, page) | leaf | PAGE | NON_GLOBAL);
    }
}

static uint64_t some_vaddr(world *w) {
    switch (below(&w->r, 8)) {
    case 0: return UPPER + below(&w->r, 64) * UINT64_C(4096) + below(&w->r, 4096);
    case 1: return UPPER + GIB + below(&w->r, 16 << 20);
    case 2: return UPPER + 2 * GIB + below(&w->r, 16 << 20);
    case 3: return small_vaddr(below(&w->r, 12)) + below(&w->r, 4096);
    default: return small_vaddr(below(&w->r, N_SMALL)) + below(&w->r, 4096);
    }
}

// ---- what both do

static void model_access(world *w, uint64_t vaddr, bool is_fetch) {
    model *m = &w->m;
    table *first = is_fetch ? &m->itlb : &m->dtlb;
    counts *c = is_fetch ? &m->i : &m->d;
    if (look_up(w, first, vaddr))
        return;
    c->miss += 1;
    m->main_access += 1;
    entry e = expected_page(w, vaddr);
    if (!look_up(w, &m->main, vaddr)) {
        const uint64_t span = 2 << 20;
        m->m.miss += 1;
        if (look_up(w, &m->walk, vaddr)) {
            m->walk_hit += 1;
            m->ptw_read += 1;
        } else {
            m->ptw_read += e.block_bytes == 4096 ? 4 : e.block_bytes == span ? 3 : 2;
            if (e.block_bytes == 4096) {
                entry of_table = e;
                of_table.is_global = false;
                of_table.vaddr = vaddr / span * span;
                of_table.bytes = of_table.block_bytes = span;
                m->walk_fill += 1;
                insert(w, &m->walk, &of_table, &m->w.evict);
            }
        }
        insert(w, &m->main, &e, &m->m.evict);
    }
    insert(w, first, &e, &c->evict);
}

typedef struct tlbi {
    uint32_t number; // op1:CRn:CRm:op2
    bool by_address, by_asid, keeps_tables;
} tlbi;
#define NUMBER(crm, op2) (8 << 7 | (crm) << 3 | (op2))
static const tlbi tlbis[] = {
    {NUMBER(7, 0), false, false, false}, {NUMBER(3, 1), true, true, false},  {NUMBER(7, 2), false, true, false},
    {NUMBER(3, 3), true, false, false},  {NUMBER(7, 5), true, true, true},   {NUMBER(3, 7), true, false, true},
    {NUMBER(7, 1), true, true, false},   {NUMBER(3, 2), false, true, false},
};

static uint64_t model_drop(const world *w, table *t, const tlbi *op, uint64_t vaddr, uint32_t asid, bool is_all) {
    uint64_t n_dropped = 0;
    for (uint32_t i = 0; i < t->n_sets * t->n_ways; i++) {
        entry *e = &t->entries[i];
        if (!e->is_valid)
            continue;
        const bool is_there = !op->by_address || vaddr / e->block_bytes == e->vaddr / e->block_bytes;
        const bool is_its = !op->by_asid || (e->is_global ? op->by_address : e->asid == asid);
        if (!(is_all || (e->world == w->security && is_there && is_its)))
            continue;
        e->is_valid = false;
        n_dropped += 1;
    }
    return n_dropped;
}

static void do_tlbi(world *w) {
    const tlbi *op = &tlbis[below(&w->r, TL_COUNT_OF(tlbis))];
    const uint64_t vaddr = some_vaddr(w);
    const uint32_t asid = below(&w->r, N_ASIDS);
    const uint64_t operand = (vaddr >> 12 & ((UINT64_C(1) << 44) - 1)) | (uint64_t)asid << 48;
    assert_true(tl_a64_sys(w->h, 0xd5080000 | op->number << 5, operand));
    model *m = &w->m;
    m->i.flush += model_drop(w, &m->itlb, op, vaddr, asid, m->drops_all);
    m->d.flush += model_drop(w, &m->dtlb, op, vaddr, asid, m->drops_all);
    m->m.flush += model_drop(w, &m->main, op, vaddr, asid, false);
    if (!op->keeps_tables)
        m->w.flush += model_drop(w, &m->walk, op, vaddr, asid, false);
}

static void set_register(world *w, uint32_t op0, uint32_t op1, uint32_t crn, uint32_t crm, uint32_t op2, uint64_t value) {
    tl_a64_sysreg_set(w->h, TL_A64_SYSREG_NUMBER(op0, op1, crn, crm, op2), value);
}

static void choose_space(world *w, uint32_t asid, uint32_t security) {
    enum { SCR_BITS = 0x530 };
    w->asid = asid;
    w->security = security;
    set_register(w, 3, 6, 1, 1, 0, SCR_BITS | security);
    set_register(w, 3, 0, 2, 0, 0, w->roots[asid] | (uint64_t)asid << 48);
}

static void do_access(world *w) {
    const uint64_t vaddr = some_vaddr(w) & ~UINT64_C(7);
    const entry e = expected_page(w, vaddr);
    const uint64_t paddr = e.paddr + (vaddr - e.vaddr), offset = paddr - BASE;
    if (offset >= TABLES)
        return;
    const uint32_t kind = below(&w->r, 3);
    model_access(w, vaddr, kind == 0);
    if (kind == 0) {
        assert_true(tl_rig_fetch(w->h, vaddr));
    } else if (kind == 1) {
        assert_true(tl_rig_load(w->h, vaddr, 8));
        assert_int_equal(w->h->mem_value, w->shadow[offset / 8]);
    } else {
        w->shadow[offset / 8] = next(&w->r);
        assert_true(tl_rig_store(w->h, vaddr, 8, w->shadow[offset / 8]));
    }
}

// ---- comparison

static void compare(const world *w, uint64_t step) {
    const model *m = &w->m;
    const struct {
        const char *name;
        enum tl_hart_cell cell;
        uint64_t expected;
    } rows[] = {
        {"itlb.miss", TL_S_ITLB_MISS, m->i.miss},
        {"itlb.evict", TL_S_ITLB_EVICT, m->i.evict},
        {"itlb.flush", TL_S_ITLB_FLUSH, m->i.flush},
        {"dtlb.miss", TL_S_DTLB_MISS, m->d.miss},
        {"dtlb.evict", TL_S_DTLB_EVICT, m->d.evict},
        {"dtlb.flush", TL_S_DTLB_FLUSH, m->d.flush},
        {"l2tlb.access", TL_S_L2TLB_ACCESS, m->main_access},
        {"l2tlb.miss", TL_S_L2TLB_MISS, m->m.miss},
        {"l2tlb.evict", TL_S_L2TLB_EVICT, m->m.evict},
        {"l2tlb.flush", TL_S_L2TLB_FLUSH, m->m.flush},
        {"ptw.walk", TL_S_PTW_WALK, m->m.miss},
        {"ptw.read", TL_S_PTW_READ, m->ptw_read},
        {"ptw.cache_hit", TL_S_PTW_CACHE_HIT, m->walk_hit},
        {"ptw.cache_fill", TL_S_PTW_CACHE_FILL, m->walk_fill},
        {"ptw.cache_evict", TL_S_PTW_CACHE_EVICT, m->w.evict},
        {"ptw.cache_flush", TL_S_PTW_CACHE_FLUSH, m->w.flush},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++)
        if (w->h->tally[rows[i].cell] != rows[i].expected)
            fail_msg("step %" PRIu64 ": %s is %" PRIu64 ", the model says %" PRIu64, step, rows[i].name, w->h->tally[rows[i].cell],
                     rows[i].expected);
}

// ---- reads of internal memory

enum { DATA_REGISTER = 0xdf80 /* S3_3_C15_C0_0 */ };
typedef struct answer {
    uint32_t dr[4];
} answer;

static answer read_ram(world *w, uint32_t crm, uint32_t op2, uint32_t place) {
    answer a;
    set_register(w, 3, 3, 15, crm, op2, place);
    for (uint32_t i = 0; i < 4; i++)
        a.dr[i] = (uint32_t)tl_a64_sysreg_value(w->h, TL_A64_SYSREG_NUMBER(3, 3, 15, 0, i));
    return a;
}

// Returns bits of the 128, as the manual numbers them.
static uint64_t field(const answer *a, uint32_t high, uint32_t low) {
    uint64_t value = 0;
    for (uint32_t bit = low; bit <= high; bit++)
        value |= (uint64_t)(a->dr[bit / 32] >> bit % 32 & 1) << (bit - low);
    return value;
}

static void check_main_entry(const answer *a, uint32_t index, const entry *e) {
    assert_int_equal(field(a, 0, 0), e->is_valid);
    if (!e->is_valid) {
        assert_true(a->dr[0] == 0 && a->dr[1] == 0 && a->dr[2] == 0 && a->dr[3] == 0);
        return;
    }
    const uint64_t code = field(a, 58, 56), shift = code == 1 ? 12 : code == 3 ? 16 : code == 5 ? 21 : 29;
    // The index gives the seven bits above the page's size.
    uint64_t vaddr = field(a, 30, 2) << 19 | (field(a, 1, 1) ? UPPER : 0);
    vaddr |= (uint64_t)index << shift;
    assert_int_equal(vaddr, e->vaddr);
    assert_int_equal(UINT64_C(1) << shift, e->bytes);
    assert_int_equal(field(a, 93, 66) << 12, e->paddr);
    assert_int_equal(field(a, 55, 40), e->asid);
    assert_int_equal(field(a, 59, 59), !e->is_global);
    assert_int_equal(field(a, 31, 31), e->world == NON_SECURE);
    assert_int_equal(field(a, 111, 109), e->block_bytes == 4096 ? 0 : e->block_bytes == 2 << 20 ? 3 : 6);
    assert_int_equal(field(a, 62, 60), 1);     // EL1 reads and writes, EL0 has no access
    assert_int_equal(field(a, 96, 94), 7);     // all execute
    assert_int_equal(field(a, 104, 97), 0xff); // write-back, allocating, inner shareable
    assert_int_equal(field(a, 39, 32) | field(a, 65, 65) | field(a, 108, 105) | field(a, 116, 112), 0);
}

static void check_walk_entry(const answer *a, uint32_t index, const entry *e) {
    assert_int_equal(field(a, 0, 0), e->is_valid);
    if (!e->is_valid)
        return;
    const uint64_t high = field(a, 83, 60); // VA[48:25]
    assert_int_equal((high >> 23 ? UPPER : 0) | (high & 0x7fffff) << 25 | (uint64_t)index << 21, e->vaddr);
    assert_int_equal(field(a, 17, 16), 1);
    assert_int_equal(field(a, 55, 40), e->asid);
    assert_int_equal(field(a, 31, 31), e->world == NON_SECURE);
    assert_int_equal(field(a, 8, 1), 0xff);
    assert_int_equal(field(a, 15, 9), 0);
}

static void check_tlb_rams(world *w) {
    for (uint32_t way = 0; way < 4; way++)
        for (uint32_t index = 0; index < 256; index++) {
            const answer a = read_ram(w, 4, 2, way << 30 | index);
            if (index < 128) {
                check_main_entry(&a, index, &w->m.main.entries[index * 4 + way]);
            } else if (index < 144) {
                check_walk_entry(&a, index - 128, &w->m.walk.entries[(index - 128) * 4 + way]);
                const entry *e = &w->m.walk.entries[(index - 128) * 4 + way];
                tl_walk_table oracle;
                assert_true(tl_oracle_table(w->machine, 0, (index - 128) * 4 + way, &oracle));
                assert_int_equal(oracle.span_log2 != 0, e->is_valid);
                if (e->is_valid)
                    assert_int_equal(field(&a, 113, 84) << 10, oracle.paddr);
            } else {
                assert_true(a.dr[0] == 0 && a.dr[1] == 0 && a.dr[2] == 0 && a.dr[3] == 0);
            }
        }
}

// Spec of the tag: bits 12 and 11 come from the set index.
static void check_l1d_rams(world *w) {
    for (uint32_t way = 0; way < 4; way++)
        for (uint32_t set = 0; set < 128; set++) {
            const answer tag = read_ram(w, 2, 0, way << 30 | set << 6);
            tl_line_view line;
            assert_true(tl_oracle_l1_line(w->machine, 0, false, set * 4 + way, &line));
            const uint32_t state = tag.dr[1] >> 29 & 3, is_dirty = tag.dr[0] & 3;
            assert_int_equal(line.state, state == 0 ? 'I' : state == 1 ? (is_dirty ? 'O' : 'S') : is_dirty ? 'M' : 'E');
            if (state == 0)
                continue;
            const uint64_t paddr = (((uint64_t)(tag.dr[1] & 0xfffffff) << 12) & ~UINT64_C(0x1fff)) | (uint64_t)set << 6;
            assert_int_equal(paddr, line.paddr);
            assert_int_equal(tag.dr[0] >> 31, paddr >> 11 & 1);
            assert_int_equal(tag.dr[1] >> 28 & 9, 1); // Non-secure, no parity
            // No copy of the dirty bit, no parity, not outer shareable.
            assert_int_equal(tag.dr[0] & 0x7ffffff4, 0);
            for (uint32_t i = 0; i < 8 && paddr - BASE < TABLES; i++) {
                const answer data = read_ram(w, 4, 0, way << 30 | set << 6 | i << 3);
                assert_int_equal((uint64_t)data.dr[1] << 32 | data.dr[0], w->shadow[(paddr - BASE) / 8 + i]);
            }
        }
}

static void check_l1i_rams(world *w) {
    for (uint32_t way = 0; way < 2; way++)
        for (uint32_t set = 0; set < 256; set++) {
            const answer tag = read_ram(w, 2, 1, way << 31 | set << 6);
            tl_line_view line;
            assert_true(tl_oracle_l1_line(w->machine, 0, true, set * 2 + way, &line));
            assert_int_equal(tag.dr[0] >> 29, line.state == 'I' ? 3 : 2);
            if (line.state == 'I')
                continue;
            const uint64_t paddr = (uint64_t)(tag.dr[0] & 0xfffffff) << 12 | (set & 63) << 6;
            assert_int_equal(paddr, line.paddr);
            for (uint32_t i = 0; i < 16; i++) {
                const answer data = read_ram(w, 4, 1, way << 31 | set << 6 | i << 2);
                const uint32_t insn = (uint32_t)(w->shadow[(paddr - BASE) / 8 + i / 2] >> (i % 2 * 32));
                for (uint32_t half = 0; half < 2; half++) {
                    uint32_t expected = half == 0 ? insn & 0xffff : insn >> 16;
                    for (uint32_t bit = 0, value = expected; bit < 16; bit++)
                        expected ^= (value >> bit & 1) << (16 + bit / 4);
                    assert_int_equal(data.dr[half], expected);
                }
            }
        }
}

// ---- tests

static world *world_new(bool drops_all) {
    enum { IPS_40 = 2, T0SZ = 16, WALKS = 0x3500, SCTLR = 0x30d00980, LARGE_ASIDS_LSB = 36 };
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    tl_config config;
    tl_config_default(&config);
    config.isa = TL_ISA_AARCH64;
    config.ram_bytes = RAM_BYTES;
    config.l1i = (tl_cache_config){.size_bytes = 32 << 10, .ways = 2, .line_bytes = 64, .replacement = TL_REPLACE_RANDOM};
    config.l1d = (tl_cache_config){.size_bytes = 32 << 10, .ways = 4, .line_bytes = 64, .replacement = TL_REPLACE_RANDOM};
    config.l2 = (tl_cache_config){.size_bytes = 128 << 10, .ways = 16, .line_bytes = 64, .replacement = TL_REPLACE_RANDOM};
    config.l2_fill = TL_FILL_EVICT;
    config.itlb = config.dtlb = (tl_tlb_config){.entries = 10, .ways = 10};
    config.l2tlb = (tl_tlb_config){.entries = 512, .ways = 4};
    config.walk_cache = (tl_tlb_config){.entries = 64, .ways = 4};
    config.asid_bits = 16;
    config.first_tlb_drop = drops_all ? TL_DROP_ALL : TL_DROP_MATCHING;
    tl_error err;
    if (tl_machine_new(&config, &tl_engine_a64_interp, &w->machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    w->h = w->machine->harts[0];
    w->m = (model){.itlb = {1, 10, {{0}}}, .dtlb = {1, 10, {{0}}}, .main = {128, 4, {{0}}}, .walk = {16, 4, {{0}}}, .drops_all = drops_all};
    w->r = (rng){drops_all + 5};
    for (uint64_t i = 0; i < TABLES / 8; i++)
        w->shadow[i] = next(&w->r);
    memcpy(w->machine->ram, w->shadow, TABLES);
    build_spaces(w);
    w->h->isa->power_on(w->h);
    set_register(w, 3, 0, 10, 2, 0, 0xff00);
    set_register(w, 3, 0, 2, 0, 1, w->kernel_root);
    set_register(w, 3, 0, 2, 0, 2,
                 T0SZ | T0SZ << 16 | WALKS | (uint64_t)WALKS << 16 | UINT64_C(2) << 30 | (uint64_t)IPS_40 << 32 |
                     UINT64_C(1) << LARGE_ASIDS_LSB);
    set_register(w, 3, 0, 1, 0, 0, SCTLR | 1);
    choose_space(w, 1, NON_SECURE);
    tl_hart_set_priv(w->h, TL_A64_EL1);
    tl_a64_el_changed(w->h, TL_A64_EL3);
    return w;
}

static void world_free(world *w) {
    tl_error err;
    if (tl_memory_check_identities(w->machine->memory, &err) != TL_OK)
        fail_msg("%s", err.text);
    tl_machine_free(w->machine);
    free(w);
}

static void step(world *w) {
    const uint32_t what = below(&w->r, 100);
    if (what == 0)
        do_tlbi(w);
    else if (what < 4)
        choose_space(w, below(&w->r, N_ASIDS), below(&w->r, 10) != 0);
    else
        do_access(w);
}

static void test_tagged_tlbs_and_walk_cache_equal_the_model(void **state) {
    (void)state;
    for (uint32_t drops_all = 0; drops_all < 2; drops_all++) {
        world *w = world_new(drops_all);
        for (uint64_t i = 0; i < 60000; i++) {
            step(w);
            compare(w, i);
        }
        assert_true(w->m.walk_hit > 1000 && w->m.m.evict > 1000 && w->m.w.flush > 100);
        world_free(w);
    }
}

static void test_a_change_of_address_space_keeps_its_entries(void **state) {
    (void)state;
    world *w = world_new(false);
    const uint64_t *tally = w->h->tally;
    assert_true(tl_rig_load(w->h, small_vaddr(1), 8));
    choose_space(w, 2, NON_SECURE);
    assert_true(tl_rig_load(w->h, small_vaddr(1), 8));
    assert_int_equal(w->h->mem_value, w->shadow[(small_paddr(2, 1) - BASE) / 8]);
    assert_int_equal(tally[TL_S_PTW_WALK], 2);
    choose_space(w, 1, NON_SECURE);
    assert_true(tl_rig_load(w->h, small_vaddr(1), 8));
    assert_int_equal(w->h->mem_value, w->shadow[(small_paddr(1, 1) - BASE) / 8]);
    assert_int_equal(tally[TL_S_DTLB_MISS], 2);
    assert_int_equal(tally[TL_S_DTLB_FLUSH] + tally[TL_S_L2TLB_FLUSH], 0);
    tl_page page;
    assert_true(tl_oracle_page_of(w->machine, 0, TL_TLB_DATA, small_vaddr(1), &page));
    assert_int_equal(page.paddr, small_paddr(1, 1));
    assert_false(tl_oracle_page_of(w->machine, 0, TL_TLB_FETCH, small_vaddr(1), &page));
    world_free(w);
}

// A block of 1 GiB stands in the TLB as two halves; maintenance of one address drops both.
static void test_maintenance_drops_both_halves_of_a_block(void **state) {
    (void)state;
    world *w = world_new(false);
    map(w, w->kernel_root, 2 * GIB, 1, ((BASE & ~(GIB - 1)) | AF | INNER | NORMAL | BLOCK));
    assert_true(tl_rig_load(w->h, UPPER + 2 * GIB, 8));
    assert_false(tl_rig_load(w->h, UPPER + 2 * GIB + GIB / 2, 8)); // nothing answers there
    tl_page page;
    assert_true(tl_oracle_page_of(w->machine, 0, TL_TLB_SECOND, UPPER + 2 * GIB + GIB / 2, &page));
    assert_true(tl_a64_sys(w->h, 0xd5080000 | NUMBER(7, 1) << 5, (UPPER + 2 * GIB) >> 12 & ((UINT64_C(1) << 44) - 1)));
    assert_int_equal(w->h->tally[TL_S_L2TLB_FLUSH], 2);
    assert_false(tl_oracle_page_of(w->machine, 0, TL_TLB_SECOND, UPPER + 2 * GIB + GIB / 2, &page));
    world_free(w);
}

static void test_reads_of_internal_memory_say_what_is_there(void **state) {
    (void)state;
    world *w = world_new(true);
    for (uint32_t round = 0; round < 100; round++) {
        for (uint32_t i = 0; i < 300; i++)
            step(w);
        check_tlb_rams(w);
        check_l1d_rams(w);
        check_l1i_rams(w);
        compare(w, round); // reads counted nothing
    }
    world_free(w);
}

static uint64_t hash_of(const world *w) {
    uint64_t hash = 0;
    const uint8_t *bytes = (const uint8_t *)w->machine->tally;
    for (size_t i = 0; i < w->machine->probe.n_cells * sizeof(uint64_t); i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    for (uint32_t i = 0; i < 512; i++) {
        tl_line_view line;
        tl_page page;
        for (uint32_t is_fetch = 0; is_fetch < 2; is_fetch++) {
            assert_true(tl_oracle_l1_line(w->machine, 0, is_fetch, i, &line));
            hash = (hash ^ line.paddr ^ (uint64_t)line.state) * UINT64_C(0x100000001b3);
        }
        assert_true(tl_oracle_page(w->machine, 0, TL_TLB_SECOND, i, &page));
        hash = (hash ^ page.vaddr ^ page.flags) * UINT64_C(0x100000001b3);
        if (i < 10 && tl_oracle_page(w->machine, 0, TL_TLB_DATA, i, &page))
            hash = (hash ^ page.vaddr) * UINT64_C(0x100000001b3);
    }
    return hash ^ w->h->now ^ w->h->stamp;
}

static void test_reads_of_internal_memory_leave_no_trace(void **state) {
    (void)state;
    static const uint8_t operations[][2] = {{2, 0}, {2, 1}, {4, 0}, {4, 1}, {4, 2}};
    world *w = world_new(true);
    for (uint32_t trial = 0; trial < 1000; trial++) {
        step(w);
        const uint64_t before = hash_of(w);
        for (uint32_t i = 0; i < 8; i++) {
            const uint8_t *at = operations[below(&w->r, TL_COUNT_OF(operations))];
            (void)read_ram(w, at[0], at[1], (uint32_t)next(&w->r));
        }
        assert_int_equal(hash_of(w), before);
    }
    world_free(w);
}

static void test_only_el3_reads_internal_memory(void **state) {
    (void)state;
    world *w = world_new(true);
    static const uint32_t writes[][2] = {{2, 0}, {2, 1}, {4, 0}, {4, 1}, {4, 2}};
    for (uint32_t el = 0; el < 4; el++) {
        if (el == TL_A64_EL2)
            continue;
        w->h->priv = el;
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t number = TL_A64_SYSREG_NUMBER(3, 3, 15, 0, i);
            assert_int_equal(tl_a64_sysreg_permits(w->h, number, true, 0xd5300000 | number << 5), el == TL_A64_EL3);
            assert_false(tl_a64_sysreg_permits(w->h, number, false, 0xd5100000 | number << 5));
            assert_int_equal(w->h->trap_cause, TL_A64_CAUSE_UNDEFINED);
        }
        for (uint32_t i = 0; i < TL_COUNT_OF(writes); i++) {
            const uint32_t number = TL_A64_SYSREG_NUMBER(3, 3, 15, writes[i][0], writes[i][1]);
            assert_int_equal(tl_a64_sysreg_permits(w->h, number, false, 0xd5100000 | number << 5), el == TL_A64_EL3);
            assert_false(tl_a64_sysreg_permits(w->h, number, true, 0xd5300000 | number << 5));
        }
    }
    assert_int_equal(TL_A64_SYSREG_NUMBER(3, 3, 15, 0, 0), DATA_REGISTER);
    world_free(w);
}

static void test_oracle_knows_predictors(void **state) {
    (void)state;
    world *w = world_new(true);
    tl_bpred *bp = &w->h->bp;
    uint64_t target, pcs[4];
    bool is_taken;
    assert_false(tl_oracle_target(w->machine, 0, 0x1000, &target));
    (void)tl_bpred_jump(bp, w->h->tally, 0x1000, 0x2004);
    assert_true(tl_oracle_target(w->machine, 0, 0x1000, &target));
    assert_int_equal(target, 0x2004);
    assert_int_equal(tl_oracle_return_stack(w->machine, 0, pcs, 4), 0);
    for (uint64_t i = 1; i <= 9; i++)
        tl_bpred_push(bp, i * 16);
    assert_int_equal(tl_oracle_return_stack(w->machine, 0, pcs, 4), 4);
    assert_true(pcs[0] == 9 * 16 && pcs[1] == 8 * 16 && pcs[3] == 6 * 16);
    for (uint32_t i = 0; i < 40; i++)
        (void)tl_bpred_branch(bp, w->h->tally, 0x3000, 0x2000, true);
    assert_true(tl_oracle_direction(w->machine, 0, 0x3000, 0x2000, &is_taken));
    assert_true(is_taken);
    world_free(w);
}

// Every line of the L1s and the L2 is found by its address, and no other address is. The snoop
// filter knows lines that the L2 lacks.
static void check_lines_by_address(const tl_machine *machine) {
    uint32_t n_lines = 0, n_found = 0, n_only_l1 = 0;
    tl_line_view line;
    for (uint32_t is_fetch = 0; is_fetch < 2; is_fetch++)
        for (uint32_t way = 0; tl_oracle_l1_line(machine, 0, is_fetch, way, &line); way++) {
            if (line.state == 'I')
                continue;
            n_only_l1 += !tl_oracle_is_in_l2(machine, line.paddr);
            assert_int_equal(tl_oracle_state_of(machine, 0, is_fetch, line.paddr + 63), line.state);
            assert_int_equal(tl_oracle_state_of(machine, 0, is_fetch, line.paddr + (UINT64_C(1) << 36)), 'I');
        }
    for (uint32_t slice = 0; slice < machine->config.l2_slices; slice++)
        for (uint32_t way = 0; tl_oracle_l2_line(machine, slice, way, &line); way++) {
            n_lines += line.state != 'I';
            assert_int_equal(tl_oracle_is_in_l2(machine, line.paddr + 63), line.state != 'I');
        }
    for (uint64_t paddr = BASE; paddr < BASE + machine->config.ram_bytes; paddr += 64)
        n_found += tl_oracle_is_in_l2(machine, paddr);
    assert_int_equal(n_found, n_lines);
    assert_true(n_lines > 100 && n_only_l1 > 100);
    assert_false(tl_oracle_l2_line(machine, machine->config.l2_slices, 0, &line));
}

static void test_oracle_finds_lines_by_address(void **state) {
    (void)state;
    world *w = world_new(true);
    for (uint64_t i = 0; i < 20000; i++)
        step(w);
    check_lines_by_address(w->machine);
    world_free(w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_tagged_tlbs_and_walk_cache_equal_the_model),
    cmocka_unit_test(test_a_change_of_address_space_keeps_its_entries),
    cmocka_unit_test(test_maintenance_drops_both_halves_of_a_block),
    cmocka_unit_test(test_reads_of_internal_memory_say_what_is_there),
    cmocka_unit_test(test_reads_of_internal_memory_leave_no_trace),
    cmocka_unit_test(test_only_el3_reads_internal_memory),
    cmocka_unit_test(test_oracle_knows_predictors),
    cmocka_unit_test(test_oracle_finds_lines_by_address),
};

TL_TEST_MAIN(tests)
