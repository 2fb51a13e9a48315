// SPDX-License-Identifier: MIT
// Loops whose clocks and counts follow from the memory of a detailed core: stores written through,
// sectors, the queue of the bus, prefetch streams, the trace cache. docs/detailed-core.md has the
// rules.
#include "core_kernel.h"
#include "machine/oracle.h"

// Memory answers after 200 clocks, whatever row is open. Nothing is fetched ahead.
#define STEADY "mem.row_miss=200", "mem.row_conflict=200", "l2.streams=0", "l2.adjacent=0"

// Runs 100 warm iterations. Returns how far the signal goes.
static uint64_t counted(kernel *k, const char *path) {
    const uint64_t before = read_signal(k, path);
    (void)run_iterations(k, 100);
    return read_signal(k, path) - before;
}

// ---- Stores.

// Stores to `n_lines` lines, one after the other, in each iteration.
static void open_stores(kernel *k, uint32_t n_lines, const char *const *overrides) {
    enum { FIRST = 20 };
    open_kernel(k, "netburst", overrides);
    for (uint32_t i = 0; i < n_lines; i++) {
        k->rv->x[FIRST + i] = TL_RAM_BASE_PADDR + DATA + 64 * i;
        emit(k, store(T2, FIRST + i, 3));
    }
    (void)warm_loop(k);
}

static void test_a_store_that_misses_allocates_nothing(void **state) {
    (void)state;
    static const char *const back[] = {"l1d.write=back", "l1d.write_buffers=0", NULL};
    kernel k;
    open_stores(&k, 3, NULL);
    assert_int_equal(counted(&k, "hart0.l1d.store_miss"), 300);
    assert_int_equal(counted(&k, "bsq.store"), 300);
    assert_int_equal(read_signal(&k, "bsq.store_l1d"), 0);
    assert_int_equal(read_signal(&k, "hart0.l1d.writeback"), 0);
    close_kernel(&k);
    open_stores(&k, 3, back);
    assert_int_equal(counted(&k, "hart0.l1d.store_miss"), 0);
    assert_int_equal(read_signal(&k, "bsq.store"), 0);
    close_kernel(&k);
}

// It is looked up in the DTLB for each line, and misses each.
static void test_a_store_across_a_border_looks_up_two_lines(void **state) {
    (void)state;
    kernel k;
    open_kernel(&k, "netburst", NULL);
    k.rv->x[A1] = TL_RAM_BASE_PADDR + DATA + 60;
    emit(&k, store(T2, A1, 3));
    (void)warm_loop(&k);
    const uint64_t stores = read_signal(&k, "hart0.l1d.store"), misses = read_signal(&k, "hart0.l1d.store_miss");
    assert_int_equal(counted(&k, "hart0.dtlb.access"), 200);
    assert_int_equal(read_signal(&k, "hart0.l1d.store") - stores, 200);
    assert_int_equal(read_signal(&k, "hart0.l1d.store_miss") - misses, 200);
    close_kernel(&k);
}

static void test_a_store_keeps_a_line_that_is_here(void **state) {
    (void)state;
    kernel k;
    open_kernel(&k, "netburst", NULL);
    k.rv->x[A1] = TL_RAM_BASE_PADDR + DATA;
    emit(&k, ld(T0, A1, 0));
    emit(&k, store(T2, A1, 2));
    (void)warm_loop(&k);
    assert_int_equal(counted(&k, "bsq.store_l1d"), 100);
    assert_int_equal(counted(&k, "hart0.l1d.load_miss"), 0);
    assert_int_equal(counted(&k, "hart0.l1d.store_miss"), 0);
    close_kernel(&k);
}

// Six buffers hold six lines. A seventh takes the oldest buffer, whose line comes next.
static void test_write_buffers_combine_stores(void **state) {
    (void)state;
    static const char *const none[] = {"l1d.write_buffers=0", NULL};
    kernel k;
    open_stores(&k, 6, NULL);
    assert_int_equal(counted(&k, "bsq.store_combined"), 600);
    assert_int_equal(counted(&k, "l2.0.write"), 0);
    close_kernel(&k);
    open_stores(&k, 7, NULL);
    assert_int_equal(counted(&k, "bsq.store_combined"), 0);
    assert_int_equal(counted(&k, "l2.0.write"), 700);
    close_kernel(&k);
    open_stores(&k, 1, none);
    assert_int_equal(counted(&k, "l2.0.write"), 100);
    close_kernel(&k);
}

