// SPDX-License-Identifier: MIT
// Small loops on the detailed core whose clocks are worked out on paper from docs/detailed-core.md.
// A loop runs 100 iterations to warm caches and predictor, then 100 more are timed. A kernel's
// clocks are thus those of its slowest chain alone.
#include <stdio.h>

#include "core_kernel.h"

// `n` times the word; each takes `half_cycles`.
static void chain_takes(const char *machine, uint32_t n, uint32_t word, uint64_t half_cycles) {
    kernel k;
    open_kernel(&k, machine, NULL);
    k.rv->x[T0] = TL_RAM_BASE_PADDR + DATA;
    k.rv->x[T1] = 1;
    k.rv->f[0] = k.rv->f[1] = UINT64_C(0x3ff0000000000000);
    put64(&k, TL_RAM_BASE_PADDR + DATA, TL_RAM_BASE_PADDR + DATA);
    emit_n(&k, n, word);
    assert_int_equal(time_loop(&k), 100 * n * half_cycles / 2);
    close_kernel(&k);
}

static void test_dependent_additions_take_half_a_clock(void **state) {
    (void)state;
    chain_takes("netburst", 64, addi(T0, T0, 1), 1);
    chain_takes("ooo", 64, addi(T0, T0, 1), 2);
}

static void test_dependent_operations_take_their_latency(void **state) {
    (void)state;
    chain_takes("netburst", 32, slli(T0, T0, 1), 8);
    chain_takes("netburst", 32, mul(T0, T0, T1), 28);
    chain_takes("netburst", 16, divide(T0, T0, T1), 160);
    chain_takes("netburst", 32, fadd(0, 0, 1), 10);
    chain_takes("netburst", 32, fmul(0, 0, 1), 14);
    chain_takes("ooo", 32, mul(T0, T0, T1), 6);
    chain_takes("ooo", 32, fadd(0, 0, 1), 8);
}

static void test_a_divider_is_busy_to_the_end(void **state) {
    (void)state;
    chain_takes("netburst", 16, divide(T2, T0, T1), 160); // they do not depend on one another
}

// Two ports could take divisions, and each of the two dividers exists once.
static void test_a_second_port_is_no_second_divider(void **state) {
    (void)state;
    static const char *const two_ports[] = {"core.mul_ports=3", "core.fp_ports=3", NULL};
    const uint32_t words[] = {divide(T2, T0, T1), fdiv(2, 0, 1)}, cycles[] = {80, 38};
    for (uint32_t i = 0; i < 2; i++) {
        kernel k;
        open_kernel(&k, "netburst", two_ports);
        k.rv->x[T1] = 1;
        k.rv->f[0] = k.rv->f[1] = UINT64_C(0x3ff0000000000000);
        emit_n(&k, 16, words[i]);
        assert_int_equal(time_loop(&k), UINT64_C(100) * 16 * cycles[i]);
        close_kernel(&k);
    }
}

static void test_multiplications_are_pipelined(void **state) {
    (void)state;
    chain_takes("netburst", 64, mul(T2, T0, T1), 2); // one port, one a clock
}

static void test_dependent_loads_that_hit_take_two_clocks(void **state) {
    (void)state;
    chain_takes("netburst", 32, ld(T0, T0, 0), 4);
    chain_takes("ooo", 32, ld(T0, T0, 0), 8);
}

static void test_three_uops_a_clock(void **state) {
    (void)state;
    kernel k;
    open_kernel(&k, "netburst", NULL);
    for (uint32_t i = 0; i < 64; i++)
        emit(&k, addi(T2, 0, (int32_t)i));
    assert_int_equal(time_loop(&k), 100 * 66 / 3);
    close_kernel(&k);
}

// Cycles until so many instructions have retired, three uops a cycle in order. Every third one of
// the loop is a store, whose two uops retire together.
static uint64_t pack(uint64_t n_insns, uint32_t n_loop) {
    uint64_t cycles = 1;
    uint32_t left = 3;
    for (uint64_t i = 0; i < n_insns; i++) {
        const uint64_t at = i % n_loop;
        const uint32_t n_uops = at % 3 == 0 && at < n_loop - 2 ? 2 : 1;
        if (n_uops > left) {
            cycles += 1;
            left = 3;
        }
        left -= n_uops;
    }
    return cycles;
}

