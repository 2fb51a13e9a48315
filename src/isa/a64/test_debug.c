// SPDX-License-Identifier: MIT
// External debug of a core without a board. `rules` is a second table of the access rules of DDI
// 0487, H8.6 and H9.2, in the manual's own columns. Every word of the 4 KiB is read and written in
// every state of the core that the rules tell apart.
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "isa/a64/debug.h"
#include "isa/a64/debug_external.h"
#include "isa/a64/exception.h"
#include "isa/a64/sysreg.h"

static void changed(tl_hart *h) { (void)h; }
static const tl_mem_port port = {.context_changed = changed, .protection_changed = changed};
static tl_config config;
static uint64_t tally[TL_S_N_CELLS];

static void power_on(tl_hart *h) {
    h->config = &config;
    h->tally = tally;
    h->port = &port;
    h->isa = &tl_isa_a64;
    tl_isa_a64.init(h);
    tl_isa_a64.power_on(h);
}

static tl_hart *new_hart(void) {
    tl_a64_hart *a = calloc(1, sizeof *a);
    assert_non_null(a);
    tl_config_default(&config);
    power_on(&a->hart);
    a->debug.component.is_locked = false;
    tl_a64_set_os_lock(&a->hart, false);
    a->debug.sticky = 0;
    return &a->hart;
}

static uint32_t read_at(tl_hart *h, uint64_t offset) {
    uint32_t value = 0x5a5a5a5a;
    assert_true(tl_a64_debug_read(h, offset, h->now + 10, &value));
    return value;
}
static void write_at(tl_hart *h, uint64_t offset, uint32_t value) { assert_true(tl_a64_debug_write(h, offset, h->now + 10, value)); }

// -- Access rules.

// errors: columns Off, DLK, OSLK, EDAD of the manual; E is an error. locked, open: the access while
// the software lock is set, and while it is open. "ro" reads, "rc" reads with an effect, "w" writes
// as well, "wo" writes only, "wi" does neither. `probe` is a write that changes something: always,
// or in Debug state.
typedef struct rule {
    uint16_t first, count, stride;
    const char *errors, *locked, *open;
    uint32_t probe;
    bool needs_debug_state;
} rule;

static const rule rules[] = {
    {0x020, 1, 0, "EEE-", "ro", "w", 7, false},                                                       // EDESR
    {0x024, 1, 0, "----", "ro", "w", 7, false},                                                       // EDECR
    {0x030, 2, 4, "EEE-", "ro", "ro", 1, false},                                                      // EDWAR
    {0x080, 1, 0, "EEE-", "ro", "w", 0x1234, false},                                                  // DBGDTRRX_EL0
    {0x084, 1, 0, "EEE-", "wi", "wo", 0xd2800f65, true},                                              // EDITR: MOV X5, #123
    {0x088, 1, 0, "EEE-", "ro", "w", 1 << 22, false},                                                 // EDSCR: INTdis
    {0x08c, 1, 0, "EEE-", "ro", "rcw", 0x4321, false},                                                // DBGDTRTX_EL0
    {0x090, 1, 0, "EEE-", "wi", "wo", 4, false},                                                      // EDRCR: CSE
    {0x094, 1, 0, "EEE-", "ro", "ro", 1, false},                                                      // EDACR, implementation-defined
    {0x098, 1, 0, "EEE-", "ro", "w", 2, false},                                                       // EDECCR
    {0x0a0, 1, 0, "EEE-", "ro", "rc", 1, false},                                                      // EDPCSRlo
    {0x0a4, 3, 4, "EEE-", "ro", "ro", 1, false},                                                      // EDCIDSR, EDVIDSR, EDPCSRhi
    {0x300, 1, 0, "EE-E", "wi", "wo", 1, false},                                                      // OSLAR_EL1
    {0x310, 1, 0, "----", "ro", "w", 8, false},                                                       // EDPRCR: COREPURQ
    {0x314, 1, 0, "----", "ro", "rc", 1, false},                                                      // EDPRSR
    {0x400, 6, 16, "EEEE", "ro", "w", 4, false},                                                      // DBGBVRn_EL1
    {0x404, 6, 16, "EEEE", "ro", "w", 4, false},         {0x408, 6, 16, "EEEE", "ro", "w", 6, false}, // DBGBCRn_EL1
    {0x800, 4, 16, "EEEE", "ro", "w", 4, false},                                                      // DBGWVRn_EL1
    {0x804, 4, 16, "EEEE", "ro", "w", 4, false},         {0x808, 4, 16, "EEEE", "ro", "w", 6, false}, // DBGWCRn_EL1
    {0xd00, 1, 0, "----", "ro", "ro", 1, false},                                                      // MIDR_EL1
    {0xd20, 4, 4, "----", "ro", "ro", 1, false},                                                      // EDPFR, EDDFR
    {0xfa0, 1, 0, "EEE-", "ro", "w", 2, false},                                                       // DBGCLAIMSET_EL1
    {0xfa4, 1, 0, "EEE-", "ro", "w", 1, false},                                                       // DBGCLAIMCLR_EL1
    {0xfa8, 2, 4, "----", "ro", "ro", 1, false},                                                      // EDDEVAFF
    {0xfb0, 1, 0, "----", "wo", "wo", 0, false},  // EDLAR: the one that the lock does not stop
    {0xfb4, 4, 4, "----", "ro", "ro", 1, false},  // EDLSR, DBGAUTHSTATUS_EL1, EDDEVARCH, EDDEVID2
    {0xfc4, 15, 4, "----", "ro", "ro", 1, false}, // EDDEVID1 to EDCIDR3
};

