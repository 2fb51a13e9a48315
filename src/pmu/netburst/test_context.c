// SPDX-License-Identifier: MIT
// Extension NBX: contexts, filters, banks, periods that vary, samples of any counter and their
// records, against rules written from docs/netburst.md, section 10.
#include <stdlib.h>

#include "pmu/netburst/test_rig.h"

// Counters that select the detector of uops, and those of page walks.
enum { MSR_CRU_ESCR0 = 0x3b8, MSR_CRU_ESCR2 = 0x3cc, MSR_PMH_ESCR0 = 0x3ac, UOPS = 12, CLOCKS = 13, ALL = 16, WALKS = 0 };
enum { ESCR_UOPS = 1 << TL_ESCR_EVENT_LSB | 1 << TL_ESCR_MASK_LSB, ESCR_WALKS = ESCR_UOPS, ALL_THREADS = 15 };
enum { ESCR_BRANCHES = 6 << TL_ESCR_EVENT_LSB | 15 << TL_ESCR_MASK_LSB };
static const uint64_t CCCR = TL_CCCR_ENABLE | 4 << TL_CCCR_SELECT_LSB | 3 << TL_CCCR_THREAD_LSB;
static const uint64_t EACH_CLOCK = TL_CCCR_COMPARE | TL_CCCR_COMPLEMENT | 15 << TL_CCCR_THRESHOLD_LSB;
static const uint64_t MINUS = UINT64_C(1) << TL_NETBURST_WIDTH_BITS;

static uint64_t seed;

enum { AREA = PAGE_AT, BASE = AREA + 0x100 };

static void open_rig(rig *r, uint32_t n_threads) {
    rig_init(r);
    r->settings.nbx = 1;
    rig_begin(r, n_threads);
}

// ---- Clocks of two threads.

typedef struct clocks {
    uint8_t class[2]; // 0: idle, 1: USR, 2: OS
    uint8_t n_uops[2];
    bool walks;
    uint64_t tag[2];
} clocks;

static void draw_clock(clocks *c) {
    for (uint32_t t = 0; t < 2; t++) {
        c->class[t] = (uint8_t)draw(&seed, 3);
        c->n_uops[t] = (uint8_t)(c->class[t] ? draw(&seed, 4) : 0);
    }
    c->walks = draw(&seed, 2);
}

static void tell(rig *r, const clocks *c) {
    static const uint8_t owners[2][3] = {{0, TL_ESCR_T0_USR, TL_ESCR_T0_OS}, {0, TL_ESCR_T1_USR, TL_ESCR_T1_OS}};
    tl_netburst_occurrence list[3];
    tl_netburst_clock clock = {.n_clocks = 1, .occurrences = list};
    for (uint32_t t = 0; t < 2; t++) {
        clock.active |= owners[t][c->class[t]];
        if (c->n_uops[t] > 0)
            list[clock.n_occurrences++] = (tl_netburst_occurrence){TL_NB_UOPS_RETIRED, owners[t][c->class[t]], c->n_uops[t], 1};
    }
    if (c->walks)
        list[clock.n_occurrences++] = (tl_netburst_occurrence){TL_NB_PAGE_WALK_TYPE, 0, 1, 1};
    tl_netburst_count(r->n, &clock);
}

static void switch_to(rig *r, clocks *c, uint32_t thread, uint64_t tag) {
    c->tag[thread] = tag;
    if (draw(&seed, 2))
        tl_netburst_set_context(r->n, thread, tag);
    else
        wrmsr_by(r, thread, TL_MSR_NBX_CONTEXT, tag);
}

static void select_events(rig *r, uint32_t flags) {
    wrmsr_by(r, 0, MSR_CRU_ESCR0, ESCR_UOPS | flags);
    wrmsr_by(r, 0, MSR_PMH_ESCR0, ESCR_WALKS | flags);
    wrmsr_by(r, 0, TL_MSR_CCCR + UOPS, CCCR);
    wrmsr_by(r, 0, TL_MSR_CCCR + ALL, CCCR);
    wrmsr_by(r, 0, TL_MSR_CCCR + CLOCKS, CCCR | EACH_CLOCK);
    wrmsr_by(r, 0, TL_MSR_CCCR + WALKS, CCCR);
}

// ---- Filters.