static void test_retirement_counts_uops(void **state) {
    (void)state;
    static const char *const wide[] = {"core.trace=0", "l1i.size=32KiB", "core.fetch=8", "core.rename=8", "core.issue=8", NULL};
    kernel k;
    open_kernel(&k, "netburst", wide);
    k.rv->x[A1] = TL_RAM_BASE_PADDR + DATA;
    for (uint32_t i = 0; i < 32; i++) {
        emit(&k, store(T2, A1, 3));
        emit_n(&k, 2, addi(T1, 0, 1));
    }
    const uint64_t cycles = time_loop(&k);
    assert_int_equal(cycles, pack(UINT64_C(200) * k.n, k.n) - pack(UINT64_C(100) * k.n, k.n));
    close_kernel(&k);
}

// The second half of a cycle is that of fast ports.
static void test_ports_that_are_not_fast_take_one_uop_a_clock(void **state) {
    (void)state;
    static const char *const slow[] = {"core.fast_ports=0", NULL};
    const uint32_t words[] = {addi(T2, 0, 1), addi(T0, T0, 1)};
    const uint64_t cycles[] = {66 / 2, 64}; // two ports; a chain, whose results come in mid-cycle
    for (uint32_t i = 0; i < 2; i++) {
        kernel k;
        open_kernel(&k, "netburst", slow);
        emit_n(&k, 64, words[i]);
        assert_int_equal(time_loop(&k), 100 * cycles[i]);
        close_kernel(&k);
    }
}

static void test_a_store_is_two_uops(void **state) {
    (void)state;
    kernel k;
    open_kernel(&k, "netburst", NULL);
    k.rv->x[A1] = TL_RAM_BASE_PADDR + DATA;
    for (uint32_t i = 0; i < 32; i++) { // three uops, so a clock of rename, one store a clock
        emit(&k, store(T2, A1, 3));
        emit(&k, addi(T1, 0, 1));
    }
    // Two iterations are 33 trace lines of two clocks: 31 of two pairs, and two of a pair and the
    // loop's end, whose five uops leave no room for a store.
    assert_int_equal(time_loop(&k), 100 * 33);
    close_kernel(&k);
    static const char *const without[] = {"core.trace=0", "l1i.size=32KiB", NULL};
    open_kernel(&k, "netburst", without);
    k.rv->x[A1] = TL_RAM_BASE_PADDR + DATA;
    for (uint32_t i = 0; i < 32; i++) {
        emit(&k, store(T2, A1, 3));
        emit(&k, addi(T1, 0, 1));
    }
    // The loop's end has a clock of its own, because a store's uops are not parted.
    assert_int_equal(time_loop(&k), 100 * 33);
    close_kernel(&k);
}

// 16 loads an iteration.
static uint64_t time_ring(kernel *k, uint64_t n_lines, uint64_t stride) {
    put_ring(k, n_lines, stride);
    emit_n(k, 16, ld(T0, T0, 0));
    return time_loop(k);
}

static void test_dependent_loads_from_the_second_level_take_nine_clocks(void **state) {
    (void)state;
    kernel k;
    open_kernel(&k, "netburst", NULL);
    assert_int_equal(time_ring(&k, 512, 64), 100 * 16 * 9); // 32 KiB: four times the L1D
    close_kernel(&k);
    open_kernel(&k, "ooo", NULL);
    assert_int_equal(time_ring(&k, 1600, 64), 100 * 16 * (4 + 12)); // 100 KiB, each line once
    close_kernel(&k);
}

