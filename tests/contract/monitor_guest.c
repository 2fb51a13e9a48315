// SPDX-License-Identifier: MIT
// The cross-core monitor on hart 1 of a simulated Cortex-A53, which runs a program at EL0:
// guest/bare/a64/monitored.c, or stepped.c beside it. Its findings stand beside the oracle, and the
// program ends with the right result whatever was done to it.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "isa/a64/debug.h"
#include "isa/a64/hart.h"
#include "machine/oracle.h"
#include "monitor/internal.h"
#include "xcm/suite.h"

enum { TARGET = 1, HIT_NS = 200000000 };
static const char *program, *awkward; // monitored.elf; stepped.elf
static const uint64_t RUN_NS = UINT64_C(20000000000);

typedef struct lab {
    tl_xcm_model *model;
    uint64_t seed;
    tl_machine *machine;
    tl_xcm_reply reply;
    uint64_t event[3];
} lab;

static uint64_t symbol(const lab *l, const char *name) {
    uint64_t address = 0;
    assert_int_equal(tl_system_symbol(tl_xcm_system(l->model), name, false, &address, NULL), TL_OK);
    return address;
}

static void set_up_by(lab *l, const tl_xcm_options *given) {
    tl_xcm_options options = *given;
    tl_error err = {0};
    memset(l, 0, sizeof *l);
    options.software.console_in = options.software.console_out = -1;
    options.software.n_harts = 2;
    options.software.program = options.software.program ? options.software.program : program;
    options.target = TARGET;
    if (tl_xcm_model_new(&options, &l->model, &err) != TL_OK)
        fail_msg("%s", err.text);
    l->machine = tl_xcm_machine(l->model);
}
static void set_up_with(lab *l, const char *const *overrides, uint64_t ring_bytes) {
    set_up_by(l, &(tl_xcm_options){.overrides = overrides, .ring_bytes = ring_bytes});
}
static void set_up(lab *l) { set_up_with(l, NULL, 0); }

static void set_rounds(const lab *l, uint64_t n) { memcpy(tl_machine_ram(l->machine, symbol(l, "n_rounds")), &n, sizeof n); }

#define CALL(l, function, ...)                                                                       \
    ({                                                                                               \
        const uint64_t args_[] = {__VA_ARGS__};                                                      \
        (void)tl_xcm_call((l)->model, function, args_, sizeof args_ / sizeof args_[0], &(l)->reply); \
        (l)->reply.code;                                                                             \
    })
#define EXPECT(l, want, function, ...) assert_int_equal(CALL(l, function, __VA_ARGS__), want)
#define DO(l, function, ...) EXPECT(l, XCM_DONE, function, __VA_ARGS__)

static void expect_event(lab *l, xcm_event event) {
    if (!tl_xcm_wait_event(l->model, HIT_NS, l->event))
        fail_msg("no event");
    assert_int_equal(l->event[0], event);
}

static tl_hart *target_of(const lab *l) { return l->machine->harts[TARGET]; }
static uint64_t x_of(const lab *l, uint32_t n) { return tl_a64(target_of(l))->x[n]; }

// The program finishes, and finds its own sums right. No access of the monitor was an error.
static void finish(lab *l) {
    int32_t status = -1;
    assert_true(tl_xcm_wait_end(l->model, RUN_NS, &status));
    assert_int_equal(status, 0);
    assert_int_equal(tl_xcm_n_errors(l->model), 0);
    tl_xcm_model_free(l->model);
}

static void start_at(lab *l, uint64_t address) {
    // The last address of a list ends the round; EL0 never comes there.
    DO(l, XCM_LIST_LOAD, 0, 0, address, symbol(l, "finish_all"));
    DO(l, XCM_LISTEN_START);
    expect_event(l, XCM_EVENT_HIT);
    assert_int_equal(l->event[1], address);
    assert_true(target_of(l)->is_halted);
}
static void stop(lab *l) {
    DO(l, XCM_LISTEN_STOP);
    assert_int_equal(l->reply.state, XCM_ENDED);
    assert_false(target_of(l)->is_halted);
}

static void test_halts_reads_steps_and_resumes(void **state) {
    lab l;
    (void)state;
    set_up(&l);
    const uint64_t probe_point = symbol(&l, "probe_point"), probe_return = symbol(&l, "probe_return");
    start_at(&l, probe_point);
    DO(&l, XCM_REG_XFER, 0, 0, 33);
    assert_int_equal(l.reply.n_values, 33);
    assert_int_equal(l.reply.values[0], 0); // the round
    for (uint32_t n = 2; n < 31; n++)
        assert_int_equal(l.reply.values[n], x_of(&l, n));
    assert_int_equal(l.reply.values[32], probe_point);
    // A register is written, and an instruction of the program reads it.
    DO(&l, XCM_REG_XFER, 1, 0, 77);
    DO(&l, XCM_BP_CTL, 1, 0, probe_return, 0);
    DO(&l, XCM_RESUME);
    expect_event(&l, XCM_EVENT_HIT);
    assert_int_equal(l.event[1], probe_return);
    DO(&l, XCM_REG_XFER, 0, 1, 1);
    assert_int_equal(l.reply.values[0], 77);
    DO(&l, XCM_BP_CTL, 0, 0);
    // Memory, slow and fast, beside the machine's own.
    const uint64_t code = symbol(&l, "work");
    for (uint32_t fast = 0; fast < 2; fast++) {
        DO(&l, XCM_MEM_XFER, 0, code, 64, fast);
        assert_int_equal(l.reply.n_values, 8);
        assert_memory_equal(l.reply.values, tl_machine_ram(l.machine, code), 64);
    }
    const uint64_t heap = UINT64_C(0x82000000);
    DO(&l, XCM_MEM_XFER, 1, heap + 4, 12, 1, UINT64_C(0x1122334455667788), UINT64_C(0x99aabbcc));
    DO(&l, XCM_MEM_XFER, 1, heap + 17, 3, 0, UINT64_C(0xaabbcc));
    DO(&l, XCM_MEM_XFER, 0, heap, 24, 0);
    assert_memory_equal(l.reply.values, tl_machine_ram(l.machine, heap), 24);
    assert_int_equal(l.reply.values[0] >> 32, 0x55667788);
    assert_int_equal(l.reply.values[1], UINT64_C(0x99aabbcc11223344));
    assert_int_equal(l.reply.values[2], UINT64_C(0xaabbcc00));
    EXPECT(&l, XCM_EXCEPTION, XCM_MEM_XFER, 0, UINT64_C(0x10000000000), 8, 0);
    EXPECT(&l, XCM_EXCEPTION, XCM_MEM_XFER, 0, UINT64_C(0x10000000000), 8, 1);
    EXPECT(&l, XCM_EXCEPTION, XCM_MEM_XFER, 1, UINT64_C(0x10000000000), 8, 1, 5);
    EXPECT(&l, XCM_EXCEPTION, XCM_MEM_XFER, 1, code, 8, 0, 5);
    DO(&l, XCM_RESUME);
    expect_event(&l, XCM_EVENT_HIT);
    assert_int_equal(l.event[1], probe_point);
    DO(&l, XCM_REG_XFER, 0, 0, 1);
    assert_int_equal(l.reply.values[0], 1);
    stop(&l);
    finish(&l);
}

static void test_leaves_the_program_as_it_was(void **state) {
    lab l;
    (void)state;
    set_up(&l);
    start_at(&l, symbol(&l, "probe_point"));
    uint64_t x[31];
    memcpy(x, tl_a64(target_of(&l))->x, sizeof x);
    DO(&l, XCM_REG_XFER, 0, 0, 2);
    x[0] = l.reply.values[0];
    x[1] = l.reply.values[1];
    DO(&l, XCM_UARCH_READ, XCM_TLB, 0, 0, 0);
    DO(&l, XCM_REG_XFER, 0, 0x10000 | 3 << 14 | 0 << 11 | 4 << 7 | 0 << 3 | 1, 1); // ELR_EL1
    EXPECT(&l, XCM_EXCEPTION, XCM_MEM_XFER, 0, 8, 8, 0);
    DO(&l, XCM_EXEC, 0xd503201f);
    EXPECT(&l, XCM_BAD_ARGUMENT, XCM_EXEC, 0xd5087640); // DC ISW
    EXPECT(&l, XCM_BAD_ARGUMENT, XCM_EXEC, 0x14000000);
    DO(&l, XCM_BP_CTL, 1, 0, x[30], 0);
    DO(&l, XCM_RESUME);
    expect_event(&l, XCM_EVENT_HIT);
    DO(&l, XCM_REG_XFER, 0, 0, 33);
    x[1] = x[0]; // the probe point's instruction
    for (uint32_t n = 0; n < 31; n++)
        assert_int_equal(l.reply.values[n], x[n]);
    assert_int_equal(l.reply.values[32], x[30]);
    stop(&l);
    finish(&l);
}

// A fault raises the level of the target. The next access is made at EL0 again.
static void test_a_fault_gives_no_level(void **state) {
    lab l;
    (void)state;
    set_up(&l);
    start_at(&l, symbol(&l, "probe_point"));
    DO(&l, XCM_REG_XFER, 1, 0, UINT64_C(0x10000000000));
    EXPECT(&l, XCM_EXCEPTION, XCM_EXEC, 0xf8400000); // LDUR X0, [X0]
    DO(&l, XCM_MEM_XFER, 0, UINT64_C(0x82000000), 8, 0);
    assert_int_equal(target_of(&l)->priv, 0);
    DO(&l, XCM_REG_XFER, 1, 0, 0); // the round
    stop(&l);
    finish(&l);
}

