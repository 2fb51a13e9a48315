// SPDX-License-Identifier: MIT
// The guest library guest/include/tally/hpc.h, executed on the host. Each of its CSR instructions
// goes to the model of the unit. Another program of the hart may run between any two. The test
// compiles the text that guests are compiled from.
#include "base/bits.h"
#include "base/testing.h"
#include "isa/rv/arch.h"
#include "pmu/dhpc/dhpc.h"

// ---- the hart ----

typedef struct hart {
    tl_arena arena;
    tl_dhpc *d;
    uint64_t now, seed;
    uint32_t mean_gap; // between two traps, in instructions; 0: none
    uint32_t n_traps, n_instructions, n_loads_of_status;
    uint32_t cost; // cycles of an instruction
    tl_priv priv;
    bool is_other; // the other program runs
} hart;
static hart h;

static void interrupt(void);

static uint64_t instruction(uint32_t csr, tl_reg_use op, bool is_immediate, bool reads_only, bool is_rd_x0, uint64_t operand) {
    uint64_t old = 0;
    const tl_dhpc_access access = {.csr = csr,
                                   .op = op,
                                   .is_immediate = is_immediate,
                                   .is_rs1_x0 = reads_only,
                                   .is_rd_x0 = is_rd_x0,
                                   .operand = operand,
                                   .priv = h.priv};
    if (!h.is_other)
        interrupt();
    assert_true(tl_dhpc_execute(h.d, 0, h.now, &access, &old));
    h.now += h.cost;
    h.n_instructions++;
    return old;
}

#define TALLY_HPC_CSRR(csr) instruction(csr, TL_REG_SET, false, true, false, 0)
#define TALLY_HPC_CSRW(csr, value) (void)instruction(csr, TL_REG_WRITE, false, false, true, value)
#define TALLY_HPC_CSRS(csr, value) (void)instruction(csr, TL_REG_SET, false, false, true, value)
#define TALLY_HPC_CSRC(csr, value) (void)instruction(csr, TL_REG_CLEAR, false, false, true, value)
#define TALLY_HPC_CSRCI(csr, bits) (void)instruction(csr, TL_REG_CLEAR, true, false, true, bits)
#define TALLY_HPC_TAKE_4(v0, v1, v2, v3) \
    v0 = TALLY_HPC_CSRR(TALLY_HPCR), v1 = TALLY_HPC_CSRR(TALLY_HPCR), v2 = TALLY_HPC_CSRR(TALLY_HPCR), v3 = TALLY_HPC_CSRR(TALLY_HPCR)
#define TALLY_HPC_TAKE_8(v0, v1, v2, v3, v4, v5, v6, v7) \
    TALLY_HPC_TAKE_4(v0, v1, v2, v3);                    \
    TALLY_HPC_TAKE_4(v4, v5, v6, v7)
#include "../../guest/include/tally/hpc.h"

static uint64_t random_number(void) {
    h.seed ^= h.seed << 13;
    h.seed ^= h.seed >> 7;
    h.seed ^= h.seed << 17;
    return h.seed * UINT64_C(0x2545f4914f6cdd1d) >> 20;
}

// ---- managers whose values say what they are ----

#define ID_A TALLY_HPC_ID(TALLY_HPC_CORE, 0, 0)
#define ID_B TALLY_HPC_ID(TALLY_HPC_LLC, 3, 0)
static const uint64_t built_b = 0xff0f;

static uint64_t stamped(void *ctx, uint32_t which, uint32_t of_hart, uint64_t cycle) {
    return (void)ctx, (void)of_hart, cycle << 16 | which;
}