static void test_filters_count_what_the_rule_says(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 300; round++) {
        rig r;
        clocks c = {.walks = false};
        open_rig(&r, 2);
        seed = round;
        const uint32_t flags = (uint32_t)draw(&seed, 16);
        const uint64_t value = draw(&seed, 16), mask = draw(&seed, 8), other = draw(&seed, 16);
        const bool usr = flags & (TL_ESCR_T0_USR | TL_ESCR_T1_USR), os = flags & (TL_ESCR_T0_OS | TL_ESCR_T1_OS);
        uint64_t uops = 0, all = 0, n_clocks = 0, walks = 0;
        select_events(&r, flags);
        for (uint32_t k = 0; k < 3; k++) {
            static const uint32_t filtered[] = {UOPS, CLOCKS, WALKS};
            wrmsr_by(&r, 0, TL_MSR_NBX_FILTER + filtered[k], value);
            wrmsr_by(&r, 0, TL_MSR_NBX_FILTER_MASK + filtered[k], mask);
        }
        wrmsr_by(&r, 0, TL_MSR_NBX_FILTER + ALL, other);
        wrmsr_by(&r, 0, TL_MSR_NBX_FILTER_MASK + ALL, 3);
        for (uint32_t i = 0; i < 200; i++) {
            bool runs_usr = false, runs_os = false;
            if (draw(&seed, 4) == 0)
                switch_to(&r, &c, (uint32_t)draw(&seed, 2), draw(&seed, 16));
            draw_clock(&c);
            tell(&r, &c);
            for (uint32_t t = 0; t < 2; t++) {
                const bool passes = ((c.tag[t] ^ value) & mask) == 0;
                const uint32_t flag =
                    t == 0 ? (c.class[t] == 1 ? TL_ESCR_T0_USR : TL_ESCR_T0_OS) : (c.class[t] == 1 ? TL_ESCR_T1_USR : TL_ESCR_T1_OS);
                runs_usr |= passes && c.class[t] == 1;
                runs_os |= passes && c.class[t] == 2;
                all += ((c.tag[t] ^ other) & 3) == 0 && (flags & flag) ? c.n_uops[t] : 0;
                uops += passes && (flags & flag) ? c.n_uops[t] : 0;
            }
            n_clocks += mask == 0 || runs_usr || runs_os;
            walks += c.walks && ((usr && runs_usr) || (os && runs_os) || (mask == 0 && usr && os));
        }
        assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + UOPS), uops);
        assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + ALL), all);
        assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + CLOCKS), n_clocks);
        assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + WALKS), walks);
        rig_done(&r);
    }
}

static void test_each_thread_has_a_tag_of_its_own(void **state) {
    rig r;
    uint64_t value;
    (void)state;
    open_rig(&r, 2);
    wrmsr_by(&r, 0, TL_MSR_NBX_CONTEXT, 5);
    wrmsr_by(&r, 1, TL_MSR_NBX_CONTEXT, UINT64_MAX);
    assert_int_equal(rdmsr(&r, TL_MSR_NBX_CONTEXT), 5);
    assert_int_equal(tl_netburst_rdmsr(r.n, 1, TL_MSR_NBX_CONTEXT, &value), TL_OK);
    assert_true(value == UINT64_MAX);
    rig_done(&r);
}

// ---- Banks.

static uint64_t bank_value(rig *r, uint32_t bank, uint32_t counter, uint64_t *ret_tag) {
    wrmsr_by(r, 0, TL_MSR_NBX_BANK, bank);
    *ret_tag = rdmsr(r, TL_MSR_NBX_BANK_TAG);
    return rdmsr(r, TL_MSR_NBX_BANK_COUNTER + counter);
}

// Counter UOPS has a bank for each tag of thread 0, counter ALL of thread 1, and CLOCKS none.
static void test_banks_sum_up_to_the_count_of_the_machine(void **state) {
    enum { MAX_TAGS = 48 };
    (void)state;
    for (uint32_t round = 0; round < 100; round++) {
        rig r;
        clocks c = {.walks = false};
        const uint32_t n_tags = 1 + round % MAX_TAGS;
        uint64_t by_tag[2][MAX_TAGS] = {{0}}, uops = 0, sums[2] = {0, 0}, tag;
        bool is_seen[MAX_TAGS] = {true};
        uint32_t n_seen = 1;
        open_rig(&r, 2);
        seed = round;
        select_events(&r, ALL_THREADS);
        wrmsr_by(&r, 0, TL_MSR_CCCR + CLOCKS, CCCR);
        wrmsr_by(&r, 0, TL_MSR_NBX_BANKED, 1 << UOPS | 1 << ALL | (uint64_t)1 << (ALL + 32));
        for (uint32_t i = 0; i < 600; i++) {
            if (draw(&seed, 3) == 0) {
                const uint64_t next = draw(&seed, n_tags);
                switch_to(&r, &c, (uint32_t)draw(&seed, 2), next);
                n_seen += !is_seen[next];
                is_seen[next] = true;
            }
            draw_clock(&c);
            tell(&r, &c);
            for (uint32_t t = 0; t < 2; t++) {
                by_tag[t][c.tag[t]] += c.n_uops[0] + c.n_uops[1];
                uops += t == 0 ? c.n_uops[0] + c.n_uops[1] : 0u;
            }
        }
        const uint64_t status = rdmsr(&r, TL_MSR_NBX_BANK_STATUS);
        const bool is_full = n_seen > TL_NBX_BANKS;
        assert_int_equal(status, (is_full ? TL_NBX_BANKS : n_seen) | (is_full ? TL_NBX_FULL : 0));
        for (uint32_t bank = 0; bank < (status & 0xff); bank++) {
            const uint64_t first = bank_value(&r, bank, UOPS, &tag), second = bank_value(&r, bank, ALL, &tag);
            assert_true(is_full && bank == TL_NBX_BANKS - 1 ? tag == UINT64_MAX : tag < n_tags);
            if (tag < n_tags) {
                assert_int_equal(first, by_tag[0][tag]);
                assert_int_equal(second, by_tag[1][tag]);
            }
            sums[0] += first;
            sums[1] += second;
        }
        assert_int_equal(bank_value(&r, (uint32_t)(status & 0xff), UOPS, &tag), 0);
        assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + CLOCKS), uops);
        assert_int_equal(sums[0], uops);
        assert_int_equal(sums[1], uops);
        wrmsr_by(&r, 0, TL_MSR_NBX_BANK_STATUS, 0);
        assert_int_equal(rdmsr(&r, TL_MSR_NBX_BANK_STATUS), c.tag[0] == c.tag[1] ? 1 : 2);
        rig_done(&r);
    }
}

