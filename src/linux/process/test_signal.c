// SPDX-License-Identifier: MIT
// Handlers of signals, entered and left. The first tests use frames of their own. They check the
// part that every instruction set shares: the stack, the mask, the flags. The last ones read the
// frame of RISC-V byte by byte, at the offsets of Linux's headers.
#include <string.h>

#include "isa/rv/hart.h"
#include "linux/test_rig.h"

enum { RA = 1, SP = 2, A0 = 10, A1 = 11, A2 = 12, FRAME_BYTES = 200, AREA_BYTES = 0x10000, SIGNAL = SIGUSR1 };
static const uint64_t AREA = UINT64_C(0x100000), STACK = UINT64_C(0x10f008), ALT = UINT64_C(0x102000), HANDLER = UINT64_C(0x4000);
enum { ALT_BYTES = 0x1000 };

typedef struct rig {
    tl_os *os;
    tl_process process;
    tl_thread thread;
    tl_os_isa row;
    tl_sigaction *action; // of SIGNAL
    uint64_t *x;
} rig;

// Frames of the test: where the last one stands, and what it saved.
static uint64_t frame_sp;
static tl_signal_saved frame;
static uint32_t n_pushed;
static bool is_refused;

static bool push(tl_thread *t, uint64_t sp, const tl_siginfo *info, const tl_signal_saved *saved, const tl_sigaction *action) {
    assert_int_equal(info->signo, SIGNAL);
    if (is_refused)
        return false;
    frame_sp = sp;
    frame = *saved;
    n_pushed += 1;
    *tl_hart_register(t->hart, TL_ROLE_STACK) = sp;
    t->hart->pc = action->handler;
    return true;
}

static bool pop(tl_thread *t, tl_signal_saved *ret_saved) {
    if (is_refused)
        return false;
    *tl_hart_register(t->hart, TL_ROLE_STACK) = STACK;
    *ret_saved = frame;
    return true;
}

static rig *rig_new(bool has_own_frames) {
    rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    tl_os *os = r->os = tl_test_os_new(16 << 20);
    r->row = tl_os_rv64;
    if (has_own_frames) {
        r->row.frame_bytes = FRAME_BYTES;
        r->row.push_frame = push;
        r->row.pop_frame = pop;
    }
    os->isa = &r->row;
    os->hart = os->machine->harts[0];
    r->process = (tl_process){.os = os, .pid = TL_FIRST_PID, .vm = tl_vm_new(os), .actions = tl_sigactions_new(), .threads = &r->thread};
    r->thread = (tl_thread){.os = os, .process = &r->process, .tid = TL_FIRST_PID, .state = TL_THREAD_RUNNING, .hart = os->hart};
    r->process.limits[11] = (tl_rlimit){100, 100}; // pending signals
    os->processes = &r->process;
    const tl_map map = {.vaddr = AREA, .bytes = AREA_BYTES, .prot = 3, .max_prot = 7, .kind = TL_VMA_ANON, .flags = TL_MAP_FIXED};
    assert_int_equal(tl_vm_map(r->process.vm, &map), AREA);
    r->action = &r->process.actions->action[SIGNAL];
    r->action->handler = HANDLER;
    r->x = tl_rv(os->hart)->x;
    r->x[SP] = STACK;
    frame_sp = n_pushed = 0;
    is_refused = false;
    return r;
}

static void rig_free(rig *r) {
    tl_signal_queue_done(&r->thread.pending);
    tl_signal_queue_done(&r->process.pending);
    tl_sigactions_unref(r->process.actions);
    tl_vm_unref(r->process.vm);
    tl_test_os_free(r->os);
    free(r);
}

static tl_delivery deliver(rig *r) {
    tl_signal_send_thread(&r->thread, SIGNAL, NULL);
    return tl_signal_deliver(&r->thread, 0);
}

static void set_altstack(rig *r, int32_t flags) {
    r->thread.altstack_vaddr = ALT;
    r->thread.altstack_bytes = ALT_BYTES;
    r->thread.altstack_flags = flags;
}

