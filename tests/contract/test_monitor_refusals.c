// SPDX-License-Identifier: MIT
// Targets and senders that the monitor must refuse, as a few registers show them. There is no
// board. A refused target sees no write, or writes of locks and power requests that are undone. A
// target that only its first halt gives away goes on at once, and no instruction is put into it.
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "monitor/registers.h"
#include "monitor/xcm.h"

enum { WORDS = 1024, MOST_WRITES = 4096 };
static const uint64_t MPIDR = UINT64_C(0x180000001);

typedef struct write {
    xcm_block block;
    uint32_t offset, value;
} write;

typedef struct stub {
    uint32_t reg[XCM_N_BLOCKS][WORDS];
    bool is_locked[XCM_N_BLOCKS], is_jammed; // a jammed software lock does not open
    bool has_no_power, obeys_power_request;  // COREPURQ brings the power
    bool loses_claims;
    uint32_t first_lost, n_lost, n_pulses; // restart pulses that the target does not see
    uint32_t el, n_levels;                 // of the next halts: above EL0 for so many
    uint32_t rw;                           // EDSCR.RW at a halt
    uint32_t claims;
    uint64_t now_ns;
    write writes[MOST_WRITES];
    uint32_t n_writes, n_errors, n_restarts;
    xcm *monitor;
    xcm_host host;
    xcm_code code;
    xcm_state state;
    uint64_t event;
    uint32_t n_events;
} stub;

static uint32_t *word(stub *s, xcm_block block, uint32_t offset) { return &s->reg[block][offset / 4 % WORDS]; }
static uint32_t *prsr(stub *s) { return word(s, XCM_DBG, EDPRSR); }
static uint32_t *scr(stub *s) { return word(s, XCM_DBG, EDSCR); }

// Registers of the core power domain are an error without power and behind the OS lock.
static bool is_of_core(xcm_block block, uint32_t offset) {
    if (block == XCM_CTI || offset >= 0xfa8)
        return false;
    return block == XCM_PMU || (offset != EDPRSR && offset != EDPRCR && offset != OSLAR && offset != EDECR && offset != EDDFR);
}
static void touch(stub *s, xcm_block block, uint32_t offset) {
    s->now_ns += 150;
    s->n_errors += is_of_core(block, offset) && (!(*prsr(s) & PRSR_PU) || (*prsr(s) & (PRSR_OSLK | PRSR_DLK)) != 0);
}

static uint32_t rd32(void *ctx, xcm_block block, uint32_t offset) {
    stub *s = ctx;
    touch(s, block, offset);
    if (offset == LSR)
        return LSR_SLI | (s->is_locked[block] ? LSR_SLK : 0);
    if (block == XCM_DBG && offset == CLAIMCLR)
        return s->claims;
    const uint32_t value = *word(s, block, offset);
    if (block == XCM_DBG && offset == EDPRSR && !s->is_locked[block])
        *prsr(s) &= ~(uint32_t)PRSR_STICKY;
    return value;
}

static void halt(stub *s) {
    const uint32_t el = s->n_levels > 0 ? s->el : 0;
    s->n_levels -= s->n_levels > 0;
    *prsr(s) |= PRSR_HALTED;
    *scr(s) =
        (*scr(s) & ~(SCR_STATUS | 0xf << SCR_RW_LSB | 3 << SCR_EL_LSB)) | STATUS_REQUEST | el << SCR_EL_LSB | s->rw << SCR_RW_LSB | SCR_ITE;
}
static void restart(stub *s) {
    if (s->n_pulses++ - s->first_lost < s->n_lost)
        return;
    s->n_restarts += 1;
    *prsr(s) = (*prsr(s) & ~(uint32_t)PRSR_HALTED) | PRSR_SDR;
    *scr(s) = (*scr(s) & ~SCR_STATUS) | STATUS_RUNNING;
}