static void one_uop(rig *r) {
    const clocks c = {.class = {1, 0}, .n_uops = {1, 0}};
    tell(r, &c);
}

static void test_a_bank_has_its_preset_and_the_interrupt_that_it_owes(void **state) {
    rig r;
    uint64_t tag;
    (void)state;
    open_rig(&r, 2);
    select_events(&r, ALL_THREADS);
    wrmsr_by(&r, 0, TL_MSR_CCCR + UOPS, CCCR | TL_CCCR_OVF_PMI_T0);
    tl_netburst_set_lvt(r.n, 0, 0);
    wrmsr_by(&r, 0, TL_MSR_NBX_PRESET + UOPS, 7);
    wrmsr_by(&r, 0, TL_MSR_COUNTER + UOPS, MINUS - 1);
    wrmsr_by(&r, 0, TL_MSR_NBX_BANKED, 1 << UOPS);
    one_uop(&r); // wraps: the next count of this context interrupts
    wrmsr_by(&r, 0, TL_MSR_NBX_CONTEXT, 1);
    assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + UOPS), 7);
    one_uop(&r);
    assert_int_equal(r.n_interrupts[0], 0);
    assert_int_equal(bank_value(&r, 0, UOPS, &tag), 0);
    wrmsr_by(&r, 0, TL_MSR_NBX_BANK_COUNTER + UOPS, 20); // of a context that does not run
    assert_int_equal(bank_value(&r, 1, UOPS, &tag), 8);
    wrmsr_by(&r, 0, TL_MSR_NBX_BANK_COUNTER + UOPS, 30); // of the one that does
    assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + UOPS), 30);
    wrmsr_by(&r, 0, TL_MSR_NBX_CONTEXT, 0);
    assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + UOPS), 20);
    one_uop(&r);
    assert_int_equal(r.n_interrupts[0], 1);
    // A counter that leaves the banks keeps its value, and its bank has it.
    wrmsr_by(&r, 0, TL_MSR_NBX_BANKED, 0);
    wrmsr_by(&r, 0, TL_MSR_NBX_CONTEXT, 1);
    assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + UOPS), 21);
    assert_int_equal(bank_value(&r, 0, UOPS, &tag), 21);
    assert_int_equal(bank_value(&r, 1, UOPS, &tag), 30);
    rig_done(&r);
}

// docs/netburst.md, 10.7: OVF of a counter that does not sample stays in the CCCR.
static void test_a_flag_of_overflow_stays_when_the_context_goes(void **state) {
    rig r;
    (void)state;
    open_rig(&r, 2);
    select_events(&r, ALL_THREADS);
    wrmsr_by(&r, 0, TL_MSR_COUNTER + UOPS, MINUS - 1);
    wrmsr_by(&r, 0, TL_MSR_NBX_BANKED, 1 << UOPS);
    one_uop(&r);
    one_uop(&r);
    for (uint64_t tag = 1; tag < 4; tag++) {
        assert_int_equal(rdmsr(&r, TL_MSR_CCCR + UOPS) & TL_CCCR_OVF, TL_CCCR_OVF);
        wrmsr_by(&r, 0, TL_MSR_NBX_CONTEXT, tag);
    }
    rig_done(&r);
}

// ---- Samples.

static void put(rig *r, uint32_t offset, uint64_t value, uint32_t n_bytes) { memcpy(&r->memory[offset], &value, n_bytes); }
static uint64_t get(const rig *r, uint64_t vaddr, uint32_t n_bytes) {
    uint64_t value = 0;
    memcpy(&value, &r->memory[vaddr - AREA], n_bytes);
    return value;
}

