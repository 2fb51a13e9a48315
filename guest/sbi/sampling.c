/* SPDX-License-Identifier: MIT
 * Sampling through firmware, with the interrupt handler of Linux' driver: stop all, read scountovf, clear the pending bit, start again,
 * those that have overflowed with a new value. A user program of known instructions is sampled; each sample's address is worked out.
 * Preset `linux` of the counters. */
#include "sbi.h"

#define LCOFI BIT(IRQ_LCOFI)
#define scountovf 0xda0

COUNTED_CODE(turns, "1: addi a1, a1, 1\n addi a0, a0, -1\n bnez a0, 1b"); /* three instructions a turn, of which one branches */
COUNTED_CODE(nops, ".rept 200\n nop\n .endr");
COUNTED_CODE(loads, ".rept 64\n ld t0, 0(a0)\n add a0, a0, a1\n .endr");

/* The counters that sample, by number. */
enum { MAX_SAMPLES = 4000 };
static struct {
    u64 mask;                              /* running counters */
    u64 period[32];                        /* 0: counts only */
    u64 n_samples, n_of[32], n_interrupts; /* all; by counter; interrupts */
    u64 wrong_value;                       /* samples whose counter stood at another value than 0 */
    u64 pc[MAX_SAMPLES];
    uint8_t which[MAX_SAMPLES];
    bool keeps_phase; /* the next period begins where the last one ended, not where the handler saw it */
} sampler;

static bool handle(outcome *o) {
    if (o->cause != CAUSE_IRQ(IRQ_LCOFI))
        return false;
    sampler.n_interrupts += 1;
    pmu_stop(0, sampler.mask, 0);
    u64 overflowed = csr_read(scountovf);
    csr_clear(sip, LCOFI);
    for (u64 left = overflowed & sampler.mask; left != 0; left &= left - 1) {
        u64 n = (u64)__builtin_ctzll(left), value = counter(n);
        if (sampler.n_samples < MAX_SAMPLES) {
            sampler.pc[sampler.n_samples] = o->epc;
            sampler.which[sampler.n_samples] = (uint8_t)n;
        }
        sampler.n_samples += 1;
        sampler.n_of[n] += 1;
        sampler.wrong_value += value != 0;
        pmu_start(n, 1, START_SET_VALUE, (sampler.keeps_phase ? value : 0) - sampler.period[n]);
    }
    u64 others = sampler.mask & ~overflowed;
    if (others != 0)
        pmu_start(0, others, 0, 0);
    return true;
}

/* A new measurement: every counter off, none sampling. */
static void sampler_reset(void) {
    sampler.mask = sampler.n_samples = sampler.n_interrupts = sampler.wrong_value = 0;
    sampler.keeps_phase = false;
    for (u32 n = 0; n < 32; n++)
        sampler.period[n] = sampler.n_of[n] = 0;
    csr_clear(sip, LCOFI);
}
static u64 sampler_add(u64 event, u64 data, u64 flags, u64 period) {
    u64 n = configured(hpm_mask, flags, event, data);
    sampler.mask |= BIT(n);
    sampler.period[n] = period;
    return n;
}
/* Runs code with the counters, then stops and forgets them; their values are left in them. */
static outcome *sampled(u64 mode, void (*code)(void), u64 a0, u64 a1) {
    for (u64 left = sampler.mask; left != 0; left &= left - 1) {
        u64 n = (u64)__builtin_ctzll(left);
        CHECK(pmu_start(n, 1, START_SET_VALUE, -sampler.period[n]), 0);
    }
    csr_write(sie, LCOFI);
    csr_set(sstatus, MSTATUS_SPIE);
    trap_hook = handle;
    outcome *o = run(mode, code, a0, a1);
    trap_hook = NULL;
    csr_write(sie, 0);
    CHECK(o->trapped, 0);
    CHECK(pmu_stop(0, sampler.mask, STOP_RESET), 0);
    CHECK(csr_read(sip) & LCOFI, 0);
    return o;
}

