// SPDX-License-Identifier: MIT
// Code that changes under way. A small driver program reads records from a table. A record stores
// bytes somewhere, does FENCE.I, calls a function, waits for the other harts, or lets the outside
// change code. Functions are packed so that they share lines and straddle lines and pages. They are
// rewritten by the hart that runs them, by another hart, through another mapping of the page, by a
// bus master, and by the system under the program. The driver's own next instructions are
// rewritten, too. Where the rules are kept, every engine must agree with the stepping one in every
// register and tally. The sums that come back must be those of the code that was written. This file
// computes them by itself. Without FENCE.I between, old or new code may run. A run must then repeat
// itself, and nothing may break.
#include "isa/rv/csr.h"
#include "isa/rv/privileged.h"
#include "lockstep.h"
#include "random_code.h"

typedef enum world { MODELED, USER, MACHINE } world;
static const char *const world_names[] = {"modeled kernel", "user mode", "machine mode"};

enum {
    POOL_OFFSET = 0x10000, // of RAM: driver and functions
    POOL_PAGES = 3,
    FIRST_FUNCTION = 0xd00,
    N_FUNCTIONS = 40,
    FUNCTION_BYTES = 48,
    FUNCTION_STRIDE = 54, // 64-byte lines and 4 KiB pages begin anywhere in them
    SLOT_BYTES = 8,
    TABLE_OFFSET = 1 << 20, // records, for each hart
    TABLE_STRIDE = 1 << 18,
    BARRIER_OFFSET = 0xff000,
    TABLES_OFFSET = 4 << 20, // page tables
    MAX_RECORDS = TABLE_STRIDE / 32,
};
// Both addresses show the same pages.
static const uint64_t POOL_VADDR[2] = {UINT64_C(0x40000000), UINT64_C(0x40100000)};
static const uint64_t TABLE_VADDR = UINT64_C(0x40200000), BARRIER_VADDR = UINT64_C(0x401ff000);

typedef enum deed { STORE1, STORE2, STORE4, STORE8, FENCE, CALL, BARRIER, OUTSIDE, OWN_SLOTS, END, N_DEEDS } deed;
typedef enum outside {
    BY_DMA,
    BY_SYSTEM,
    BY_REMAPPING
} outside; // second word of an OUTSIDE record: what else, target, bytes as for a store

typedef struct torture {
    pair p;
    rng r;
    world world;
    uint32_t n_harts, n_records[TL_MAX_HARTS], n_barriers;
    uint8_t pool[POOL_PAGES * 4096]; // as it is meant to be
    uint32_t deed_at[N_DEEDS];       // offset of what does it, in the pool
    uint32_t slots_at[2];            // before the store and behind the FENCE.I of OWN_SLOTS
    uint64_t expected[TL_MAX_HARTS]; // sum of what calls return
    bool has_rules;
    uint64_t n_done[3];
} torture;

// ---- the driver ----

static void put16(torture *t, uint32_t *at, uint32_t half) {
    t->pool[(*at)++] = (uint8_t)half;
    t->pool[(*at)++] = (uint8_t)(half >> 8);
}

static void put32(torture *t, uint32_t *at, uint32_t word) {
    put16(t, at, word & 0xffff);
    put16(t, at, word >> 16);
}

static uint32_t jump_by(int32_t offset) { // jal x0
    uint32_t i = (uint32_t)offset;
    return 0x6f | (i >> 20 & 1) << 31 | (i >> 1 & 0x3ff) << 21 | (i >> 11 & 1) << 20 | (i >> 12 & 0xff) << 12;
}

static void put_jump(torture *t, uint32_t *at, uint32_t target) { put32(t, at, jump_by((int32_t)(target - *at))); }