static void test_a_frame_stands_aligned_below_the_stack(void **state) {
    (void)state;
    rig *r = rig_new(true);
    uint64_t before = r->os->hart->now, cost = r->os->machine->config.os.signal_cycles;
    assert_int_equal(deliver(r), TL_DELIVERY_HANDLER);
    assert_int_equal(frame_sp, (STACK - FRAME_BYTES) / 16 * 16);
    assert_int_equal(r->os->hart->pc, HANDLER);
    assert_int_equal(frame.stack_flags, SS_DISABLE);
    assert_int_equal(frame.stack_vaddr | frame.stack_bytes, 0);
    assert_int_equal(r->os->hart->tally[TL_S_OS_SIGNAL], 1);
    assert_int_equal(r->os->hart->now - before, cost);
    assert_int_equal(r->os->hart->tally[TL_S_HART_CYC_TRAP], cost);
    assert_int_equal(r->action->handler, HANDLER);
    rig_free(r);
}

static void test_the_alternate_stack_is_used_from_its_top_when_asked(void **state) {
    (void)state;
    rig *r = rig_new(true);
    set_altstack(r, 0);
    assert_int_equal(deliver(r), TL_DELIVERY_HANDLER); // not asked for
    assert_int_equal(frame_sp, (STACK - FRAME_BYTES) / 16 * 16);
    assert_int_equal(frame.stack_vaddr, ALT);
    assert_int_equal(frame.stack_bytes, ALT_BYTES);
    assert_int_equal(frame.stack_flags, 0);
    r->thread.blocked = 0;
    r->action->flags = SA_ONSTACK;
    assert_int_equal(deliver(r), TL_DELIVERY_HANDLER);
    const uint64_t first = (ALT + ALT_BYTES - FRAME_BYTES) / 16 * 16;
    assert_int_equal(frame_sp, first);
    assert_int_equal(frame.stack_flags, 0); // of the code that was interrupted
    r->thread.blocked = 0;
    assert_int_equal(deliver(r), TL_DELIVERY_HANDLER); // nested: goes on below
    assert_int_equal(frame_sp, (first - FRAME_BYTES) / 16 * 16);
    assert_int_equal(frame.stack_flags, SS_ONSTACK);
    assert_int_equal(n_pushed, 3);
    rig_free(r);
}

static void test_a_full_alternate_stack_ends_in_sigsegv(void **state) {
    (void)state;
    for (int last = 0; last < 2; last++) {
        rig *r = rig_new(true);
        set_altstack(r, 0);
        r->process.actions->action[SIGSEGV].handler = (uint64_t)(uintptr_t)SIG_IGN;
        r->action->flags = SA_ONSTACK;
        r->x[SP] = ALT + FRAME_BYTES + (last ? 24 : 0);
        tl_signal_send_thread(&r->thread, SIGNAL, NULL);
        if (last) { // the last frame that fits: its lowest byte is above the stack's
            assert_int_equal(tl_signal_deliver(&r->thread, 0), TL_DELIVERY_HANDLER);
            assert_int_equal(frame_sp, ALT + 16);
        } else {
            r->process.is_ending = true; // the rig cannot end it
            assert_int_equal(tl_signal_deliver(&r->thread, 0), TL_DELIVERY_GONE);
            assert_int_equal(n_pushed, 0);
            assert_int_equal(r->process.fault.signal, SIGSEGV);
            assert_string_equal(r->process.fault.what, "no room on the stack for the frame of a signal handler");
        }
        rig_free(r);
    }
}

static void test_autodisarm_takes_the_alternate_stack_away_for_the_handler(void **state) {
    (void)state;
    rig *r = rig_new(true);
    set_altstack(r, TL_SS_AUTODISARM);
    r->action->flags = SA_ONSTACK;
    assert_int_equal(deliver(r), TL_DELIVERY_HANDLER);
    assert_int_equal(frame_sp, (ALT + ALT_BYTES - FRAME_BYTES) / 16 * 16);
    assert_int_equal(frame.stack_flags, TL_SS_AUTODISARM);
    assert_int_equal(r->thread.altstack_vaddr | r->thread.altstack_bytes, 0);
    assert_int_equal(r->thread.altstack_flags, 0);
    assert_true(tl_signal_leave(&r->thread));
    assert_int_equal(r->thread.altstack_vaddr, ALT);
    assert_int_equal(r->thread.altstack_bytes, ALT_BYTES);
    assert_int_equal(r->thread.altstack_flags, TL_SS_AUTODISARM);
    rig_free(r);
}