// A trace line of the wrong path does not occupy fetch any more. Lines of seven cycles, looked up
// 0, 7 and 14 cycles behind the branch, would cost one.
static void test_a_wrong_prediction_costs_the_front_end_and_two(void **state) {
    (void)state;
    static const char *const never_taken[] = {"bp.kind=not_taken", NULL}, *const long_lines[] = {"bp.kind=not_taken", "core.trace_cycles=7",
                                                                                                 NULL};
    const char *const *const overrides[] = {never_taken, long_lines};
    for (uint32_t row = 0; row < TL_COUNT_OF(overrides); row++) {
        kernel k;
        open_kernel(&k, "netburst", overrides[row]);
        for (uint32_t i = 0; i < 10; i++) {
            emit(&k, beq(0, 0, 8));
            emit(&k, addi(T2, 0, 1));
        }
        k.n_skipped = 10;
        // Its operand comes half a clock late, and branches begin with the clock.
        const uint64_t last = 18 + 3;
        assert_int_equal(time_loop(&k), 100 * (10 * (18 + 2) + last));
        close_kernel(&k);
    }
}

// The second load is dispatched in the cycle of the first one, whose line is on its way then.
static void test_a_load_waits_for_a_line_on_its_way(void **state) {
    (void)state;
    enum { N_LINES = 1600 };
    const uint64_t base = TL_RAM_BASE_PADDR + DATA;
    kernel k;
    open_kernel(&k, "ooo", NULL);
    for (uint64_t i = 0; i < N_LINES; i++)
        put64(&k, base + i * 64, base + (i + 1) % N_LINES * 64);
    k.rv->x[T0] = base;
    for (uint32_t i = 0; i < 16; i++) {
        emit(&k, ld(T2, T0, 8));
        emit(&k, ld(T0, T0, 0));
    }
    assert_int_equal(time_loop(&k), 100 * 16 * (4 + 12));
    close_kernel(&k);
}

// The wrong path writes the register of the chain, and the chain hides the wrong path.
static void test_a_wrong_path_leaves_dependences_alone(void **state) {
    (void)state;
    static const char *const never_taken[] = {"bp.kind=not_taken", NULL};
    kernel k;
    open_kernel(&k, "netburst", never_taken);
    k.rv->x[T1] = 1;
    for (uint32_t i = 0; i < 8; i++) {
        emit_n(&k, 4, mul(T0, T0, T1));
        emit(&k, beq(0, 0, 8));
        emit(&k, addi(T0, 0, 1));
    }
    k.n_skipped = 8;
    assert_int_equal(time_loop(&k), 100 * 8 * 4 * 14);
    close_kernel(&k);
}

// The division is told first, the additions later. Nothing is dispatched before both. The
// multiplication is older than the next division, whose port it takes for a clock.
static void test_a_uop_waits_for_its_latest_operand(void **state) {
    (void)state;
    kernel k;
    open_kernel(&k, "ooo", NULL);
    k.rv->x[A1] = 7;
    emit(&k, divide(T1, A1, A1));
    emit(&k, addi(T2, T2, 1));
    emit(&k, addi(T2, T2, 1));
    emit(&k, mul(T0, T1, T2));
    assert_int_equal(time_loop(&k), 100 * (26 + 1));
    assert_int_equal(read_signal(&k, "hart0.core.in_vain"), 0);
    close_kernel(&k);
}

static void test_stores_forward_to_loads(void **state) {
    (void)state;
    kernel k;
    open_kernel(&k, "ooo", NULL);
    k.rv->x[A1] = TL_RAM_BASE_PADDR + DATA;
    for (uint32_t i = 0; i < 16; i++) {
        emit(&k, store(T0, A1, 3));
        emit(&k, ld(T0, A1, 0));
    }
    assert_int_equal(time_loop(&k), 100 * 16 * (1 + 5));
    close_kernel(&k);
}

// The data is zero and early. The address comes of a multiplication: 3, an address uop of 1, 5 of
// forwarding, and an addition.
static void test_a_load_waits_for_the_address_of_its_store(void **state) {
    (void)state;
    kernel k;
    open_kernel(&k, "ooo", NULL);
    k.rv->x[A1] = k.rv->x[T1] = TL_RAM_BASE_PADDR + DATA;
    k.rv->x[T2] = 1;
    for (uint32_t i = 0; i < 16; i++) {
        emit(&k, mul(T1, T1, T2));
        emit(&k, store(0, T1, 3));
        emit(&k, ld(T0, A1, 0));
        emit(&k, add(T1, T1, T0));
    }
    assert_int_equal(time_loop(&k), 100 * 16 * (3 + 1 + 5 + 1));
    close_kernel(&k);
}