// Nine more lines of its set drive the stored line out of the L2, and a load brings it back clean.
// Its write buffer stands for data that memory has by now. Fences keep the order.
static void test_a_write_buffer_is_of_no_use_for_a_clean_line(void **state) {
    (void)state;
    enum { FENCE = 0x0330000f, FIRST = 20, WAYS = 8, SET_STRIDE = 2048 };
    static const char *const small[] = {STEADY, "l2.size=16KiB", NULL};
    kernel k;
    open_kernel(&k, "netburst", small);
    k.rv->x[A1] = TL_RAM_BASE_PADDR + DATA;
    emit(&k, store(T2, A1, 3));
    emit(&k, FENCE);
    for (uint32_t i = 0; i <= WAYS; i++) {
        k.rv->x[FIRST + i] = TL_RAM_BASE_PADDR + DATA + (i + 1) * SET_STRIDE;
        emit(&k, ld(T1, FIRST + i, 0));
    }
    emit(&k, FENCE);
    emit(&k, ld(T1, A1, 0));
    emit(&k, FENCE);
    (void)warm_loop(&k);
    const uint64_t n_combined = read_signal(&k, "bsq.store_combined");
    assert_int_equal(counted(&k, "bsq.store"), 100);
    assert_int_equal(read_signal(&k, "bsq.store_combined"), n_combined);
    close_kernel(&k);
}

// A line that is read by a second core leaves its write buffer useless: the next store takes the
// copy away.
static void test_a_store_takes_copies_of_other_cores_away(void **state) {
    (void)state;
    static const char *const cores[] = {"harts=4", NULL};
    kernel k;
    open_kernel(&k, "netburst", cores);
    k.rv->x[A1] = TL_RAM_BASE_PADDR + DATA;
    emit(&k, store(T2, A1, 3));
    (void)warm_loop(&k);
    tl_hart *other = k.machine->harts[2];
    assert_true(other->port->load(other, k.rv->x[A1], 8));
    assert_int_equal(counted(&k, "hart2.l1d.probe_invalidate"), 1);
    assert_int_equal(read_signal(&k, "hart2.l1d.load_miss"), 1);
    tl_machine_free(k.machine);
}

// ---- The second level.

static uint64_t time_ring(uint64_t n_lines, uint64_t stride, const char *const *overrides) {
    kernel k;
    open_kernel(&k, "netburst", overrides);
    put_ring(&k, n_lines, stride);
    emit_n(&k, 16, ld(T0, T0, 0));
    const uint64_t cycles = time_loop(&k);
    close_kernel(&k);
    return cycles;
}

// A load that goes to memory has its line after 7 + 200 clocks, is dispatched each 7th clock, and
// takes 2 more: 210 + 2.
enum { FROM_L2 = 9, FROM_MEMORY = 212 };

// Each third line: 160 tags of two sectors, of which 128 fit, or 160 tags of one, of which 256 fit.
static void test_a_tag_of_two_sectors_covers_both_or_one(void **state) {
    (void)state;
    static const char *const two[] = {STEADY, "l2.size=16KiB", NULL};
    static const char *const one[] = {STEADY, "l2.size=16KiB", "l2.sectors=1", NULL};
    assert_int_equal(time_ring(160, 192, two), 100 * 16 * FROM_MEMORY);
    assert_int_equal(time_ring(160, 192, one), 100 * 16 * FROM_L2);
    assert_int_equal(time_ring(256, 64, two), 100 * 16 * FROM_L2); // 128 tags
    assert_int_equal(time_ring(288, 64, two), 100 * 16 * FROM_MEMORY);
}