// `n` bytes of instructions that add to a0, of both lengths; returns their sum.
static int64_t put_sums(rng *r, uint8_t *bytes, uint32_t n) {
    int64_t sum = 0;
    for (uint32_t at = 0; at < n;) {
        if (n - at >= 4 && below(r, 2)) {
            int32_t imm = (int32_t)below(r, 4096) - 2048;
            uint32_t word = (uint32_t)imm << 20 | 10 << 15 | 10 << 7 | 0x13; // addi a0, a0, imm
            memcpy(bytes + at, &word, 4);
            sum += imm;
            at += 4;
        } else {
            int32_t imm = 1 + (int32_t)below(r, 31);
            uint16_t half = (uint16_t)(0x0501 | (uint32_t)imm << 2); // c.addi a0, imm
            memcpy(bytes + at, &half, 2);
            sum += imm;
            at += 2;
        }
    }
    return sum;
}

static int64_t sum_of(const uint8_t *bytes, uint32_t n) { // reads them again
    int64_t sum = 0;
    for (uint32_t at = 0; at < n;) {
        uint32_t half = (uint32_t)bytes[at] | (uint32_t)bytes[at + 1] << 8;
        if (half == 0x8082)
            break; // c.jr ra
        if ((half & 3) == 3) {
            sum += (int16_t)((uint32_t)bytes[at + 2] | (uint32_t)bytes[at + 3] << 8) >> 4;
            at += 4;
        } else {
            sum += half >> 2 & 31;
            at += 2;
        }
    }
    return sum;
}

// s1 record, s0 sum, s3 the deeds, s4 barrier; t0 target, t1 bytes, t2 function, t3 deed.
static void build_driver(torture *t) {
    // The stores are sb, sh, sw, sd t1, 0(t0).
    static const uint32_t stores[] = {0x00628023, 0x00629023, 0x0062a023, 0x0062b023};
    uint32_t at = 0, loop = 0;
    put32(t, &at, 0x0004b283); // ld t0, 0(s1)
    put32(t, &at, 0x0084b303); // ld t1, 8(s1)
    put32(t, &at, 0x0104b383); // ld t2, 16(s1)
    put32(t, &at, 0x0184be03); // ld t3, 24(s1)
    put32(t, &at, 0x02048493); // addi s1, s1, 32
    put32(t, &at, 0x013e0e33); // add t3, t3, s3
    put32(t, &at, 0x000e0067); // jr t3
    for (uint32_t d = 0; d < N_DEEDS; d++) {
        for (uint32_t n = below(&t->r, 16); n > 0; n--)
            put16(t, &at, 0x0001); // c.nop: any alignment
        t->deed_at[d] = at;
        switch ((deed)d) {
        case STORE1:
        case STORE2:
        case STORE4:
        case STORE8: put32(t, &at, stores[d]); break;
        case FENCE: put32(t, &at, 0x0000100f); break;
        case CALL:
            put16(t, &at, 0x4501);     // c.li a0, 0
            put32(t, &at, 0x000380e7); // jalr ra, 0(t2)
            put16(t, &at, 0x942a);     // c.add s0, a0
            break;
        case BARRIER:
            put16(t, &at, 0x4e05);     // c.li t3, 1
            put32(t, &at, 0x01ca202f); // amoadd.w x0, t3, (s4)
            put32(t, &at, 0x000a2e03); // lw t3, 0(s4)
            put32(t, &at, 0xfe6e4ee3); // blt t3, t1, .-4
            put32(t, &at, 0x0000100f); // fence.i
            break;
        case OUTSIDE: put32(t, &at, 0x00000073); break; // ecall
        case OWN_SLOTS:
            put16(t, &at, 0x4501); // c.li a0, 0
            t->slots_at[0] = at;
            put_sums(&t->r, t->pool + at, SLOT_BYTES);
            at += SLOT_BYTES;
            put32(t, &at, stores[3]);
            put32(t, &at, 0x0000100f);
            t->slots_at[1] = at;
            put_sums(&t->r, t->pool + at, SLOT_BYTES);
            at += SLOT_BYTES;
            put16(t, &at, 0x942a); // c.add s0, a0
            break;
        case END: put32(t, &at, 0x00100073); break; // ebreak
        case N_DEEDS: break;
        }
        put_jump(t, &at, loop);
    }
    assert_true(at < FIRST_FUNCTION);
}