// A wider load is no load that the store has all of. It waits for the drain: six clocks as below.
static void test_a_store_that_has_a_part_does_not_forward(void **state) {
    (void)state;
    static const char *const slow_forward[] = {"core.forward=9", NULL};
    static const struct {
        uint32_t size_log2;
        int32_t offset;
        uint64_t cycles, n_forwards;
    } rows[] = {{3, 0, 1 + 9, 1600}, {2, 0, 1 + 1 + 4, 0}, {0, 0, 1 + 1 + 4, 0}, {3, 4, 1 + 1 + 4, 0}, {3, -7, 1 + 1 + 4, 0}};
    for (uint32_t row = 0; row < TL_COUNT_OF(rows); row++) {
        kernel k;
        open_kernel(&k, "ooo", slow_forward);
        k.rv->x[A1] = TL_RAM_BASE_PADDR + DATA + 16;
        for (uint32_t i = 0; i < 16; i++) {
            emit(&k, store(T0, A1, rows[row].size_log2));
            emit(&k, ld(T0, A1, rows[row].offset));
        }
        (void)warm_loop(&k);
        const uint64_t start = k.h->now, before = read_signal(&k, "hart0.core.load_forward");
        assert_int_equal(run_iterations(&k, 100) - start, 1600 * rows[row].cycles);
        assert_int_equal(read_signal(&k, "hart0.core.load_forward") - before, rows[row].n_forwards);
        close_kernel(&k);
    }
}

// *ret_aliases: loads of 100 iterations that an alias held up.
static uint64_t time_far_pairs(const char *const *overrides, uint64_t *ret_aliases) {
    kernel k;
    open_kernel(&k, "ooo", overrides);
    k.rv->x[A1] = TL_RAM_BASE_PADDR + DATA;
    k.rv->x[T1] = TL_RAM_BASE_PADDR + DATA + (64 << 10);
    for (uint32_t i = 0; i < 16; i++) {
        emit(&k, store(T0, A1, 3));
        emit(&k, ld(T0, T1, 0));
    }
    (void)warm_loop(&k);
    const uint64_t start = k.h->now, before = read_signal(&k, "hart0.core.load_alias"), cycles = run_iterations(&k, 100) - start;
    *ret_aliases = read_signal(&k, "hart0.core.load_alias") - before;
    close_kernel(&k);
    return cycles;
}

// The store's data is there a cycle after dispatch, when the store retires. It drains in the next
// cycle, in which the load is dispatched.
static void test_a_load_waits_for_a_store_that_it_aliases(void **state) {
    (void)state;
    static const char *const aliases[] = {"core.alias_bits=16", NULL}, *const just_not[] = {"core.alias_bits=17", NULL};
    uint64_t n_aliases;
    assert_int_equal(time_far_pairs(aliases, &n_aliases), 100 * 16 * (1 + 1 + 4));
    assert_int_equal(n_aliases, 100 * 16);
    const uint64_t free_cycles = time_far_pairs(NULL, &n_aliases);
    assert_int_equal(n_aliases, 0);
    assert_true(free_cycles < 100 * 16 * 2);
    assert_int_equal(time_far_pairs(just_not, &n_aliases), free_cycles);
    assert_int_equal(n_aliases, 0);
}

// The pointer to itself lies on both sides of the end of a line.
static uint64_t time_splits(const char *const *overrides, uint64_t offset) {
    kernel k;
    open_kernel(&k, "ooo", overrides);
    k.rv->x[T0] = TL_RAM_BASE_PADDR + DATA + offset;
    put64(&k, k.rv->x[T0], k.rv->x[T0]);
    emit_n(&k, 16, ld(T0, T0, 0));
    const uint64_t cycles = time_loop(&k);
    close_kernel(&k);
    return cycles;
}

static void test_a_load_that_crosses_a_line_takes_longer(void **state) {
    (void)state;
    static const char *const seven[] = {"core.split=7", NULL};
    assert_int_equal(time_splits(seven, 60), 100 * 16 * (4 + 7));
    assert_int_equal(time_splits(seven, 53), 100 * 16 * 4); // misaligned, in one line
}