// Each third line is used. The other sector of its tag stays empty.
static void test_oracle_finds_either_sector_of_a_tag(void **state) {
    (void)state;
    static const char *const two[] = {STEADY, NULL};
    enum { N_LINES = 30, LINE = 64 };
    kernel k;
    open_kernel(&k, "netburst", two);
    put_ring(&k, N_LINES, 3 * LINE);
    emit_n(&k, 16, ld(T0, T0, 0));
    (void)warm_loop(&k);
    const uint64_t first = TL_RAM_BASE_PADDR + DATA;
    for (uint64_t i = 0; i < 3 * N_LINES; i++)
        assert_int_equal(tl_oracle_is_in_l2(k.machine, first + i * LINE + 8), i % 3 == 0);
    close_kernel(&k);
}

// Such a load is dispatched in vain 30 times, and so is the next one, which is told as if it hit.
static void test_a_load_from_memory_goes_round_with_its_dependents(void **state) {
    (void)state;
    static const char *const steady[] = {STEADY, NULL};
    kernel k;
    open_kernel(&k, "netburst", steady);
    put_ring(&k, 3400, 192);
    emit_n(&k, 16, ld(T0, T0, 0));
    (void)warm_loop(&k);
    const uint64_t in_vain = read_signal(&k, "hart0.core.in_vain_source");
    assert_int_equal(counted(&k, "hart0.core.in_vain_miss"), 1600 * 30);
    assert_true(read_signal(&k, "hart0.core.in_vain_source") - in_vain >= 1600 * 30);
    close_kernel(&k);
}

// 1600 lines in a row, each once.
static void test_a_sector_is_filled_beside_the_other(void **state) {
    (void)state;
    static const char *const steady[] = {STEADY, NULL};
    static const char *const adjacent[] = {"l2.streams=0", NULL};
    kernel k;
    for (uint32_t i = 0; i < 2; i++) {
        open_kernel(&k, "netburst", i == 0 ? steady : adjacent);
        put_ring(&k, 3400, 64);
        emit_n(&k, 16, ld(T0, T0, 0));
        (void)warm_loop(&k);
        const uint64_t line_miss = read_signal(&k, "bsq.line_miss"), sector_miss = read_signal(&k, "bsq.sector_miss");
        const uint64_t prefetch = read_signal(&k, "bsq.prefetch_adjacent");
        assert_int_equal(counted(&k, "l2.0.readmiss"), i == 0 ? 1600 : 800);
        assert_int_equal(read_signal(&k, "bsq.line_miss") - line_miss, 800);
        assert_int_equal(read_signal(&k, "bsq.sector_miss") - sector_miss, 800);
        assert_int_equal(read_signal(&k, "bsq.prefetch_adjacent") - prefetch, i == 0 ? 0 : 800);
        close_kernel(&k);
    }
}

// Each miss takes the only entry of the queue, so the other sector is not fetched. Later loads of
// the ring miss the L1D, find their lines in the L2, and fetch nothing beside them.
static void test_a_hit_fetches_no_other_sector(void **state) {
    (void)state;
    static const char *const one_entry[] = {"l2.streams=0", "mem.queue=1", NULL};
    kernel k;
    open_kernel(&k, "netburst", one_entry);
    put_ring(&k, 256, 128);
    emit_n(&k, 16, ld(T0, T0, 0));
    (void)warm_loop(&k);
    assert_int_equal(counted(&k, "l2.0.readmiss"), 0);
    assert_int_equal(read_signal(&k, "bsq.line_miss"), read_signal(&k, "bsq.prefetch_drop"));
    assert_true(read_signal(&k, "bsq.prefetch_drop") >= 256);
    assert_int_equal(read_signal(&k, "bsq.prefetch_adjacent"), 0);
    close_kernel(&k);
}

// A page has 64 lines. The first two miss, and the second one gives the direction.
static void test_a_stream_fetches_the_rest_of_a_page(void **state) {
    (void)state;
    static const char *const alone[] = {"l2.adjacent=0", "mem.queue=0", NULL};
    kernel k;
    open_kernel(&k, "netburst", alone);
    put_ring(&k, 3400, 64);
    emit_n(&k, 16, ld(T0, T0, 0));
    (void)warm_loop(&k);
    const uint64_t prefetch = read_signal(&k, "bsq.prefetch_stream"), start = read_signal(&k, "bsq.stream_start");
    assert_int_equal(counted(&k, "l2.0.readmiss"), 25 * 2);
    assert_int_equal(read_signal(&k, "bsq.prefetch_stream") - prefetch, 25 * 62);
    assert_int_equal(read_signal(&k, "bsq.stream_start") - start, 25);
    assert_int_equal(read_signal(&k, "bsq.prefetch_drop"), 0);
    close_kernel(&k);
}