// The 32-bit format; the reset value of the area is none that a test wants.
static void put_area(rig *r, uint32_t maximum) {
    const uint32_t pointers[] = {BASE, BASE, maximum, AREA + MEMORY};
    for (uint32_t i = 0; i < 4; i++)
        put(r, 0x10 + 4 * i, pointers[i], 4);
    put(r, 0x20, 12345, 8);
    wrmsr_by(r, 0, TL_MSR_DS_AREA, AREA);
    tl_netburst_set_lvt(r->n, 0, 0); // an interrupt would be seen
    wrmsr_by(r, 0, TL_MSR_PEBS_ENABLE, TL_PEBS_MY_THREAD);
}

// A branch that retires in thread 0, user mode. Returns whether an assist came before it.
static bool retire_branch(rig *r, uint16_t outcome, const uint64_t *values) {
    const tl_netburst_occurrence uops[] = {{TL_NB_UOPS_RETIRED, TL_ESCR_T0_USR, 1, 1},
                                           {TL_NB_INSTR_RETIRED, TL_ESCR_T0_USR, 1, 1},
                                           {TL_NB_BRANCH_RETIRED, TL_ESCR_T0_USR, 1, outcome}};
    bool is_captured = false;
    while (!tl_netburst_retires(r->n, 0, uops, 3, TL_ESCR_T0_USR)) {
        const tl_nbx_access access = {
            .clock = 1000, .n_retired = 77, .vaddr = 0x111, .paddr = 0x222, .latency = 9, .level = 2, .tags = 5, .flags = TL_NBX_HAS_DATA};
        assert_false(is_captured); // it retires behind the assist
        tl_netburst_note_access(r->n, 0, &access);
        tl_netburst_assist(r->n, 0, values);
        is_captured = true;
    }
    return is_captured;
}