/* One event of user mode: the kth sample comes right after event k * period. */
static void test_instructions(void) {
    static const u64 periods[] = {1, 2, 3, 7, 64, 100, 101, 1000, 9999};
    for (u32 i = 0; i < sizeof periods / sizeof *periods; i++) {
        u64 period = periods[i], n_turns = period < 64 ? 40 * period : 10000;
        check_context = period;
        sampler_reset();
        u64 n = sampler_add(EVENT_INSTRUCTIONS, 0, CONFIG_SINH, period);
        outcome *o = sampled(MODE_U, turns, n_turns, 0);
        u64 n_insns = 3 * n_turns + 1; /* and the return; EBREAK does not retire */
        CHECK(o->x[11], n_turns);      /* nothing is done twice, nothing is left out */
        CHECK(sampler.n_samples, n_insns / period);
        CHECK(sampler.n_interrupts, n_insns / period);
        CHECK(sampler.wrong_value, 0);
        CHECK(counter(n), n_insns % period - period);
        for (u64 k = 1; k <= 3 * n_turns / period && k <= MAX_SAMPLES; k++) {
            u64 at = k * period % 3;
            u64 want = (u64)turns + (k * period == 3 * n_turns ? 12 : 4 * at);
            if (sampler.pc[k - 1] == want)
                continue;
            CHECK(sampler.pc[k - 1], want);
            break;
        }
    }
    check_context = 0;
}

/* Three counters, two of which sample: an overflow of one does not disturb the others. */
static void test_two_at_a_time(void) {
    sampler_reset();
    enum { TURNS = 20000, OF_INSNS = 700, OF_BRANCHES = 111 };
    u64 insns = sampler_add(EVENT_INSTRUCTIONS, 0, CONFIG_SINH, OF_INSNS);
    u64 branches = sampler_add(EVENT_BRANCHES, 0, CONFIG_SINH, OF_BRANCHES);
    u64 alu = sampler_add(EVENT_RAW, 0x100009, CONFIG_SINH, 0);
    sampled(MODE_U, turns, TURNS, 0);
    CHECK(counter(alu), 2 * TURNS);
    CHECK(sampler.wrong_value, 0);
    CHECK(sampler.n_of[insns], (3 * TURNS + 1) / OF_INSNS);
    CHECK(sampler.n_of[branches], (TURNS + 1) / OF_BRANCHES); /* the return is one */
    u64 n_of_insns = 0, n_of_branches = 0;
    for (u64 i = 0; i < sampler.n_samples && i < MAX_SAMPLES; i++) {
        u64 done; /* instructions */
        if (sampler.which[i] == insns)
            done = ++n_of_insns * OF_INSNS;
        else
            done = ++n_of_branches * OF_BRANCHES * 3;
        if (sampler.pc[i] == (u64)turns + done % 3 * 4)
            continue;
        check_context = i;
        CHECK(sampler.pc[i], (u64)turns + done % 3 * 4);
        break;
    }
    check_context = 0;
    u64 coincidences = sampler.n_samples - sampler.n_interrupts;
    CHECK(coincidences, (3 * TURNS + 1) / (OF_INSNS * OF_BRANCHES * 3));
    sampler_reset();
    insns = sampler_add(EVENT_INSTRUCTIONS, 0, CONFIG_SINH, 300);
    branches = sampler_add(EVENT_BRANCHES, 0, CONFIG_SINH, 100);
    sampled(MODE_U, turns, 3000, 0); /* both wrap with the same instruction, every time: one interrupt, two flags */
    CHECK(sampler.n_interrupts, 30);
    CHECK(sampler.n_samples, 60);
    CHECK(sampler.wrong_value, 0);
}

/* Cache misses: the sample's address is that of the instruction behind the load that missed. */
static void test_misses(void) {
    static u64 fresh = FRESH_MEMORY;
    for (u64 period = 1; period <= 16; period += 5) {
        check_context = period;
        sampler_reset();
        sampler_add(EVENT_L1D_READ_MISS, 0, CONFIG_SINH, period);
        sampled(MODE_U, loads, fresh, 64);
        fresh += 0x10000;
        CHECK(sampler.n_samples, 64 / period);
        CHECK(sampler.wrong_value, 0);
        for (u64 k = 1; k <= sampler.n_samples && k <= 64; k++)
            CHECK(sampler.pc[k - 1], (u64)loads + 8 * (k * period - 1) + 4);
    }
    check_context = 0;
}

/* Cycles advance in steps, so samples may be late, but each period still gives one sample. */
static void test_cycles(void) {
    for (u64 period = 100; period <= 10000; period *= 10) {
        check_context = period;
        sampler_reset();
        sampler.keeps_phase = true;
        sampler_add(EVENT_CYCLES, 0, CONFIG_SINH, period);
        u64 total = sampler_add(EVENT_CYCLES, 0, CONFIG_SINH, 0);
        sampled(MODE_U, turns, 20000, 0);
        CHECK(sampler.n_samples, counter(total) / period);
        for (u64 i = 0; i < sampler.n_samples && i < MAX_SAMPLES; i++)
            if (sampler.pc[i] - (u64)turns > 12)
                CHECK(sampler.pc[i], (u64)turns);
    }
    check_context = 0;
}