// A ring against the direction of addresses, from the last line to the first.
static void test_a_stream_runs_downwards_and_stays_in_its_page(void **state) {
    (void)state;
    static const char *const alone[] = {"l2.adjacent=0", "mem.queue=0", NULL};
    enum { N_LINES = 3264 }; // 51 pages
    const uint64_t base = TL_RAM_BASE_PADDR + DATA;
    kernel k;
    open_kernel(&k, "netburst", alone);
    for (uint64_t i = 0; i < N_LINES; i++)
        put64(&k, base + i * 64, base + (i + N_LINES - 1) % N_LINES * 64);
    k.rv->x[T0] = base + (N_LINES - 1) * 64;
    emit_n(&k, 16, ld(T0, T0, 0));
    (void)warm_loop(&k);
    const uint64_t prefetch = read_signal(&k, "bsq.prefetch_stream");
    assert_int_equal(counted(&k, "l2.0.readmiss"), 25 * 2);
    assert_int_equal(read_signal(&k, "bsq.prefetch_stream") - prefetch, 25 * 62);
    close_kernel(&k);
}

// Groups of pages, each `group_bytes` behind the last one, whose lines are read in this order.
// Checks misses and streamed lines of 1500 loads.
static void read_groups(const char *const *overrides, const uint64_t *lines, uint64_t n_lines, uint64_t group_bytes, uint64_t misses,
                        uint64_t streamed) {
    const uint64_t base = TL_RAM_BASE_PADDR + DATA, n_groups = 3200 / n_lines;
    kernel k;
    open_kernel(&k, "netburst", overrides);
    for (uint64_t i = 0; i < n_groups * n_lines; i++) {
        const uint64_t here = base + i / n_lines * group_bytes + lines[i % n_lines] * 64;
        put64(&k, here, base + (i + 1) / n_lines * group_bytes + lines[(i + 1) % n_lines] * 64);
    }
    k.rv->x[T0] = base + lines[0] * 64;
    emit_n(&k, 15, ld(T0, T0, 0));
    (void)warm_loop(&k);
    const uint64_t prefetch = read_signal(&k, "bsq.prefetch_stream");
    assert_int_equal(counted(&k, "l2.0.readmiss"), misses);
    assert_int_equal(read_signal(&k, "bsq.prefetch_stream") - prefetch, streamed);
    close_kernel(&k);
}

enum { PAGE = 4096, LINES_OF_PAGE = 64 };

// The last three lines of each page: two misses give the direction, and one line is left.
static void test_a_stream_ends_with_its_page(void **state) {
    (void)state;
    static const char *const alone[] = {"l2.adjacent=0", "mem.queue=0", NULL};
    static const uint64_t lines[] = {61, 62, 63};
    read_groups(alone, lines, 3, PAGE, 500 * 2, 500);
}

// Four lines above 21, and four below 10.
static void test_a_stream_turns_at_a_miss_on_the_other_side(void **state) {
    (void)state;
    static const char *const alone[] = {"l2.adjacent=0", "mem.queue=0", NULL};
    static const uint64_t lines[] = {20, 21, 10};
    read_groups(alone, lines, 3, PAGE, 500 * 3, 500 * 8);
}

// Two streams and three pages. The third page takes the stream of the second one, so the first one
// goes on: four lines, and a fifth.
static void test_a_new_stream_replaces_the_oldest(void **state) {
    (void)state;
    static const char *const two[] = {"l2.adjacent=0", "mem.queue=0", "l2.streams=2", NULL};
    static const uint64_t lines[] = {0, LINES_OF_PAGE, 1, 2 * LINES_OF_PAGE, 2};
    read_groups(two, lines, 5, 3 * PAGE, 300 * 4, 300 * 5);
}