static uint64_t lines_in_parallel(uint32_t n_uops) {
    kernel k;
    open_kernel(&k, "netburst", NULL);
    k.rv->x[A1] = TL_RAM_BASE_PADDR + DATA;
    emit(&k, ld(T0, A1, 0));
    emit(&k, addi(A1, A1, 2047));
    emit(&k, addi(A1, A1, 2047));
    emit(&k, addi(A1, A1, 2));
    emit_n(&k, n_uops - 6, addi(T2, 0, 1));
    const uint64_t cycles = time_loop(&k);
    close_kernel(&k);
    return cycles / 100;
}

// Misses that are n uops apart overlap if the second one fits into the reorder buffer behind the
// first.
static void test_the_reorder_buffer_limits_misses_in_flight(void **state) {
    (void)state;
    const uint64_t near = lines_in_parallel(120), far = lines_in_parallel(130);
    if (far < 200 + 9 || near > far / 2 + 45 || near < far / 2)
        fail_msg("misses 120 uops apart take %" PRIu64 " clocks, 130 apart %" PRIu64, near, far);
}

// Stores to lines that nobody has fill the store buffers. The window behind them runs empty. The
// causes of these cycles are the stores, not fetch.
static void test_a_full_store_buffer_is_no_fault_of_fetch(void **state) {
    (void)state;
    static const char *const machines[] = {"netburst", "ooo"};
    for (size_t i = 0; i < 2; i++) {
        kernel k;
        open_kernel(&k, machines[i], NULL);
        k.rv->x[A1] = TL_RAM_BASE_PADDR + DATA;
        emit(&k, store(T0, A1, 3));
        emit(&k, addi(A1, A1, 2047));
        emit(&k, addi(A1, A1, 2047));
        emit(&k, addi(A1, A1, 2));
        (void)time_loop(&k);
        tl_machine_sync(k.machine);
        uint64_t before[TL_S_HART_CYC_STORE_MISS + 1], cycles = k.h->now;
        memcpy(before, k.h->tally, sizeof before);
        cycles = run_iterations(&k, 100) - cycles;
        tl_machine_sync(k.machine);
        const uint64_t n_store = k.h->tally[TL_S_HART_CYC_STORE_MISS] - before[TL_S_HART_CYC_STORE_MISS];
        const uint64_t n_fetch = k.h->tally[TL_S_HART_CYC_FETCH] - before[TL_S_HART_CYC_FETCH];
        if (cycles < 1000 || n_store < cycles * 8 / 10 || n_fetch > cycles / 16)
            fail_msg("%s: of %" PRIu64 " clocks stores have %" PRIu64 ", fetch has %" PRIu64, machines[i], cycles, n_store, n_fetch);
        close_kernel(&k);
    }
}

// A division that takes long is the oldest, and so nothing retires behind it. Uops, loads or stores
// follow until there is no room. A thread with company has half of it.
typedef struct structure {
    const char *key;
    uint32_t word;      // behind the division, over and over
    const char *signal; // that counts what was renamed
    uint64_t size;      // of the structure, in what the signal counts
    bool is_left;       // by the division, once it was dispatched
} structure;