// ---- the records ----

static uint32_t function_at(uint32_t number) { return FIRST_FUNCTION + number * FUNCTION_STRIDE; }

static uint64_t pool_vaddr(torture *t, uint32_t offset) {
    return (t->world == MACHINE ? TL_RAM_BASE_PADDR + POOL_OFFSET : POOL_VADDR[below(&t->r, 2)]) + offset;
}

static void put_record(torture *t, uint32_t hart, deed d, uint64_t target, uint64_t bytes, uint64_t other) {
    assert_true(t->n_records[hart] < MAX_RECORDS);
    uint64_t record[4] = {target, bytes, other, t->deed_at[d]};
    pair_put(&t->p, TL_RAM_BASE_PADDR + TABLE_OFFSET + hart * TABLE_STRIDE + t->n_records[hart]++ * 32, record, sizeof record);
}

// The pool is to be so from `at` on: stores of any size, in any order, or somebody outside.
static void change_to(torture *t, uint32_t hart, uint32_t at, const uint8_t *bytes, uint32_t n) {
    memcpy(t->pool + at, bytes, n);
    uint32_t by = below(&t->r, 4), first = at & ~7u, n_words = (at + n - first + 7) / 8, start = below(&t->r, n_words);
    for (uint32_t k = 0; k < n_words; k++) {
        uint32_t word_at = first + (start + k) % n_words * 8;
        uint64_t word;
        // Writes whole words. The bytes beside are there already.
        memcpy(&word, t->pool + word_at, 8);
        if (by == 0) {
            put_record(t, hart, OUTSIDE, word_at, word, below(&t->r, 2) ? BY_DMA : BY_SYSTEM);
            continue;
        }
        uint32_t log2 = below(&t->r, 4);
        for (uint32_t piece = 0; piece < 8; piece += 1u << log2)
            put_record(t, hart, (deed)(STORE1 + log2), pool_vaddr(t, word_at + piece), word >> 8 * piece, 0);
    }
}

static void call(torture *t, uint32_t hart, uint32_t number) {
    put_record(t, hart, CALL, 0, 0, pool_vaddr(t, function_at(number)));
    t->expected[hart] += (uint64_t)sum_of(t->pool + function_at(number), FUNCTION_BYTES);
}

static void own_cells(torture *t, uint32_t hart) {
    uint32_t which = below(&t->r, 2);
    uint8_t bytes[SLOT_BYTES];
    put_sums(&t->r, bytes, SLOT_BYTES);
    uint64_t word;
    memcpy(&word, bytes, 8);
    uint64_t before = (uint64_t)sum_of(t->pool + t->slots_at[0], SLOT_BYTES);
    memcpy(t->pool + t->slots_at[which], bytes, SLOT_BYTES);
    t->expected[hart] += before + (uint64_t)sum_of(t->pool + t->slots_at[1], SLOT_BYTES);
    put_record(t, hart, OWN_SLOTS, pool_vaddr(t, t->slots_at[which]), word, 0);
}