static const uint64_t values[TL_NETBURST_RECORD_VALUES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

// Counter 12 samples mispredicted branches, one in four.
static void test_a_counter_of_any_retirement_event_samples_precisely(void **state) {
    enum { RECORD = 40 + TL_NBX_RECORD_BYTES, N = 4 };
    rig r;
    uint32_t n_samples = 0, n_mispredicted = 0;
    (void)state;
    open_rig(&r, 2);
    put_area(&r, BASE + 10 * RECORD);
    wrmsr_by(&r, 0, TL_MSR_NBX_CONTROL, TL_NBX_EXTENDED);
    wrmsr_by(&r, 0, TL_MSR_NBX_CONTEXT, 0xabcdef);
    wrmsr_by(&r, 0, MSR_CRU_ESCR2, (ESCR_BRANCHES & ~(5 << TL_ESCR_MASK_LSB)) | TL_ESCR_T0_USR);
    wrmsr_by(&r, 0, TL_MSR_NBX_PRESET + 12, MINUS - N);
    wrmsr_by(&r, 0, TL_MSR_COUNTER + 12, MINUS - N);
    wrmsr_by(&r, 0, TL_MSR_NBX_SAMPLE, 1 << 12);
    wrmsr_by(&r, 0, TL_MSR_CCCR + 12, TL_CCCR_ENABLE | 5 << TL_CCCR_SELECT_LSB | 3 << TL_CCCR_THREAD_LSB | TL_CCCR_OVF_PMI_T0);
    for (uint32_t i = 0; i < 400; i++) {
        seed = i;
        const uint16_t outcome = (uint16_t)(1 << draw(&seed, 4));
        const bool is_mispredicted = outcome & 10;
        const bool is_captured = retire_branch(&r, outcome, values);
        // Event N + 1 is captured, and counts when it begins again: the period is N.
        assert_int_equal(is_captured, is_mispredicted && n_mispredicted > 0 && n_mispredicted % N == 0);
        n_mispredicted += is_mispredicted;
        n_samples += is_captured;
    }
    const tl_netburst_samples_stored stored = tl_netburst_samples_of(r.n, 0);
    assert_int_equal(stored.n_stored, 10);
    assert_int_equal(stored.n_stored + stored.n_lost, n_samples);
    assert_int_equal(stored.n_faults, 0);
    assert_int_equal(get(&r, AREA + 0x14, 4), BASE + 10 * RECORD);
    for (uint32_t i = 0; i < 10; i++) {
        const uint64_t at = BASE + i * RECORD;
        for (uint32_t k = 0; k < 10; k++)
            assert_int_equal(get(&r, at + 4 * k, 4), values[k]);
        const uint64_t wanted[8] = {
            1000,  77,    0xabcdef, 0 | 12 << 8 | 2 << 16 | (uint64_t)(TL_NBX_HAS_DATA | TL_NBX_IS_PRECISE) << 24 | UINT64_C(5) << 32,
            0x111, 0x222, 9,        N};
        for (uint32_t k = 0; k < 8; k++)
            assert_int_equal(get(&r, at + 40 + 8 * k, 8), wanted[k]);
    }
    assert_int_equal(r.n_interrupts[0], 0);
    rig_done(&r);
}

// Counter 0 samples page walks: the next instruction that retires has the record.
static void test_a_counter_of_any_event_samples_the_next_instruction(void **state) {
    rig r;
    const clocks walk = {.class = {1, 0}, .walks = true};
    (void)state;
    open_rig(&r, 2);
    put_area(&r, AREA + MEMORY);
    wrmsr_by(&r, 0, MSR_PMH_ESCR0, ESCR_WALKS | ALL_THREADS);
    wrmsr_by(&r, 0, TL_MSR_NBX_PRESET + WALKS, MINUS - 3);
    wrmsr_by(&r, 0, TL_MSR_COUNTER + WALKS, MINUS - 3);
    wrmsr_by(&r, 0, TL_MSR_NBX_SAMPLE, 1 << WALKS);
    wrmsr_by(&r, 0, TL_MSR_CCCR + WALKS, CCCR | TL_CCCR_OVF_PMI_T0);
    for (uint32_t i = 1; i <= 30; i++) {
        tell(&r, &walk);
        assert_int_equal(retire_branch(&r, 1, values), i % 3 == 0);
        assert_false(retire_branch(&r, 1, values));
    }
    assert_int_equal(tl_netburst_samples_of(r.n, 0).n_stored, 10);
    assert_int_equal(get(&r, AREA + 0x14, 4), BASE + 10 * 40); // records are not extended
    assert_int_equal(r.n_interrupts[0], 0);
    // Each clock overflows; the program goes on.
    wrmsr_by(&r, 0, TL_MSR_NBX_PRESET + WALKS, MINUS - 1);
    for (uint32_t i = 0; i < 10; i++) {
        tell(&r, &walk);
        (void)retire_branch(&r, 1, values);
    }
    assert_true(tl_netburst_samples_of(r.n, 0).n_stored > 15);
    rig_done(&r);
}

// An area that is not there stops no period of NBX_SAMPLE.
static void test_a_preset_survives_an_area_that_is_not_there(void **state) {
    rig r;
    (void)state;
    open_rig(&r, 2);
    put_area(&r, AREA + MEMORY);
    wrmsr_by(&r, 0, TL_MSR_DS_AREA, 0x900000);
    wrmsr_by(&r, 0, MSR_CRU_ESCR0, 2 << TL_ESCR_EVENT_LSB | 1 << TL_ESCR_MASK_LSB | ALL_THREADS);
    wrmsr_by(&r, 0, TL_MSR_NBX_PRESET + UOPS, MINUS - 5);
    wrmsr_by(&r, 0, TL_MSR_NBX_SAMPLE, 1 << UOPS);
    wrmsr_by(&r, 0, TL_MSR_CCCR + UOPS, CCCR | TL_CCCR_OVF_PMI_T0);
    wrmsr_by(&r, 0, TL_MSR_COUNTER + UOPS, MINUS - 5);
    for (uint32_t i = 0; i < 51; i++)
        (void)retire_branch(&r, 1, values);
    assert_int_equal(tl_netburst_samples_of(r.n, 0).n_faults, 10);
    rig_done(&r);
}

// An instruction that executes alone counts, and is never captured.
static void test_what_executes_alone_counts(void **state) {
    const tl_netburst_occurrence one = {TL_NB_INSTR_RETIRED, TL_ESCR_T0_USR, 1, 1};
    rig r;
    (void)state;
    open_rig(&r, 2);
    put_area(&r, AREA + MEMORY);
    wrmsr_by(&r, 0, MSR_CRU_ESCR0, 2 << TL_ESCR_EVENT_LSB | 1 << TL_ESCR_MASK_LSB | ALL_THREADS);
    wrmsr_by(&r, 0, TL_MSR_NBX_SAMPLE, 1 << UOPS);
    wrmsr_by(&r, 0, TL_MSR_CCCR + UOPS, CCCR | TL_CCCR_OVF_PMI_T0);
    wrmsr_by(&r, 0, TL_MSR_COUNTER + UOPS, MINUS - 5);
    for (uint32_t i = 0; i < 9; i++)
        tl_netburst_has_retired(r.n, 0, &one, 1, TL_ESCR_T0_USR);
    assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + UOPS), 0); // armed: nothing counts until the sample
    assert_true(retire_branch(&r, 1, values));
    rig_done(&r);
}