static void wr32(void *ctx, xcm_block block, uint32_t offset, uint32_t value) {
    stub *s = ctx;
    touch(s, block, offset);
    assert_true(s->n_writes < MOST_WRITES);
    s->writes[s->n_writes++] = (write){block, offset, value};
    if (offset == LAR) {
        s->is_locked[block] = s->is_jammed || value != LOCK_KEY;
        return;
    }
    if (s->is_locked[block])
        return; // and nobody is told
    if (block == XCM_DBG && offset == OSLAR) {
        *prsr(s) = (*prsr(s) & ~(uint32_t)PRSR_OSLK) | (value & 1 ? PRSR_OSLK : 0);
    } else if (block == XCM_DBG && offset == CLAIMSET) {
        s->claims |= s->loses_claims ? 0 : value;
    } else if (block == XCM_DBG && offset == CLAIMCLR) {
        s->claims &= ~value;
    } else if (block == XCM_DBG && offset == EDPRCR) {
        *word(s, block, offset) = value;
        if ((value & EDPRCR_COREPURQ) && s->obeys_power_request)
            *prsr(s) |= PRSR_PU;
    } else if (block == XCM_DBG && offset == EDSCR) {
        *scr(s) = (*scr(s) & ~(SCR_SAVED | SCR_MA)) | (value & (SCR_SAVED | SCR_MA));
    } else if (block == XCM_CTI && offset == CTIAPPPULSE) {
        if (value & CHANNEL_HALT)
            halt(s);
        if (value & CHANNEL_RESTART)
            restart(s);
    } else {
        *word(s, block, offset) = value;
    }
}

static uint64_t now_ns(void *ctx) { return ((stub *)ctx)->now_ns; }
static void relax(void *ctx) { ((stub *)ctx)->now_ns += 1000; }
static void notify(void *ctx, const uint8_t *packet, uint32_t n_bytes) {
    stub *s = ctx;
    xcm_packet header;
    assert_int_equal(xcm_check_packet(packet, n_bytes, XCM_REPLY, &header), XCM_DONE);
    s->state = (xcm_state)header.state;
    if (header.op == XCM_EVENT_OP) {
        s->event = xcm_element(packet, 0);
        s->n_events += 1;
    } else {
        s->code = (xcm_code)header.code;
    }
}

// A core of Linux: power, no OS lock, all blocks locked by software.
static void set_up(stub *s) {
    static const uint8_t cidr[] = {0x0d, 0x90, 0x05, 0xb1};
    static const uint32_t types[] = {0x15, 0x14, 0x16};
    memset(s, 0, sizeof *s);
    for (uint32_t block = 0; block < XCM_N_BLOCKS; block++) {
        s->is_locked[block] = true;
        for (uint32_t i = 0; i < 4; i++)
            *word(s, (xcm_block)block, CIDR0 + 4 * i) = cidr[i];
        *word(s, (xcm_block)block, DEVTYPE) = types[block];
        *word(s, (xcm_block)block, DEVAFF0) = (uint32_t)MPIDR;
        *word(s, (xcm_block)block, DEVAFF1) = (uint32_t)(MPIDR >> 32);
    }
    *word(s, XCM_DBG, AUTHSTATUS) = AUTH_NSID | AUTH_SID;
    *word(s, XCM_DBG, EDDFR) = 5 << 12 | 1 << 28;
    *prsr(s) = PRSR_PU;
    *scr(s) = STATUS_RUNNING;
    s->rw = 0xf;
    s->host = (xcm_host){.ctx = s, .rd32 = rd32, .wr32 = wr32, .now_ns = now_ns, .relax = relax, .notify = notify};
    const xcm_config config = {.host = &s->host, .mpidr = MPIDR};
    s->monitor = calloc(1, xcm_bytes());
    assert_true(s->monitor && xcm_init(s->monitor, &config));
}
static void tear_down(stub *s) { free(s->monitor); }

static xcm_code ask_as(stub *s, xcm_function function, uint64_t sender) {
    uint8_t packet[XCM_HEADER_BYTES];
    s->code = XCM_INTERNAL;
    xcm_submit(s->monitor, packet, xcm_seal(packet, XCM_GET, xcm_op_code((uint8_t)function), 0, 0, 0), sender, true);
    xcm_tick(s->monitor);
    return s->code;
}
static xcm_code ask(stub *s, xcm_function function) { return ask_as(s, function, 1); }

static bool has_written(const stub *s, xcm_block block, uint32_t offset) {
    for (uint32_t i = 0; i < s->n_writes; i++)
        if (s->writes[i].block == block && s->writes[i].offset == offset)
            return true;
    return false;
}

// Nothing was written at all.
static void expect_untouched(stub *s, xcm_code code) {
    assert_int_equal(ask(s, XCM_LISTEN_START), code);
    assert_int_equal(s->state, XCM_ENDED);
    assert_int_equal(s->n_writes, 0);
    assert_int_equal(s->n_errors, 0);
    tear_down(s);
}