static const rule *rule_of(uint32_t offset) {
    static const rule reserved = {0, 1, 0, "----", "ro", "ro", UINT32_MAX, false}; // reads as 0
    for (uint32_t i = 0; i < TL_COUNT_OF(rules); i++)
        for (uint32_t k = 0; k < rules[i].count; k++)
            if (offset == rules[i].first + k * rules[i].stride)
                return &rules[i];
    return &reserved;
}

enum { OFF = 1, DLK = 2, OSLK = 4, EDAD = 8, SLK = 16, HALTED = 32, N_STATES = 64 };

// A Non-secure core at EL1, in which every probe changes something.
static void put_into(tl_hart *h, uint32_t state) {
    tl_a64_hart *a = tl_a64(h);
    memset(a, 0, sizeof *a);
    power_on(h);
    a->sys.reg[TL_A64_R_SCR_EL3] |= TL_A64_SCR_NS;
    tl_hart_set_priv(h, TL_A64_EL1);
    tl_a64_set_claim(h, 1);
    h->pc = 0x1000;
    if (state & HALTED)
        tl_a64_halt(h, TL_A64_STATUS_REQUEST);
    a->debug.edesr = 7;
    a->debug.edscr = TL_A64_EDSCR_TXU;
    a->debug.spiden = !(state & EDAD);
    a->sys.reg[TL_A64_R_MDCR_EL3] = state & EDAD ? TL_A64_MDCR_EDAD : 0;
    tl_a64_set_os_lock(h, state & OSLK);
    a->sys.reg[TL_A64_R_OSDLR_EL1] = !!(state & DLK);
    if (state & OFF)
        tl_a64_power_off(h, false);
    a->debug.component.is_locked = state & SLK;
}

// The OS double lock has no effect in Debug state (H6.2.4).
static bool expects_error(const rule *r, uint32_t state) {
    const bool is_double_locked = (state & DLK) && !(state & HALTED);
    return (r->errors[0] == 'E' && (state & OFF)) || (r->errors[1] == 'E' && is_double_locked) || (r->errors[2] == 'E' && (state & OSLK)) ||
           (r->errors[3] == 'E' && (state & EDAD));
}

static bool expects_change(const rule *r, uint32_t state, bool is_write) {
    const char *what = state & SLK ? r->locked : r->open;
    if (!is_write)
        return strncmp(what, "rc", 2) == 0;
    return strchr(what, 'w') && strcmp(what, "wi") != 0 && (!r->needs_debug_state || (state & HALTED));
}

// A refused access may leave EDPRSR.SDAD behind, if it was refused for that reason.
static void check_sticky(const rule *r, uint32_t state, const tl_a64_debug *d) {
    const bool is_earlier = expects_error(r, state & ~(uint32_t)EDAD);
    const bool is_edad = r->errors[3] == 'E' && (state & EDAD) && !is_earlier;
    assert_int_equal(!!(d->sticky & TL_A64_EDPRSR_SDAD), is_edad);
}