// An armed counter is its context's own.
static void test_a_sample_belongs_to_the_context_that_armed_it(void **state) {
    rig r;
    (void)state;
    open_rig(&r, 2);
    put_area(&r, AREA + MEMORY);
    wrmsr_by(&r, 0, TL_MSR_NBX_CONTROL, TL_NBX_EXTENDED);
    wrmsr_by(&r, 0, MSR_CRU_ESCR0, 2 << TL_ESCR_EVENT_LSB | 1 << TL_ESCR_MASK_LSB | ALL_THREADS);
    wrmsr_by(&r, 0, TL_MSR_NBX_PRESET + UOPS, MINUS - 3);
    wrmsr_by(&r, 0, TL_MSR_NBX_SAMPLE, 1 << UOPS);
    wrmsr_by(&r, 0, TL_MSR_CCCR + UOPS, CCCR | TL_CCCR_OVF_PMI_T0);
    wrmsr_by(&r, 0, TL_MSR_COUNTER + UOPS, MINUS - 3);
    wrmsr_by(&r, 0, TL_MSR_NBX_BANKED, 1 << UOPS);
    for (uint32_t i = 0; i < 3; i++)
        assert_false(retire_branch(&r, 1, values));
    tl_netburst_set_context(r.n, 0, 1);
    for (uint32_t i = 0; i < 3; i++)
        assert_false(retire_branch(&r, 1, values));
    assert_true(retire_branch(&r, 1, values));
    tl_netburst_set_context(r.n, 0, 0);
    assert_true(retire_branch(&r, 1, values));
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(get(&r, BASE + i * (40 + TL_NBX_RECORD_BYTES) + 40 + 56, 8), 3);
    rig_done(&r);
}

static void begin_banked_samples(rig *r, uint64_t period, uint64_t preset) {
    open_rig(r, 2);
    put_area(r, AREA + MEMORY);
    wrmsr_by(r, 0, TL_MSR_NBX_CONTROL, TL_NBX_EXTENDED);
    wrmsr_by(r, 0, MSR_CRU_ESCR0, 2 << TL_ESCR_EVENT_LSB | 1 << TL_ESCR_MASK_LSB | ALL_THREADS);
    wrmsr_by(r, 0, TL_MSR_NBX_PRESET + UOPS, MINUS - preset);
    wrmsr_by(r, 0, TL_MSR_NBX_SAMPLE, 1 << UOPS);
    wrmsr_by(r, 0, TL_MSR_CCCR + UOPS, CCCR | TL_CCCR_OVF_PMI_T0);
    wrmsr_by(r, 0, TL_MSR_COUNTER + UOPS, MINUS - period);
    wrmsr_by(r, 0, TL_MSR_NBX_BANKED, 1 << UOPS);
}

static void retire_uncaptured(rig *r, uint32_t n) {
    while (n-- > 0)
        assert_false(retire_branch(r, 1, values));
}

// The period that a record says is its context's own, also if software wrote the bank.
static void test_a_record_has_the_period_of_its_bank(void **state) {
    static const uint64_t periods[] = {3, 5, 2, 4};
    rig r;
    (void)state;
    begin_banked_samples(&r, 3, 5);
    retire_uncaptured(&r, 3);
    tl_netburst_set_context(r.n, 0, 1);
    retire_uncaptured(&r, 5);
    tl_netburst_set_context(r.n, 0, 0);
    assert_true(retire_branch(&r, 1, values));
    tl_netburst_set_context(r.n, 0, 1);
    assert_true(retire_branch(&r, 1, values));
    wrmsr_by(&r, 0, TL_MSR_NBX_BANK, 1);
    wrmsr_by(&r, 0, TL_MSR_NBX_BANK_COUNTER + UOPS, MINUS - 2); // of the context that runs
    wrmsr_by(&r, 0, TL_MSR_NBX_BANK, 0);
    wrmsr_by(&r, 0, TL_MSR_NBX_BANK_COUNTER + UOPS, MINUS - 4);
    retire_uncaptured(&r, 2);
    assert_true(retire_branch(&r, 1, values));
    tl_netburst_set_context(r.n, 0, 0);
    retire_uncaptured(&r, 4);
    assert_true(retire_branch(&r, 1, values));
    for (uint32_t i = 0; i < TL_COUNT_OF(periods); i++)
        assert_int_equal(get(&r, BASE + i * (40 + TL_NBX_RECORD_BYTES) + 40 + 56, 8), periods[i]);
    rig_done(&r);
}

static void test_emptied_banks_leave_the_counter_as_it_is(void **state) {
    rig r;
    uint64_t tag;
    (void)state;
    begin_banked_samples(&r, 100, 50);
    tl_netburst_set_context(r.n, 0, 7);
    retire_uncaptured(&r, 2);
    wrmsr_by(&r, 0, TL_MSR_NBX_BANK_STATUS, 0);
    assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + UOPS), MINUS - 48);
    assert_int_equal(rdmsr(&r, TL_MSR_NBX_BANK_STATUS), 1);
    assert_int_equal(bank_value(&r, 0, UOPS, &tag), MINUS - 48);
    assert_int_equal(tag, 7);
    rig_done(&r);
}

