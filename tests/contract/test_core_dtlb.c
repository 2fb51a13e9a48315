// SPDX-License-Identifier: MIT
// The data TLB that two hardware threads share, on netburst: 64 entries, fully associative, the
// least recently used one goes. Each thread reads a ring of pages over and over, by loads that
// depend on one another. Both read the same virtual pages. Counts follow from the sizes of rings.
#include <stdio.h>

#include "core_kernel.h"
#include "engines.h"
#include "isa/rv/csr.h"
#include "isa/rv/privileged.h"
#include "model/flow.h"
#include "model/tap.h"
#include "netburst_registers.h"

enum { N = 2, BOTH = 3, PAGE = 4096, ENTRIES = 64, CODE_STRIDE = 1 << 16, TABLES = 8 << 20, RING = 16 << 20 };

// Each page has its pointer in another line, so that lines of a ring do not meet in one set.
static uint64_t place(uint32_t thread, uint64_t page) {
    return TL_RAM_BASE_PADDR + RING + page * PAGE + page % 64 * 64 + thread * UINT64_C(8);
}

static void put(tl_machine *machine, uint64_t paddr, uint64_t value) { memcpy(tl_machine_ram(machine, paddr), &value, sizeof value); }

// Sv39 tables that map 64 MiB of RAM to themselves by pages of 4 KiB.
static void map(tl_machine *machine) {
    enum { VALID = 1, ALL = 0xdf, N_LEAVES = 32 }; // V R W X U A D
    const uint64_t root = TL_RAM_BASE_PADDR + TABLES, middle = root + PAGE, leaf = middle + PAGE;
    put(machine, root + (TL_RAM_BASE_PADDR >> 30) * 8, middle >> 12 << 10 | VALID);
    for (uint64_t i = 0; i < N_LEAVES; i++)
        put(machine, middle + i * 8, (leaf + i * PAGE) >> 12 << 10 | VALID);
    for (uint64_t i = 0; i < N_LEAVES * 512; i++)
        put(machine, leaf + i * 8, (TL_RAM_BASE_PADDR + i * PAGE) >> 12 << 10 | ALL);
}

// 16 loads that follow the ring, and the end of a loop.
static void put_program(tl_machine *machine, uint32_t thread, uint64_t n_pages) {
    tl_hart *h = machine->harts[thread];
    uint32_t words[18], n = 0;
    while (n < 16)
        words[n++] = ld(T0, T0, 0);
    words[n++] = addi(A0, A0, -1);
    words[n++] = bne(A0, 0, -4 * 17);
    memcpy(machine->ram + thread * CODE_STRIDE, words, sizeof words);
    for (uint64_t page = 0; page < n_pages; page++)
        put(machine, place(thread, page), place(thread, (page + 1) % n_pages));
    h->pc = TL_RAM_BASE_PADDR + thread * UINT64_C(1) * CODE_STRIDE;
    tl_rv(h)->x[T0] = place(thread, 0);
    tl_rv(h)->x[A0] = 1 << 30;
}