// The ledger tells all that the monitor has done to the target beyond halting it.
static uint64_t ledger_of(lab *l) {
    DO(l, XCM_STATUS);
    return l->reply.values[9];
}
static void test_the_ledger_tells_what_was_done(void **state) {
    enum { MEMORY = 1, CODE = 2, PROBE = 4, EXEC = 8, FLUSH = 16 };
    lab l;
    (void)state;
    set_up_by(&l, &(tl_xcm_options){.has_no_images = true});
    const uint64_t probe_point = symbol(&l, "probe_point"), probe_return = symbol(&l, "probe_return"), tail = symbol(&l, "finish_all");
    start_at(&l, probe_point);
    DO(&l, XCM_REG_XFER, 0, 0, 33);
    assert_int_equal(ledger_of(&l), 0);
    DO(&l, XCM_MEM_XFER, 0, UINT64_C(0x82000000), 8, 0);
    assert_int_equal(ledger_of(&l), MEMORY);
    DO(&l, XCM_EXEC, 0xd503201f);
    assert_int_equal(ledger_of(&l), MEMORY | EXEC);
    DO(&l, XCM_PROBE, XCM_RSB, probe_return, symbol(&l, "work"), 0xd65f03c0); // RET
    assert_int_equal(ledger_of(&l), MEMORY | EXEC | PROBE);
    stop(&l);
    DO(&l, XCM_ROUND_RESET);
    assert_int_equal(ledger_of(&l), 0);
    DO(&l, XCM_LIST_LOAD, 1, probe_point, probe_return, tail);
    DO(&l, XCM_LISTEN_START);
    DO(&l, XCM_CACHE_FLUSH, XCM_FLUSH_L1I);
    assert_int_equal(ledger_of(&l), FLUSH);
    expect_event(&l, XCM_EVENT_HIT);
    assert_int_equal(ledger_of(&l), FLUSH | MEMORY | CODE);
    stop(&l);
    finish(&l);
}

// -- Direct reads beside the oracle.

static const xcm_geometry A53 = {128, 4, 256, 2, 64};

static void read_ram(lab *l, xcm_ram ram, uint32_t way, uint32_t index, uint32_t offset, uint32_t dr[4]) {
    DO(l, XCM_UARCH_READ, ram, way, index, offset);
    for (uint32_t k = 0; k < 4; k++)
        dr[k] = (uint32_t)l->reply.values[k];
}

// Records of a dump as the oracle sees the same places.
static void check_record(const lab *l, const xcm_record *r, const uint64_t *words, uint32_t n_seen[12]) {
    const uint32_t way = (uint32_t)(words[0] >> 32), index = (uint32_t)words[0];
    const uint32_t dr[4] = {(uint32_t)words[1], (uint32_t)(words[1] >> 32), r->type == XCM_RECORD_TLB ? (uint32_t)words[2] : 0,
                            r->type == XCM_RECORD_TLB ? (uint32_t)(words[2] >> 32) : 0};
    tl_line_view line;
    n_seen[r->type] += 1;
    if (r->type == XCM_RECORD_L1D_TAG) {
        assert_true(tl_oracle_l1_line(l->machine, TARGET, false, index * 4 + way, &line));
        const xcm_line found = xcm_decode_l1d_tag(&A53, index, dr);
        assert_int_equal(found.state, line.state);
        if (line.state != 'I')
            assert_int_equal(found.paddr, line.paddr);
    } else if (r->type == XCM_RECORD_L1I_TAG) {
        assert_true(tl_oracle_l1_line(l->machine, TARGET, true, index * 2 + way, &line));
        const xcm_line found = xcm_decode_l1i_tag(&A53, index, dr);
        assert_int_equal(found.state != 'I', line.state != 'I');
        if (line.state != 'I')
            assert_int_equal(found.paddr, line.paddr);
    } else if (r->type == XCM_RECORD_L1D_DATA) {
        assert_true(tl_oracle_l1_line(l->machine, TARGET, false, index * 4 + way, &line));
        assert_memory_equal(words + 1, tl_machine_ram(l->machine, line.paddr), 64);
    } else if (r->type == XCM_RECORD_L1I_DATA) {
        assert_true(tl_oracle_l1_line(l->machine, TARGET, true, index * 2 + way, &line));
        for (uint32_t i = 0; i < 16; i++) {
            const uint32_t halves[4] = {(uint32_t)words[1 + i], (uint32_t)(words[1 + i] >> 32), 0, 0};
            uint32_t word = 0;
            assert_true(xcm_decode_l1i_word(halves, &word));
            assert_memory_equal(&word, tl_machine_ram(l->machine, line.paddr + 4 * i), 4);
        }
    } else if (r->type == XCM_RECORD_TLB) {
        const xcm_tlb_entry e = xcm_decode_tlb(index, dr);
        tl_page page;
        tl_walk_table table;
        if (index < 128) {
            assert_true(tl_oracle_page(l->machine, TARGET, TL_TLB_SECOND, index * 4 + way, &page));
            assert_int_equal(e.is_valid, page.flags != 0);
            if (e.is_valid) {
                assert_int_equal(e.vaddr, page.vaddr);
                assert_int_equal(e.paddr, page.paddr);
                assert_int_equal(e.asid, page.asid);
            }
        } else if (index < 144) {
            assert_true(tl_oracle_table(l->machine, TARGET, (index - 128) * 4 + way, &table));
            assert_int_equal(e.is_valid, table.span_log2 != 0);
            if (e.is_valid) {
                assert_int_equal(e.paddr, table.paddr);
                assert_int_equal(e.bytes, UINT64_C(1) << table.span_log2);
                assert_int_equal(e.vaddr, table.vaddr);
            }
        } else {
            assert_false(e.is_valid);
        }
    }
}

static void test_dump_equals_the_oracle(void **state) {
    lab l;
    (void)state;
    set_up_with(&l, NULL, 1 << 20);
    set_rounds(&l, 8);
    start_at(&l, symbol(&l, "probe_point"));
    for (uint32_t round = 0; round < 6; round++) {
        uint32_t n_seen[12] = {0};
        uint64_t words[32];
        xcm_record r;
        const uint64_t accesses = tl_xcm_n_accesses(l.model);
        DO(&l, XCM_UARCH_DUMP, 7, 0, 200);
        // 18, 13, 18, 28 accesses for each, and what the command takes around them.
        assert_true(tl_xcm_n_accesses(l.model) - accesses <= 254976 + 100);
        while (xcm_ring_take(tl_xcm_ring(l.model), tl_xcm_ring_bytes(l.model), &r, (uint8_t *)words, sizeof words))
            check_record(&l, &r, words, n_seen);
        assert_int_equal(n_seen[XCM_RECORD_L1D_TAG], 512);
        assert_int_equal(n_seen[XCM_RECORD_L1I_TAG], 512);
        assert_int_equal(n_seen[XCM_RECORD_TLB], 640);
        assert_true(n_seen[XCM_RECORD_L1D_DATA] > 8 && n_seen[XCM_RECORD_L1I_DATA] > 8);
        DO(&l, XCM_RESUME);
        expect_event(&l, XCM_EVENT_HIT);
    }
    uint32_t dr[4];
    read_ram(&l, XCM_L1D_TAG, 3, 127, 0, dr);
    EXPECT(&l, XCM_BAD_ARGUMENT, XCM_UARCH_READ, XCM_L1D_TAG, 4, 0, 0);
    EXPECT(&l, XCM_BAD_ARGUMENT, XCM_UARCH_READ, XCM_L1I_TAG, 0, 256, 0);
    EXPECT(&l, XCM_BAD_ARGUMENT, XCM_UARCH_READ, XCM_L1D_DATA, 0, 0, 4);
    stop(&l);
    finish(&l);
}

// -- Inference beside the oracle.

static uint64_t random_below(lab *l, uint64_t n) {
    l->seed = l->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (l->seed >> 33) % n;
}

static void next_round(lab *l, uint64_t address) {
    stop(l);
    EXPECT(l, XCM_WRONG_STATE, XCM_PROBE, 3, 0, 0);
    DO(l, XCM_ROUND_RESET);
    start_at(l, address);
}

enum { LDR_X1_X0 = 0xf9400001 };
static const uint64_t HEAP = UINT64_C(0x82000000);

static uint32_t n_trials(void) {
    const char *setting = getenv("TL_XCM_TRIALS");
    return setting ? (uint32_t)atoi(setting) : 200;
}

// The program has some rounds left: in its memory, and in the register that counts them.
static const uint64_t MANY_ROUNDS = UINT64_C(0x10000123457);
static void end_rounds(lab *l) {
    DO(l, XCM_REG_XFER, 0, 0, 31);
    const uint64_t n = l->reply.values[0] + 3;
    uint32_t reg = 2;
    while (reg < 31 && l->reply.values[reg] != MANY_ROUNDS)
        reg++;
    assert_true(reg < 31);
    DO(l, XCM_REG_XFER, 1, reg, n);
    DO(l, XCM_MEM_XFER, 1, symbol(l, "n_rounds"), 8, 0, n);
}

// A probe leaves every register of the program alone, and a round has one probe.
static void test_a_probe_leaves_the_program_alone(void **state) {
    lab l;
    (void)state;
    set_up(&l);
    set_rounds(&l, MANY_ROUNDS);
    const uint64_t probe_point = symbol(&l, "probe_point");
    start_at(&l, probe_point);
    DO(&l, XCM_CALIBRATE, symbol(&l, "load_site"), LDR_X1_X0, HEAP);
    assert_int_equal(l.reply.values[5], 0); // every event rests in a null window
    for (uint32_t trial = 0; trial < 40; trial++) {
        tl_xcm_question q;
        uint64_t before[31];
        next_round(&l, probe_point);
        memcpy(before, tl_a64(target_of(&l))->x, sizeof before);
        assert_int_equal(tl_xcm_ask(l.model, XCM_BTB + trial % 5, &l.seed, &q, NULL), TL_OK);
        const xcm_code code = tl_xcm_call(l.model, XCM_PROBE, q.args, 4, &l.reply);
        assert_int_equal(code, XCM_DONE);
        assert_int_equal(l.reply.values[0], q.truth ? XCM_YES : XCM_NO);
        EXPECT(&l, XCM_WRONG_STATE, XCM_PROBE, 3, probe_point, 0); // the round has had its probe
        for (uint32_t i = 2; i < 31; i++)
            assert_int_equal(x_of(&l, i), before[i]);
    }
    end_rounds(&l);
    stop(&l);
    finish(&l);
}