static void phase(torture *t, uint32_t writer) { // one hart writes, then all call
    for (uint32_t n = 1 + below(&t->r, 3); n > 0; n--) {
        uint32_t number = below(&t->r, N_FUNCTIONS), n_sums = 2 * (1 + below(&t->r, FUNCTION_BYTES / 2 - 1));
        uint8_t body[FUNCTION_BYTES];
        put_sums(&t->r, body, n_sums);
        body[n_sums] = 0x82; // c.jr ra
        body[n_sums + 1] = 0x80;
        change_to(t, writer, function_at(number), body, n_sums + 2);
        if (t->has_rules || below(&t->r, 2))
            put_record(t, writer, FENCE, 0, 0, 0);
        call(t, writer, number);
    }
    for (uint32_t n = below(&t->r, 3); n > 0; n--)
        own_cells(t, writer);
    if (t->world != MACHINE && below(&t->r, 4) == 0) {
        put_record(t, writer, OUTSIDE, 0, 0, BY_REMAPPING);
        put_record(t, writer, FENCE, 0, 0, 0);
    }
    if (t->n_harts > 1) {
        t->n_barriers++;
        for (uint32_t h = 0; h < t->n_harts; h++)
            put_record(t, h, BARRIER, 0, t->n_barriers * t->n_harts, 0);
    }
    for (uint32_t h = 0; h < t->n_harts; h++)
        for (uint32_t n = below(&t->r, 8); n > 0; n--)
            call(t, h, below(&t->r, N_FUNCTIONS));
    if (t->n_harts > 1) {
        t->n_barriers++;
        for (uint32_t h = 0; h < t->n_harts; h++)
            put_record(t, h, BARRIER, 0, t->n_barriers * t->n_harts, 0);
    }
}

// ---- the world ----

static void set_csr(tl_hart *h, uint32_t csr, uint64_t value) {
    tl_priv priv = h->priv;
    h->priv = TL_PRIV_M;
    (void)tl_csr_write(h, csr, value);
    h->priv = priv;
    if (h->has_after)
        tl_hart_retired(h);
}

static void map(const torture *t, uint64_t vaddr, uint64_t paddr) {
    pair_put64(&t->p, TL_RAM_BASE_PADDR + TABLES_OFFSET + 0x2000 + (vaddr >> 21 & 1) * 4096 + (vaddr >> 12 & 511) * 8,
               paddr >> 12 << 10 | 0xdf);
}

static void build_tables(const torture *t) {
    const uint64_t root = TL_RAM_BASE_PADDR + TABLES_OFFSET;
    pair_put64(&t->p, root + (POOL_VADDR[0] >> 30) * 8, (root + 0x1000) >> 12 << 10 | 1);
    pair_put64(&t->p, root + 0x1000, (root + 0x2000) >> 12 << 10 | 1);
    pair_put64(&t->p, root + 0x1008, (root + 0x3000) >> 12 << 10 | 1);
    for (uint32_t k = 0; k < POOL_PAGES; k++)
        for (uint32_t alias = 0; alias < 2; alias++)
            map(t, POOL_VADDR[alias] + k * 4096, TL_RAM_BASE_PADDR + POOL_OFFSET + k * 4096);
    map(t, BARRIER_VADDR, TL_RAM_BASE_PADDR + BARRIER_OFFSET);
    for (uint32_t k = 0; k < 512; k++)
        map(t, TABLE_VADDR + k * 4096, TL_RAM_BASE_PADDR + TABLE_OFFSET + k * 4096);
}

static void set_up_hart(const torture *t, tl_machine *machine, uint32_t number) {
    tl_hart *h = machine->harts[number];
    uint64_t satp = UINT64_C(8) << 60 | (TL_RAM_BASE_PADDR + TABLES_OFFSET) >> 12;
    if (t->world == MODELED) {
        tl_memory_switch_context(h, satp);
    } else {
        tl_privileged_reset(h);
        set_csr(h, 0x3b0, UINT64_MAX);
        set_csr(h, 0x3a0, 0x1f);
        if (t->world == USER) {
            set_csr(h, 0x180, satp);
            tl_hart_set_priv(h, TL_PRIV_U);
        }
    }
    bool is_bare = t->world == MACHINE;
    h->pc = is_bare ? TL_RAM_BASE_PADDR + POOL_OFFSET : POOL_VADDR[0];
    tl_rv(h)->x[8] = 0;
    tl_rv(h)->x[9] = (is_bare ? TL_RAM_BASE_PADDR + TABLE_OFFSET : TABLE_VADDR) + number * TABLE_STRIDE;
    tl_rv(h)->x[19] = h->pc;
    tl_rv(h)->x[20] = is_bare ? TL_RAM_BASE_PADDR + BARRIER_OFFSET : BARRIER_VADDR;
}

