// SPDX-License-Identifier: MIT
// The cross-core monitor on hart 1 of a simulated Cortex-A53, which runs a program at EL0:
// guest/bare/a64/monitored.c. Its findings stand beside the oracle, and the program ends with the
// right result whatever was done to it.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "isa/a64/hart.h"
#include "machine/oracle.h"
#include "xcm/model.h"

enum { TARGET = 1, HIT_NS = 200000000 };
static const char *program;
static const uint64_t RUN_NS = UINT64_C(20000000000);

typedef struct lab {
    tl_xcm_model *model;
    tl_machine *machine;
    tl_xcm_reply reply;
    uint64_t event[3];
} lab;

static uint64_t symbol(const lab *l, const char *name) {
    uint64_t address = 0;
    assert_int_equal(tl_system_symbol(tl_xcm_system(l->model), name, false, &address, NULL), TL_OK);
    return address;
}

static void set_up_with(lab *l, const char *const *overrides, uint64_t ring_bytes) {
    const tl_xcm_options options = {
        .overrides = overrides,
        .software = {.program = program, .console_in = -1, .console_out = -1, .n_harts = 2},
        .target = TARGET,
        .ring_bytes = ring_bytes,
    };
    tl_error err = {0};
    memset(l, 0, sizeof *l);
    if (tl_xcm_model_new(&options, &l->model, &err) != TL_OK)
        fail_msg("%s", err.text);
    l->machine = tl_xcm_machine(l->model);
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
        while (xcm_ring_take(tl_xcm_ring(l.model), &r, (uint8_t *)words, sizeof words))
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

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halts_reads_steps_and_resumes),
        cmocka_unit_test(test_leaves_the_program_as_it_was),
        cmocka_unit_test(test_dump_equals_the_oracle),
    };
    if (argc != 2)
        return 1;
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