/* S samples itself: after the first period a constant number of handler instructions counts. */
static void test_supervisor(void) {
    sampler_reset();
    enum { PERIOD = 1000, TURNS = 20000 };
    sampler_add(EVENT_INSTRUCTIONS, 0, CONFIG_UINH, PERIOD);
    outcome *o = sampled(MODE_S, turns, TURNS, 0);
    CHECK(o->x[11], TURNS);
    CHECK_TRUE(sampler.n_samples > 3 * TURNS / PERIOD && sampler.n_samples < 2 * 3 * TURNS / PERIOD);
    for (u64 i = 0; i < sampler.n_samples; i++)
        if (sampler.pc[i] - (u64)turns > 12)
            CHECK(sampler.pc[i], (u64)turns);
    /* With interrupts off it stays pending. */
    sampler_reset();
    sampler_add(EVENT_INSTRUCTIONS, 0, CONFIG_UINH, 10);
    for (u64 left = sampler.mask; left != 0; left &= left - 1)
        CHECK(pmu_start((u64)__builtin_ctzll(left), 1, START_SET_VALUE, -10), 0);
    csr_write(sie, LCOFI);
    csr_clear(sstatus, MSTATUS_SPIE);
    CHECK(run(MODE_S, nops, 0, 0)->trapped, 0);
    csr_write(sie, 0);
    CHECK(csr_read(sip) & LCOFI, LCOFI);
    CHECK(csr_read(scountovf), sampler.mask);
    CHECK(pmu_stop(0, sampler.mask, STOP_RESET), 0);
    CHECK(csr_read(scountovf), 0);
    csr_clear(sip, LCOFI);
    CHECK(csr_read(sip) & LCOFI, 0);
}

/* OF: config_matching sets it; start clears it unless an interrupt is pending. */
static void test_arming(void) {
    CHECK(csr_read(scountovf), hpm_mask); /* so the firmware leaves them */
    for (u64 n = 3; n < n_hardware; n++) {
        CHECK(configured(BIT(n), 0, EVENT_INSTRUCTIONS, 0), n);
        CHECK(pmu_stop(n, 1, STOP_RESET), ALREADY_STOPPED);
    }
    for (u64 n = 3; n < n_hardware; n++) {
        check_context = n;
        CHECK(csr_read(scountovf), 0);
        CHECK(configured(BIT(n), CONFIG_SINH, EVENT_INSTRUCTIONS, 0), n);
        CHECK(csr_read(scountovf), BIT(n)); /* not armed before it is started */
        CHECK(pmu_start(n, 1, START_SET_VALUE, -50), 0);
        CHECK(csr_read(scountovf), 0);
        run(MODE_U, nops, 0, 0); /* sie is 0: pending only */
        CHECK(csr_read(scountovf), BIT(n));
        CHECK(csr_read(sip) & LCOFI, LCOFI);
        CHECK(counter(n), 151);
        CHECK(pmu_stop(n, 1, 0), 0);
        CHECK(csr_read(scountovf), BIT(n));
        CHECK(pmu_start(n, 1, START_SET_VALUE, -50), 0); /* still pending: stays set, and so the next overflow says nothing */
        CHECK(csr_read(scountovf), BIT(n));
        csr_clear(sip, LCOFI);
        run(MODE_U, nops, 0, 0);
        CHECK(csr_read(sip) & LCOFI, 0);
        CHECK(csr_read(scountovf), BIT(n));
        CHECK(counter(n), 151);
        CHECK(pmu_stop(n, 1, 0), 0);
        CHECK(pmu_start(n, 1, START_SET_VALUE, -201), 0);
        CHECK(csr_read(scountovf), 0);
        run(MODE_U, nops, 0, 0);
        CHECK(csr_read(scountovf), BIT(n)); /* with the very last one, the return */
        csr_clear(sip, LCOFI);
        CHECK(pmu_stop(n, 1, 0), 0);
        CHECK(pmu_start(n, 1, START_SET_VALUE, -202), 0);
        run(MODE_U, nops, 0, 0);
        CHECK(csr_read(scountovf), 0); /* one short */
        CHECK(csr_read(sip) & LCOFI, 0);
        CHECK(counter(n), ~UINT64_C(0));
        CHECK(pmu_stop(n, 1, STOP_RESET), 0);
    }
    check_context = 0;
}

int main(void) {
    find_counters();
    test_arming();
    test_instructions();
    test_two_at_a_time();
    test_misses();
    test_cycles();
    test_supervisor();
    return 0;
}