static void check_access(tl_hart *h, tl_a64_hart *before, uint32_t offset, uint32_t state, bool is_write) {
    const rule *r = rule_of(offset);
    uint32_t value = 0, probe = r->probe;
    put_into(h, state);
    if (offset == 0x300) // the other state of the lock
        probe = !(state & OSLK);
    if (offset == TL_CORESIGHT_LAR && (state & SLK))
        probe = TL_CORESIGHT_KEY;
    memcpy(before, h, sizeof *before);
    const bool is_done = is_write ? tl_a64_debug_write(h, offset, 100, probe) : tl_a64_debug_read(h, offset, 100, &value);
    if (is_done != !expects_error(r, state))
        fail_msg("offset 0x%03x, state 0x%02x, %s: error %d", offset, state, is_write ? "write" : "read", !is_done);
    if (!is_done) {
        check_sticky(r, state, &tl_a64(h)->debug);
        tl_a64(h)->debug.sticky = before->debug.sticky;
    }
    const bool has_changed = memcmp(before, h, sizeof *before) != 0, wants_change = is_done && expects_change(r, state, is_write);
    // Without power EDPRSR has nothing to clear, and the OS double lock keeps it. Debug state has
    // no samples of the program counter.
    const bool is_kept =
        (offset == 0x314 && ((state & OFF) || ((state & DLK) && !(state & HALTED)))) || (offset == 0xa0 && (state & HALTED));
    if (has_changed != (wants_change && !is_kept))
        fail_msg("offset 0x%03x, state 0x%02x, %s: changed %d", offset, state, is_write ? "write" : "read", has_changed);
    if (!is_write && is_done && r->first == 0)
        assert_int_equal(value, 0);
    if (!is_write && is_done && r->open[0] == 'w' && r->open[1] == 'o')
        assert_int_equal(value, 0);
}

static void test_x1_every_offset_in_every_state_follows_the_manual(void **state) {
    (void)state;
    tl_hart *h = new_hart();
    tl_a64_hart *before = malloc(sizeof *before);
    assert_non_null(before);
    uint32_t n = 0;
    for (uint32_t offset = 0; offset < TL_CORESIGHT_BYTES; offset += 4)
        for (uint32_t condition = 0; condition < N_STATES; condition++)
            for (uint32_t is_write = 0; is_write < 2; is_write++, n++)
                // Registers that stand there have all states; of the others two suffice.
                if (rule_of(offset)->first != 0 || condition % 31 == 0)
                    check_access(h, before, offset, condition, is_write);
    assert_int_equal(n, 1024 * N_STATES * 2);
    free(before);
    free(h);
}

// -- Status.

static void test_edprsr_shows_the_state_of_the_core(void **state) {
    (void)state;
    static const struct {
        uint32_t state, value, second;
    } rows[] = {
        {0, 0x00b, 0x001},      {OSLK, 0x02b, 0x021},         {DLK, 0x04b, 0x04b}, {EDAD, 0x08b, 0x081}, {SLK, 0x00b, 0x00b},
        {HALTED, 0x01b, 0x011}, {HALTED | DLK, 0x01b, 0x011}, {OFF, 0, 0},         {OFF | OSLK, 0, 0},   {OSLK | EDAD, 0x0ab, 0x0a1},
    };
    tl_hart *h = new_hart();
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        put_into(h, rows[i].state);
        assert_int_equal(read_at(h, 0x314), rows[i].value);
        assert_int_equal(read_at(h, 0x314), rows[i].second);
    }
    free(h);
}

static void test_a_refused_access_of_monitors_is_noted_until_read(void **state) {
    (void)state;
    tl_hart *h = new_hart();
    const uint32_t before = read_at(h, 0x314) & TL_A64_EDPRSR_SPMAD;
    assert_int_equal(before, 0);
    h->isa->pmu_refused(h);
    assert_int_equal(read_at(h, 0x314) & TL_A64_EDPRSR_SPMAD, TL_A64_EDPRSR_SPMAD);
    assert_int_equal(read_at(h, 0x314) & TL_A64_EDPRSR_SPMAD, 0);
    free(h);
}