// For Linux a stack pointer at the very top is on the stack, and one at the bottom is not.
static void test_the_alternate_stack_has_a_top_and_a_bottom(void **state) {
    (void)state;
    rig *r = rig_new(true);
    assert_int_equal(tl_on_altstack(&r->thread, STACK), SS_DISABLE);
    set_altstack(r, 0);
    assert_int_equal(tl_on_altstack(&r->thread, ALT - 1), 0);
    assert_int_equal(tl_on_altstack(&r->thread, ALT), 0);
    assert_int_equal(tl_on_altstack(&r->thread, ALT + 1), SS_ONSTACK);
    assert_int_equal(tl_on_altstack(&r->thread, ALT + ALT_BYTES), SS_ONSTACK);
    assert_int_equal(tl_on_altstack(&r->thread, ALT + ALT_BYTES + 1), 0);
    set_altstack(r, TL_SS_AUTODISARM);
    assert_int_equal(tl_on_altstack(&r->thread, ALT + 1), 0);
    rig_free(r);
}

static void test_masks_and_flags_of_an_action(void **state) {
    (void)state;
    const uint64_t bit = tl_signal_bit(SIGNAL), other = tl_signal_bit(SIGTERM), never = tl_signal_bit(SIGKILL) | tl_signal_bit(SIGSTOP);
    rig *r = rig_new(true);
    r->thread.blocked = tl_signal_bit(SIGHUP);
    r->action->mask = other | never;
    assert_int_equal(deliver(r), TL_DELIVERY_HANDLER);
    assert_int_equal(frame.mask, tl_signal_bit(SIGHUP));
    assert_int_equal(r->thread.blocked, tl_signal_bit(SIGHUP) | other | bit);
    frame.mask = bit | never; // the handler may change it, but not to that
    assert_true(tl_signal_leave(&r->thread));
    assert_int_equal(r->thread.blocked, bit);
    r->thread.blocked = tl_signal_bit(SIGINT); // of sigsuspend
    r->thread.saved_blocked = tl_signal_bit(SIGHUP);
    r->thread.has_saved_blocked = true;
    r->action->flags = SA_NODEFER | SA_RESETHAND;
    assert_int_equal(deliver(r), TL_DELIVERY_HANDLER);
    assert_int_equal(frame.mask, tl_signal_bit(SIGHUP));
    assert_false(r->thread.has_saved_blocked);
    assert_int_equal(r->thread.blocked, tl_signal_bit(SIGINT) | other);
    assert_int_equal(r->action->handler, (uint64_t)(uintptr_t)SIG_DFL);
    rig_free(r);
}

static void test_a_handler_leaves_with_the_alternate_stack_that_its_frame_names(void **state) {
    (void)state;
    rig *r = rig_new(true);
    tl_thread *t = &r->thread;
    const tl_signal_saved named = {.stack_vaddr = 0x5000, .stack_bytes = 0x3000};
    set_altstack(r, 0);
    frame = named;
    assert_true(tl_signal_leave(t));
    assert_int_equal(t->altstack_vaddr, 0x5000);
    assert_int_equal(t->altstack_bytes, 0x3000);
    assert_int_equal(t->altstack_flags, 0);
    frame.stack_flags = SS_DISABLE;
    assert_true(tl_signal_leave(t));
    assert_int_equal(t->altstack_vaddr | t->altstack_bytes, 0);
    set_altstack(r, 0);
    frame.stack_flags = 4; // no such flag
    assert_true(tl_signal_leave(t));
    assert_int_equal(t->altstack_vaddr, ALT);
    t->altstack_vaddr = STACK - 0x100; // back on the stack in use, which then stays
    frame.stack_flags = 0;
    assert_true(tl_signal_leave(t));
    assert_int_equal(t->altstack_vaddr, STACK - 0x100);
    t->blocked = 1;
    is_refused = true;
    assert_false(tl_signal_leave(t));
    assert_int_equal(t->blocked, 1);
    rig_free(r);
}