// The first page of the functions moves: other memory has its bytes, and what was there is garbage.
// A kernel does it so. It writes the tables, tells the harts to forget, and the page has a new use.
static void remap(torture *t) {
    static const uint64_t places[2] = {TL_RAM_BASE_PADDR + POOL_OFFSET + 4096, TL_RAM_BASE_PADDR + POOL_OFFSET + 0x8000};
    uint64_t from = places[t->n_done[BY_REMAPPING] & 1], to = places[~t->n_done[BY_REMAPPING] & 1];
    uint8_t bytes[4096];
    memcpy(bytes, tl_machine_ram(t->p.slow, from), sizeof bytes);
    pair_put(&t->p, to, bytes, sizeof bytes);
    memset(bytes, 0, sizeof bytes); // no instructions
    pair_put(&t->p, from, bytes, sizeof bytes);
    for (uint32_t alias = 0; alias < 2; alias++)
        map(t, POOL_VADDR[alias] + 4096, to);
    tl_machine *const machines[] = {t->p.fast, t->p.slow};
    for (uint32_t m = 0; m < 2; m++) {
        for (uint32_t h = 0; h < t->n_harts; h++)
            machines[m]->harts[h]->port->flush_translation(machines[m]->harts[h], 0, true);
        tl_memory_code_changed(machines[m]->memory, from);
        tl_memory_code_changed(machines[m]->memory, to);
    }
}

static void do_outside(torture *t, tl_hart *a, tl_hart *b) {
    outside what = (outside)tl_rv(b)->x[7]; // t2
    if (what == BY_REMAPPING)
        remap(t);
    t->n_done[what]++;
    if (what == BY_REMAPPING)
        return;
    uint32_t offset = (uint32_t)tl_rv(b)->x[5];
    uint64_t paddr = TL_RAM_BASE_PADDR + POOL_OFFSET + offset;
    if (offset >= 4096 && offset < 8192 && (t->n_done[BY_REMAPPING] & 1))
        paddr = TL_RAM_BASE_PADDR + POOL_OFFSET + 0x8000 + (offset - 4096);
    if (what == BY_DMA) {
        static const tl_agent device = {.kind = TL_AGENT_DEVICE};
        assert_true(tl_memory_dma(t->p.fast->memory, &device, paddr, 8, true, a->now));
        assert_true(tl_memory_dma(t->p.slow->memory, &device, paddr, 8, true, b->now));
    }
    pair_put64(&t->p, paddr, tl_rv(b)->x[6]); // t1
    if (what == BY_SYSTEM)
        pair_code_changed(&t->p, paddr);
}

// Runs to the end, in turns and in pieces. Without rules, anything may be the end, and there may be
// none.
static void run_torture(torture *t) {
    uint32_t going = (1u << t->n_harts) - 1;
    for (uint64_t n_stops = 0; going != 0; n_stops++) {
        if (n_stops == 10000 && !t->has_rules)
            return;
        assert_true(n_stops < 10000000);
        tl_turn turn_a = tl_machine_next(t->p.fast, going), turn_b = tl_machine_next(t->p.slow, going);
        tl_hart *a = turn_a.hart, *b = turn_b.hart;
        uint64_t more = below(&t->r, 4) == 0 || !t->has_rules ? below(&t->r, 400) : UINT64_MAX / 2;
        a->horizon = turn_a.end;
        b->horizon = turn_b.end;
        a->insn_limit = a->instret + more;
        b->insn_limit = b->instret + more;
        tl_stop stop = tl_turn_run(&turn_b), stop_a = tl_turn_run(&turn_a);
        snprintf(t->p.where, sizeof t->p.where, "%s, stop %" PRIu64, world_names[t->world], n_stops);
        pair_same_hart(&t->p, a, b, true);
        if (n_stops % 16 == 0)
            pair_same_tallies(&t->p);
        if (stop != stop_a)
            fail_msg("%s: stopped for %d at %" PRIx64 ", step for %d at %" PRIx64, t->p.where, stop_a, a->pc, stop, b->pc);
        if (stop != TL_STOP_TRAP)
            continue;
        if (b->trap_cause == TL_CAUSE_BREAKPOINT) {
            going &= ~(1u << b->id);
            continue;
        }
        bool is_call = b->trap_cause == TL_CAUSE_ECALL_U || b->trap_cause == TL_CAUSE_ECALL_M;
        if (!t->has_rules && (!is_call || tl_rv(b)->x[7] > BY_REMAPPING || tl_rv(b)->x[5] >= 4096 * POOL_PAGES))
            return;
        if (!is_call)
            fail_msg("%s: trap %" PRIu64 " at %" PRIx64, t->p.where, b->trap_cause, b->pc);
        do_outside(t, a, b);
        a->pc += 4;
        b->pc += 4;
    }
}