// Locks and power requests were written, and are as before.
static void expect_undone(stub *s, xcm_code code) {
    const uint32_t os_lock = *prsr(s) & PRSR_OSLK, claims = s->claims;
    assert_int_equal(ask(s, XCM_LISTEN_START), code);
    for (uint32_t i = 0; i < s->n_writes; i++) {
        const uint32_t at = s->writes[i].offset;
        if (at != LAR && (s->writes[i].block != XCM_DBG || (at != EDPRCR && at != OSLAR && at != CLAIMSET && at != CLAIMCLR)))
            fail_msg("block %u, offset 0x%x was written", s->writes[i].block, at);
    }
    for (uint32_t block = 0; block < XCM_N_BLOCKS; block++)
        assert_true(s->is_locked[block]);
    assert_int_equal(*word(s, XCM_DBG, EDPRCR), 0);
    assert_int_equal(*prsr(s) & PRSR_OSLK, os_lock);
    assert_int_equal(s->claims, claims);
    assert_int_equal(s->n_errors, 0);
    tear_down(s);
}

static void test_attach_and_detach_leave_nothing(void **state) {
    stub s;
    (void)state;
    set_up(&s);
    assert_int_equal(ask(&s, XCM_LISTEN_START), XCM_DONE);
    assert_int_equal(s.claims, CLAIM_MONITOR);
    assert_true(*scr(&s) & SCR_HDE);
    assert_int_equal(ask(&s, XCM_LISTEN_STOP), XCM_DONE);
    assert_int_equal(s.claims, 0);
    assert_false(*scr(&s) & SCR_HDE);
    for (uint32_t block = 0; block < XCM_N_BLOCKS; block++)
        assert_true(s.is_locked[block]);
    assert_int_equal(*word(&s, XCM_DBG, EDPRCR), 0);
    assert_int_equal(*word(&s, XCM_CTI, CTICONTROL), 0);
    assert_int_equal(s.n_errors, 0);
    tear_down(&s);
}

static void test_missing_blocks_and_other_cores(void **state) {
    static const uint32_t offsets[] = {CIDR0, CIDR0 + 12, DEVTYPE, DEVAFF0, DEVAFF1};
    stub s;
    (void)state;
    for (uint32_t block = 0; block < XCM_N_BLOCKS; block++)
        for (uint32_t i = 0; i < 5; i++) {
            set_up(&s);
            *word(&s, (xcm_block)block, offsets[i]) ^= 2;
            expect_untouched(&s, XCM_ABSENT);
        }
}

static void test_closed_authentication(void **state) {
    stub s;
    (void)state;
    for (uint32_t nsid = 0; nsid < AUTH_NSID; nsid++) {
        set_up(&s);
        *word(&s, XCM_DBG, AUTHSTATUS) = nsid | AUTH_SID;
        expect_untouched(&s, XCM_NO_AUTHORITY);
    }
    for (uint32_t i = 0; i < 2; i++) {
        set_up(&s);
        *prsr(&s) |= i ? PRSR_EPMAD : PRSR_EDAD;
        expect_undone(&s, XCM_NO_AUTHORITY);
    }
}

static void show_debugger(stub *s, uint32_t kind) {
    switch (kind) {
    case 0: s->claims = 1; break;
    case 1: s->claims = 2; break;
    case 2: *word(s, XCM_DBG, EDECR) = EDECR_SS; break;
    case 3: *word(s, XCM_DBG, DBGBCR) = BCR_USER; break;
    case 4: *word(s, XCM_DBG, DBGBCR + 16 * 5) = BCR_USER; break;
    default: halt(s);
    }
}

static void test_another_debugger(void **state) {
    stub s;
    (void)state;
    for (uint32_t kind = 0; kind < 6; kind++) { // seen before the first write
        set_up(&s);
        show_debugger(&s, kind);
        expect_untouched(&s, XCM_OTHER_DEBUGGER);
    }
    for (uint32_t kind = 0; kind < 6; kind++) { // behind the OS lock, which is set again
        set_up(&s);
        *prsr(&s) |= PRSR_OSLK;
        show_debugger(&s, kind);
        expect_undone(&s, XCM_OTHER_DEBUGGER);
    }
    set_up(&s); // it claims the target at the same moment
    s.loses_claims = true;
    expect_undone(&s, XCM_OTHER_DEBUGGER);
}