// ---- RISC-V: asm/ucontext.h, asm/sigcontext.h.

static uint64_t word_at(rig *r, uint64_t vaddr, size_t n) {
    uint64_t value = 0;
    assert_true(tl_vm_read(&r->process, vaddr, &value, n));
    return value;
}

enum { // offsets in struct rt_sigframe
    INFO = 0,
    UC_FLAGS = 128,
    SS_SP = 144,
    SS_FLAGS = 152,
    SS_SIZE = 160,
    SIGMASK = 168,
    PC = 304,
    X1 = 312,
    F0 = 560,
    FCSR = 816,
    Q_FCSR = F0 + 512,
    RESERVED = Q_FCSR + 4,
    FRAME_OF_RV = 1088,
};

static void fill_registers(rig *r) {
    tl_rv_hart *rv = tl_rv(r->os->hart);
    for (uint64_t i = 1; i < 32; i++)
        rv->x[i] = i * UINT64_C(0x0101010101010101);
    for (uint64_t i = 0; i < 32; i++)
        rv->f[i] = ~(i * UINT64_C(0x0101010101010101));
    rv->x[SP] = STACK;
    rv->frm = 3;
    rv->fflags = 0x15;
    r->os->hart->pc = 0x123456;
}

static void test_a_frame_of_riscv_is_as_linux_lays_it_out(void **state) {
    (void)state;
    rig *r = rig_new(false);
    const uint64_t sp = (STACK - FRAME_OF_RV) / 16 * 16;
    set_altstack(r, 0);
    r->thread.blocked = tl_signal_bit(SIGHUP);
    fill_registers(r);
    assert_int_equal(deliver(r), TL_DELIVERY_HANDLER);
    assert_int_equal(r->os->hart->pc, HANDLER);
    assert_int_equal(r->x[SP], sp);
    assert_int_equal(r->x[RA], TL_TRAMPOLINE_VADDR);
    assert_int_equal(r->x[A0], SIGNAL);
    assert_int_equal(r->x[A1], sp + INFO);
    assert_int_equal(r->x[A2], sp + UC_FLAGS);
    assert_int_equal(word_at(r, sp + INFO, 4), SIGNAL);
    assert_int_equal(word_at(r, sp + UC_FLAGS, 8), 0);
    assert_int_equal(word_at(r, sp + UC_FLAGS + 8, 8), 0); // uc_link
    assert_int_equal(word_at(r, sp + SS_SP, 8), ALT);
    assert_int_equal(word_at(r, sp + SS_FLAGS, 4), 0);
    assert_int_equal(word_at(r, sp + SS_SIZE, 8), ALT_BYTES);
    assert_int_equal(word_at(r, sp + SIGMASK, 8), tl_signal_bit(SIGHUP));
    assert_int_equal(word_at(r, sp + PC, 8), 0x123456);
    for (uint64_t i = 1; i < 32; i++)
        assert_int_equal(word_at(r, sp + X1 + 8 * (i - 1), 8), i == SP ? STACK : i * UINT64_C(0x0101010101010101));
    for (uint64_t i = 0; i < 32; i++)
        assert_int_equal(word_at(r, sp + F0 + 8 * i, 8), ~(i * UINT64_C(0x0101010101010101)));
    assert_int_equal(word_at(r, sp + FCSR, 4), 3 << 5 | 0x15);
    for (uint64_t at = FCSR + 4; at < FRAME_OF_RV; at += 4)
        assert_int_equal(word_at(r, sp + at, 4), 0);
    rig_free(r);
}