// A counter of clocks is armed again before the instruction behind the assist retires.
static void test_the_instruction_behind_an_assist_retires(void **state) {
    const tl_netburst_occurrence one = {TL_NB_INSTR_RETIRED, TL_ESCR_T0_USR, 1, 1};
    const clocks clock = {.class = {1, 0}};
    rig r;
    (void)state;
    open_rig(&r, 2);
    put_area(&r, AREA + MEMORY);
    wrmsr_by(&r, 0, MSR_CRU_ESCR0, ESCR_UOPS | ALL_THREADS);
    wrmsr_by(&r, 0, TL_MSR_NBX_PRESET + CLOCKS, MINUS - 1);
    wrmsr_by(&r, 0, TL_MSR_COUNTER + CLOCKS, MINUS - 1);
    wrmsr_by(&r, 0, TL_MSR_NBX_SAMPLE, 1 << CLOCKS);
    wrmsr_by(&r, 0, TL_MSR_CCCR + CLOCKS, CCCR | EACH_CLOCK | TL_CCCR_OVF_PMI_T0);
    for (uint32_t i = 0; i < 4; i++) {
        tell(&r, &clock);
        assert_false(tl_netburst_retires(r.n, 0, &one, 1, TL_ESCR_T0_USR));
        tl_netburst_assist(r.n, 0, values);
        tell(&r, &clock);
        if (i % 2 == 0)
            assert_true(tl_netburst_retires(r.n, 0, &one, 1, TL_ESCR_T0_USR));
        else
            tl_netburst_has_retired(r.n, 0, &one, 1, TL_ESCR_T0_USR);
    }
    assert_int_equal(tl_netburst_samples_of(r.n, 0).n_stored, 4);
    rig_done(&r);
}

// Each event of retirement is captured at an instruction that has it, and at no other.
static void test_each_event_of_retirement_is_precise(void **state) {
    static const struct {
        uint8_t event, code;
        uint32_t escr, select;
    } rows[] = {{TL_NB_FRONT_END_EVENT, 8, MSR_CRU_ESCR2, 5},       {TL_NB_EXECUTION_EVENT, 12, MSR_CRU_ESCR2, 5},
                {TL_NB_REPLAY_EVENT, 9, MSR_CRU_ESCR2, 5},          {TL_NB_INSTR_RETIRED, 2, MSR_CRU_ESCR0, 4},
                {TL_NB_UOPS_RETIRED, 1, MSR_CRU_ESCR0, 4},          {TL_NB_BRANCH_RETIRED, 6, MSR_CRU_ESCR2, 5},
                {TL_NB_MISPRED_BRANCH_RETIRED, 3, MSR_CRU_ESCR0, 4}};
    (void)state;
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        const tl_netburst_occurrence with = {rows[i].event, TL_ESCR_T0_USR, 1, 1}, without = {TL_NB_NO_EVENT, TL_ESCR_T0_USR, 1, 1};
        rig r;
        open_rig(&r, 2);
        put_area(&r, AREA + MEMORY);
        wrmsr_by(&r, 0, rows[i].escr, (uint64_t)rows[i].code << TL_ESCR_EVENT_LSB | 1 << TL_ESCR_MASK_LSB | TL_ESCR_T0_USR);
        wrmsr_by(&r, 0, TL_MSR_NBX_PRESET + 12, MINUS - 1);
        wrmsr_by(&r, 0, TL_MSR_COUNTER + 12, MINUS - 1);
        wrmsr_by(&r, 0, TL_MSR_NBX_SAMPLE, 1 << 12);
        wrmsr_by(&r, 0, TL_MSR_CCCR + 12,
                 (CCCR & ~(UINT64_C(7) << TL_CCCR_SELECT_LSB)) | rows[i].select << TL_CCCR_SELECT_LSB | TL_CCCR_OVF_PMI_T0);
        assert_true(tl_netburst_retires(r.n, 0, &with, 1, TL_ESCR_T0_USR));
        assert_true(tl_netburst_retires(r.n, 0, &without, 1, TL_ESCR_T0_USR));
        assert_false(tl_netburst_retires(r.n, 0, &with, 1, TL_ESCR_T0_USR));
        rig_done(&r);
    }
}

// ---- Periods.

static uint32_t step32(uint32_t lfsr) { // docs/netburst.md, 10.8, bit by bit
    for (uint32_t i = 0; i < 32; i++) {
        const uint32_t out = lfsr & 1;
        lfsr >>= 1;
        lfsr ^= out << 31 | out << 21 | out << 1 | out;
    }
    return lfsr;
}