static void fill_structure(const structure *s, uint32_t n_threads) {
    // Cold code is there before the division ends.
    static const char *const slow_division[] = {"pipeline.div=1000", "core.trace=0",       "l1i.size=32KiB", "mem.row_hit=1",
                                                "mem.row_miss=1",    "mem.row_conflict=1", "mem.busy=1",     NULL};
    kernel k;
    open_kernel(&k, "netburst", slow_division);
    emit(&k, divide(T2, T0, T1));
    emit_n(&k, 300, s->word);
    memcpy(k.machine->ram, k.words, k.n * sizeof k.words[0]);
    uint64_t n_insns = UINT64_MAX;
    for (uint32_t i = 0; i < n_threads; i++) {
        tl_hart *h = k.machine->harts[i];
        h->pc = TL_RAM_BASE_PADDR;
        h->insn_limit = UINT64_MAX;
        h->horizon = 900;
        tl_rv(h)->x[A1] = TL_RAM_BASE_PADDR + DATA;
    }
    tl_hart *h;
    const uint32_t running = (1u << n_threads) - 1;
    assert_int_equal(k.h->engine->run_group(k.machine->harts, 2, running, running, &n_insns, &h), TL_STOP_HORIZON);
    for (uint32_t i = 0; i < n_threads; i++) { // they have one divider
        char path[64], division[64];
        snprintf(path, sizeof path, "hart%u.core.%s", i, s->signal);
        snprintf(division, sizeof division, "hart%u.core.dispatch_div", i);
        const uint64_t n = read_signal(&k, path), wanted = s->size / n_threads + (s->is_left ? read_signal(&k, division) : 0);
        assert_int_equal(k.machine->harts[i]->instret, 0);
        if (n != wanted)
            fail_msg("%s, %u threads: %" PRIu64 ", wanted %" PRIu64, s->key, n_threads, n, wanted);
    }
    close_kernel(&k);
}

static void test_each_structure_holds_its_size(void **state) {
    (void)state;
    const structure rows[] = {
        {"core.rob", addi(T0, 0, 1), "rename_uop", 126, false},          {"core.loads", ld(T0, A1, 0), "rename_load", 48, false},
        {"core.stores", store(T0, A1, 3), "rename_store", 24, false},    {"core.memory_queue", ld(T0, T2, 0), "rename_load", 24, false},
        {"core.general_queue", addi(T0, T2, 1), "rename_uop", 48, true},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++)
        for (uint32_t n_threads = 1; n_threads <= 2; n_threads++)
            fill_structure(&rows[i], n_threads);
}

// The target of the call is another one each time, so each call is mispredicted. It leaves its
// return address on the stack all the same.
static void test_a_mispredicted_call_is_a_call(void **state) {
    (void)state;
    enum { RA = 1 };
    kernel k;
    open_kernel(&k, "netburst", NULL);
    k.rv->x[T2] = TL_RAM_BASE_PADDR + 4;
    k.rv->x[T1] = 2 * TL_RAM_BASE_PADDR + 4 + 8;
    emit(&k, jal(0, 12));
    emit(&k, jalr(0, RA));
    emit(&k, jalr(0, RA));
    emit(&k, sub(T2, T1, T2));
    emit(&k, jalr(RA, T2));
    k.n_skipped = 1;
    (void)warm_loop(&k);
    const uint64_t n_calls = read_signal(&k, "hart0.bp.indirect_miss"), n_returns = read_signal(&k, "hart0.bp.return_miss");
    (void)run_iterations(&k, 100);
    assert_int_equal(read_signal(&k, "hart0.bp.indirect_miss") - n_calls, 100);
    assert_int_equal(read_signal(&k, "hart0.bp.return_miss") - n_returns, 0);
    close_kernel(&k);
}

// Behind each branch stands one of its wrong path, which executes in the same cycle. The older one
// takes it back. The end of the loop is the eleventh.
static void test_the_oldest_of_two_wrong_predictions_redirects(void **state) {
    (void)state;
    static const char *const never_taken[] = {"bp.kind=not_taken", "core.branch_ports=3", NULL};
    kernel k;
    open_kernel(&k, "netburst", never_taken);
    for (uint32_t i = 0; i < 10; i++)
        emit_n(&k, 2, beq(0, 0, 8));
    k.n_skipped = 10;
    (void)warm_loop(&k);
    const uint64_t n_resolved = read_signal(&k, "hart0.core.resolve");
    (void)run_iterations(&k, 100);
    assert_int_equal(read_signal(&k, "hart0.core.resolve") - n_resolved, 100 * 11);
    close_kernel(&k);
}