static tl_machine *open_mapped(const char *name, const char *const *overrides) {
    enum { SATP = 0x180, PMPCFG0 = 0x3a0, PMPADDR0 = 0x3b0, SV39 = 8, ALL_MEMORY = 0x1f };
    tl_config config;
    tl_error err;
    tl_machine *machine;
    if (tl_description_open(name, &config, &err) != TL_OK)
        fail_msg("%s", err.text);
    config.ram_bytes = 64 << 20;
    for (; overrides && *overrides; overrides++)
        if (tl_config_set(&config, *overrides, &err) != TL_OK)
            fail_msg("%s", err.text);
    if (tl_machine_new(&config, &tl_engine_ooo, &machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    map(machine);
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        tl_hart *h = machine->harts[i];
        tl_privileged_reset(h);
        assert_true(tl_csr_write(h, PMPADDR0, UINT64_MAX));
        assert_true(tl_csr_write(h, PMPCFG0, ALL_MEMORY));
        assert_true(tl_csr_write(h, SATP, (uint64_t)SV39 << 60 | (TL_RAM_BASE_PADDR + TABLES) >> 12));
        tl_hart_set_priv(h, TL_PRIV_U);
    }
    return machine;
}

static tl_machine *open_machine(uint64_t n_first, uint64_t n_second, const char *const *overrides) {
    tl_machine *machine = open_mapped("netburst", overrides);
    for (uint32_t i = 0; i < N; i++)
        put_program(machine, i, i == 0 ? n_first : n_second);
    return machine;
}

// Each of these threads retires so many instructions, and more if it is faster.
static void run_threads(tl_machine *machine, uint32_t running, uint64_t n_each) {
    const uint64_t wanted[N] = {machine->harts[0]->instret + n_each, machine->harts[1]->instret + n_each};
    for (;;) {
        bool is_there = true;
        for (uint32_t i = 0; i < N; i++) {
            machine->harts[i]->horizon = machine->harts[i]->insn_limit = UINT64_MAX;
            is_there &= !(running >> i & 1) || machine->harts[i]->instret >= wanted[i];
        }
        if (is_there)
            return;
        uint64_t n_insns = 100;
        tl_hart *h;
        assert_int_equal(machine->engine->run_group(machine->harts, N, running, running, &n_insns, &h), TL_STOP_LIMIT);
    }
}

typedef struct counts {
    uint64_t lookup, miss, evict, lost, flush;
} counts;

static uint64_t signal_of(tl_machine *machine, uint32_t thread, const char *name) {
    char path[64];
    tl_cell cell;
    snprintf(path, sizeof path, "hart%u.%s", thread, name);
    assert_int_equal(tl_probe_resolve(&machine->probe, path, &cell), TL_OK);
    return tl_probe_read(&machine->probe, cell);
}

static counts read_counts(tl_machine *machine, uint32_t thread) {
    tl_machine_sync(machine);
    return (counts){.lookup = signal_of(machine, thread, "core.load_lookup"),
                    .miss = signal_of(machine, thread, "dtlb.load_miss"),
                    .evict = signal_of(machine, thread, "dtlb.evict"),
                    .lost = signal_of(machine, thread, "core.dtlb_lost"),
                    .flush = signal_of(machine, thread, "dtlb.flush")};
}

// Since `before`, which is then now.
static void expect(tl_machine *machine, uint32_t thread, counts *before, uint64_t miss, uint64_t evict, uint64_t lost) {
    const counts now = read_counts(machine, thread);
    if (now.miss - before->miss != miss || now.evict - before->evict != evict || now.lost - before->lost != lost)
        fail_msg("thread %u: %" PRIu64 " misses, %" PRIu64 " evictions, %" PRIu64 " lost; wanted %" PRIu64 ", %" PRIu64 ", %" PRIu64,
                 thread, now.miss - before->miss, now.evict - before->evict, now.lost - before->lost, miss, evict, lost);
    *before = now;
}

static void close_machine(tl_machine *machine) {
    tl_error err;
    tl_machine_sync(machine);
    if (tl_machine_check_identities(machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    tl_machine_free(machine);
}

enum { LONG = 4000 }; // instructions: each ring is read many times

static void test_a_thread_alone_has_all_entries(void **state) {
    (void)state;
    tl_machine *machine = open_machine(ENTRIES, 1, NULL);
    counts c = {0};
    run_threads(machine, 1, LONG);
    expect(machine, 0, &c, ENTRIES, 0, 0);
    close_machine(machine);
    machine = open_machine(ENTRIES + 1, 1, NULL);
    run_threads(machine, 1, LONG);
    c = read_counts(machine, 0);
    assert_int_equal(c.miss, c.lookup); // each page leaves before it is read again
    assert_int_equal(c.evict, c.miss - ENTRIES);
    close_machine(machine);
}

// 24 pages take 24 entries of 64. Then all 64 pages miss in their order. Their first 40 fills take
// the 40 oldest entries, which are of this ring, and the last 24 take those of the other thread.
static void test_a_thread_takes_the_entries_of_the_other(void **state) {
    (void)state;
    enum { OTHER = 24 };
    tl_machine *machine = open_machine(ENTRIES, OTHER, NULL);
    counts first = {0}, second = {0};
    run_threads(machine, 1, LONG);
    expect(machine, 0, &first, ENTRIES, 0, 0);
    run_threads(machine, 2, LONG);
    expect(machine, 1, &second, OTHER, OTHER, 0);
    expect(machine, 0, &first, 0, 0, OTHER);
    run_threads(machine, 1, LONG);
    expect(machine, 0, &first, ENTRIES, ENTRIES, 0);
    expect(machine, 1, &second, 0, 0, OTHER);
    close_machine(machine);
}

static void forward_thread(tl_machine *machine, uint32_t thread) {
    tl_turn turn = tl_machine_next(machine, 1u << thread);
    turn.hart->horizon = UINT64_MAX;
    turn.hart->insn_limit = turn.hart->instret + LONG;
    assert_int_equal(tl_turn_run(&turn), TL_STOP_LIMIT);
}

// Each fast engine forwards. Its harts have clocks of their own for uses.
static void test_a_forwarded_thread_takes_the_entries_of_the_other(void **state) {
    (void)state;
    enum { OTHER = 24 };
    for (uint32_t e = 0; e <= TL_COUNT_OF(fast_engines); e++) {
        const tl_engine_type *engine = e < TL_COUNT_OF(fast_engines) ? fast_engines[e].engine : step_engine.engine;
        tl_machine *machine = open_machine(ENTRIES, OTHER, NULL);
        tl_error err;
        assert_int_equal(tl_machine_add_forwarder(machine, engine, &err), TL_OK);
        tl_machine_forward(machine, true);
        counts first = {0}, second = {0};
        forward_thread(machine, 0);
        expect(machine, 0, &first, ENTRIES, 0, 0);
        forward_thread(machine, 1);
        expect(machine, 1, &second, OTHER, OTHER, 0);
        expect(machine, 0, &first, 0, 0, OTHER);
        forward_thread(machine, 0);
        expect(machine, 0, &first, ENTRIES, ENTRIES, 0);
        expect(machine, 1, &second, 0, 0, OTHER);
        tl_machine_forward(machine, false);
        close_machine(machine);
    }
}

static void test_threads_with_a_dtlb_each_take_nothing(void **state) {
    (void)state;
    static const char *const own[] = {"dtlb.shared=0", NULL};
    tl_machine *machine = open_machine(ENTRIES, ENTRIES, own);
    counts first = {0}, second = {0};
    run_threads(machine, BOTH, LONG);
    run_threads(machine, 1, LONG);
    run_threads(machine, 2, LONG);
    expect(machine, 0, &first, ENTRIES, 0, 0);
    expect(machine, 1, &second, ENTRIES, 0, 0);
    close_machine(machine);
}

// The pages are the same, and each thread has entries of its own for them.
static void test_two_rings_fit_or_thrash_together(void **state) {
    (void)state;
    tl_machine *machine = open_machine(ENTRIES / 2, ENTRIES / 2, NULL);
    counts first = {0}, second = {0};
    run_threads(machine, BOTH, LONG);
    expect(machine, 0, &first, ENTRIES / 2, 0, 0);
    expect(machine, 1, &second, ENTRIES / 2, 0, 0);
    close_machine(machine);
    // Between two reads of a page there are 79 reads of other pages.
    machine = open_machine(40, 40, NULL);
    run_threads(machine, BOTH, LONG);
    first = read_counts(machine, 0);
    second = read_counts(machine, 1);
    assert_true(first.lookup > 1000 && second.lookup > 1000);
    assert_int_equal(first.miss, first.lookup);
    assert_int_equal(second.miss, second.lookup);
    assert_int_equal(first.evict + second.evict, first.miss + second.miss - ENTRIES);
    close_machine(machine);
}

static void test_a_flush_drops_the_entries_of_its_thread(void **state) {
    (void)state;
    tl_machine *machine = open_machine(20, 30, NULL);
    counts first = {0}, second = {0};
    run_threads(machine, BOTH, LONG);
    expect(machine, 0, &first, 20, 0, 0);
    expect(machine, 1, &second, 30, 0, 0);
    tl_hart *h = machine->harts[1];
    h->port->flush_translation(h, 0, true);
    assert_int_equal(read_counts(machine, 1).flush - second.flush, 30);
    assert_int_equal(read_counts(machine, 0).flush, first.flush);
    run_threads(machine, BOTH, LONG);
    expect(machine, 0, &first, 0, 0, 0);
    expect(machine, 1, &second, 30, 0, 0);
    close_machine(machine);
}

// The mapping changes between two runs, while a store waits behind a division. The store goes to
// the page that the tables name then.
static void test_a_store_in_flight_follows_its_page(void **state) {
    (void)state;
    enum { FLAGS = 0xdf, OTHER_PAGE = 32 << 20 };
    const uint32_t words[] = {divide(T1, T1, T1), store(A0, T0, 3), addi(0, 0, 0), addi(0, 0, 0)};
    tl_machine *machine = open_machine(1, 1, NULL);
    tl_hart *h = machine->harts[0];
    memcpy(machine->ram, words, sizeof words);
    tl_rv(h)->x[T0] = TL_RAM_BASE_PADDR + RING;
    tl_rv(h)->x[T1] = 1;
    put(machine, TL_RAM_BASE_PADDR + RING, 0);
    h->insn_limit = 2;
    while (signal_of(machine, 0, "core.rename_store") == 0) {
        h->horizon = h->now + 1;
        assert_int_equal(h->engine->run(h), TL_STOP_HORIZON);
    }
    assert_int_equal(h->instret, 0);
    put(machine, TL_RAM_BASE_PADDR + TABLES + 2 * PAGE + RING / PAGE * 8, (TL_RAM_BASE_PADDR + OTHER_PAGE) >> 12 << 10 | FLAGS);
    h->horizon = UINT64_MAX;
    assert_int_equal(h->engine->run(h), TL_STOP_LIMIT);
    uint64_t old, new;
    memcpy(&old, machine->ram + RING, sizeof old);
    memcpy(&new, machine->ram + OTHER_PAGE, sizeof new);
    assert_int_equal(old, 0);
    assert_int_equal(new, tl_rv(h)->x[A0]);
    close_machine(machine);
}

// ---- Stores look up the DTLB when their address is dispatched.

static void run_insns(tl_machine *machine, uint64_t n) {
    tl_hart *h = machine->harts[0];
    h->horizon = UINT64_MAX;
    h->insn_limit = h->instret + n;
    assert_int_equal(h->engine->run(h), TL_STOP_LIMIT);
    tl_machine_sync(machine);
}

static void put_words(tl_machine *machine, const uint32_t *words, uint32_t n) {
    memcpy(machine->ram, words, n * sizeof *words);
    machine->harts[0]->pc = TL_RAM_BASE_PADDR;
}

// A loop that stores to each page of a ring, to other lines each. A division comes first, or
// nothing does, and the store writes its quotient.
enum { PAGES_LOOP = 7, IN_FLIGHT = 32 }; // instructions; stores that may be under way
static tl_machine *open_page_stores(const char *name, uint64_t n_pages, bool divides) {
    enum { OFFSET = 28, MASK = 29, PLACE = 30, STRIDE = 31 };
    const uint32_t words[PAGES_LOOP] = {
        divides ? divide(T1, A1, T2) : addi(0, 0, 0),
        add(OFFSET, OFFSET, STRIDE),
        MASK << 20 | OFFSET << 15 | 7 << 12 | OFFSET << 7 | 0x33, // and
        add(PLACE, OFFSET, T0),
        store(T1, PLACE, 3),
        addi(A0, A0, -1),
        bne(A0, 0, -4 * (PAGES_LOOP - 1)),
    };
    tl_machine *machine = open_mapped(name, NULL);
    tl_rv_hart *rv = tl_rv(machine->harts[0]);
    put_words(machine, words, PAGES_LOOP);
    rv->x[T0] = TL_RAM_BASE_PADDR + RING;
    rv->x[A0] = 1 << 30;
    rv->x[A1] = UINT64_MAX / 3;
    rv->x[T2] = 3;
    rv->x[STRIDE] = PAGE;
    rv->x[MASK] = n_pages * PAGE - 1;
    run_insns(machine, 4 * n_pages * PAGES_LOOP);
    return machine;
}

static const char *const detailed[] = {"netburst", "ooo"};

// The cause of the cycles is the oldest instruction, which is the store.
static void test_a_store_retires_when_its_address_is_translated(void **state) {
    (void)state;
    for (uint32_t m = 0; m < TL_COUNT_OF(detailed); m++)
        for (uint64_t n_pages = 16; n_pages <= 128; n_pages *= 8) {
            tl_machine *machine = open_page_stores(detailed[m], n_pages, false);
            const uint64_t misses = signal_of(machine, 0, "core.store_dtlb_miss"), waits = signal_of(machine, 0, "cyc_dtlb");
            const uint64_t start = machine->harts[0]->now;
            run_insns(machine, 1000 * PAGES_LOOP);
            const uint64_t missed = signal_of(machine, 0, "core.store_dtlb_miss") - misses;
            const uint64_t waited = signal_of(machine, 0, "cyc_dtlb") - waits, cycles = machine->harts[0]->now - start;
            // Machine ooo hides most of them.
            const bool is_right = n_pages == 16
                                      ? missed == 0 && waited == 0
                                      : missed >= 1000 - IN_FLIGHT && missed <= 1000 + IN_FLIGHT && waited > (m == 0 ? cycles / 4 : 0);
            if (!is_right)
                fail_msg("%s, %" PRIu64 " pages: %" PRIu64 " misses, %" PRIu64 " of %" PRIu64 " cycles", detailed[m], n_pages, missed,
                         waited, cycles);
            close_machine(machine);
        }
}

// The store's data comes when the division has retired. Its translation is there by then.
static void test_a_translation_behind_a_division_costs_no_cycle(void **state) {
    (void)state;
    for (uint32_t m = 0; m < TL_COUNT_OF(detailed); m++) {
        tl_machine *machine = open_page_stores(detailed[m], 128, true);
        const uint64_t misses = signal_of(machine, 0, "core.store_dtlb_miss"), waits = signal_of(machine, 0, "cyc_dtlb");
        run_insns(machine, 1000 * PAGES_LOOP);
        assert_true(signal_of(machine, 0, "core.store_dtlb_miss") - misses >= 1000 - IN_FLIGHT);
        if (signal_of(machine, 0, "cyc_dtlb") != waits)
            fail_msg("%s: %" PRIu64 " cycles", detailed[m], signal_of(machine, 0, "cyc_dtlb") - waits);
        close_machine(machine);
    }
}

// The address of a store depends on a division. An older store retires meanwhile and clears the
// dirty bit of the page.
static void test_the_look_up_of_a_store_sets_no_bits(void **state) {
    (void)state;
    enum { ENTRY = A1, VALUE = 12, FLAGS = 0x5f, N_DIVISIONS = 20, N_WORDS = N_DIVISIONS + 5 };
    const uint64_t entry = TL_RAM_BASE_PADDR + TABLES + 2 * PAGE + RING / PAGE * 8, clean = (TL_RAM_BASE_PADDR + RING) >> 12 << 10 | FLAGS;
    uint32_t words[N_WORDS] = {store(VALUE, ENTRY, 3)}, n = 1;
    while (n <= N_DIVISIONS)
        words[n++] = divide(T1, T1, T2);
    words[n++] = add(T0, T0, T1);
    words[n++] = store(A0, T0, 3);
    while (n < N_WORDS)
        words[n++] = addi(0, 0, 0);
    for (uint32_t m = 0; m < TL_COUNT_OF(detailed); m++) {
        tl_machine *machine = open_mapped(detailed[m], NULL);
        tl_rv_hart *rv = tl_rv(machine->harts[0]);
        uint64_t after;
        put_words(machine, words, N_WORDS);
        rv->x[T0] = TL_RAM_BASE_PADDR + RING;
        rv->x[T2] = 3;
        rv->x[ENTRY] = entry;
        rv->x[VALUE] = clean;
        run_insns(machine, N_WORDS);
        assert_int_equal(signal_of(machine, 0, "core.rename_store"), 2);
        assert_int_equal(signal_of(machine, 0, "core.redo"), 0);
        memcpy(&after, tl_machine_ram(machine, entry), sizeof after);
        if (after != clean)
            fail_msg("%s: the entry is %" PRIx64 ", not %" PRIx64, detailed[m], after, clean);
        close_machine(machine);
    }
}

// Such a store executes alone, because it sets the dirty bit.
static void test_a_store_that_executes_alone_is_looked_up_once(void **state) {
    (void)state;
    enum { FLAGS = 0x5f };
    const uint32_t words[] = {store(A0, T0, 3), addi(0, 0, 0)};
    for (uint32_t m = 0; m < TL_COUNT_OF(detailed); m++) {
        tl_machine *machine = open_mapped(detailed[m], NULL);
        put(machine, TL_RAM_BASE_PADDR + TABLES + 2 * PAGE + RING / PAGE * 8, (TL_RAM_BASE_PADDR + RING) >> 12 << 10 | FLAGS);
        put_words(machine, words, TL_COUNT_OF(words));
        tl_rv(machine->harts[0])->x[T0] = TL_RAM_BASE_PADDR + RING;
        run_insns(machine, 2);
        assert_int_equal(signal_of(machine, 0, "dtlb.store_miss"), 1);
        assert_int_equal(signal_of(machine, 0, "core.store_dtlb_miss"), 0);
        close_machine(machine);
    }
}

// ---- Replay tags of the Pentium 4, against an oracle that follows each access by itself.

enum { CAUSE_LINE = 1, CAUSE_TRANSLATION = 2, CAUSE_SPLIT = 4, ALL_CAUSES = 8, KIND_LOADS = 1, KIND_STORES = 2 };

typedef struct accesses {                               // of a thread: its loads, or its stores
    uint64_t n;                                         // retired
    uint8_t causes[TL_MAX_IN_FLIGHT];                   // by number of the instruction
    uint64_t n_retired[ALL_CAUSES], n_back[ALL_CAUSES]; // by causes
} accesses;

// A thread dispatches one load and one address of a store in a cycle, so the misses of that cycle
// are their own.
typedef struct oracle {
    tl_tap tap;
    uint64_t load_dtlb, store_dtlb, load_misses, load_lines; // tallies before the next dispatch
    accesses loads, stores;
} oracle;

static void follow(accesses *a, const tl_uop_event *event, uint8_t causes) {
    uint8_t *known = &a->causes[event->seq % TL_MAX_IN_FLIGHT];
    switch ((tl_uop_step)event->step) {
    case TL_UOP_RENAME: *known = 0; break;
    case TL_UOP_DISPATCH: *known |= causes; break;
    case TL_UOP_RETIRE:
        a->n += 1;
        a->n_retired[*known] += 1;
        break;
    case TL_UOP_TAKE_BACK: a->n_back[event->n_uops > 0 ? *known : 0] += 1; break;
    default: break;
    }
}

static bool is_of(const tl_uop_event *event, tl_class cls) {
    return event->cls == cls && !(event->step == TL_UOP_DISPATCH && event->uop == 1);
}

static uint32_t n_dispatched(const tl_cycle_record *record, tl_class cls) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < record->n_events; i++)
        n += is_of(&record->events[i], cls) && record->events[i].step == TL_UOP_DISPATCH;
    return n;
}

static void follow_all(accesses *a, const tl_cycle_record *record, tl_class cls, uint8_t causes) {
    for (uint32_t i = 0; i < record->n_events; i++)
        if (is_of(&record->events[i], cls))
            follow(a, &record->events[i], causes);
}

// Tallies are compared where something of the kind is dispatched, because idle cycles before this
// one may be told with its tallies.
static void follow_loads(oracle *o, const tl_cycle_record *record) {
    const uint64_t *t = record->h->tally, lines = t[TL_S_L1D_LOAD] - t[TL_S_L1D_WALK];
    const uint64_t misses = t[TL_S_L1D_LOAD_MISS] - t[TL_S_L1D_WALK_MISS];
    const bool misses_page = t[TL_S_DTLB_LOAD_MISS] != o->load_dtlb, misses_line = misses != o->load_misses;
    const bool is_split = lines == o->load_lines + 2;
    const uint32_t n = n_dispatched(record, TL_CLASS_LOAD);
    follow_all(&o->loads, record, TL_CLASS_LOAD,
               (uint8_t)((misses_page ? CAUSE_TRANSLATION : 0) | (misses_line ? CAUSE_LINE : 0) | (is_split ? CAUSE_SPLIT : 0)));
    assert_true(n <= 1);
    if (n == 0)
        return;
    o->load_dtlb = t[TL_S_DTLB_LOAD_MISS];
    o->load_misses = misses;
    o->load_lines = lines;
}

// A store is split where its bytes are.
static void follow_stores(oracle *o, const tl_cycle_record *record) {
    const uint64_t dtlb = record->h->tally[TL_S_DTLB_STORE_MISS];
    const uint8_t causes = dtlb != o->store_dtlb ? CAUSE_TRANSLATION : 0;
    for (uint32_t i = 0; i < record->n_events; i++) {
        const tl_uop_event *event = &record->events[i];
        const bool is_split = event->vaddr % 64 + event->size_bytes > 64 && event->vain != TL_UOP_NO_OPERAND;
        if (is_of(event, TL_CLASS_STORE))
            follow(&o->stores, event, (uint8_t)(causes | (is_split ? CAUSE_SPLIT : 0)));
    }
    const uint32_t n = n_dispatched(record, TL_CLASS_STORE);
    assert_true(n <= 1);
    if (n > 0)
        o->store_dtlb = dtlb;
}

static void follow_cycle(tl_tap *tap, const tl_cycle_record *record) {
    oracle *o = (oracle *)(void *)tap;
    follow_loads(o, record);
    follow_stores(o, record);
}

static uint64_t with_a_cause(const uint64_t by_causes[ALL_CAUSES], uint32_t causes) {
    uint64_t n = 0;
    for (uint32_t known = 1; known < ALL_CAUSES; known++)
        n += known & causes ? by_causes[known] : 0;
    return n;
}

static uint64_t retired_of(const oracle *o, uint32_t causes, uint32_t kinds) {
    return (kinds & KIND_LOADS ? with_a_cause(o->loads.n_retired, causes) : 0) +
           (kinds & KIND_STORES ? with_a_cause(o->stores.n_retired, causes) : 0);
}

static uint64_t back_of(const oracle *o, uint32_t causes, uint32_t kinds) {
    return (kinds & KIND_LOADS ? with_a_cause(o->loads.n_back, causes) : 0) +
           (kinds & KIND_STORES ? with_a_cause(o->stores.n_back, causes) : 0);
}

// Loads and stores of 128 pages by chance, some across borders of lines. One load in two, and one
// store in two, is on a path that is not taken.
static void put_random_program(tl_machine *machine, uint32_t thread) {
    enum { X = T2, FACTOR = A1, LATE = 13, PLACE = 28, OTHER = 29, BASE = 30, MASK = 31 };
    const uint32_t words[] = {
        mul(X, X, FACTOR),
        addi(X, X, 77),
        44 << 20 | X << 15 | 5 << 12 | PLACE << 7 | 0x13,       // srli
        MASK << 20 | PLACE << 15 | 7 << 12 | PLACE << 7 | 0x33, // and
        add(PLACE, PLACE, BASE),
        ld(T1, PLACE, 0),
        34 << 20 | X << 15 | 5 << 12 | OTHER << 7 | 0x13,
        MASK << 20 | OTHER << 15 | 7 << 12 | OTHER << 7 | 0x33,
        add(OTHER, OTHER, BASE),
        mul(LATE, X, FACTOR),
        mul(LATE, LATE, FACTOR),
        branch(4, LATE, 0, 8), // negative: no load, but a store
        ld(T1, OTHER, 0),
        branch(5, LATE, 0, 8),
        store(X, OTHER, 3),
        addi(A0, A0, -1),
        bne(A0, 0, -4 * 16),
    };
    tl_hart *h = machine->harts[thread];
    memcpy(machine->ram + thread * CODE_STRIDE, words, sizeof words);
    tl_rv(h)->x[X] = 12345 + thread;
    tl_rv(h)->x[FACTOR] = UINT64_C(6364136223846793005);
    tl_rv(h)->x[BASE] = TL_RAM_BASE_PADDR + RING;
    tl_rv(h)->x[MASK] = 0x7f7ff; // within the page
}

// Split loads are tagged by SAAT_ESCR1, and split stores by SAAT_ESCR0, while a counter of their
// block runs.
static void let_splits_tag(tl_netburst *n, uint32_t thread) {
    const uint64_t owner = (uint64_t)(thread == 0 ? TL_ESCR_T0_USR : TL_ESCR_T1_USR) | 2ull << TL_ESCR_MASK_LSB;
    wrmsr(n, 0x3af, owner | 4ull << TL_ESCR_EVENT_LSB);
    wrmsr(n, 0x3ae, owner | 5ull << TL_ESCR_EVENT_LSB);
    wrmsr(n, TL_MSR_CCCR + 8, 0x00035000);
    wrmsr(n, TL_MSR_CCCR + 10, 0x00035000);
}

static uint32_t pebs_causes(uint32_t causes) {
    return (causes & CAUSE_LINE ? 1u << 0 : 0) | (causes & CAUSE_TRANSLATION ? 1u << 2 : 0) | (causes & CAUSE_SPLIT ? 1u << 10 : 0);
}

// Event replay_event of the thread: NBOGUS on counter 12, BOGUS on counter 14.
static void count_tags(tl_netburst *n, uint32_t causes, uint32_t kinds, uint32_t thread) {
    const uint64_t event = 9ull << TL_ESCR_EVENT_LSB | (thread == 0 ? TL_ESCR_T0_USR : TL_ESCR_T1_USR);
    wrmsr(n, TL_MSR_PEBS_MATRIX_VERT, kinds);
    wrmsr(n, TL_MSR_PEBS_ENABLE, TL_PEBS_UOP_TAG | pebs_causes(causes));
    let_splits_tag(n, thread);
    wrmsr(n, 0x3cc, event | 1ull << TL_ESCR_MASK_LSB);
    wrmsr(n, 0x3cd, event | 2ull << TL_ESCR_MASK_LSB);
    wrmsr(n, TL_MSR_CCCR + 12, 0x0003b000);
    wrmsr(n, TL_MSR_CCCR + 14, 0x0003b000);
}

// Before anything is in flight.
static void attach_oracles(const tl_machine *machine, oracle ret_oracles[N]) {
    tl_error err;
    for (uint32_t i = 0; i < N; i++) {
        ret_oracles[i] = (oracle){.tap = {.record = follow_cycle}};
        assert_int_equal(machine->engine->tap(machine->harts[i], &ret_oracles[i].tap, &err), TL_OK);
    }
}

// Runs the threads of `running`, and compares the tags of one with those of its oracle.
static void check_tags_of(tl_machine *machine, uint32_t running, uint32_t thread, uint32_t causes, uint32_t kinds, const oracle *o) {
    uint32_t number;
    tl_netburst *n = tl_netburst_of(tl_machine_pmu_of(machine, &tl_pmu_netburst, 0), &number);
    count_tags(n, causes, kinds, thread);
    const uint64_t retired = rdmsr(n, TL_MSR_COUNTER + 12), bogus = rdmsr(n, TL_MSR_COUNTER + 14);
    const oracle before = *o;
    run_threads(machine, running, 3000);
    const uint64_t want = retired_of(o, causes, kinds) - retired_of(&before, causes, kinds);
    const uint64_t back = back_of(o, causes, kinds) - back_of(&before, causes, kinds);
    if (rdmsr(n, TL_MSR_COUNTER + 12) - retired != want)
        fail_msg("thread %u, causes %u, kinds %u: %" PRIu64 " tags, wanted %" PRIu64, thread, causes, kinds,
                 rdmsr(n, TL_MSR_COUNTER + 12) - retired, want);
    // Some are taken back, and have not left.
    const uint64_t left = rdmsr(n, TL_MSR_COUNTER + 14) - bogus;
    if (left > back + 16 || back > left + 16)
        fail_msg("%" PRIu64 " bogus uops have a tag, %" PRIu64 " were taken back", left, back);
}

static void check_tags(tl_machine *machine, uint32_t running, uint32_t causes, uint32_t kinds, const oracle oracles[N]) {
    for (uint32_t thread = 0; thread < N; thread++)
        if (running >> thread & 1)
            check_tags_of(machine, running, thread, causes, kinds, &oracles[thread]);
}

static void check_random_tags(const char *const *overrides, uint32_t running) {
    oracle oracles[N];
    tl_machine *machine = open_machine(1, 1, overrides);
    put_random_program(machine, 0);
    put_random_program(machine, 1);
    attach_oracles(machine, oracles);
    run_threads(machine, running, 100);
    for (uint32_t kinds = KIND_LOADS; kinds <= (KIND_LOADS | KIND_STORES); kinds++) {
        check_tags(machine, running, CAUSE_TRANSLATION, kinds, oracles);
        check_tags(machine, running, CAUSE_SPLIT, kinds, oracles);
    }
    check_tags(machine, running, CAUSE_LINE, KIND_LOADS, oracles);
    check_tags(machine, running, CAUSE_LINE | CAUSE_TRANSLATION, KIND_LOADS, oracles);
    check_tags(machine, running, CAUSE_TRANSLATION | CAUSE_SPLIT, KIND_LOADS | KIND_STORES, oracles);
    for (uint32_t thread = 0; thread < N; thread++) {
        const oracle *o = &oracles[thread];
        tl_error err;
        // Tells what is left.
        assert_int_equal(machine->engine->tap(machine->harts[thread], NULL, &err), TL_OK);
        assert_int_equal(signal_of(machine, thread, "core.load_dtlb_miss_wrong"), with_a_cause(o->loads.n_back, CAUSE_TRANSLATION));
        assert_int_equal(signal_of(machine, thread, "core.store_dtlb_miss_wrong"), with_a_cause(o->stores.n_back, CAUSE_TRANSLATION));
        assert_int_equal(signal_of(machine, thread, "core.load_split_wrong"), with_a_cause(o->loads.n_back, CAUSE_SPLIT));
    }
    // Loads that miss a translation alone are few, because lines go sooner than pages.
    const uint64_t *n = oracles[0].loads.n_retired;
    for (uint32_t causes = 0; causes < ALL_CAUSES; causes++)
        if (n[causes] < (causes == CAUSE_TRANSLATION ? 1 : 20) && causes != (CAUSE_TRANSLATION | CAUSE_SPLIT))
            fail_msg("%" PRIu64 " loads have the causes %u", n[causes], causes);
    n = oracles[0].stores.n_retired;
    if (n[0] < 20 || n[CAUSE_SPLIT] < 5 || n[CAUSE_TRANSLATION] < 20 || n[CAUSE_TRANSLATION | CAUSE_SPLIT] < 5)
        fail_msg("stores by causes: %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, n[0], n[2], n[4], n[6]);
    assert_true(back_of(&oracles[0], CAUSE_TRANSLATION, KIND_LOADS) > 10);
    assert_true(back_of(&oracles[0], CAUSE_TRANSLATION, KIND_STORES) > 10);
    assert_true(back_of(&oracles[0], CAUSE_SPLIT, KIND_LOADS) > 10);
    close_machine(machine);
}

static void test_tags_of_replays_are_those_of_each_access(void **state) {
    (void)state;
    static const char *const machines[][4] = {
        {"pentium4=on"},
        {"pentium4=on", "dtlb.shared=0"},
        {"pentium4=on", "walk_cache.entries=0"},
        {"pentium4=on", "l2tlb.entries=1024", "mem.l2tlb_hit=0"}, // a miss that takes no time
    };
    for (uint32_t m = 0; m < TL_COUNT_OF(machines); m++)
        for (uint32_t running = 1; running <= BOTH; running++)
            if (running != 2)
                check_random_tags(machines[m], running);
}

// 65 pages thrash 64 entries, whatever the lines do.
static void test_each_load_of_a_long_ring_has_the_tag_of_its_translation(void **state) {
    (void)state;
    static const char *const on[] = {"pentium4=on", NULL};
    oracle oracles[N];
    for (uint32_t running = 1; running <= BOTH; running++) {
        tl_machine *machine = open_machine(ENTRIES + 1, ENTRIES + 1, on);
        attach_oracles(machine, oracles);
        run_threads(machine, running, 100);
        check_tags(machine, running, CAUSE_TRANSLATION, KIND_LOADS, oracles);
        for (uint32_t thread = 0; thread < N; thread++)
            if (running >> thread & 1) {
                const accesses *loads = &oracles[thread].loads;
                assert_true(loads->n > 2000);
                assert_int_equal(with_a_cause(loads->n_retired, CAUSE_TRANSLATION), loads->n);
            }
        close_machine(machine);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_store_in_flight_follows_its_page),
    cmocka_unit_test(test_a_thread_alone_has_all_entries),
    cmocka_unit_test(test_a_thread_takes_the_entries_of_the_other),
    cmocka_unit_test(test_a_forwarded_thread_takes_the_entries_of_the_other),
    cmocka_unit_test(test_threads_with_a_dtlb_each_take_nothing),
    cmocka_unit_test(test_two_rings_fit_or_thrash_together),
    cmocka_unit_test(test_a_flush_drops_the_entries_of_its_thread),
    cmocka_unit_test(test_a_store_retires_when_its_address_is_translated),
    cmocka_unit_test(test_a_translation_behind_a_division_costs_no_cycle),
    cmocka_unit_test(test_the_look_up_of_a_store_sets_no_bits),
    cmocka_unit_test(test_a_store_that_executes_alone_is_looked_up_once),
    cmocka_unit_test(test_tags_of_replays_are_those_of_each_access),
    cmocka_unit_test(test_each_load_of_a_long_ring_has_the_tag_of_its_translation),
};
TL_TEST_MAIN(tests)