static void test_periods_vary_as_the_register_says(void **state) {
    static const uint32_t seeds[] = {0, 1, 0xdeadbeef};
    (void)state;
    for (size_t k = 0; k < TL_COUNT_OF(seeds); k++) {
        enum { MASK = 0x3f };
        rig r;
        uint32_t lfsr = seeds[k] ? seeds[k] : 1;
        open_rig(&r, 2);
        put_area(&r, AREA + MEMORY);
        wrmsr_by(&r, 0, MSR_CRU_ESCR0, 2 << TL_ESCR_EVENT_LSB | 1 << TL_ESCR_MASK_LSB | ALL_THREADS);
        wrmsr_by(&r, 0, TL_MSR_NBX_RANDOM, MASK | (uint64_t)seeds[k] << TL_NBX_SEED_LSB);
        wrmsr_by(&r, 0, TL_MSR_NBX_PRESET + UOPS, MINUS - 1000);
        wrmsr_by(&r, 0, TL_MSR_NBX_SAMPLE, 1 << UOPS);
        wrmsr_by(&r, 0, TL_MSR_CCCR + UOPS, CCCR | TL_CCCR_OVF_PMI_T0);
        wrmsr_by(&r, 0, TL_MSR_COUNTER + UOPS, MINUS - 1);
        (void)retire_branch(&r, 1, values);
        for (uint32_t i = 0; i < 20; i++) {
            assert_true(retire_branch(&r, 1, values)); // then it counts 1
            lfsr = step32(lfsr);
            const uint64_t first = ((MINUS - 1000) & ~(uint64_t)MASK) | (lfsr & MASK);
            assert_int_equal(rdmsr(&r, TL_MSR_COUNTER + UOPS), first + 1);
            wrmsr_by(&r, 0, TL_MSR_COUNTER + UOPS, MINUS - 1);
            assert_false(retire_branch(&r, 1, values));
        }
        rig_done(&r);
    }
}

// docs/netburst.md, 10.13. -1000 is ...11000 in binary, so three low bits give periods 993 to 1000.
static void test_the_example_of_the_manual_works(void **state) {
    static const struct {
        uint32_t msr;
        uint64_t value;
    } writes[] = {{0x4e420001, 3},      {0x4e420003, 0x100000007}, {0x4e42028c, 0xfffffffc18}, {0x30c, 0xfffffffc18}, {0x4e420005, 0x1000},
                  {0x4e420004, 0x1000}, {0x3f1, 0x02000000},       {0x3cc, 0x0c00140c},        {0x36c, 0x0403b000}};
    enum { RECORD = 40 + TL_NBX_RECORD_BYTES };
    rig r;
    uint64_t sum = 0;
    uint32_t n = 0;
    (void)state;
    open_rig(&r, 2);
    put_area(&r, AREA + MEMORY);
    for (size_t i = 0; i < TL_COUNT_OF(writes); i++)
        wrmsr_by(&r, 0, writes[i].msr, writes[i].value);
    for (uint32_t i = 0; n < 20; i++) {
        assert_false(retire_branch(&r, 1, values)); // a well predicted branch
        n += retire_branch(&r, i % 2 ? 2 : 8, values);
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t period = get(&r, BASE + i * RECORD + 40 + 56, 8);
        assert_in_range(period, i == 0 ? 1000 : 993, 1000);
        sum += period;
    }
    assert_in_range(sum, 993 * n + 1, 1000 * n - 1);
    assert_int_equal(rdmsr(&r, TL_MSR_NBX_BANK_STATUS), 1);
    rig_done(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters_count_what_the_rule_says),
        cmocka_unit_test(test_each_thread_has_a_tag_of_its_own),
        cmocka_unit_test(test_banks_sum_up_to_the_count_of_the_machine),
        cmocka_unit_test(test_a_bank_has_its_preset_and_the_interrupt_that_it_owes),
        cmocka_unit_test(test_a_flag_of_overflow_stays_when_the_context_goes),
        cmocka_unit_test(test_a_counter_of_any_retirement_event_samples_precisely),
        cmocka_unit_test(test_a_counter_of_any_event_samples_the_next_instruction),
        cmocka_unit_test(test_a_preset_survives_an_area_that_is_not_there),
        cmocka_unit_test(test_what_executes_alone_counts),
        cmocka_unit_test(test_a_sample_belongs_to_the_context_that_armed_it),
        cmocka_unit_test(test_a_record_has_the_period_of_its_bank),
        cmocka_unit_test(test_emptied_banks_leave_the_counter_as_it_is),
        cmocka_unit_test(test_the_instruction_behind_an_assist_retires),
        cmocka_unit_test(test_each_event_of_retirement_is_precise),
        cmocka_unit_test(test_periods_vary_as_the_register_says),
        cmocka_unit_test(test_the_example_of_the_manual_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