// Line n + 4 is asked for with line n, and arrives 200 clocks later. A load that finds its line
// asks 9 clocks after the load before. Lines 2 to 5 of a page come with line 1, whose load waits
// for memory. Line 6 is late, which gives lines 7 to 10 their time. Line 11 is late again.
static void test_a_prefetched_line_may_be_on_its_way(void **state) {
    (void)state;
    static const char *const alone[] = {"l2.adjacent=0", "mem.queue=0", "mem.busy=0", "mem.row_miss=200", "mem.row_conflict=200", NULL};
    kernel k;
    open_kernel(&k, "netburst", alone);
    put_ring(&k, 3400, 64);
    emit_n(&k, 16, ld(T0, T0, 0));
    (void)warm_loop(&k);
    const uint64_t merge = read_signal(&k, "bsq.merge");
    assert_int_equal(counted(&k, "bsq.prefetch_late"), 25 * 12);
    assert_int_equal(read_signal(&k, "bsq.merge") - merge, 25 * 12);
    close_kernel(&k);
}

// Independent loads of lines that nobody has, 16 an iteration.
static uint64_t time_far_lines(const char *const *overrides) {
    kernel k;
    open_kernel(&k, "netburst", overrides);
    k.rv->x[A1] = TL_RAM_BASE_PADDR + DATA;
    for (int32_t i = 0; i < 16; i++)
        emit(&k, ld(T2, A1, 64 * i));
    emit(&k, addi(A1, A1, 1024));
    const uint64_t cycles = time_loop(&k);
    close_kernel(&k);
    return cycles;
}

// Without replay, so that loads end when their lines come.
#define AT_ONCE STEADY, "core.replay=0", "core.replay_miss=0"

// One entry: a line each 200 clocks. Two entries: two lines. More: the channel moves a line in 60.
static void test_the_queue_limits_lines_on_their_way(void **state) {
    (void)state;
    static const char *const one[] = {AT_ONCE, "mem.queue=1", NULL}, *const two[] = {AT_ONCE, "mem.queue=2", NULL};
    static const char *const many[] = {AT_ONCE, NULL};
    assert_int_equal(time_far_lines(one), 100 * 16 * 200);
    assert_int_equal(time_far_lines(two), 100 * 16 * 100);
    assert_int_equal(time_far_lines(many), 100 * 16 * 60);
}

// The first line opens a row in 400 clocks. The second one, two clocks later because of the L2,
// finds it open and is ready after 200. Two buffers keep one pair of loads from the next.
static void test_lines_arrive_in_the_order_of_their_requests(void **state) {
    (void)state;
    static const char *const queue[] = {"l2.streams=0",         "l2.adjacent=0", "mem.busy=0", "mem.row_miss=400",
                                        "mem.row_conflict=400", "core.misses=2", NULL};
    kernel k;
    open_kernel(&k, "netburst", queue);
    k.rv->x[A1] = TL_RAM_BASE_PADDR + DATA;
    emit(&k, ld(T2, A1, 0));
    emit(&k, ld(T2, A1, 64));
    emit(&k, addi(A1, A1, 1024));
    emit(&k, addi(A1, A1, 1024));
    (void)warm_loop(&k);
    assert_int_equal(counted(&k, "bsq.order_wait"), 100 * (400 - 202));
    close_kernel(&k);
}

// With a channel that is never busy, two misses under way make two lines in 207 clocks.
static void test_misses_wait_for_a_buffer(void **state) {
    (void)state;
    static const char *const two[] = {STEADY, "mem.busy=0", "core.misses=2", NULL};
    static const char *const four[] = {STEADY, "mem.busy=0", "core.misses=4", NULL};
    const uint64_t cycles_two = time_far_lines(two), cycles_four = time_far_lines(four);
    if (cycles_two < 100 * 8 * 207 || cycles_two > 100 * 8 * 209 || cycles_four < 100 * 4 * 207 || cycles_four > 100 * 4 * 211)
        fail_msg("%" PRIu64 " clocks with two buffers, %" PRIu64 " with four", cycles_two, cycles_four);
}

// ---- The trace cache: 128 lines of six uops.

#define SMALL_TRACES "core.trace=768", "l1i.size=32KiB", "l1i.ways=8"