static void open_hart_with(uint32_t beat, uint32_t fifo_depth, tl_priv priv) {
    tl_dhpc_manager managers[3] = {{.id = ID_A, .implemented = UINT64_MAX},
                                   {.id = ID_B, .hart = TL_DHPC_NO_HART, .implemented = built_b},
                                   {.id = TALLY_HPC_ID(TALLY_HPC_DIRECTORY, 0, 0), .hart = TL_DHPC_NO_HART, .implemented = 0x83}};
    const uint32_t instances[] = {1, 4, 0, 0, 0, 0, 0, 1};
    tl_dhpc_config config = tl_dhpc_defaults;
    tl_error err;
    config.beat = beat;
    config.fifo_depth = fifo_depth;
    for (uint32_t bit = 0; bit < TL_DHPC_COUNTERS; bit++) {
        managers[0].counters[bit] = (tl_dhpc_counter){TL_DHPC_FROM_HOST, bit};
        managers[1].counters[bit] = (tl_dhpc_counter){TL_DHPC_FROM_HOST, 0x100 + bit};
        managers[2].counters[bit] = (tl_dhpc_counter){TL_DHPC_CONSTANT, instances[bit & 7]};
    }
    h = (hart){.now = 1000, .seed = 99, .cost = 1, .priv = TL_PRIV_M};
    if (tl_dhpc_new(&config, 64, 1, managers, 3, stamped, NULL, &h.arena, &h.d, &err) != TL_OK)
        fail_msg("%s", err.text);
    tally_hpc_switch(1);
    h.priv = priv;
}

static void open_hart(uint32_t beat, tl_priv priv) { open_hart_with(beat, 64, priv); }

static void check(uint32_t id, uint64_t bitmap, const uint64_t *out, int n, uint64_t since) {
    uint64_t want = id == ID_B ? bitmap & built_b : bitmap;
    assert_int_equal(n, tally_hpc_count(want));
    for (int k = 0; k < n; k++, want &= want - 1) {
        assert_int_equal(out[k] & 0xffff, (id == ID_B ? 0x100 : 0) + (uint32_t)__builtin_ctzll(want));
        assert_true(out[k] >> 16 >= since && out[k] >> 16 < h.now);
    }
}

// A trap; the other program has its turn: whole reads, parts of them, aborted ones, or nothing.
static void interrupt(void) {
    if (h.mean_gap == 0 || random_number() % h.mean_gap != 0)
        return;
    tl_priv mode = h.priv;
    uint64_t out[64], got, dice = random_number();
    h.is_other = true;
    h.n_traps++;
    tl_dhpc_notice(h.d, 0, TL_DHPC_TRAP_ENTRY, h.now++);
    h.now += dice % 50;
    h.priv = dice >> 8 & 1 ? TL_PRIV_S : TL_PRIV_U;
    if (dice >> 9 & 3)
        switch (dice >> 12 & 3) {
        case 0: (void)tally_hpc_read(ID_B, dice >> 16 & 0xffff, out, 64, &got, 0); break;
        case 1: tally_hpc_start(ID_A, dice >> 16); break; // leaves it running
        case 2: TALLY_HPC_CSRCI(TALLY_HPCC, 1); break;
        default:
            for (uint64_t k = dice >> 20 & 15; k > 0; k--)
                (void)TALLY_HPC_CSRR(TALLY_HPCR);
        }
    h.now += dice >> 32 & 63;
    h.priv = mode;
    h.is_other = false;
    tl_dhpc_notice(h.d, 0, TL_DHPC_TRAP_RETURN, h.now++);
}

// ---- tests ----

static uint64_t some_bitmap(void) {
    uint64_t bitmap = random_number() << 24 ^ random_number();
    return random_number() % 4 ? bitmap & random_number() & 0xffff : bitmap;
}