// A load that crosses a page is taken back when it is the oldest, with the return behind it, and
// executes alone. The return takes its address from the stack a second time.
static void test_the_return_stack_is_restored_when_an_instruction_is_redone(void **state) {
    (void)state;
    enum { RA = 1 };
    kernel k;
    open_kernel(&k, "netburst", NULL);
    k.rv->x[A1] = TL_RAM_BASE_PADDR + DATA + 4096 - 4;
    emit(&k, jal(0, 12));
    emit(&k, ld(T2, A1, 0));
    emit(&k, jalr(0, RA));
    emit(&k, jal(RA, -8));
    (void)warm_loop(&k);
    const uint64_t n_misses = read_signal(&k, "hart0.bp.return_miss"), n_redone = read_signal(&k, "hart0.core.redo");
    (void)run_iterations(&k, 100);
    assert_int_equal(read_signal(&k, "hart0.core.redo") - n_redone, 100);
    assert_int_equal(read_signal(&k, "hart0.bp.return_miss") - n_misses, 0);
    close_kernel(&k);
}

// The consumer is renamed when its producer is under way, and waits for it. Without loads nothing
// goes round.
static void test_a_late_consumer_waits_for_its_producer(void **state) {
    (void)state;
    kernel k;
    open_kernel(&k, "netburst", NULL);
    k.rv->x[T1] = 1;
    for (uint32_t i = 0; i < 4; i++) {
        emit(&k, divide(T0, T0, T1));
        emit_n(&k, 30, addi(T2, 0, 1));
        emit(&k, mul(T0, T0, T1));
    }
    assert_int_equal(time_loop(&k), 100 * 4 * (80 + 14));
    assert_int_equal(read_signal(&k, "hart0.core.replay"), 0);
    assert_int_equal(read_signal(&k, "hart0.core.in_vain"), 0);
    close_kernel(&k);
}

static void test_impossible_structures_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *set, *sentence, *machine; // NULL: ooo
    } rows[] = {
        {"core.rob=2", "core.rob = 2: must be at least core.rename = 4 and core.retire = 4", NULL},
        {"core.replay=12", "core.replay = 12: core.replay_miss is 0, and either both are 0 or none is", NULL},
        {"core.replay_miss=7", "core.replay = 0: core.replay_miss is 7, and either both are 0 or none is", NULL},
        {"core.fast_ports=16", "core.fast_ports = 16: must be part of core.alu_ports = 15", NULL},
        {"core.load_ports=0", "core.load_ports = 0: must be between 1 and 255", NULL},
        {"core.stores=129", "core.stores = 129: must be between 1 and 128", NULL},
        {"core.threads=3", "core.threads = 3: must be between 1 and 2", NULL},
        {"core.alias_bits=11", "core.alias_bits = 11: must be 0, or 12 and more, because a page has 12", NULL},
        {"harts=9", "harts = 9: must be between 1 and 8", NULL},
        {"core.rob=5", "core.rob = 5: must be at least 6, because core.threads = 2 and each has a half", "netburst"},
        {"core.stores=1", "core.stores = 1: must be at least 2, because core.threads = 2 and each has a half", "netburst"},
        {"core.trace=100", "core.trace = 100: must be 0, or core.trace_ways * core.trace_line = 48 times a power of two", NULL},
        {"l2.sectors=3", "l2.sectors = 3: must be a power of two, such as 2 or 4", NULL},
        {"l2.adjacent=1", "l2.adjacent = 1: needs l2.sectors of 2 or more, because a tag of one line has no other", NULL},
        {"l2.prefetch=next_line", "l2.streams = 16: needs l2.prefetch: none, because one prefetcher follows the misses", NULL},
        {"l1d.write_buffers=4", "l1d.write_buffers = 4: needs l1d.write: through, because other stores stay in the l1d", NULL},
        {"l1d.write=through", "l1d.write = through: needs core.kind: out_of_order, as machines netburst and ooo have", "rocket"},
        {"dtlb.shared=1", "dtlb.shared = 1: needs core.kind: out_of_order, as machines netburst and ooo have", "rocket"},
        {"dtlb.shared=1", "dtlb.shared = 1: needs core.threads: 2, since a core of one thread shares with none; set dtlb.shared: 0", NULL},
        {"core.threads=1", "dtlb.shared = 1: needs core.threads: 2, since a core of one thread shares with none; set dtlb.shared: 0",
         "netburst"},
        {"l2.sectors=2", "l2.sectors = 2: needs core.kind: out_of_order, as machines netburst and ooo have", "rocket"},
        {"l2.streams=1", "l2.streams = 1: needs core.kind: out_of_order, as machines netburst and ooo have", "rocket"},
        {"mem.queue=4", "mem.queue = 4: needs core.kind: out_of_order, as machines netburst and ooo have", "rocket"},
        {"mem.queue=65", "mem.queue = 65: must be between 0 and 64", NULL},
        {"l2.size=24KiB", "l2.size = 24KiB: must be 8 ways of 64-byte lines, 2 to a tag times a power of two, such as 16KiB or 32KiB",
         "netburst"},
        {"core.general_queue=1", "core.general_queue = 1: must be at least 2, because core.threads = 2 and each has a half", "netburst"},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_config config;
        tl_error err = {0};
        assert_int_equal(tl_description_open(rows[i].machine ? rows[i].machine : "ooo", &config, NULL), TL_OK);
        tl_status status = tl_config_set(&config, rows[i].set, &err);
        if (status == TL_OK)
            status = tl_config_check(&config, &err);
        assert_int_equal(status, TL_EINVAL);
        assert_string_equal(err.text, rows[i].sentence);
    }
}