// H9.2.4, and what the inputs permit: DBGEN, NIDEN, SPIDEN, SPNIDEN.
static void test_authentication_decides_what_may_halt(void **state) {
    (void)state;
    static const struct {
        uint8_t inputs, status;
        bool halts_non_secure, halts_secure, edad, epmad; // the last two with both bits of MDCR_EL3
    } rows[] = {
        {0x0, 0xaa, false, false, true, true}, {0x1, 0xaf, true, false, true, true},  {0x2, 0xae, false, false, true, true},
        {0x4, 0xaa, false, false, true, true}, {0x5, 0xff, true, true, false, false}, {0x6, 0xee, false, false, true, false},
        {0x8, 0xaa, false, false, true, true}, {0x9, 0xef, true, false, true, false}, {0xa, 0xee, false, false, true, false},
        {0xf, 0xff, true, true, false, false},
    };
    tl_hart *h = new_hart();
    tl_a64_debug *d = &tl_a64(h)->debug;
    uint64_t *reg = tl_a64(h)->sys.reg;
    reg[TL_A64_R_MDCR_EL3] = TL_A64_MDCR_EDAD | TL_A64_MDCR_EPMAD;
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        d->dbgen = rows[i].inputs & 1;
        d->niden = rows[i].inputs & 2;
        d->spiden = rows[i].inputs & 4;
        d->spniden = rows[i].inputs & 8;
        assert_int_equal(read_at(h, TL_CORESIGHT_AUTHSTATUS), rows[i].status);
        assert_int_equal(tl_a64_may_halt(h), rows[i].halts_secure);
        const uint32_t pmu = h->isa->pmu_state(h, TL_A64_EL3);
        assert_int_equal(!!(pmu & TL_PMU_CLOSED), (rows[i].status & 0x04) == 0);
        assert_int_equal(!!(pmu & TL_PMU_MAY_PROHIBIT), (rows[i].status & 0x40) == 0);
        assert_int_equal(!!(pmu & TL_PMU_OUTSIDE_DENIED), rows[i].epmad);
        assert_int_equal(!!(read_at(h, 0x088) & TL_A64_EDSCR_SDD), !rows[i].halts_secure);
        reg[TL_A64_R_SCR_EL3] |= TL_A64_SCR_NS;
        h->priv = TL_A64_EL1;
        assert_int_equal(tl_a64_may_halt(h), rows[i].halts_non_secure);
        assert_int_equal(read_at(h, 0x314) >> 7 & 1, rows[i].edad);
        assert_int_equal(read_at(h, 0x314) >> 9 & 1, rows[i].epmad);
        reg[TL_A64_R_SCR_EL3] &= ~(uint64_t)TL_A64_SCR_NS;
        h->priv = TL_A64_EL3;
    }
    free(h);
}

// -- Debug state.

enum { EDITR = 0x84, EDSCR = 0x88, EDRCR = 0x90, CSE = 4, MOV_X5_1 = 0xd2800025, ADD_X5_X5_X5 = 0x8b0500a5, B_SELF = 0x14000000 };

static void test_a_halted_hart_waits_and_no_interrupt_ends_that(void **state) {
    (void)state;
    tl_hart *h = new_hart();
    h->pc = 0x1234;
    tl_a64_request_halt(h, true);
    tl_irq irq = 0;
    assert_true(tl_isa_a64.next_interrupt(h, &irq));
    assert_int_equal(irq, TL_A64_HALT);
    tl_isa_a64.take_interrupt(h, irq);
    assert_true(h->is_halted && h->is_waiting);
    tl_hart_set_irq(h, TL_A64_IRQ, true);
    assert_int_equal(tl_hart_pending(h), 0);
    const uint32_t isr = TL_A64_SYSREG_NUMBER(3, 0, 12, 1, 0);
    assert_int_equal(tl_a64_sysreg_value(h, isr), 1 << 7);
    const uint64_t idle = h->idle_cycles;
    tl_a64_restart(h, h->now + 1000);
    assert_int_equal(h->idle_cycles - idle, 1000);
    assert_false(h->is_halted || h->is_waiting);
    assert_int_equal(h->pc, 0x1234);
    assert_true(tl_isa_a64.next_interrupt(h, &irq)); // the request is still there
    assert_int_equal(irq, TL_A64_HALT);
    tl_a64_request_halt(h, false);
    assert_int_equal(tl_hart_pending(h), 1 << TL_A64_IRQ);
    free(h);
}

// D2.12.4: without debug exceptions at the source, the bit comes from DSPSR.
static void test_a_restart_takes_the_bit_of_the_software_step(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 8; bits++) {
        tl_hart *h = new_hart();
        const bool is_stepped = bits & 1, steps = bits & 2, is_masked = bits & 4;
        tl_a64_system *sys = &tl_a64(h)->sys;
        sys->reg[TL_A64_R_SCR_EL3] |= TL_A64_SCR_NS;
        sys->reg[TL_A64_R_MDSCR_EL1] = (steps ? TL_A64_MDSCR_SS : 0) | TL_A64_MDSCR_KDE;
        sys->daif = is_masked ? TL_A64_SPSR_D : 0;
        sys->is_stepped = is_stepped;
        tl_hart_set_priv(h, TL_A64_EL1);
        tl_a64_halt(h, TL_A64_STATUS_REQUEST);
        assert_false(sys->is_stepped);
        assert_int_equal((tl_a64(h)->debug.dspsr & TL_A64_SPSR_SS) != 0, is_stepped);
        tl_a64_restart(h, h->now + 10);
        assert_int_equal(sys->is_stepped, is_stepped && steps && !is_masked);
        free(h);
    }
}