static void test_t23_the_reference_reader_is_never_wrong(void **state) {
    (void)state;
    const tl_priv modes[] = {TL_PRIV_U, TL_PRIV_S};
    for (size_t m = 0; m < 2; m++) {
        uint64_t n_gave_up = 0;
        open_hart(1, modes[m]);
        h.mean_gap = 40;
        for (uint32_t run = 0; run < 100000; run++) {
            uint64_t out[64], got, bitmap = some_bitmap(), since = h.now;
            uint32_t id = random_number() % 2 ? ID_A : ID_B;
            int n = tally_hpc_read(id, bitmap, out, 64, &got, 20);
            if (n == TALLY_HPC_INTERRUPTED_TOO_OFTEN) {
                n_gave_up++;
                continue;
            }
            assert_int_equal(got, id == ID_B ? bitmap & built_b : bitmap);
            check(id, bitmap, out, n, since);
        }
        print_message("mode %d: 100000 reads, %u traps, none wrong, %llu given up after 20 retries\n", modes[m], h.n_traps,
                      (unsigned long long)n_gave_up);
        assert_true(h.n_traps > 10000 && n_gave_up < 50000);
        tl_arena_done(&h.arena);
    }
}

static void test_all_readers_return_the_same_counters(void **state) {
    (void)state;
    for (uint32_t beat = 1; beat <= 9; beat += 2)
        for (uint32_t cost = 1; cost <= 6; cost++) {
            open_hart(beat, TL_PRIV_U);
            h.cost = cost;
            for (uint32_t run = 0; run < 200; run++) {
                uint64_t out[64], bitmap = some_bitmap() | 1, since = h.now;
                uint32_t id = run % 2 ? ID_A : ID_B;
                uint64_t is_built = id == ID_B ? built_b : UINT64_MAX;
                check(id, bitmap, out, tally_hpc_empty_poll(id, bitmap, out), since);
                since = h.now;
                check(id, bitmap, out, tally_hpc_trigger_poll(id, bitmap, out), since);
                since = h.now;
                check(id, bitmap, out, tally_hpc_burst(id, bitmap, tally_hpc_count(bitmap & is_built), out), since);
            }
            tl_arena_done(&h.arena);
        }
}

static void test_nothing_and_nobody_end(void **state) {
    (void)state;
    uint64_t out[64], got = 1;
    open_hart(1, TL_PRIV_U);
    assert_int_equal(tally_hpc_read(ID_A, 0, out, 64, &got, 0), 0);
    assert_int_equal(got, 0);
    assert_int_equal(tally_hpc_read(TALLY_HPC_ID(6, 0, 0), 7, out, 64, &got, 0), 0);
    assert_int_equal(tally_hpc_read(ID_B, 0xf0, out, 64, &got, 0), 0);
    assert_int_equal(tally_hpc_read(ID_A, 7, out, 2, &got, 0), TALLY_HPC_NO_SPACE);
    assert_int_equal(tally_hpc_empty_poll(TALLY_HPC_ID(6, 0, 0), 7, out), 0);
    assert_int_equal(tally_hpc_trigger_poll(ID_B, 0xf0, out), 0);
    assert_int_equal(tally_hpc_burst(ID_B, 0xf0, 0, out), 0);
    assert_int_equal(tally_hpc_discover(ID_B), built_b);
    assert_int_equal(tally_hpc_discover(TALLY_HPC_ID(6, 0, 0)), 0);
    assert_int_equal(tally_hpc_instances(TALLY_HPC_LLC), 4);
    assert_int_equal(tally_hpc_instances(TALLY_HPC_MEM), 0);
    tl_arena_done(&h.arena);
}

static void test_discovery_ends_at_any_depth_of_the_fifo(void **state) {
    (void)state;
    static const uint32_t depths[] = {1, 3, 4, 16, 64};
    for (size_t i = 0; i < TL_COUNT_OF(depths); i++)
        for (uint32_t beat = 1; beat <= 9; beat += 4) {
            open_hart_with(beat, depths[i], TL_PRIV_U);
            uint64_t out[64], got;
            assert_int_equal(tally_hpc_discover(ID_A), UINT64_MAX);
            assert_int_equal(tally_hpc_discover(ID_B), built_b);
            assert_int_equal(tally_hpc_discover(TALLY_HPC_ID(6, 0, 0)), 0);
            assert_int_equal(tally_hpc_read(ID_A, 4, out, 64, &got, 0), 1);
            tl_arena_done(&h.arena);
        }
}