static torture *torture_new(const tl_config *config, const fast_engine *engine, world w, uint64_t seed, uint32_t n_phases, bool has_rules) {
    torture *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->p = pair_new(config, engine);
    t->r.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    t->world = w;
    t->n_harts = config->n_harts;
    t->has_rules = has_rules;
    build_driver(t);
    for (uint32_t i = 0; i < N_FUNCTIONS; i++) {
        put_sums(&t->r, t->pool + function_at(i), FUNCTION_BYTES - 2);
        t->pool[function_at(i) + FUNCTION_BYTES - 2] = 0x82;
        t->pool[function_at(i) + FUNCTION_BYTES - 1] = 0x80;
    }
    pair_put(&t->p, TL_RAM_BASE_PADDR + POOL_OFFSET, t->pool, sizeof t->pool);
    build_tables(t);
    for (uint32_t i = 0; i < n_phases; i++)
        phase(t, i % t->n_harts);
    for (uint32_t h = 0; h < t->n_harts; h++) {
        put_record(t, h, END, 0, 0, 0);
        set_up_hart(t, t->p.fast, h);
        set_up_hart(t, t->p.slow, h);
    }
    return t;
}

static void torture_free(torture *t) {
    pair_free(&t->p);
    free(t);
}

static void torture_every_engine(const tl_config *config, uint64_t seed) {
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++)
        for (world w = MODELED; w <= MACHINE; w++) {
            torture *t = torture_new(config, &fast_engines[e], w, seed + w, lockstep_rounds(60), true);
            run_torture(t);
            pair_same(&t->p, true);
            for (uint32_t h = 0; h < t->n_harts; h++)
                if (tl_rv(t->p.slow->harts[h])->x[8] != t->expected[h])
                    fail_msg("%s, hart %u: calls returned %" PRIx64 ", not %" PRIx64, world_names[w], h, tl_rv(t->p.slow->harts[h])->x[8],
                             t->expected[h]);
            assert_true(t->n_done[BY_DMA] > 5 && t->n_done[BY_SYSTEM] > 5 && (w == MACHINE || t->n_done[BY_REMAPPING] > 2));
            torture_free(t);
        }
}

static tl_config config_of(uint32_t n_harts) {
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.n_harts = n_harts;
    config.interleave_cycles = 200;
    return config;
}

static void test_changed_code_agrees_on_one_hart(void **state) {
    (void)state;
    tl_config config = config_of(1);
    for (uint64_t seed = 1; seed <= 3; seed++)
        torture_every_engine(&config, seed * 10);
}

static void test_code_changed_by_other_harts_agrees(void **state) {
    (void)state;
    for (uint32_t n_harts = 2; n_harts <= 4; n_harts++) {
        tl_config config = config_of(n_harts);
        torture_every_engine(&config, n_harts * 100);
    }
}