static void test_ready_follows_the_clock_of_the_core(void **state) {
    (void)state;
    tl_hart *h = new_hart();
    uint32_t value;
    h->now = 500;
    tl_a64_halt(h, TL_A64_STATUS_REQUEST);
    assert_true(tl_a64_debug_read(h, EDSCR, 499, &value));
    assert_false(value & TL_A64_EDSCR_ITE);
    assert_true(tl_a64_debug_read(h, EDSCR, 500, &value));
    assert_true(value & TL_A64_EDSCR_ITE);
    assert_true(tl_a64_debug_write(h, EDITR, 600, MOV_X5_1));
    assert_int_equal(tl_a64(h)->x[5], 1);
    assert_true(tl_a64_debug_write(h, EDITR, 600, MOV_X5_1)); // one cycle too early
    assert_true(tl_a64_debug_read(h, EDSCR, 601, &value));
    assert_int_equal(value & (TL_A64_EDSCR_ITO | TL_A64_EDSCR_ERR), TL_A64_EDSCR_ITO | TL_A64_EDSCR_ERR);
    free(h);
}

// An error of the channel stops everything until it is cleared. In Memory access mode EDITR is one.
static void test_errors_stop_instructions_and_words(void **state) {
    enum { DTRRX = 0x80, DTRTX = 0x8c, MOV_X5_2 = 0xd2800045, MSR_DTRTX_X5 = 0xd5130505, MRS_X5_DTRRX = 0xd5330505 };
    (void)state;
    tl_hart *h = new_hart();
    const uint64_t *x5 = &tl_a64(h)->x[5];
    tl_a64_halt(h, TL_A64_STATUS_REQUEST);
    write_at(h, EDITR, MOV_X5_1);
    assert_int_equal(*x5, 1);
    write_at(h, EDSCR, read_at(h, EDSCR) | TL_A64_EDSCR_MA);
    write_at(h, EDITR, MOV_X5_2);
    assert_int_equal(read_at(h, EDSCR) & (TL_A64_EDSCR_ITO | TL_A64_EDSCR_ERR), TL_A64_EDSCR_ITO | TL_A64_EDSCR_ERR);
    write_at(h, EDSCR, read_at(h, EDSCR) & ~(uint32_t)TL_A64_EDSCR_MA);
    write_at(h, EDITR, MOV_X5_2); // the error is still there
    assert_int_equal(*x5, 1);
    write_at(h, EDRCR, CSE);
    write_at(h, EDITR, MOV_X5_2);
    assert_int_equal(*x5, 2);
    // A word for the core: the second one is too many.
    write_at(h, DTRRX, 11);
    assert_true(read_at(h, EDSCR) & TL_A64_EDSCR_RXFULL);
    write_at(h, DTRRX, 12);
    assert_int_equal(read_at(h, EDSCR) & (TL_A64_EDSCR_RXO | TL_A64_EDSCR_ERR), TL_A64_EDSCR_RXO | TL_A64_EDSCR_ERR);
    write_at(h, EDRCR, CSE);
    write_at(h, EDITR, MRS_X5_DTRRX);
    assert_int_equal(*x5, 11);
    assert_false(read_at(h, EDSCR) & TL_A64_EDSCR_RXFULL);
    // A word from the core: it can be read once.
    write_at(h, EDITR, MSR_DTRTX_X5);
    assert_true(read_at(h, EDSCR) & TL_A64_EDSCR_TXFULL);
    assert_int_equal(read_at(h, DTRTX), 11);
    assert_false(read_at(h, EDSCR) & (TL_A64_EDSCR_TXFULL | TL_A64_EDSCR_ERR));
    (void)read_at(h, DTRTX);
    assert_int_equal(read_at(h, EDSCR) & (TL_A64_EDSCR_TXU | TL_A64_EDSCR_ERR), TL_A64_EDSCR_TXU | TL_A64_EDSCR_ERR);
    // In Memory access mode a word is an instruction, and the last one is still under way.
    const uint64_t soon = h->now + 100;
    uint32_t value;
    write_at(h, EDRCR, CSE);
    assert_true(tl_a64_debug_write(h, EDITR, soon, MOV_X5_1));
    assert_true(tl_a64_debug_read(h, EDSCR, soon, &value));
    assert_true(tl_a64_debug_write(h, EDSCR, soon, value | TL_A64_EDSCR_MA));
    assert_true(tl_a64_debug_write(h, DTRRX, soon, 13));
    assert_true(tl_a64_debug_read(h, EDSCR, soon + 10, &value));
    assert_int_equal(value & (TL_A64_EDSCR_RXO | TL_A64_EDSCR_RXFULL | TL_A64_EDSCR_ERR), TL_A64_EDSCR_RXO | TL_A64_EDSCR_ERR);
    free(h);
}