// confusion matrices. X-6: with noise.
static tl_debugger_trials measure(bool has_all_events, bool is_noisy, bool is_prefetching, const char *const *overrides, uint32_t n) {
    const tl_debugger_trial_options options = {.program = program,
                                               .overrides = overrides,
                                               .n_trials = n,
                                               .seed = 1,
                                               .has_all_events = has_all_events,
                                               .is_noisy = is_noisy,
                                               .is_prefetching = is_prefetching};
    tl_debugger_trials found = {.size = sizeof found};
    tl_error err = {0};
    if (tl_xcm_measure(&options, &found, &err) != TL_OK)
        fail_msg("%s", err.text);
    uint64_t wrong_published = 0, all_wrong = 0;
    assert_int_equal(found.n_errors, 0);
    assert_true(found.is_calibrated);
    for (uint32_t a = 0; a < 5; a++) {
        const tl_debugger_matrix *m = &found.matrices[a];
        const uint64_t wrong = m->corrected[0][1] + m->corrected[1][0], unknown = m->corrected[0][2] + m->corrected[1][2];
        uint64_t sum = 0;
        for (uint32_t i = 0; i < 6; i++)
            sum += m->corrected[i / 3][i % 3];
        assert_int_equal(sum, n);
        assert_int_equal(m->published[0][0] + m->published[0][1] + m->published[1][0] + m->published[1][1], n);
        assert_true(m->corrected[0][0] >= n / 20 && m->corrected[1][1] >= n / 20);
        print_message("%u: wrong %" PRIu64 " unknown %" PRIu64 " of %u\n", a, wrong, unknown, n);
        assert_true(wrong <= (is_noisy ? (n + 999) / 1000 : 0));
        assert_true(unknown * 20 <= (is_noisy ? n : 0));
        all_wrong += wrong;
        wrong_published += m->published[0][1] + m->published[1][0];
    }
    assert_true(wrong_published > all_wrong);
    return found;
}

static void test_verdicts_equal_the_oracle(void **state) {
    (void)state;
    const tl_debugger_trials found = measure(false, false, false, NULL, n_trials());
    // The published form never finds an entry of a predictor without INST_SPEC.
    for (uint32_t a = 0; a < 2; a++)
        assert_int_equal(found.matrices[a].published[1][1], 0);
}
static void test_verdicts_with_all_events(void **state) {
    (void)state;
    const tl_debugger_trials found = measure(true, false, false, NULL, n_trials());
    for (uint32_t a = 0; a < 2; a++)
        assert_int_equal(found.matrices[a].published[1][0], 0);
}
static void test_verdicts_with_noise(void **state) {
    (void)state;
    for (uint32_t all = 0; all < 2; all++) {
        const tl_debugger_trials found = measure(all, true, false, NULL, 3 * n_trials());
        assert_true(found.n_interrupts > 1000);
    }
}
static void test_verdicts_with_noise_and_prefetchers(void **state) {
    (void)state;
    (void)measure(true, true, true, NULL, 3 * n_trials());
}

// the monitor rests on nothing that Debug state leaves open.
static void test_each_policy_gives_the_same(void **state) {
    static const char *const policies[][2] = {
        {"debug.unpredictable=undefined", NULL}, {"debug.unpredictable=nop", NULL}, {"debug.unpredictable=executed", NULL}};
    tl_debugger_trials first = {0};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        const tl_debugger_trials found = measure(false, false, false, policies[i], n_trials() / 2);
        if (i == 0)
            first = found;
        assert_memory_equal(&found, &first, sizeof found);
    }
}

// -- Checksums of packets: the examples of the specification.