static void test_no_power(void **state) {
    static const uint32_t states[] = {PRSR_PU | PRSR_R, PRSR_PU | PRSR_DLK};
    stub s;
    (void)state;
    set_up(&s);
    *prsr(&s) = 0;
    expect_undone(&s, XCM_LOST);
    for (uint32_t i = 0; i < 2; i++) {
        set_up(&s);
        *prsr(&s) = states[i];
        expect_undone(&s, XCM_LOST);
    }
    set_up(&s); // the request brings the power
    *prsr(&s) = 0;
    s.obeys_power_request = true;
    assert_int_equal(ask(&s, XCM_LISTEN_START), XCM_DONE);
    assert_int_equal(*word(&s, XCM_DBG, EDPRCR), EDPRCR_COREPURQ | EDPRCR_CORENPDRQ);
    assert_int_equal(s.n_errors, 0);
    tear_down(&s);
}

// H-3: writes to a block with a jammed lock have no effect, so none is tried.
static void test_a_software_lock_that_does_not_open(void **state) {
    stub s;
    (void)state;
    set_up(&s);
    s.is_jammed = true;
    assert_int_equal(ask(&s, XCM_LISTEN_START), XCM_LOST);
    for (uint32_t i = 0; i < s.n_writes; i++)
        assert_int_equal(s.writes[i].offset, LAR);
    tear_down(&s);
}

// The halt gives it away: the target goes on without an instruction of ours. Attempts are bounded.
static void expect_wrong_level(uint32_t el, uint32_t n_levels, uint32_t rw) {
    enum { TRIES = 8 };
    stub s;
    set_up(&s);
    s.el = el;
    s.n_levels = n_levels;
    s.rw = rw;
    assert_int_equal(ask(&s, XCM_LISTEN_START), XCM_DONE);
    assert_int_equal(ask(&s, XCM_HALT_REQ), XCM_WRONG_LEVEL);
    assert_int_equal(s.n_restarts, TRIES);
    assert_int_equal(s.state, XCM_LISTENING);
    assert_false(*prsr(&s) & PRSR_HALTED);
    assert_false(has_written(&s, XCM_DBG, EDITR));
    assert_false(has_written(&s, XCM_DBG, DBGDTRRX));
    halt(&s); // by a cause of its own
    xcm_tick(s.monitor);
    assert_int_equal(s.event, XCM_EVENT_FOREIGN);
    assert_false(*prsr(&s) & PRSR_HALTED);
    assert_false(has_written(&s, XCM_DBG, EDITR));
    assert_int_equal(ask(&s, XCM_LISTEN_STOP), XCM_DONE);
    assert_int_equal(s.n_errors, 0);
    tear_down(&s);
}

static void test_a_target_in_aarch32(void **state) {
    (void)state;
    expect_wrong_level(0, 0, 0xe); // EL0 alone
    expect_wrong_level(0, 0, 0);
}
// H-5: the target may hold a lock of the kernel.
static void test_a_target_in_the_kernel(void **state) {
    (void)state;
    expect_wrong_level(1, UINT32_MAX, 0xf);
    expect_wrong_level(3, UINT32_MAX, 0xf);
}

// The target gets another pulse, and EDPRSR.SDR of an earlier restart is no answer to this one.
static void test_a_restart_that_is_lost(void **state) {
    enum { TRIES = 8 };
    static const uint32_t losses[][2] = {{0, 1}, {1, 2}};
    stub s;
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        set_up(&s);
        s.el = 1;
        s.n_levels = UINT32_MAX;
        s.first_lost = losses[i][0];
        s.n_lost = losses[i][1];
        assert_int_equal(ask(&s, XCM_LISTEN_START), XCM_DONE);
        assert_int_equal(ask(&s, XCM_HALT_REQ), XCM_WRONG_LEVEL);
        assert_int_equal(s.n_pulses, TRIES + 1);
        assert_int_equal(s.n_restarts, TRIES + 1 - s.n_lost);
        assert_false(*prsr(&s) & PRSR_HALTED);
        assert_int_equal(ask(&s, XCM_LISTEN_STOP), XCM_DONE);
        tear_down(&s);
    }
}

static void test_senders_that_do_not_own_the_target(void **state) {
    stub s;
    (void)state;
    set_up(&s);
    assert_int_equal(ask(&s, XCM_LISTEN_START), XCM_DONE);
    const uint32_t n_writes = s.n_writes;
    assert_int_equal(ask_as(&s, XCM_HALT_REQ, 2), XCM_NOT_OWNER);
    assert_int_equal(ask_as(&s, XCM_LISTEN_STOP, 2), XCM_NOT_OWNER);
    assert_int_equal(s.n_writes, n_writes);
    assert_int_equal(ask(&s, XCM_LISTEN_STOP), XCM_DONE);
    tear_down(&s);
}