static void test_unpredictable_instructions_follow_the_policy(void **state) {
    (void)state;
    static const struct {
        tl_unpredictable policy;
        uint64_t x5;
        bool is_error, is_branch_error;
    } rows[] = {{TL_AS_UNDEFINED, 1, true, true}, {TL_AS_NOP, 1, false, false}, {TL_AS_EXECUTED, 2, false, false}};
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_hart *h = new_hart();
        h->pc = 0x1000;
        config.debug.unpredictable = rows[i].policy;
        tl_a64_halt(h, TL_A64_STATUS_REQUEST);
        write_at(h, EDITR, MOV_X5_1);
        write_at(h, EDITR, ADD_X5_X5_X5);
        assert_int_equal(tl_a64(h)->x[5], rows[i].x5);
        assert_int_equal(!!(read_at(h, EDSCR) & TL_A64_EDSCR_ERR), rows[i].is_error);
        write_at(h, EDRCR, CSE);
        write_at(h, EDITR, B_SELF);
        assert_int_equal(!!(read_at(h, EDSCR) & TL_A64_EDSCR_ERR), rows[i].is_branch_error);
        assert_true(h->is_halted);
        free(h);
    }
}

static void test_instructions_of_a_debugger_retire_nowhere(void **state) {
    (void)state;
    tl_hart *h = new_hart();
    tl_a64_halt(h, TL_A64_STATUS_REQUEST);
    uint64_t before[TL_S_N_CELLS];
    memcpy(before, tally, sizeof before);
    const uint64_t instret = h->instret, cycle = h->now - h->idle_cycles;
    for (uint32_t i = 0; i < 100; i++)
        write_at(h, EDITR, i % 3 == 0 ? MOV_X5_1 : i % 3 == 1 ? ADD_X5_X5_X5 : 0xd4a00001);
    assert_memory_equal(before, tally, sizeof before);
    assert_int_equal(h->instret, instret);
    assert_int_equal(h->now - h->idle_cycles, cycle);
    free(h);
}

static void test_dcps3_needs_secure_debug(void **state) {
    (void)state;
    for (uint32_t spiden = 0; spiden < 2; spiden++) {
        tl_hart *h = new_hart();
        tl_a64(h)->sys.reg[TL_A64_R_SCR_EL3] |= TL_A64_SCR_NS;
        tl_hart_set_priv(h, TL_A64_EL0);
        tl_a64(h)->debug.spiden = spiden;
        tl_a64_halt(h, TL_A64_STATUS_REQUEST);
        write_at(h, EDITR, 0xd4a00003);
        assert_int_equal(h->priv, spiden ? TL_A64_EL3 : TL_A64_EL1);
        assert_int_equal(!!(read_at(h, EDSCR) & TL_A64_EDSCR_ERR), !spiden);
        free(h);
    }
}

// -- Breakpoints.

static void test_breakpoints_match_by_level_security_and_context(void **state) {
    (void)state;
    static const struct {
        uint32_t control;
        uint8_t secure, non_secure; // bit n: a match at ELn
    } rows[] = {
        {0x000041e5, 0x0, 0x1}, // Non-secure EL0
        {0x000041e7, 0x0, 0x3}, // and EL1
        {0x000021e7, 0xb, 0x3}, // every level; EL3 is Secure
        {0x000001e5, 0x1, 0x1}, // EL0 of both states
        {0x000081e7, 0x3, 0x0}, // Secure EL0 and EL1
        {0x000001e6, 0x0, 0x0}, // off
        {0x001441e5, 0x0, 0x1}, // linked to the context of breakpoint 4
        {0x001541e5, 0x0, 0x0}, // to breakpoint 5, whose context is another
        {0x001341e5, 0x0, 0x0}, // to one that knows no contexts
    };
    tl_hart *h = new_hart();
    uint64_t *reg = tl_a64(h)->sys.reg;
    reg[TL_A64_R_CONTEXTIDR_EL1] = 77;
    reg[TL_A64_R_DBGBVR4_EL1] = 77;
    reg[TL_A64_R_DBGBVR5_EL1] = 78;
    reg[TL_A64_R_DBGBCR4_EL1] = reg[TL_A64_R_DBGBCR5_EL1] = 0x003001e1;
    reg[TL_A64_R_DBGBVR0_EL1] = 0x2000;
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++)
        for (uint32_t el = 0; el < 4; el++)
            for (uint32_t ns = 0; ns < 2; ns++) {
                if (el == TL_A64_EL2 || (el == TL_A64_EL3 && ns))
                    continue;
                reg[TL_A64_R_DBGBCR0_EL1] = rows[i].control;
                reg[TL_A64_R_SCR_EL3] = 0x430 | ns;
                tl_hart_set_priv(h, el);
                tl_a64(h)->debug.edscr |= TL_A64_EDSCR_HDE;
                h->pc = 0x2000;
                const bool wanted = (ns ? rows[i].non_secure : rows[i].secure) >> el & 1;
                if (tl_a64_at_break(h) != wanted)
                    fail_msg("control 0x%08x at EL%u, NS %u: not %d", rows[i].control, el, ns, wanted);
                assert_int_equal(h->is_halted, wanted);
                tl_a64_restart(h, h->now);
            }
    free(h);
}