static void test_checksums_of_the_examples(void **state) {
    uint8_t packet[64];
    xcm_packet header;
    (void)state;
    xcm_seal(packet, XCM_GET, xcm_op_code(XCM_LISTEN_START), 0, 0, 0);
    assert_int_equal(xcm_checksum(packet, 32), 0xfddc);
    xcm_seal(packet, XCM_REPLY, xcm_op_code(XCM_LISTEN_START), XCM_DONE, XCM_LISTENING, 0);
    assert_int_equal(xcm_checksum(packet, 32), 0xf9ab);
    xcm_seal(packet, XCM_REPLY, xcm_op_code(XCM_CACHE_FLUSH), XCM_WRONG_STATE, XCM_HALTED, 0);
    assert_int_equal(xcm_checksum(packet, 32), 0xf3ac);
    static const uint64_t list[] = {1, 0x400000, 0x400010, 0x40002c};
    for (uint32_t i = 0; i < 4; i++)
        xcm_put_element(packet, i, list[i]);
    assert_int_equal(xcm_seal(packet, XCM_GET, xcm_op_code(XCM_LIST_LOAD), 0, 0, 4), 64);
    assert_int_equal(xcm_checksum(packet, 64), 0xfc98);
    assert_int_equal(xcm_check_packet(packet, 64, XCM_GET, &header), XCM_DONE);
    for (uint32_t bit = 0; bit < 8 * 64; bit++) { // every flipped bit is found
        packet[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_not_equal(xcm_check_packet(packet, 64, XCM_GET, &header), XCM_DONE);
        packet[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

// -- A direct read leaves no trace: what the target holds, register by register.

typedef struct holding {
    tl_line_view l1d[512], l1i[512];
    tl_page pages[512], first[2][10];
    tl_walk_table tables[64];
    uint64_t x[31], pc, instret, returns[8], l1d_access;
} holding;

static void hold(const lab *l, holding *ret) {
    memset(ret, 0, sizeof *ret);
    for (uint32_t i = 0; i < 512; i++) {
        (void)tl_oracle_l1_line(l->machine, TARGET, false, i, &ret->l1d[i]);
        (void)tl_oracle_l1_line(l->machine, TARGET, true, i, &ret->l1i[i]);
        (void)tl_oracle_page(l->machine, TARGET, TL_TLB_SECOND, i, &ret->pages[i]);
    }
    for (uint32_t i = 0; i < 64; i++)
        (void)tl_oracle_table(l->machine, TARGET, i, &ret->tables[i]);
    for (uint32_t i = 0; i < 10; i++) {
        (void)tl_oracle_page(l->machine, TARGET, TL_TLB_FETCH, i, &ret->first[0][i]);
        (void)tl_oracle_page(l->machine, TARGET, TL_TLB_DATA, i, &ret->first[1][i]);
    }
    for (uint32_t n = 2; n < 31; n++) // x0 and x1 are the monitor's until the restart
        ret->x[n] = x_of(l, n);
    (void)tl_oracle_return_stack(l->machine, TARGET, ret->returns, 8);
    tl_machine_sync(l->machine);
    ret->instret = target_of(l)->instret;
    ret->l1d_access = target_of(l)->tally[TL_S_L1D_LOAD];
}

static void test_a_direct_read_leaves_no_trace(void **state) {
    static const uint32_t most[][3] = {{4, 128, 0}, {4, 128, 8}, {2, 256, 0}, {2, 256, 16}, {4, 160, 0}};
    holding before, after;
    lab l;
    (void)state;
    set_up(&l);
    set_rounds(&l, n_trials());
    l.seed = 99;
    start_at(&l, symbol(&l, "probe_point"));
    for (uint32_t trial = 0; trial < n_trials() / 20; trial++) {
        hold(&l, &before);
        for (uint32_t i = 0; i < 100; i++) {
            const uint32_t ram = i % 5, n_parts = most[ram][2];
            const uint64_t offset = n_parts ? random_below(&l, n_parts) * (64 / n_parts) : 0;
            DO(&l, XCM_UARCH_READ, ram + XCM_L1D_TAG, random_below(&l, most[ram][0]), random_below(&l, most[ram][1]), offset);
        }
        DO(&l, XCM_UARCH_DUMP, 7, 1, 200);
        hold(&l, &after);
        assert_memory_equal(&before, &after, sizeof before);
        DO(&l, XCM_RESUME);
        expect_event(&l, XCM_EVENT_HIT);
    }
    stop(&l);
    finish(&l);
}

// -- Rollback: the same question again has the same answer and the same counts.

static void test_rollback_repeats_a_probe(void **state) {
    static const char *const little[] = {"ram=80MiB", NULL};
    lab l;
    (void)state;
    set_up_by(&l, &(tl_xcm_options){.overrides = little, .has_snapshots = true, .budget_ns = 1000000000});
    l.seed = 5;
    start_at(&l, symbol(&l, "probe_point"));
    DO(&l, XCM_CALIBRATE, symbol(&l, "load_site"), LDR_X1_X0, HEAP);
    for (uint32_t trial = 0; trial < n_trials() / 10; trial++) {
        tl_xcm_question q;
        uint64_t values[11];
        assert_int_equal(tl_xcm_ask(l.model, XCM_BTB + trial % 5, &l.seed, &q, NULL), TL_OK);
        EXPECT(&l, XCM_DONE, XCM_PROBE, q.args[0], q.args[1], q.args[2], q.args[3]);
        memcpy(values, l.reply.values, sizeof values);
        EXPECT(&l, XCM_WRONG_STATE, XCM_PROBE, q.args[0], q.args[1], q.args[2], q.args[3]);
        DO(&l, XCM_ROLLBACK);
        assert_int_equal(tl_xcm_truth(l.model, q.args), q.truth);
        EXPECT(&l, XCM_DONE, XCM_PROBE, q.args[0], q.args[1], q.args[2], q.args[3]);
        assert_memory_equal(values, l.reply.values, sizeof values);
        assert_int_equal(values[0], q.truth ? XCM_YES : XCM_NO);
        DO(&l, XCM_ROLLBACK);
    }
    stop(&l);
    finish(&l);
}

// -- CACHE_FLUSH (H-6): the running target empties its own caches, and its program goes on.

static uint32_t n_valid(const lab *l, bool is_fetch) {
    tl_line_view line;
    uint32_t n = 0;
    for (uint32_t i = 0; i < 512; i++)
        n += tl_oracle_l1_line(l->machine, TARGET, is_fetch, i, &line) && line.state != 'I';
    return n;
}

static void test_flush_empties_the_caches(void **state) {
    lab l;
    (void)state;
    set_up(&l);
    set_rounds(&l, 2000);
    DO(&l, XCM_LISTEN_START);
    tl_xcm_sleep(l.model, 1000000);
    assert_true(n_valid(&l, false) > 20 && n_valid(&l, true) > 8);
    EXPECT(&l, XCM_BAD_ARGUMENT, XCM_CACHE_FLUSH, 0);
    EXPECT(&l, XCM_BAD_ARGUMENT, XCM_CACHE_FLUSH, 4);
    DO(&l, XCM_CACHE_FLUSH, XCM_FLUSH_L1I);
    assert_in_range(n_valid(&l, true), 0, 4); // it has run on for a tick
    DO(&l, XCM_CACHE_FLUSH, XCM_FLUSH_BOTH);
    assert_in_range(n_valid(&l, false), 0, 12);
    stop(&l);
    tl_error err = {0};
    tl_machine_sync(l.machine);
    if (tl_memory_check_identities(l.machine->memory, &err) != TL_OK)
        fail_msg("%s", err.text);
    finish(&l);
}

// -- Misfortunes at any point of a session (X-15, H-1, H-2, H-12): the right code, and the target
// runs or is reported lost.

static bool is_one_of(xcm_code code, const xcm_code *codes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (codes[i] == code)
            return true;
    return false;
}

// The access of an attach that finds out whether the target is there. Events before it are
// history: a reset, and a loss of power, which the attach brings back.
static uint64_t first_look(void) {
    enum { FEW = 128 };
    tl_xcm_access accesses[FEW];
    uint64_t at = 0;
    lab l;
    set_up(&l);
    tl_xcm_record(l.model, accesses, FEW);
    DO(&l, XCM_LISTEN_START);
    while (at < FEW && (accesses[at].block != XCM_DBG || accesses[at].offset != EDPRCR))
        at++;
    while (at < FEW && (accesses[at].block != XCM_DBG || accesses[at].offset != EDPRSR))
        at++;
    assert_in_range(at, 20, FEW - 1);
    tl_xcm_record(l.model, NULL, 0);
    stop(&l);
    finish(&l);
    return at;
}

static void suffer(tl_xcm_fault fault, uint64_t n_accesses, uint64_t look) {
    static const xcm_code fair[] = {XCM_DONE,      XCM_LOST,        XCM_TIMEOUT,         XCM_WRONG_STATE, XCM_OVER_BUDGET,
                                    XCM_EXCEPTION, XCM_DCC_OVERRUN, XCM_UNKNOWN_VERDICT, XCM_WRONG_LEVEL};
    const bool is_deadly = (fault == TL_XCM_POWER_LOSS || fault == TL_XCM_RESET) && n_accesses > look;
    bool was_lost = false;
    lab l;
    set_up_with(&l, NULL, 1 << 16);
    set_rounds(&l, 1 << 20);
    const uint64_t at = symbol(&l, "probe_point"), load = symbol(&l, "load_site");
    tl_xcm_break(l.model, fault, n_accesses);
    DO(&l, XCM_LIST_LOAD, 0, 0, at, symbol(&l, "finish_all"));
    const xcm_code started = CALL(&l, XCM_LISTEN_START);
    assert_true(is_one_of(started, fair, TL_COUNT_OF(fair)) || started == XCM_OTHER_DEBUGGER);
    for (uint32_t round = 0; round < 3 && started == XCM_DONE; round++) {
        const struct {
            xcm_function function;
            uint32_t n;
            uint64_t args[4];
        } deeds[] = {{XCM_REG_XFER, 3, {0, 0, 33}},           {XCM_MEM_XFER, 4, {0, HEAP, 64, 1}},
                     {XCM_UARCH_READ, 4, {XCM_TLB, 1, 2, 0}}, {XCM_PROBE, 4, {XCM_DTLB, HEAP + 4096, load, LDR_X1_X0}},
                     {XCM_REG_XFER, 3, {1, 5, 77}},           {XCM_RESUME, 0, {0}}};
        (void)tl_xcm_wait_event(l.model, HIT_NS / 100, l.event);
        was_lost = was_lost || l.event[0] == XCM_EVENT_LOST;
        for (uint32_t i = 0; i < TL_COUNT_OF(deeds); i++) {
            const xcm_code code = tl_xcm_call(l.model, deeds[i].function, deeds[i].args, deeds[i].n, &l.reply);
            was_lost = was_lost || code == XCM_LOST;
            if (!is_one_of(code, fair, TL_COUNT_OF(fair)))
                fail_msg("fault %u at %" PRIu64 ": %s answers 0x%x", fault, n_accesses, xcm_op_of((uint8_t)deeds[i].function)->name, code);
        }
    }
    while (tl_xcm_wait_event(l.model, 10000, l.event))
        was_lost = was_lost || l.event[0] == XCM_EVENT_LOST;
    // Detach may be through with the target when it is lost.
    const bool has_struck = tl_xcm_n_accesses(l.model) > n_accesses;
    const xcm_state state = xcm_state_of(tl_xcm_monitor(l.model));
    if (state == XCM_LISTENING || state == XCM_HALTED)
        was_lost = CALL(&l, XCM_LISTEN_STOP) == XCM_LOST || was_lost;
    assert_int_equal(xcm_state_of(tl_xcm_monitor(l.model)), XCM_ENDED); // the monitor is alive
    // A core without power is in no state.
    if (target_of(&l)->is_halted && fault != TL_XCM_POWER_LOSS)
        fail_msg("fault %u at %" PRIu64 " leaves the target halted", fault, n_accesses);
    if (is_deadly && started == XCM_DONE && has_struck && !was_lost)
        fail_msg("fault %u at %" PRIu64 ": the target was not reported lost", fault, n_accesses);
    tl_xcm_model_free(l.model);
}

static void test_misfortunes_leave_the_target_running(void **state) {
    const uint64_t look = first_look();
    uint64_t seed = 31;
    (void)state;
    for (uint32_t fault = TL_XCM_POWER_LOSS; fault < TL_XCM_N_FAULTS; fault++)
        for (uint32_t i = 0; i < n_trials() / 20; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1;
            suffer((tl_xcm_fault)fault, (seed >> 33) % 1500, look);
        }
}

// -- Targets that are refused: each with its code, and nothing of the monitor is left behind.

static uint64_t debug_paddr(uint32_t offset) { return UINT64_C(0xb010000) + TARGET * UINT64_C(0x100000) + offset; }
static uint32_t look(lab *l, uint32_t offset) {
    uint32_t value = 0;
    (void)tl_system_access(tl_xcm_system(l->model), tl_system_now_cycles(tl_xcm_system(l->model)), debug_paddr(offset), false, &value);
    return value;
}
static void poke(lab *l, uint32_t offset, uint32_t value) {
    (void)tl_system_access(tl_xcm_system(l->model), tl_system_now_cycles(tl_xcm_system(l->model)), debug_paddr(offset), true, &value);
}

static void test_refused_targets(void **state) {
    enum { DBGBCR0 = 0x408, KEY = 0xc5acce55 };
    static const char *const closed[] = {"debug.dbgen=0", "debug.niden=0", NULL}, *const no_secure[] = {"debug.spiden=0", NULL};
    lab l;
    (void)state;
    set_up_with(&l, closed, 0); // no invasive debug at all
    EXPECT(&l, XCM_NO_AUTHORITY, XCM_LISTEN_START);
    assert_int_equal(l.reply.state, XCM_ENDED);
    finish(&l);
    for (uint32_t bit = 0; bit < 2; bit++) { // another debugger: claims of hosts and of software
        set_up(&l);
        poke(&l, LAR, KEY);
        poke(&l, OSLAR, 0);
        poke(&l, CLAIMSET, 1u << bit);
        poke(&l, LAR, 0);
        EXPECT(&l, XCM_OTHER_DEBUGGER, XCM_LISTEN_START);
        assert_int_equal(look(&l, CLAIMCLR) & 0xff, 1u << bit);
        assert_int_equal(look(&l, EDSCR) >> 14 & 1, 0);
        finish(&l);
    }
    set_up(&l); // a breakpoint that is not ours
    poke(&l, LAR, KEY);
    poke(&l, OSLAR, 0);
    poke(&l, DBGBCR0, 0x41e5);
    EXPECT(&l, XCM_OTHER_DEBUGGER, XCM_LISTEN_START);
    assert_int_equal(look(&l, DBGBCR0), 0x41e5);
    assert_int_equal(look(&l, CLAIMCLR) & 0xff, 0);
    poke(&l, LAR, KEY);
    poke(&l, DBGBCR0, 0);
    finish(&l);
    set_up(&l); // a core without power gets it
    tl_xcm_break(l.model, TL_XCM_POWER_LOSS, 0);
    DO(&l, XCM_LISTEN_START);
    assert_true(look(&l, EDPRSR) & 1);
    tl_xcm_break(l.model, TL_XCM_POWER_LOSS, 0); // and does not lose it again unnoticed
    expect_event(&l, XCM_EVENT_LOST);
    DO(&l, XCM_ROUND_RESET);
    tl_xcm_tick(l.model);
    assert_int_equal(xcm_state_of(tl_xcm_monitor(l.model)), XCM_IDLE); // it is lost once
    assert_int_equal(tl_xcm_n_errors(l.model), 0);
    tl_xcm_model_free(l.model);
    set_up_with(&l, no_secure, 0); // EL3 is closed: direct reads are refused, all else works (H-14)
    start_at(&l, symbol(&l, "probe_point"));
    EXPECT(&l, XCM_NO_AUTHORITY, XCM_UARCH_READ, XCM_TLB, 0, 0, 0);
    EXPECT(&l, XCM_NO_AUTHORITY, XCM_UARCH_DUMP, 7, 1, 100);
    DO(&l, XCM_REG_XFER, 0, 0, 33);
    stop(&l);
    finish(&l);
}

// -- States and the checker.

static void check_all_codes(lab *l, xcm_state state) {
    uint8_t packet[XCM_HEADER_BYTES];
    assert_int_equal(xcm_state_of(tl_xcm_monitor(l->model)), state);
    for (uint32_t function = 0; function < 256; function++) {
        const xcm_op *op = xcm_op_of((uint8_t)function);
        for (uint32_t states = 0; states < 256; states++) {
            const bool is_right = op && states == op->states, is_allowed = op && (op->states & state);
            const uint64_t before = tl_xcm_n_accesses(l->model);
            const xcm_code want = !op             ? XCM_UNKNOWN_OP
                                  : !is_right     ? XCM_WRONG_BITMAP
                                  : !is_allowed   ? XCM_WRONG_STATE
                                  : op->least > 0 ? XCM_BAD_ARGUMENT
                                                  : XCM_DONE;
            if (want == XCM_DONE) // it would run
                continue;
            tl_xcm_send(l->model, packet, xcm_seal(packet, XCM_GET, (uint16_t)(states << 8 | function), 0, 0, 0), &l->reply);
            assert_int_equal(l->reply.code, want);
            assert_int_equal(l->reply.state, state);
            assert_int_equal(l->reply.n_values, 0);
            assert_int_equal(tl_xcm_n_accesses(l->model), before);
        }
    }
}

static void test_each_function_in_each_state(void **state) {
    lab l;
    (void)state;
    set_up(&l);
    check_all_codes(&l, XCM_IDLE);
    DO(&l, XCM_LISTEN_START);
    check_all_codes(&l, XCM_LISTENING);
    stop(&l);
    check_all_codes(&l, XCM_ENDED);
    DO(&l, XCM_ROUND_RESET);
    start_at(&l, symbol(&l, "probe_point"));
    check_all_codes(&l, XCM_HALTED);
    stop(&l);
    DO(&l, XCM_DRV_UNLOAD);
    check_all_codes(&l, XCM_NONE);
    finish(&l);
}

// -- The target is never left halted.

static const uint64_t BUDGET_NS = 50000000, SLACK_NS = 1000000;

static void test_budget_of_a_sleeping_owner(void **state) {
    lab l;
    (void)state;
    set_up(&l);
    start_at(&l, symbol(&l, "probe_point"));
    const uint64_t since = tl_xcm_now_ns(l.model);
    while (target_of(&l)->is_halted)
        tl_xcm_tick(l.model);
    assert_in_range(tl_xcm_now_ns(l.model) - since, BUDGET_NS - SLACK_NS, BUDGET_NS + SLACK_NS);
    assert_int_equal(xcm_state_of(tl_xcm_monitor(l.model)), XCM_LISTENING);
    expect_event(&l, XCM_EVENT_BUDGET);
    expect_event(&l, XCM_EVENT_HIT); // the next round's
    stop(&l);
    finish(&l);
}

static void test_budget_of_a_flooding_owner(void **state) {
    lab l;
    (void)state;
    set_up(&l);
    start_at(&l, symbol(&l, "probe_point"));
    const uint64_t since = tl_xcm_now_ns(l.model);
    xcm_code code = XCM_DONE;
    while (code == XCM_DONE)
        code = CALL(&l, XCM_REG_XFER, 0, 0, 31);
    assert_true(code == XCM_OVER_BUDGET || code == XCM_WRONG_STATE);
    assert_in_range(tl_xcm_now_ns(l.model) - since, 0, BUDGET_NS + SLACK_NS);
    assert_false(target_of(&l)->is_halted);
    stop(&l);
    finish(&l);
}

static void test_long_command_ends_with_the_budget(void **state) {
    lab l;
    (void)state;
    set_up(&l);
    start_at(&l, symbol(&l, "probe_point"));
    const uint64_t since = tl_xcm_now_ns(l.model);
    EXPECT(&l, XCM_OVER_BUDGET, XCM_UARCH_DUMP, 7, 0, 2);
    assert_in_range(tl_xcm_now_ns(l.model) - since, 2000000, 2000000 + SLACK_NS);
    assert_false(target_of(&l)->is_halted);
    expect_event(&l, XCM_EVENT_BUDGET);
    stop(&l);
    finish(&l);
}

static void test_dead_owner_leaves_a_running_target(void **state) {
    lab l;
    (void)state;
    set_up(&l);
    start_at(&l, symbol(&l, "probe_point"));
    xcm_owner_died(tl_xcm_monitor(l.model));
    assert_false(target_of(&l)->is_halted);
    assert_int_equal(xcm_state_of(tl_xcm_monitor(l.model)), XCM_ENDED);
    finish(&l);
}

// -- Random packets. No argument leads outside of the monitor, and the target runs on.

static void test_random_packets(void **state) {
    const uint32_t n = 100 * n_trials();
    uint8_t packet[512];
    lab l;
    (void)state;
    set_up_with(&l, NULL, 1 << 16);
    set_rounds(&l, UINT64_C(1) << 40);
    l.seed = 4711;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t n_args = (uint32_t)random_below(&l, 6);
        for (uint32_t k = 0; k < n_args; k++) {
            const uint64_t some[] = {random_below(&l, 4), random_below(&l, 64), symbol(&l, "probe_point"), HEAP + random_below(&l, 8192),
                                     random_below(&l, UINT64_C(1) << 32) << random_below(&l, 33)};
            xcm_put_element(packet, k, some[random_below(&l, 5)]);
        }
        const uint8_t function = (uint8_t)random_below(&l, XCM_N_FUNCTIONS + 1);
        const uint16_t op = random_below(&l, 16) ? xcm_op_code(function) : (uint16_t)random_below(&l, 65536);
        uint32_t n_bytes = xcm_seal(packet, XCM_GET, op, 0, 0, n_args);
        if (function == XCM_DRV_UNLOAD)
            continue;
        if (random_below(&l, 8) == 0) {
            packet[random_below(&l, n_bytes)] ^= (uint8_t)(1 << random_below(&l, 8));
            n_bytes -= (uint32_t)random_below(&l, 2) * 4;
        }
        l.reply.code = XCM_INTERNAL;
        tl_xcm_send(l.model, packet, n_bytes, &l.reply);
        if (l.reply.code == XCM_INTERNAL)
            fail_msg("packet %u: function %x has no proper reply", i, function);
        if (l.reply.state == XCM_ENDED && random_below(&l, 2))
            DO(&l, XCM_ROUND_RESET);
    }
    if (xcm_state_of(tl_xcm_monitor(l.model)) == XCM_LISTENING || xcm_state_of(tl_xcm_monitor(l.model)) == XCM_HALTED)
        stop(&l);
    assert_false(target_of(&l)->is_halted);
    assert_int_equal(tl_xcm_n_errors(l.model), 0);
    tl_xcm_model_free(l.model);
}

// -- Step mode: one breakpoint, each instruction of EL0, beside a run without a monitor.

enum { MOST_STEPS = 1 << 20 };
typedef struct path {
    uint64_t *pcs;
    uint64_t n;
} path;

static void note_step(void *ctx, uint64_t address) {
    path *p = ctx;
    assert_true(p->n < MOST_STEPS);
    p->pcs[p->n++] = address;
}

// Instruction by instruction of all harts. n_rounds: 0 for a program without rounds.
static void run_alone(path *p, const char *file, uint64_t n_rounds) {
    lab l;
    set_up_by(&l, &(tl_xcm_options){.software = {.program = file}});
    if (n_rounds > 0)
        set_rounds(&l, n_rounds);
    tl_system_report report = {.stop = TL_SYSTEM_LIMIT};
    const tl_hart *h = target_of(&l);
    for (uint64_t n = 1; report.stop == TL_SYSTEM_LIMIT; n++) {
        const tl_system_limits limits = {.until_cycle = UINT64_MAX, .until_instret = n, .break_pc = {TL_NO_LINE, TL_NO_LINE}};
        const uint64_t pc = h->pc, instret = h->instret, priv = h->priv;
        assert_int_equal(tl_system_run(tl_xcm_system(l.model), &limits, &report, NULL), TL_OK);
        assert_in_range(h->instret - instret, 0, 1);
        if (priv == 0 && (h->instret != instret || h->priv != priv))
            note_step(p, pc);
    }
    tl_xcm_model_free(l.model);
}

static void test_steps_follow_the_program(void **state) {
    path alone = {.pcs = malloc(MOST_STEPS * sizeof(uint64_t))}, stepped = {.pcs = malloc(MOST_STEPS * sizeof(uint64_t))};
    static uint64_t args[4000];
    uint32_t n = 2;
    lab l;
    (void)state;
    const uint64_t n_rounds = n_trials() / 100;
    run_alone(&alone, program, n_rounds);
    set_up_by(&l, &(tl_xcm_options){.on_hit = note_step, .ctx = &stepped});
    set_rounds(&l, n_rounds);
    args[0] = 1; // step mode
    args[1] = alone.pcs[0];
    // Every fourth address of the code is left out, so that there are steps without hits.
    for (uint64_t at = symbol(&l, "jump_to"); at < symbol(&l, "stubs"); at += 4)
        args[n++] = at;
    for (uint64_t k = 0; k < 24; k++)
        args[n++] = symbol(&l, "stubs") + 4096 * k + 4;
    for (uint64_t i = 0; n < 3999 && i < alone.n; i++)
        if (i < 1500 || alone.pcs[i] >= symbol(&l, "work"))
            args[n++] = alone.pcs[i];
    args[n++] = symbol(&l, "finish_all");
    assert_true(n > 1000);
    assert_int_equal(tl_xcm_call(l.model, XCM_LIST_LOAD, args, n, &l.reply), XCM_DONE);
    DO(&l, XCM_LISTEN_START);
    int32_t status = -1;
    for (uint32_t i = 0; i < 4000 && !tl_xcm_wait_end(l.model, RUN_NS / 1000, &status); i++)
        if (tl_xcm_wait_event(l.model, 1, l.event) && l.event[0] == XCM_EVENT_NO_HALT)
            DO(&l, XCM_LISTEN_STOP); // EL0 has ended by SVC
    DO(&l, XCM_STATUS);
    print_message("%" PRIu64 " steps of %" PRIu64 ", %" PRIu64 " hits\n", l.reply.values[7], alone.n, stepped.n);
    assert_int_equal(l.reply.values[7], alone.n);
    uint64_t n_hits = 0;
    for (uint64_t i = 0; i < alone.n; i++) {
        bool is_listed = false;
        for (uint32_t k = 2; k < n && !is_listed; k++)
            is_listed = args[k] == alone.pcs[i];
        if (!is_listed)
            continue;
        assert_true(n_hits < stepped.n);
        if (stepped.pcs[n_hits] != alone.pcs[i])
            fail_msg("hit %" PRIu64 " is %" PRIx64 ", the program is at %" PRIx64, n_hits, stepped.pcs[n_hits], alone.pcs[i]);
        n_hits += 1;
    }
    assert_int_equal(n_hits, stepped.n);
    assert_int_equal(status, 0);
    assert_int_equal(tl_xcm_n_errors(l.model), 0);
    tl_xcm_model_free(l.model);
    free(alone.pcs);
    free(stepped.pcs);
}

// -- Awkward code (X-10, H-8): exclusives, a branch to itself, system calls, a branch that never
// arrives.

enum { SPINS = 5 };
typedef struct walk {
    path path;
    lab *l;
    uint64_t spin, n_spins, instret;
} walk;

// The fifth time at the branch to itself its register becomes 0. Each time it has been executed.
static void note_awkward(void *ctx, uint64_t address) {
    walk *w = ctx;
    note_step(&w->path, address);
    if (address != w->spin)
        return;
    tl_machine_sync(w->l->machine);
    assert_true(target_of(w->l)->instret > w->instret);
    w->instret = target_of(w->l)->instret;
    if (++w->n_spins == SPINS)
        tl_a64(target_of(w->l))->x[4] = 0;
}

static bool is_in(uint64_t address, uint64_t from, uint64_t to) { return address > from && address <= to; }

// The program goes on for some time, so that the monitor sees nothing happen in it.
static void set_up_awkward(lab *l, const tl_xcm_options *options) {
    const uint64_t lingers = 20000000;
    tl_xcm_options given = *options;
    given.software.program = awkward;
    set_up_by(l, &given);
    memcpy(tl_machine_ram(l->machine, symbol(l, "lingers")), &lingers, sizeof lingers);
}

static void test_awkward_code_is_stepped(void **state) {
    // TAKE, PUT_BACK: from the load-exclusive to its store.
    enum { MOST_WORDS = 64, TAKE_WORDS = 2, PUT_BACK_WORDS = 3 };
    path alone = {.pcs = malloc(MOST_STEPS * sizeof(uint64_t))};
    walk w = {.path = {.pcs = malloc(MOST_STEPS * sizeof(uint64_t))}};
    uint64_t args[2 + MOST_WORDS] = {1};
    uint32_t n = 2;
    lab l;
    (void)state;
    run_alone(&alone, awkward, 0);
    set_up_awkward(&l, &(tl_xcm_options){.on_hit = note_awkward, .ctx = &w});
    const uint64_t start = symbol(&l, "stepped"), take = symbol(&l, "take"), put_back = symbol(&l, "put_back"), odd = symbol(&l, "odd");
    const uint64_t one = 1;
    memcpy(tl_machine_ram(l.machine, symbol(&l, "spins")), &one, sizeof one);
    w.l = &l;
    w.spin = symbol(&l, "spin");
    // An address inside a sequence is refused, and one before or behind it is not.
    for (uint64_t at = take; at < symbol(&l, "leave"); at += 4) {
        const bool is_inside = is_in(at, take, take + 4 * TAKE_WORDS) || is_in(at, put_back, put_back + 4 * PUT_BACK_WORDS);
        EXPECT(&l, is_inside ? XCM_BAD_ARGUMENT : XCM_DONE, XCM_LIST_LOAD, 1, start, at);
        if (!is_inside)
            args[n++] = at;
    }
    args[1] = start;
    args[n++] = start;
    for (uint64_t at = symbol(&l, "leave"); at < symbol(&l, "call") + 20; at += 4)
        args[n++] = at;
    args[n++] = odd;
    args[n++] = odd + 4; // the tail
    assert_int_equal(tl_xcm_call(l.model, XCM_LIST_LOAD, args, n, &l.reply), XCM_DONE);
    DO(&l, XCM_LISTEN_START);
    // The branch to an odd address goes to EL1 and does not come back. The lost step is told.
    expect_event(&l, XCM_EVENT_NO_HALT);
    assert_int_equal(w.n_spins, SPINS);
    uint64_t n_seen = 0, spins = 0;
    for (uint64_t i = 0; i < alone.n; i++) {
        const uint64_t at = alone.pcs[i];
        if (at % 4 != 0 || at == symbol(&l, "lazy") || is_in(at, take, take + 4 * TAKE_WORDS) ||
            is_in(at, put_back, put_back + 4 * PUT_BACK_WORDS))
            continue; // the fetch that fails, and sequences
        for (; w.path.pcs[n_seen] == w.spin && spins < SPINS - 1; spins++)
            n_seen += 1;
        if (n_seen >= w.path.n || w.path.pcs[n_seen] != at)
            fail_msg("hit %" PRIu64 " is %" PRIx64 ", the program is at %" PRIx64, n_seen, w.path.pcs[n_seen], at);
        n_seen += 1;
    }
    assert_int_equal(n_seen, w.path.n);
    stop(&l);
    finish(&l); // with the right counts
    free(alone.pcs);
    free(w.path.pcs);
}

// Without an image the monitor finds out at the first hit, and tells it once.
// The resumed instruction faults, and the program tries it again.
static void test_a_fault_at_a_breakpoint_is_no_new_hit(void **state) {
    lab l;
    (void)state;
    set_up_awkward(&l, &(tl_xcm_options){0});
    DO(&l, XCM_LIST_LOAD, 0, 0, symbol(&l, "lazy"), symbol(&l, "leave"), symbol(&l, "odd"));
    DO(&l, XCM_LISTEN_START);
    expect_event(&l, XCM_EVENT_HIT);
    assert_int_equal(l.event[1], symbol(&l, "lazy"));
    DO(&l, XCM_RESUME);
    expect_event(&l, XCM_EVENT_HIT);
    assert_int_equal(l.event[1], symbol(&l, "leave"));
    stop(&l);
    finish(&l);
}

// A core without EXC_TAKEN does not count the exception. The sentinel in ELR_EL1 gives it away.
static void test_a_probe_of_a_trapped_instruction(void **state) {
    enum { FMOV_D0_XZR = 0x9e6703e0, EXC_TAKEN = 9 };
    lab l;
    (void)state;
    set_up_awkward(&l, &(tl_xcm_options){0});
    const uint64_t lazy = symbol(&l, "lazy");
    DO(&l, XCM_LIST_LOAD, 0, 0, lazy, symbol(&l, "odd"));
    DO(&l, XCM_LISTEN_START);
    expect_event(&l, XCM_EVENT_HIT);
    tl_xcm_monitor(l.model)->pmceid0 &= ~(1u << EXC_TAKEN);
    EXPECT(&l, XCM_UNKNOWN_VERDICT, XCM_PROBE, XCM_ITLB, lazy, 0, FMOV_D0_XZR);
    assert_int_equal(l.reply.values[0], XCM_UNKNOWN);
    assert_int_equal(l.reply.values[1], XCM_WHY_EXCEPTION);
    stop(&l);
    finish(&l);
}

// A core that has given up its power has nothing in its first-level caches and its TLB.
static void test_a_core_without_power_is_empty(void **state) {
    enum { KEY = 0xc5acce55 };
    uint32_t n_pages = 0;
    tl_page page;
    lab l;
    (void)state;
    set_up_awkward(&l, &(tl_xcm_options){0});
    tl_a64_debug *debug = &tl_a64(target_of(&l))->debug;
    const uint8_t *is_done = tl_machine_ram(l.machine, symbol(&l, "is_done"));
    for (uint32_t i = 0; i < 1000 && !*is_done; i++)
        tl_xcm_sleep(l.model, 10000);
    tl_xcm_sleep(l.model, 10000);
    assert_true(*is_done && target_of(&l)->is_waiting);
    assert_true(n_valid(&l, false) > 0 && n_valid(&l, true) > 0);
    debug->leaves = TL_A64_LEAVES;
    poke(&l, LAR, KEY);
    poke(&l, EDPRCR, 0); // the controller looks at the core
    tl_xcm_sleep(l.model, 10000);
    assert_true(debug->is_off);
    assert_int_equal(n_valid(&l, false), 0);
    assert_int_equal(n_valid(&l, true), 0);
    for (uint32_t i = 0; tl_oracle_page(l.machine, TARGET, TL_TLB_SECOND, i, &page); i++)
        n_pages += page.flags != 0;
    assert_int_equal(n_pages, 0);
    finish(&l);
}

// The breakpoint has no effect while the target holds its OS lock.
static void test_the_os_lock_is_taken_back(void **state) {
    lab l;
    (void)state;
    set_up(&l);
    start_at(&l, symbol(&l, "probe_point"));
    DO(&l, XCM_RESUME);
    tl_a64_set_os_lock(target_of(&l), true);
    expect_event(&l, XCM_EVENT_HIT);
    assert_int_equal(l.event[1], symbol(&l, "probe_point"));
    stop(&l);
    finish(&l);
}

static void test_addresses_inside_exclusives_are_told(void **state) {
    lab l;
    (void)state;
    set_up_awkward(&l, &(tl_xcm_options){.has_no_images = true});
    const uint64_t start = symbol(&l, "stepped"), take = symbol(&l, "take");
    DO(&l, XCM_LIST_LOAD, 1, start, take + 8, take + 16, symbol(&l, "odd"));
    DO(&l, XCM_LISTEN_START);
    for (uint32_t i = 0; i < 5; i++) {
        if (i == 0) {
            expect_event(&l, XCM_EVENT_SKIPPED);
            assert_int_equal(l.event[1], take + 8);
            assert_int_equal(l.event[2], XCM_BAD_ARGUMENT);
        }
        expect_event(&l, XCM_EVENT_HIT);
        assert_int_equal(l.event[1], take + 16);
        DO(&l, XCM_RESUME);
    }
    expect_event(&l, XCM_EVENT_NO_HALT);
    stop(&l);
    finish(&l);
}

// -- Hazards.

// H-5: the target has not come to EL0 yet. It may hold a lock that the debugger core needs.
static void test_halts_in_the_kernel_are_given_up(void **state) {
    lab l;
    (void)state;
    set_up(&l);
    set_rounds(&l, 100);
    DO(&l, XCM_LISTEN_START);
    assert_true(target_of(&l)->priv > 0);
    EXPECT(&l, XCM_WRONG_LEVEL, XCM_HALT_REQ);
    assert_int_equal(l.reply.state, XCM_LISTENING);
    assert_false(target_of(&l)->is_halted);
    while (target_of(&l)->priv > 0)
        tl_xcm_tick(l.model);
    DO(&l, XCM_HALT_REQ);
    assert_true(target_of(&l)->is_halted);
    stop(&l);
    finish(&l);
}

// H-7: no DC instruction is put into the target, whatever is asked. Dirty lines of the probed set
// keep their data.
static bool is_cache_instruction(const tl_xcm_access *a) {
    enum { AT = 8 }; // CRm of address translations
    return a->is_write && a->block == XCM_DBG && a->offset == 0x84 && (a->value & 0xfff80000) == 0xd5080000 && (a->value >> 12 & 15) == 7 &&
           (a->value >> 8 & 15) != AT;
}

enum { MOST_ACCESSES = 1 << 20 };
static void test_dirty_lines_survive(void **state) {
    enum { WAYS = 4, WAY_BYTES = 0x2000 };
    tl_xcm_access *transcript = calloc(MOST_ACCESSES, sizeof *transcript);
    lab l;
    (void)state;
    set_up(&l);
    set_rounds(&l, 40);
    start_at(&l, symbol(&l, "probe_point"));
    tl_xcm_record(l.model, transcript, MOST_ACCESSES);
    DO(&l, XCM_CALIBRATE, symbol(&l, "load_site"), LDR_X1_X0, HEAP);
    for (uint64_t way = 0; way < WAYS; way++)
        DO(&l, XCM_MEM_XFER, 1, HEAP + way * WAY_BYTES, 8, 0, UINT64_C(0x1122334455667700) + way);
    // The last one cannot have been displaced.
    assert_int_equal(tl_oracle_state_of(l.machine, TARGET, false, HEAP + (WAYS - 1) * WAY_BYTES), 'M');
    EXPECT(&l, XCM_UNKNOWN_VERDICT, XCM_PROBE, XCM_L2, HEAP + (WAYS - 1) * WAY_BYTES, symbol(&l, "load_site"), LDR_X1_X0);
    DO(&l, XCM_UARCH_DUMP, 7, 1, 200);
    for (uint64_t way = 0; way < WAYS; way++) {
        DO(&l, XCM_MEM_XFER, 0, HEAP + way * WAY_BYTES, 8, 0);
        assert_int_equal(l.reply.values[0], UINT64_C(0x1122334455667700) + way);
    }
    stop(&l);
    const uint64_t n = tl_xcm_n_recorded(l.model);
    assert_in_range(n, 10000, MOST_ACCESSES);
    for (uint64_t i = 0; i < n; i++)
        assert_false(is_cache_instruction(&transcript[i]));
    tl_xcm_record(l.model, NULL, 0);
    free(transcript);
    finish(&l);
}

// H-11: events of another tool are given back at the end, also those that it sets in the meantime.
// A probe then has no verdict.
static void test_another_user_of_the_counters(void **state) {
    enum { KEY = 0xc5acce55, PMU = 0x20000, VALUE = 1234, CYCLES = 0x11, STORES = 0x7 };
    lab l;
    (void)state;
    set_up(&l);
    set_rounds(&l, 100);
    const uint64_t at = symbol(&l, "probe_point"), load = symbol(&l, "load_site");
    poke(&l, LAR, KEY);
    poke(&l, OSLAR, 0);
    poke(&l, PMU + LAR, KEY);
    poke(&l, PMU + PMEVTYPER, CYCLES);
    poke(&l, PMU + PMEVCNTR, VALUE);
    poke(&l, PMU + PMCNTENSET, 1);
    start_at(&l, at);
    DO(&l, XCM_CALIBRATE, load, LDR_X1_X0, HEAP);
    assert_int_not_equal(look(&l, PMU + PMEVTYPER), CYCLES);
    poke(&l, PMU + PMEVTYPER + 8, STORES);
    EXPECT(&l, XCM_UNKNOWN_VERDICT, XCM_PROBE, XCM_DTLB, HEAP, load, LDR_X1_X0);
    assert_int_equal(l.reply.values[1], XCM_WHY_CONFLICT);
    stop(&l);
    assert_int_equal(look(&l, PMU + PMEVTYPER), CYCLES);
    assert_int_equal(look(&l, PMU + PMEVTYPER + 8), STORES);
    assert_int_equal(look(&l, PMU + PMEVCNTR), VALUE);
    assert_int_equal(look(&l, PMU + PMCNTENSET), 1);
    DO(&l, XCM_ROUND_RESET);
    start_at(&l, at);
    DO(&l, XCM_PROBE, XCM_DTLB, HEAP, load, LDR_X1_X0);
    stop(&l);
    finish(&l);
}

// H-15: other harts run during a stop. Their interrupts for the target wait for its end.
static void test_interrupts_wait_for_the_end_of_a_stop(void **state) {
    const uint64_t noise = 400;
    uint64_t before = 0, after = 0;
    lab l;
    (void)state;
    set_up(&l);
    set_rounds(&l, 300);
    memcpy(tl_machine_ram(l.machine, symbol(&l, "noise")), &noise, sizeof noise);
    const uint8_t *n_interrupts = tl_machine_ram(l.machine, symbol(&l, "n_interrupts"));
    start_at(&l, symbol(&l, "probe_point"));
    memcpy(&before, n_interrupts, sizeof before);
    tl_machine_sync(l.machine);
    const uint64_t other = l.machine->harts[0]->instret;
    tl_xcm_sleep(l.model, 2000000);
    tl_machine_sync(l.machine);
    assert_true(l.machine->harts[0]->instret > other + 1000000);
    memcpy(&after, n_interrupts, sizeof after);
    assert_int_equal(after, before);
    assert_true(target_of(&l)->is_halted);
    stop(&l);
    tl_xcm_sleep(l.model, 100000);
    memcpy(&after, n_interrupts, sizeof after);
    assert_true(after > before);
    finish(&l);
}

// H-18: a sender that may not debug is refused in each state, before a register is reached. A
// target beyond the board is refused.
static xcm_code last_code;
static void note_code(void *ctx, const uint8_t *packet, uint32_t n_bytes) {
    xcm_packet header;
    (void)ctx;
    assert_int_equal(xcm_check_packet(packet, n_bytes, XCM_REPLY, &header), XCM_DONE);
    last_code = header.op == XCM_EVENT_OP ? last_code : (xcm_code)header.code;
}
static void expect_no_privilege(lab *l, xcm_state state) {
    uint8_t packet[XCM_HEADER_BYTES];
    assert_int_equal(xcm_state_of(tl_xcm_monitor(l->model)), state);
    for (uint8_t function = 0; function < XCM_N_FUNCTIONS; function++) {
        const uint64_t before = tl_xcm_n_accesses(l->model);
        xcm_submit(tl_xcm_monitor(l->model), packet, xcm_seal(packet, XCM_GET, xcm_op_code(function), 0, 0, 0), 1, false);
        assert_int_equal(last_code, xcm_op_of(function)->states & state ? XCM_NO_PRIVILEGE : XCM_WRONG_STATE);
        assert_false(xcm_is_busy(tl_xcm_monitor(l->model)));
        assert_int_equal(tl_xcm_n_accesses(l->model), before);
    }
}

// H-9: an interrupt waits when the step begins, and the step is still one of the program.
static void test_steps_take_no_interrupt(void **state) {
    enum { STEPS = 40 };
    const uint64_t noise = 400;
    uint64_t before = 0, after = 0;
    lab l;
    (void)state;
    set_up(&l);
    set_rounds(&l, 300);
    memcpy(tl_machine_ram(l.machine, symbol(&l, "noise")), &noise, sizeof noise);
    const uint8_t *n_interrupts = tl_machine_ram(l.machine, symbol(&l, "n_interrupts"));
    start_at(&l, symbol(&l, "probe_point"));
    memcpy(&before, n_interrupts, sizeof before);
    for (uint32_t i = 0; i < STEPS; i++) {
        tl_xcm_sleep(l.model, 5000);
        DO(&l, XCM_RESUME, 0, 1);
        assert_int_equal(l.reply.n_values, 1);
    }
    memcpy(&after, n_interrupts, sizeof after);
    assert_int_equal(after, before);
    stop(&l);
    finish(&l);
}

static void test_senders_without_privilege_reach_nothing(void **state) {
    lab l;
    (void)state;
    set_up_by(&l, &(tl_xcm_options){.on_packet = note_code});
    expect_no_privilege(&l, XCM_IDLE);
    DO(&l, XCM_LISTEN_START);
    expect_no_privilege(&l, XCM_LISTENING);
    stop(&l);
    expect_no_privilege(&l, XCM_ENDED);
    DO(&l, XCM_ROUND_RESET);
    start_at(&l, symbol(&l, "probe_point"));
    expect_no_privilege(&l, XCM_HALTED);
    stop(&l);
    finish(&l);
    tl_xcm_options options = {.software = {.program = program, .console_in = -1, .console_out = -1, .n_harts = 2}, .target = 2};
    tl_error err = {0};
    assert_int_equal(tl_xcm_model_new(&options, &l.model, &err), TL_EINVAL);
}

// -- A transcript replays with the decisions that it was made with.

typedef struct replay {
    const tl_xcm_access *from;
    uint64_t n, at, n_different;
    bool has_reply, has_event;
} replay;

static uint64_t time_of(void *ctx) {
    const replay *r = ctx;
    return r->at == 0 ? 0 : r->from[r->at - 1].time_ns;
}
static uint32_t replay_access(replay *r, xcm_block block, uint32_t offset, bool is_write, uint32_t value) {
    if (r->at == r->n) {
        r->n_different += 1;
        return 0;
    }
    const tl_xcm_access *a = &r->from[r->at++];
    r->n_different += a->block != block || a->offset != offset || a->is_write != is_write || (is_write && a->value != value);
    return a->value;
}
static uint32_t replay_read(void *ctx, xcm_block block, uint32_t offset) { return replay_access(ctx, block, offset, false, 0); }
static void replay_write(void *ctx, xcm_block block, uint32_t offset, uint32_t value) {
    (void)replay_access(ctx, block, offset, true, value);
}
static void replay_relax(void *ctx) { (void)ctx; }
static void replay_notify(void *ctx, const uint8_t *packet, uint32_t n_bytes) {
    replay *r = ctx;
    xcm_packet header;
    assert_int_equal(xcm_check_packet(packet, n_bytes, XCM_REPLY, &header), XCM_DONE);
    if (header.op == XCM_EVENT_OP)
        r->has_event = true;
    else
        r->has_reply = true;
}

typedef struct deed { // of the owner: a packet, or waiting for an event
    xcm_function function;
    bool waits;
    uint32_t n;
    uint64_t args[5];
} deed;

static void test_transcript_replays(void **state) {
    lab l;
    (void)state;
    set_up(&l);
    const uint64_t at = symbol(&l, "probe_point"), tail = symbol(&l, "finish_all"), load = symbol(&l, "load_site");
    const deed deeds[] = {
        {XCM_LIST_LOAD, false, 4, {0, 0, at, tail}},
        {XCM_LISTEN_START, true, 0, {0}},
        {XCM_REG_XFER, false, 3, {0, 0, 33}},
        {XCM_CALIBRATE, false, 3, {load, LDR_X1_X0, HEAP}},
        {XCM_PROBE, false, 4, {XCM_DTLB, HEAP + 4096, load, LDR_X1_X0}},
        {XCM_MEM_XFER, false, 4, {0, HEAP, 64, 1}},
        {XCM_UARCH_READ, false, 4, {XCM_TLB, 1, 2, 0}},
        {XCM_RESUME, true, 0, {0}},
        {XCM_MEM_XFER, false, 4, {0, 64, 8, 0}},
        {XCM_UARCH_DUMP, false, 2, {1, 1}},
        {XCM_LISTEN_STOP, false, 0, {0}},
    };
    tl_xcm_access *transcript = calloc(MOST_ACCESSES, sizeof *transcript);
    tl_xcm_record(l.model, transcript, MOST_ACCESSES);
    for (uint32_t i = 0; i < TL_COUNT_OF(deeds); i++) {
        const xcm_code code = tl_xcm_call(l.model, deeds[i].function, deeds[i].args, deeds[i].n, &l.reply);
        assert_true(code == XCM_DONE || code == XCM_EXCEPTION);
        if (deeds[i].waits)
            expect_event(&l, XCM_EVENT_HIT);
    }
    const uint64_t n = tl_xcm_n_recorded(l.model);
    assert_in_range(n, 10000, MOST_ACCESSES);
    tl_xcm_record(l.model, NULL, 0);
    finish(&l);

    replay r = {.from = transcript, .n = n};
    const xcm_host host = {
        .ctx = &r, .rd32 = replay_read, .wr32 = replay_write, .now_ns = time_of, .relax = replay_relax, .notify = replay_notify};
    uint64_t list[16];
    uint32_t hash[32];
    const xcm_config config = {
        .host = &host, .mpidr = UINT64_C(0x80000001), .list = list, .list_capacity = 16, .hash = hash, .hash_capacity = 32};
    xcm *m = calloc(1, xcm_bytes());
    assert_true(xcm_init(m, &config));
    for (uint32_t i = 0; i < TL_COUNT_OF(deeds); i++) {
        uint8_t packet[128];
        for (uint32_t k = 0; k < deeds[i].n; k++)
            xcm_put_element(packet, k, deeds[i].args[k]);
        r.has_reply = r.has_event = false;
        xcm_submit(m, packet, xcm_seal(packet, XCM_GET, xcm_op_code((uint8_t)deeds[i].function), 0, 0, deeds[i].n), 1, true);
        while (!r.has_reply && r.n_different == 0)
            xcm_tick(m);
        while (deeds[i].waits && !r.has_event && r.n_different == 0)
            xcm_tick(m);
        assert_int_equal(r.n_different, 0);
    }
    assert_int_equal(r.at, n);
    free(m);
    free(transcript);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halts_reads_steps_and_resumes),
        cmocka_unit_test(test_leaves_the_program_as_it_was),
        cmocka_unit_test(test_a_fault_gives_no_level),
        cmocka_unit_test(test_the_ledger_tells_what_was_done),
        cmocka_unit_test(test_dump_equals_the_oracle),
        cmocka_unit_test(test_a_probe_leaves_the_program_alone),
        cmocka_unit_test(test_verdicts_equal_the_oracle),
        cmocka_unit_test(test_verdicts_with_all_events),
        cmocka_unit_test(test_verdicts_with_noise),
        cmocka_unit_test(test_verdicts_with_noise_and_prefetchers),
        cmocka_unit_test(test_each_policy_gives_the_same),
        cmocka_unit_test(test_checksums_of_the_examples),
        cmocka_unit_test(test_a_direct_read_leaves_no_trace),
        cmocka_unit_test(test_rollback_repeats_a_probe),
        cmocka_unit_test(test_flush_empties_the_caches),
        cmocka_unit_test(test_misfortunes_leave_the_target_running),
        cmocka_unit_test(test_refused_targets),
        cmocka_unit_test(test_each_function_in_each_state),
        cmocka_unit_test(test_budget_of_a_sleeping_owner),
        cmocka_unit_test(test_budget_of_a_flooding_owner),
        cmocka_unit_test(test_long_command_ends_with_the_budget),
        cmocka_unit_test(test_dead_owner_leaves_a_running_target),
        cmocka_unit_test(test_random_packets),
        cmocka_unit_test(test_steps_follow_the_program),
        cmocka_unit_test(test_awkward_code_is_stepped),
        cmocka_unit_test(test_a_fault_at_a_breakpoint_is_no_new_hit),
        cmocka_unit_test(test_a_probe_of_a_trapped_instruction),
        cmocka_unit_test(test_a_core_without_power_is_empty),
        cmocka_unit_test(test_the_os_lock_is_taken_back),
        cmocka_unit_test(test_addresses_inside_exclusives_are_told),
        cmocka_unit_test(test_halts_in_the_kernel_are_given_up),
        cmocka_unit_test(test_dirty_lines_survive),
        cmocka_unit_test(test_another_user_of_the_counters),
        cmocka_unit_test(test_interrupts_wait_for_the_end_of_a_stop),
        cmocka_unit_test(test_steps_take_no_interrupt),
        cmocka_unit_test(test_senders_without_privilege_reach_nothing),
        cmocka_unit_test(test_transcript_replays),
    };
    if (argc != 2 && argc != 3)
        return 1;
    program = argv[1];
    char beside[4096];
    const char *slash = strrchr(program, '/');
    snprintf(beside, sizeof beside, "%.*sstepped.elf", slash ? (int)(slash + 1 - program) : 0, program);
    awkward = beside;
    if (argc == 3) // a pattern of names: only these
        cmocka_set_test_filter(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