static void test_discovery_is_right_among_traps(void **state) {
    (void)state;
    const tl_priv modes[] = {TL_PRIV_U, TL_PRIV_S};
    for (size_t m = 0; m < 2; m++) {
        open_hart(1, modes[m]);
        h.mean_gap = 40;
        for (uint32_t run = 0; run < 500; run++) {
            assert_int_equal(tally_hpc_discover(ID_A), UINT64_MAX);
            assert_int_equal(tally_hpc_discover(ID_B), built_b);
        }
        assert_true(h.n_traps > 1000);
        tl_arena_done(&h.arena);
    }
}

static void test_a_switch_wipes_and_sets_useren_only(void **state) {
    (void)state;
    uint64_t out[64], got;
    open_hart(1, TL_PRIV_S);
    (void)tally_hpc_trigger_poll(ID_A, 7, out);
    tally_hpc_start(ID_A, UINT64_MAX);
    tally_hpc_switch(0);
    assert_int_equal(TALLY_HPC_CSRR(TALLY_HPCC) & ~(TL_DHPC_ID_MASK << TL_DHPC_ID_LSB), TALLY_HPC_EMPTY);
    assert_int_equal(TALLY_HPC_CSRR(TALLY_HPCR), 0);
    tally_hpc_switch(1);
    assert_int_equal(TALLY_HPC_CSRR(TALLY_HPCC) & 0x20000f, TALLY_HPC_USEREN | TALLY_HPC_EMPTY);
    // The call keeps useren, though in supervisor mode.
    assert_int_equal(tally_hpc_read(ID_A, 3, out, 64, &got, 0), 2);
    assert_int_equal(TALLY_HPC_CSRR(TALLY_HPCC) & TALLY_HPC_USEREN, TALLY_HPC_USEREN);
    tl_arena_done(&h.arena);
}

// The paper says that polling `empty` is the faster way. It depends on what a poll costs and how
// fast data come: both ways, and a third.
static uint64_t time_of(int which, uint32_t beat, uint32_t cost) {
    uint64_t out[64];
    open_hart(beat, TL_PRIV_U);
    h.cost = cost;
    uint64_t since = h.now;
    int n = which == 0   ? tally_hpc_empty_poll(ID_A, UINT64_MAX, out)
            : which == 1 ? tally_hpc_trigger_poll(ID_A, UINT64_MAX, out)
                         : tally_hpc_burst(ID_A, UINT64_MAX, 64, out);
    assert_int_equal(n, 64);
    uint64_t took = h.now - since;
    tl_arena_done(&h.arena);
    return took;
}

static void test_which_way_is_faster_depends_on_the_fabric(void **state) {
    (void)state;
    print_message("64 counters, 2 cycles an instruction:\n");
    bool trigger_wins = false, empty_wins = false;
    for (uint32_t beat = 1; beat <= 16; beat *= 2) {
        uint64_t empty = time_of(0, beat, 2), trigger = time_of(1, beat, 2), burst = time_of(2, beat, 2);
        print_message("  beat %2u: empty-poll %4llu, trigger-poll %4llu, burst-read %4llu cycles\n", beat, (unsigned long long)empty,
                      (unsigned long long)trigger, (unsigned long long)burst);
        trigger_wins |= trigger < empty;
        empty_wins |= empty < trigger;
        if (beat <= 2)
            assert_true(burst < empty && burst < trigger); // reads as fast as they come
    }
    assert_true(trigger_wins && empty_wins);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_t23_the_reference_reader_is_never_wrong),
    cmocka_unit_test(test_all_readers_return_the_same_counters),
    cmocka_unit_test(test_nothing_and_nobody_end),
    cmocka_unit_test(test_discovery_ends_at_any_depth_of_the_fifo),
    cmocka_unit_test(test_discovery_is_right_among_traps),
    cmocka_unit_test(test_a_switch_wipes_and_sets_useren_only),
    cmocka_unit_test(test_which_way_is_faster_depends_on_the_fabric),
};
TL_TEST_MAIN(tests)