static void test_the_hosts_breakpoints_stay_in_the_list(void **state) {
    (void)state;
    tl_hart *h = new_hart();
    static tl_breaks host = {.n = 2, .generation = 3, .pc = {0x100, 0x200}};
    assert_ptr_equal(tl_a64_breaks(h, &host), &host);
    tl_a64(h)->debug.edscr |= TL_A64_EDSCR_HDE;
    h->breaks = &host;
    write_at(h, 0x430, 0x4000);
    write_at(h, 0x438, 0x21e7);
    assert_true(h->breaks != &host && h->breaks->n == 3);
    assert_true(tl_breaks_have(h->breaks, 0x100));
    assert_true(tl_breaks_have(h->breaks, 0x200) && tl_breaks_have(h->breaks, 0x4000));
    assert_false(tl_breaks_have(h->breaks, 0x4004));
    const uint32_t generation = h->breaks->generation;
    assert_ptr_equal(tl_a64_breaks(h, &host), h->breaks);
    assert_int_equal(h->breaks->generation, generation);
    tl_a64_set_os_lock(h, true); // no breakpoint acts
    assert_ptr_equal(h->breaks, &host);
    free(h);
}

static void test_reset_catch_halts_before_the_first_instruction(void **state) {
    (void)state;
    tl_hart *h = new_hart();
    write_at(h, 0x024, TL_A64_EDECR_RCE);
    tl_isa_a64.power_on(h);
    tl_irq irq;
    assert_true(tl_isa_a64.next_interrupt(h, &irq));
    tl_isa_a64.take_interrupt(h, irq);
    assert_int_equal(tl_a64(h)->debug.status, TL_A64_STATUS_RESET);
    assert_int_equal(read_at(h, 0x024), TL_A64_EDECR_RCE); // of the debug power domain
    assert_int_equal(read_at(h, 0x314) & 0xa, 0xa);        // SPD, SR
    free(h);
}

static void test_intdis_masks_interrupts(void **state) {
    (void)state;
    tl_hart *h = new_hart();
    tl_irq irq;
    tl_a64(h)->sys.daif = 0;
    tl_a64(h)->sys.reg[TL_A64_R_SCR_EL3] |= TL_A64_SCR_NS;
    tl_hart_set_priv(h, TL_A64_EL1);
    tl_hart_set_irq(h, TL_A64_IRQ, true);
    assert_true(tl_isa_a64.next_interrupt(h, &irq));
    write_at(h, EDSCR, 1u << 22);
    assert_false(tl_isa_a64.next_interrupt(h, &irq));
    tl_a64(h)->sys.reg[TL_A64_R_SCR_EL3] |= TL_A64_SCR_IRQ; // EL3 takes it
    assert_true(tl_isa_a64.next_interrupt(h, &irq));
    write_at(h, EDSCR, 2u << 22);
    assert_true(tl_isa_a64.next_interrupt(h, &irq));
    write_at(h, EDSCR, 3u << 22);
    assert_false(tl_isa_a64.next_interrupt(h, &irq));
    // Secure EL1 takes it.
    tl_a64(h)->sys.reg[TL_A64_R_SCR_EL3] &= ~(uint64_t)(TL_A64_SCR_IRQ | TL_A64_SCR_NS);
    for (uint32_t disabled = 0; disabled < 4; disabled++) {
        write_at(h, EDSCR, disabled << 22);
        assert_int_equal(tl_isa_a64.next_interrupt(h, &irq), disabled < 2);
    }
    tl_a64(h)->debug.spiden = false;
    assert_true(tl_isa_a64.next_interrupt(h, &irq));
    free(h);
}

static void test_a_hart_without_power_waits_and_loses_its_timers(void **state) {
    (void)state;
    for (uint32_t wakes = 0; wakes < 2; wakes++) {
        tl_hart *h = new_hart();
        tl_a64(h)->sys.reg[TL_A64_R_CNTV_CTL_EL0] = tl_a64(h)->sys.reg[TL_A64_R_CNTP_CTL_EL0] = 1;
        tl_a64_halt(h, TL_A64_STATUS_REQUEST);
        tl_a64_power_off(h, wakes);
        assert_true(h->is_waiting && !h->is_halted);
        assert_int_equal(tl_a64(h)->sys.reg[TL_A64_R_CNTV_CTL_EL0] | tl_a64(h)->sys.reg[TL_A64_R_CNTP_CTL_EL0], 0);
        tl_a64_request_halt(h, true); // no debugger ends that
        assert_true(tl_hart_pending(h) == 0);
        tl_hart_set_irq(h, TL_A64_IRQ, true);
        assert_int_equal(tl_hart_pending(h) != 0, wakes);
        tl_a64_power_on(h);
        assert_false(h->is_waiting || tl_a64(h)->debug.is_off);
        free(h);
    }
}