static void test_changed_code_agrees_on_a_small_machine(void **state) {
    (void)state;
    tl_config config = config_of(2);
    config_small(&config);
    torture_every_engine(&config, 1000);
    config.code_cache_bytes = TL_MIN_CODE_CACHE_BYTES;
    config.l1i.prefetch = TL_PREFETCH_NEXT_LINE;
    torture_every_engine(&config, 1100);
}

// The pair is one engine twice here.
static void test_what_is_not_specified_repeats_itself(void **state) {
    (void)state;
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            tl_config config = config_of(1);
            torture *t = torture_new(&config, &fast_engines[e], MODELED, 2000 + seed, lockstep_rounds(60), false);
            tl_error err = {0};
            tl_machine_free(t->p.slow);
            assert_int_equal(machine_with(&fast_engines[e], &config, &t->p.slow, &err), TL_OK);
            memcpy(t->p.slow->ram, t->p.fast->ram, 8 << 20);
            set_up_hart(t, t->p.slow, 0);
            run_torture(t);
            pair_same(&t->p, true);
            torture_free(t);
        }
}

// Blocks lead to one another without a compare of their bytes while the line can be fetched. A line
// that was fetched by an instruction stepped before a limit can be.
static void test_code_that_is_stepped_first_after_a_change_is_new_code(void **state) {
    (void)state;
    enum { ADD_1 = 0x0505, ADD_5 = 0x0515, JUMP_S1 = 0x00048067 };
    static const uint32_t places[] = {256, 256 + 62}; // the latter is the last of its line
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++)
        for (uint32_t i = 0; i < 4; i++) {
            bool is_indirect = i & 1;
            uint32_t other = places[i / 2];
            tl_config config = config_of(1);
            pair p = pair_new(&config, &fast_engines[e]);
            const uint32_t front = is_indirect ? JUMP_S1 : jump_by((int32_t)other), back = jump_by(-(int32_t)other - 2);
            const uint16_t add_1 = ADD_1, add_5 = ADD_5;
            tl_hart *harts[] = {p.fast->harts[0], p.slow->harts[0]};
            pair_put(&p, TL_RAM_BASE_PADDR, &front, sizeof front);
            pair_put(&p, TL_RAM_BASE_PADDR + other, &add_1, sizeof add_1);
            pair_put(&p, TL_RAM_BASE_PADDR + other + 2, &back, sizeof back);
            snprintf(p.where, sizeof p.where, "%s", is_indirect ? "indirect jump" : "direct jump");
            // Instructions run one by one near the limit.
            for (uint64_t limit = 999; limit <= 2001; limit += limit == 999 ? 3 : 999) {
                for (uint32_t m = 0; m < 2; m++) {
                    tl_rv(harts[m])->x[9] = TL_RAM_BASE_PADDR + other;
                    harts[m]->pc = harts[m]->instret == 0 ? TL_RAM_BASE_PADDR : harts[m]->pc;
                    harts[m]->horizon = UINT64_MAX;
                    harts[m]->insn_limit = limit;
                    assert_int_equal(harts[m]->engine->run(harts[m]), TL_STOP_LIMIT);
                }
                pair_same(&p, true);
                if (limit == 999) {
                    pair_put(&p, TL_RAM_BASE_PADDR + other, &add_5, sizeof add_5);
                    for (uint32_t m = 0; m < 2; m++)
                        harts[m]->port->drop_code(harts[m]);
                }
            }
            assert_int_equal(tl_rv(harts[0])->x[10], 333 + 334 * 5);
            pair_free(&p);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_changed_code_agrees_on_one_hart),
    cmocka_unit_test(test_code_changed_by_other_harts_agrees),
    cmocka_unit_test(test_changed_code_agrees_on_a_small_machine),
    cmocka_unit_test(test_what_is_not_specified_repeats_itself),
    cmocka_unit_test(test_code_that_is_stepped_first_after_a_change_is_new_code),
};
TL_TEST_MAIN(tests)