static void open_straight(kernel *k, uint32_t n_insns, const char *const *overrides) {
    open_kernel(k, "netburst", overrides);
    emit_n(k, n_insns - 2, addi(T2, 0, 1));
}

// 120 lines fit. Of 170, each is gone when its turn comes, and is built by one instruction a clock.
static void test_the_trace_cache_holds_its_uops(void **state) {
    (void)state;
    static const char *const small[] = {SMALL_TRACES, NULL};
    kernel k;
    open_straight(&k, 720, small);
    assert_int_equal(time_loop(&k), 100 * 720 / 3);
    assert_int_equal(counted(&k, "hart0.core.build_insn"), 0);
    close_kernel(&k);
    open_straight(&k, 1020, small);
    assert_int_equal(time_loop(&k), 100 * 1020);
    assert_int_equal(counted(&k, "hart0.core.trace_insn"), 0);
    close_kernel(&k);
}

// 22 branches an iteration, none but the last one taken.
static uint64_t time_branches(const char *const *overrides) {
    kernel k;
    open_kernel(&k, "netburst", overrides);
    k.rv->x[T1] = 1;
    emit_n(&k, 21, beq(T1, 0, 8));
    const uint64_t cycles = time_loop(&k);
    close_kernel(&k);
    return cycles;
}

static void test_a_trace_line_ends_with_its_last_branch(void **state) {
    (void)state;
    static const char *const one[] = {"core.trace_branches=1", NULL}, *const slow[] = {"core.trace_cycles=5", NULL};
    assert_int_equal(time_branches(NULL), 100 * 11 * 2);
    assert_int_equal(time_branches(one), 100 * 22 * 2);
    assert_int_equal(time_branches(slow), 100 * 11 * 5);
}

// A line goes on behind a taken branch: two iterations of three instructions make one line.
static void test_a_trace_line_goes_on_behind_a_taken_branch(void **state) {
    (void)state;
    static const char *const one[] = {"core.trace_branches=1", NULL};
    kernel k;
    open_kernel(&k, "netburst", NULL);
    emit(&k, addi(T2, 0, 1));
    assert_int_equal(time_loop(&k), 100);
    assert_int_equal(counted(&k, "hart0.core.trace_hit"), 50);
    close_kernel(&k);
    open_kernel(&k, "netburst", one);
    emit(&k, addi(T2, 0, 1));
    assert_int_equal(time_loop(&k), 200);
    close_kernel(&k);
}

static void test_a_trace_line_ends_behind_an_indirect_jump(void **state) {
    (void)state;
    kernel k;
    open_kernel(&k, "netburst", NULL);
    emit_n(&k, 2, addi(T2, 0, 1));
    emit(&k, jalr(0, T1));
    k.rv->x[T1] = TL_RAM_BASE_PADDR;
    memcpy(k.machine->ram, k.words, k.n * sizeof k.words[0]);
    const uint64_t start = run_iterations(&k, 300);
    assert_int_equal(counted(&k, "hart0.core.trace_lookup"), 100);
    assert_int_equal(k.h->now - start, 100 * 2); // a line occupies fetch for two
    close_kernel(&k);
}

// Lines A B A C, over and over, in one set of two ways. A is always used later than B and C, which
// drive each other out.
static void test_a_trace_line_that_is_used_stays(void **state) {
    (void)state;
    enum { LINE = 6, A = 0, C = LINE, B = 2 * LINE };
    static const char *const two_lines[] = {"core.trace=12", "core.trace_ways=2", "l1i.size=32KiB", "l1i.ways=8", NULL};
    kernel k;
    open_kernel(&k, "netburst", two_lines);
    emit(&k, xori(T0, T0, 1));
    emit_n(&k, LINE - 2, addi(T2, 0, 1));
    emit(&k, bne(T0, 0, 4 * (B - (C - 1))));
    for (uint32_t i = 0; i < 2; i++) {
        emit_n(&k, LINE - 1, addi(T2, 0, 1));
        emit(&k, jal(0, -4 * (int32_t)k.n));
    }
    memcpy(k.machine->ram, k.words, k.n * sizeof k.words[0]);
    k.n_skipped = LINE; // an iteration is A, and B or C
    (void)run_iterations(&k, 300);
    const uint64_t n_hits = read_signal(&k, "hart0.core.trace_hit");
    assert_int_equal(counted(&k, "hart0.core.trace_lookup"), 200);
    assert_int_equal(read_signal(&k, "hart0.core.trace_hit") - n_hits, 100);
    close_kernel(&k);
}