static void count_reset(void *ctx, tl_hart *h) { (void)h, *(uint32_t *)ctx += 1; }

static void test_cwrr_resets_between_two_instructions_if_permitted(void **state) {
    (void)state;
    enum { EDPRCR = 0x310, CWRR = 2, LOCKED = 1, NOT_PERMITTED = 2, OFF_NOW = 4 };
    for (uint32_t obstacle = 0; obstacle < 8; obstacle++) {
        uint32_t n_resets = 0;
        tl_irq irq;
        const tl_a64_host host = {.ctx = &n_resets, .reset = count_reset};
        tl_hart *h = new_hart();
        tl_a64(h)->sys.host = &host;
        tl_a64(h)->debug.component.is_locked = false;
        tl_a64_set_os_lock(h, obstacle & LOCKED);
        tl_a64(h)->debug.spiden = !(obstacle & NOT_PERMITTED);
        if (obstacle & OFF_NOW)
            tl_a64_power_off(h, false);
        write_at(h, EDPRCR, CWRR);
        assert_int_equal(n_resets, 0);
        assert_int_equal(tl_isa_a64.next_interrupt(h, &irq), obstacle == 0);
        if (obstacle == 0)
            tl_isa_a64.take_interrupt(h, irq);
        assert_int_equal(n_resets, obstacle == 0);
        free(h);
    }
}

static void test_a_warm_reset_keeps_debug_registers(void **state) {
    (void)state;
    tl_hart *h = new_hart();
    tl_a64(h)->debug.component.is_locked = false;
    tl_a64_set_os_lock(h, false);
    tl_a64_set_claim(h, 2);
    write_at(h, 0x400, 0x1230);
    write_at(h, 0x838, 0x10);
    write_at(h, EDSCR, TL_A64_EDSCR_HDE);
    uint32_t value = 0;
    assert_true(tl_a64_debug_read(h, 0x314, 0, &value));
    tl_a64_warm_reset(h);
    assert_true(tl_a64_debug_read(h, 0x314, 0, &value));
    assert_int_equal(value & (TL_A64_EDPRSR_SPD | TL_A64_EDPRSR_SR | TL_A64_EDPRSR_OSLK), TL_A64_EDPRSR_SR);
    assert_true(tl_a64_debug_read(h, 0x400, 0, &value));
    assert_int_equal(value, 0x1230);
    assert_int_equal(tl_a64(h)->sys.debug_claim, 2);
    assert_true(tl_a64_debug_read(h, EDSCR, 0, &value));
    assert_true(value & TL_A64_EDSCR_HDE);
    tl_a64_power_on(h);
    assert_int_equal(tl_a64(h)->sys.debug_claim, 0);
    assert_true(tl_a64_os_locked(h));
    free(h);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_hart_without_power_waits_and_loses_its_timers),
    cmocka_unit_test(test_cwrr_resets_between_two_instructions_if_permitted),
    cmocka_unit_test(test_a_warm_reset_keeps_debug_registers),
    cmocka_unit_test(test_x1_every_offset_in_every_state_follows_the_manual),
    cmocka_unit_test(test_edprsr_shows_the_state_of_the_core),
    cmocka_unit_test(test_a_refused_access_of_monitors_is_noted_until_read),
    cmocka_unit_test(test_authentication_decides_what_may_halt),
    cmocka_unit_test(test_a_halted_hart_waits_and_no_interrupt_ends_that),
    cmocka_unit_test(test_a_restart_takes_the_bit_of_the_software_step),
    cmocka_unit_test(test_ready_follows_the_clock_of_the_core),
    cmocka_unit_test(test_errors_stop_instructions_and_words),
    cmocka_unit_test(test_unpredictable_instructions_follow_the_policy),
    cmocka_unit_test(test_instructions_of_a_debugger_retire_nowhere),
    cmocka_unit_test(test_dcps3_needs_secure_debug),
    cmocka_unit_test(test_breakpoints_match_by_level_security_and_context),
    cmocka_unit_test(test_the_hosts_breakpoints_stay_in_the_list),
    cmocka_unit_test(test_reset_catch_halts_before_the_first_instruction),
    cmocka_unit_test(test_intdis_masks_interrupts),
};
TL_TEST_MAIN(tests)