static void test_leaving_restores_every_register_from_the_frame(void **state) {
    (void)state;
    rig *r = rig_new(false);
    tl_rv_hart *rv = tl_rv(r->os->hart), before;
    fill_registers(r);
    before = *rv;
    assert_int_equal(deliver(r), TL_DELIVERY_HANDLER);
    const uint64_t sp = r->x[SP], new_pc = 0x777000, new_x31 = 0x3131, quad = 1;
    memset(&rv->x[3], 0x5a, 29 * sizeof rv->x[3]);
    memset(rv->f, 0x5a, sizeof rv->f);
    rv->frm = rv->fflags = 0;
    assert_true(tl_vm_write(&r->process, sp + PC, &new_pc, 8)); // as a handler may
    assert_true(tl_vm_write(&r->process, sp + X1 + 8 * 30, &new_x31, 8));
    assert_true(tl_vm_write(&r->process, sp + Q_FCSR, &quad, 4)); // means nothing on this hart
    assert_true(tl_signal_leave(&r->thread));
    assert_int_equal(r->os->hart->pc, new_pc);
    before.x[31] = new_x31;
    assert_memory_equal(rv->x, before.x, 32 * sizeof rv->x[0]);
    assert_memory_equal(rv->f, before.f, sizeof rv->f);
    assert_int_equal(rv->frm, 3);
    assert_int_equal(rv->fflags, 0x15);
    rig_free(r);
}

static void test_a_damaged_frame_changes_nothing(void **state) {
    (void)state;
    rig *r = rig_new(false);
    fill_registers(r);
    assert_int_equal(deliver(r), TL_DELIVERY_HANDLER);
    tl_rv_hart *rv = tl_rv(r->os->hart);
    const uint64_t sp = r->x[SP], blocked = r->thread.blocked;
    for (int k = 0; k < 5; k++) {
        uint32_t one = k < 3;
        // Damage, misaligned, half of it unmapped.
        r->x[SP] = k < 3 ? sp : k == 3 ? sp + 8 : AREA + AREA_BYTES - FRAME_OF_RV + 16;
        if (k < 3)
            assert_true(tl_vm_write(&r->process, sp + RESERVED + 4 * (uint64_t)k, &one, 4));
        const tl_rv_hart before = *rv;
        assert_false(tl_signal_leave(&r->thread));
        assert_memory_equal(rv->x, before.x, sizeof rv->x);
        assert_int_equal(r->os->hart->pc, HANDLER);
        assert_int_equal(r->thread.blocked, blocked);
        one = 0;
        assert_true(tl_vm_write(&r->process, sp + RESERVED + 4 * (uint64_t)(k % 3), &one, 4));
    }
    r->x[SP] = sp;
    assert_true(tl_signal_leave(&r->thread));
    rig_free(r);
}

static void test_a_stack_that_cannot_be_written_changes_no_register(void **state) {
    (void)state;
    rig *r = rig_new(false);
    tl_siginfo info = {.signo = SIGNAL };
    const tl_signal_saved saved = {.mask = 0};
    fill_registers(r);
    const tl_rv_hart before = *tl_rv(r->os->hart);
    assert_false(tl_os_rv64.push_frame(&r->thread, AREA - 64, &info, &saved, r->action));
    assert_memory_equal(tl_rv(r->os->hart)->x, before.x, sizeof before.x);
    assert_int_equal(r->os->hart->pc, 0x123456);
    rig_free(r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_frame_stands_aligned_below_the_stack),
    cmocka_unit_test(test_the_alternate_stack_is_used_from_its_top_when_asked),
    cmocka_unit_test(test_a_full_alternate_stack_ends_in_sigsegv),
    cmocka_unit_test(test_autodisarm_takes_the_alternate_stack_away_for_the_handler),
    cmocka_unit_test(test_the_alternate_stack_has_a_top_and_a_bottom),
    cmocka_unit_test(test_masks_and_flags_of_an_action),
    cmocka_unit_test(test_a_handler_leaves_with_the_alternate_stack_that_its_frame_names),
    cmocka_unit_test(test_a_frame_of_riscv_is_as_linux_lays_it_out),
    cmocka_unit_test(test_leaving_restores_every_register_from_the_frame),
    cmocka_unit_test(test_a_damaged_frame_changes_nothing),
    cmocka_unit_test(test_a_stack_that_cannot_be_written_changes_no_register),
};

TL_TEST_MAIN(tests)