static void test_new_code_empties_the_trace_cache(void **state) {
    (void)state;
    enum { FENCE_I = 0x0000100f };
    kernel k;
    open_kernel(&k, "netburst", NULL);
    emit_n(&k, 10, addi(T2, 0, 1));
    emit(&k, FENCE_I);
    (void)warm_loop(&k);
    assert_int_equal(counted(&k, "hart0.core.trace_insn"), 0);
    assert_true(counted(&k, "hart0.core.trace_flush") >= 200);
    close_kernel(&k);
}

// The line in front of a fence is complete, so no iteration builds it again.
static void test_a_trace_line_ends_in_front_of_what_executes_alone(void **state) {
    (void)state;
    enum { FENCE = 0x0ff0000f };
    kernel k;
    open_kernel(&k, "netburst", NULL);
    emit_n(&k, 2, addi(T2, 0, 1)); // a line with the end of the loop, and not full
    emit(&k, FENCE);
    (void)warm_loop(&k);
    assert_int_equal(counted(&k, "hart0.core.build_insn"), 0);
    close_kernel(&k);
}

static void test_a_new_address_space_empties_the_trace_cache(void **state) {
    (void)state;
    kernel k;
    open_kernel(&k, "netburst", NULL);
    emit_n(&k, 10, addi(T2, 0, 1));
    (void)warm_loop(&k);
    assert_int_equal(counted(&k, "hart0.core.trace_flush"), 0);
    k.h->context += 1;
    assert_true(counted(&k, "hart0.core.trace_flush") > 0);
    close_kernel(&k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_store_that_misses_allocates_nothing),
    cmocka_unit_test(test_a_store_across_a_border_looks_up_two_lines),
    cmocka_unit_test(test_a_store_keeps_a_line_that_is_here),
    cmocka_unit_test(test_write_buffers_combine_stores),
    cmocka_unit_test(test_a_write_buffer_is_of_no_use_for_a_clean_line),
    cmocka_unit_test(test_a_store_takes_copies_of_other_cores_away),
    cmocka_unit_test(test_a_tag_of_two_sectors_covers_both_or_one),
    cmocka_unit_test(test_oracle_finds_either_sector_of_a_tag),
    cmocka_unit_test(test_a_load_from_memory_goes_round_with_its_dependents),
    cmocka_unit_test(test_a_sector_is_filled_beside_the_other),
    cmocka_unit_test(test_a_hit_fetches_no_other_sector),
    cmocka_unit_test(test_a_stream_fetches_the_rest_of_a_page),
    cmocka_unit_test(test_a_stream_runs_downwards_and_stays_in_its_page),
    cmocka_unit_test(test_a_stream_ends_with_its_page),
    cmocka_unit_test(test_a_stream_turns_at_a_miss_on_the_other_side),
    cmocka_unit_test(test_a_new_stream_replaces_the_oldest),
    cmocka_unit_test(test_a_prefetched_line_may_be_on_its_way),
    cmocka_unit_test(test_the_queue_limits_lines_on_their_way),
    cmocka_unit_test(test_lines_arrive_in_the_order_of_their_requests),
    cmocka_unit_test(test_misses_wait_for_a_buffer),
    cmocka_unit_test(test_the_trace_cache_holds_its_uops),
    cmocka_unit_test(test_a_trace_line_ends_in_front_of_what_executes_alone),
    cmocka_unit_test(test_a_new_address_space_empties_the_trace_cache),
    cmocka_unit_test(test_a_trace_line_ends_with_its_last_branch),
    cmocka_unit_test(test_a_trace_line_goes_on_behind_a_taken_branch),
    cmocka_unit_test(test_a_trace_line_that_is_used_stays),
    cmocka_unit_test(test_a_trace_line_ends_behind_an_indirect_jump),
    cmocka_unit_test(test_new_code_empties_the_trace_cache),
};
TL_TEST_MAIN(tests)