// -- What needs no target: lengths of packets, and conditions of branches.

// The elements of a packet fill it.
static void test_elements_that_do_not_fill_the_packet(void **state) {
    enum { AT_CHECKSUM = 6, AT_N = 12 };
    uint8_t packet[XCM_HEADER_BYTES + 16];
    xcm_packet header;
    (void)state;
    for (uint8_t n = 0; n < 4; n++) {
        const uint32_t n_bytes = xcm_seal(packet, XCM_GET, xcm_op_code(XCM_STATUS), 0, 0, 2);
        packet[AT_N] = n;
        const uint16_t checksum = xcm_checksum(packet, n_bytes);
        packet[AT_CHECKSUM] = (uint8_t)checksum;
        packet[AT_CHECKSUM + 1] = (uint8_t)(checksum >> 8);
        assert_int_equal(xcm_check_packet(packet, n_bytes, XCM_GET, &header), n == 2 ? XCM_DONE : XCM_BAD_LENGTH);
    }
}

// Flags as CMP sets them, beside the comparisons of C.
static void test_conditional_branches(void **state) {
    static const int64_t values[] = {0, 1, -1, 2, -2, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1};
    const uint32_t n_values = sizeof values / sizeof values[0];
    (void)state;
    for (uint32_t i = 0; i < n_values * n_values; i++) {
        const int64_t a = values[i / n_values], b = values[i % n_values];
        const uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
        int64_t difference;
        const bool overflows = __builtin_sub_overflow(a, b, &difference);
        const bool is_equal = a == b, is_less = a < b, is_below = ua < ub, is_negative = difference < 0;
        const bool holds[16] = {is_equal,
                                !is_equal,
                                !is_below,
                                is_below,
                                is_negative,
                                !is_negative,
                                overflows,
                                !overflows,
                                !is_below && !is_equal,
                                is_below || is_equal,
                                !is_less,
                                is_less,
                                !is_less && !is_equal,
                                is_less || is_equal,
                                true,
                                true};
        const uint32_t flags =
            (uint32_t)is_negative << 31 | (uint32_t)is_equal << 30 | (uint32_t)!is_below << 29 | (uint32_t)overflows << 28;
        for (uint32_t condition = 0; condition < 16; condition++) {
            // B.cond, 64 bytes ahead.
            const xcm_next next = xcm_next_of(0x1000, 0x54000000 | 16 << 5 | condition, flags);
            assert_int_equal(next.kind, XCM_NEXT_KNOWN);
            assert_int_equal(next.address, holds[condition] ? 0x1040 : 0x1004);
        }
    }
}

// -- Every code of a reply has a sentence of its own.

static void test_each_code_has_its_sentence(void **state) {
    static const uint8_t codes[] = {0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x30,
                                    0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x3b, 0x3f};
    (void)state;
    for (uint32_t i = 0; i < sizeof codes; i++) {
        const char *text = xcm_code_text(codes[i]);
        const size_t length = strlen(text);
        assert_true(length > 4 && text[length - 1] == '.' && text[0] >= 'A' && text[0] <= 'Z');
        assert_string_not_equal(text, xcm_code_text(0));
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(text, xcm_code_text(codes[k]));
    }
    for (uint32_t code = 0; code < 256; code++) // and no other one has
        if (!memchr(codes, (int)code, sizeof codes))
            assert_string_equal(xcm_code_text((uint8_t)code), xcm_code_text(0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attach_and_detach_leave_nothing),
        cmocka_unit_test(test_missing_blocks_and_other_cores),
        cmocka_unit_test(test_closed_authentication),
        cmocka_unit_test(test_another_debugger),
        cmocka_unit_test(test_no_power),
        cmocka_unit_test(test_a_software_lock_that_does_not_open),
        cmocka_unit_test(test_a_target_in_aarch32),
        cmocka_unit_test(test_a_target_in_the_kernel),
        cmocka_unit_test(test_a_restart_that_is_lost),
        cmocka_unit_test(test_senders_that_do_not_own_the_target),
        cmocka_unit_test(test_elements_that_do_not_fill_the_packet),
        cmocka_unit_test(test_conditional_branches),
        cmocka_unit_test(test_each_code_has_its_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