static void test_only_its_own_engine_runs_a_detailed_core(void **state) {
    (void)state;
    tl_config config;
    tl_machine *machine = NULL;
    tl_error err = {0};
    assert_int_equal(tl_description_open("ooo", &config, NULL), TL_OK);
    assert_int_equal(tl_machine_new(&config, &tl_engine_step, &machine, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "machine ooo has a detailed core, which engine step does not run"));
    assert_int_equal(tl_description_open("rocket", &config, NULL), TL_OK);
    assert_int_equal(tl_machine_new(&config, &tl_engine_ooo, &machine, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "machine rocket has an in-order core, which engine ooo does not run"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_full_store_buffer_is_no_fault_of_fetch),
    cmocka_unit_test(test_each_structure_holds_its_size),
    cmocka_unit_test(test_a_late_consumer_waits_for_its_producer),
    cmocka_unit_test(test_a_mispredicted_call_is_a_call),
    cmocka_unit_test(test_the_oldest_of_two_wrong_predictions_redirects),
    cmocka_unit_test(test_the_return_stack_is_restored_when_an_instruction_is_redone),
    cmocka_unit_test(test_impossible_structures_are_refused),
    cmocka_unit_test(test_only_its_own_engine_runs_a_detailed_core),
    cmocka_unit_test(test_dependent_additions_take_half_a_clock),
    cmocka_unit_test(test_dependent_operations_take_their_latency),
    cmocka_unit_test(test_a_divider_is_busy_to_the_end),
    cmocka_unit_test(test_a_second_port_is_no_second_divider),
    cmocka_unit_test(test_multiplications_are_pipelined),
    cmocka_unit_test(test_dependent_loads_that_hit_take_two_clocks),
    cmocka_unit_test(test_three_uops_a_clock),
    cmocka_unit_test(test_ports_that_are_not_fast_take_one_uop_a_clock),
    cmocka_unit_test(test_retirement_counts_uops),
    cmocka_unit_test(test_a_store_is_two_uops),
    cmocka_unit_test(test_dependent_loads_from_the_second_level_take_nine_clocks),
    cmocka_unit_test(test_a_wrong_prediction_costs_the_front_end_and_two),
    cmocka_unit_test(test_a_load_waits_for_a_line_on_its_way),
    cmocka_unit_test(test_a_wrong_path_leaves_dependences_alone),
    cmocka_unit_test(test_a_uop_waits_for_its_latest_operand),
    cmocka_unit_test(test_stores_forward_to_loads),
    cmocka_unit_test(test_a_load_waits_for_the_address_of_its_store),
    cmocka_unit_test(test_a_store_that_has_a_part_does_not_forward),
    cmocka_unit_test(test_a_load_waits_for_a_store_that_it_aliases),
    cmocka_unit_test(test_a_load_that_crosses_a_line_takes_longer),
    cmocka_unit_test(test_the_reorder_buffer_limits_misses_in_flight),
};
TL_TEST_MAIN(tests)
