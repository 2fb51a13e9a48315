// SPDX-License-Identifier: MIT
// Call graphs of system software: traps, interrupts, task switches and changes of address space.
#include "model/test_callgraph.h"

// Spaces below 100 are hart * 10 + process.
enum { USER = 0, KERNEL = 1, HANDLER = 0x9000, USER_SP = 1 << 22, KERNEL_SP = 1 << 21, OTHER_SP = 1 << 18 };

static uint64_t process_of(const void *ctx, uint64_t space) {
    (void)ctx;
    return space % 10;
}

static void machine_new(rig *r) {
    tl_error err = {0};
    rig_new(r);
    assert_int_equal(tl_callgraph_follow_machine(r->graph, process_of, NULL, &err), TL_OK);
    tl_attribution_set_space(r->attribution, 0, 1);
    tl_attribution_begin(r->h); // at 0x1000
}

static void trap(rig *r, uint64_t pc, uint64_t sp, uint32_t from, bool is_interrupt) {
    const tl_call_trap t = {.pc = pc, .sp = sp, .handler_pc = HANDLER, .old_priv = from, .priv = KERNEL, .is_interrupt = is_interrupt};
    tl_callgraph_trap(r->graph, 0, &t);
}

static void trap_return(rig *r, uint64_t target, uint64_t sp, uint32_t priv) { tl_callgraph_trap_return(r->graph, 0, target, sp, priv); }

static const tl_call_context *now(rig *r) { return tl_callgraph_context(r->graph, current(r)); }

// Entries from the current context up to its root, ended by 0.
static void is_path(rig *r, const uint64_t *entries) {
    uint32_t at = current(r);
    for (; *entries != 0; entries++) {
        assert_int_not_equal(at, TL_NO_CONTEXT);
        assert_int_equal(tl_callgraph_context(r->graph, at)->entry_pc, *entries);
        at = tl_callgraph_context(r->graph, at)->parent;
    }
    assert_int_equal(at, TL_NO_CONTEXT);
}
#define PATH(...) is_path(&r, (const uint64_t[]){__VA_ARGS__, 0})

static void test_trap_is_called_by_the_instruction_that_trapped(void **state) {
    (void)state;
    rig r;
    machine_new(&r);
    call(&r, 0x1008, 0x2000, USER_SP);
    trap(&r, 0x2010, USER_SP - FRAME, USER, false);
    PATH(HANDLER, 0x2000, 0x1000);
    assert_int_equal(now(&r)->call_pc, 0x2010);
    assert_int_equal(now(&r)->n_calls, 1);
    assert_true(now(&r)->is_trap);
    call(&r, HANDLER + 8, 0xa000, KERNEL_SP);
    PATH(0xa000, HANDLER, 0x2000, 0x1000);
    go_back(&r, HANDLER + 8, KERNEL_SP);
    trap_return(&r, 0x2014, USER_SP - FRAME, USER);
    PATH(0x2000, 0x1000);
    go_back(&r, 0x1008, USER_SP);
    PATH(0x1000);
    rig_free(&r);
}

static void test_interrupt_is_a_root(void **state) {
    (void)state;
    rig r;
    machine_new(&r);
    call(&r, 0x1008, 0x2000, USER_SP);
    for (uint64_t pc = 0x2000; pc < 0x2100; pc += 4) {
        trap(&r, pc, USER_SP - FRAME, USER, true);
        PATH(HANDLER);
        trap_return(&r, pc, USER_SP - FRAME, USER);
        PATH(0x2000, 0x1000);
    }
    trap(&r, 0x2000, USER_SP - FRAME, USER, true);
    assert_int_equal(now(&r)->n_calls, 0x100 / 4 + 1);
    rig_free(&r);
}

// A page fault of the kernel, which a system call of a program entered.
static void test_traps_nest(void **state) {
    (void)state;
    rig r;
    machine_new(&r);
    trap(&r, 0x1010, USER_SP, USER, false);
    call(&r, HANDLER + 8, 0xa000, KERNEL_SP);
    trap(&r, 0xa010, KERNEL_SP - FRAME, KERNEL, false);
    call(&r, HANDLER + 8, 0xb000, KERNEL_SP - 4 * FRAME);
    PATH(0xb000, HANDLER, 0xa000, HANDLER, 0x1000);
    trap_return(&r, 0xa010, KERNEL_SP - FRAME, KERNEL);
    PATH(0xa000, HANDLER, 0x1000);
    go_back(&r, HANDLER + 8, KERNEL_SP);
    trap_return(&r, 0x1014, USER_SP, USER);
    PATH(0x1000);
    rig_free(&r);
}

// Each task has frames of its program, of its trap and of the kernel, and the switch is a return to
// one address of all tasks. The new task begins where the first stack has its top.
static void test_kernel_switches_tasks(void **state) {
    (void)state;
    enum { SWITCH = 0xc000, START = 0xd000, STEP = 1 << 14 };
    rig r;
    machine_new(&r);
    trap(&r, 0x1010, USER_SP, USER, false);
    call(&r, HANDLER + 8, 0xa000, KERNEL_SP);
    call(&r, 0xa010, SWITCH, KERNEL_SP - FRAME);
    tl_callgraph_return(r.graph, 0, START, KERNEL_SP - STEP); // a new task
    PATH(START);
    call(&r, START + 8, 0xb000, KERNEL_SP - STEP);
    call(&r, 0xa010, SWITCH, KERNEL_SP - STEP - FRAME);
    go_back(&r, 0xa010, KERNEL_SP - FRAME);
    PATH(0xa000, HANDLER, 0x1000);
    call(&r, 0xa010, SWITCH, KERNEL_SP - FRAME);
    go_back(&r, 0xa010, KERNEL_SP - STEP - FRAME);
    PATH(0xb000, START);
    go_back(&r, START + 8, KERNEL_SP - STEP);
    trap_return(&r, 0x4000, USER_SP / 2, USER); // its program begins
    PATH(0x4000);
    trap(&r, 0x4010, USER_SP / 2, USER, false);
    call(&r, HANDLER + 8, 0xa000, KERNEL_SP - STEP);
    call(&r, 0xa010, SWITCH, KERNEL_SP - STEP - FRAME);
    go_back(&r, 0xa010, KERNEL_SP - FRAME);
    go_back(&r, HANDLER + 8, KERNEL_SP);
    trap_return(&r, 0x1014, USER_SP, USER);
    PATH(0x1000);
    rig_free(&r);
}

// The handler swaps address and stack pointer, as preemptive kernels with one stack do.
static void test_handler_switches_tasks(void **state) {
    (void)state;
    rig r;
    machine_new(&r);
    call(&r, 0x1008, 0x2000, USER_SP);
    trap(&r, 0x2010, USER_SP - FRAME, USER, true);
    call(&r, HANDLER + 8, 0xa000, KERNEL_SP);
    go_back(&r, HANDLER + 8, KERNEL_SP);
    trap_return(&r, 0x5000, OTHER_SP, KERNEL); // a task with the rights of the handler
    PATH(0x5000);
    call(&r, 0x5008, 0x6000, OTHER_SP);
    trap(&r, 0x6010, OTHER_SP - FRAME, KERNEL, false);
    PATH(HANDLER, 0x6000, 0x5000);
    trap_return(&r, 0x2010, USER_SP - FRAME, USER);
    PATH(0x2000, 0x1000);
    trap(&r, 0x2020, USER_SP - FRAME, USER, true);
    trap_return(&r, 0x6014, OTHER_SP - FRAME, KERNEL);
    PATH(0x6000, 0x5000);
    rig_free(&r);
}

static void test_another_hart_goes_on_with_a_task(void **state) {
    (void)state;
    rig r;
    machine_new(&r);
    call(&r, 0x1008, 0x2000, USER_SP);
    call(&r, 0x2010, 0x3000, USER_SP - FRAME);
    tl_callgraph_return(r.graph, 0, 0x7000, KERNEL_SP); // the hart goes on with another one
    PATH(0x7000);
    tl_attribution_set_space(r.attribution, 0, 11); // of another hart, as this rig has one
    PATH(0x7000);
    go_back(&r, 0x2010, USER_SP - FRAME);
    PATH(0x2000, 0x1000);
    assert_int_equal(now(&r)->space, 11);
    assert_int_equal(now(&r)->call_pc, 0x1008);
    go_back(&r, 0x1008, USER_SP);
    PATH(0x1000);
    assert_int_equal(now(&r)->space, 11);
    rig_free(&r);
}

// The kernel changes to another process's space before it changes stacks. Frames of a program stay
// in its process.
static void test_path_is_carried_into_a_new_space_from_the_trap_on(void **state) {
    (void)state;
    rig r;
    machine_new(&r);
    trap(&r, 0x1010, USER_SP, USER, false);
    call(&r, HANDLER + 8, 0xa000, KERNEL_SP);
    call(&r, 0xa010, 0xb000, KERNEL_SP - FRAME);
    tl_attribution_set_space(r.attribution, 0, 2);
    PATH(0xb000, 0xa000, HANDLER);
    assert_int_equal(now(&r)->space, 2);
    assert_int_equal(now(&r)->n_calls, 0);
    go_back(&r, 0xa010, KERNEL_SP - FRAME);
    PATH(0xa000, HANDLER);
    tl_attribution_set_space(r.attribution, 0, 1);
    PATH(0xa000, HANDLER, 0x1000);
    go_back(&r, HANDLER + 8, KERNEL_SP);
    trap_return(&r, 0x1014, USER_SP, USER);
    PATH(0x1000);
    rig_free(&r);
}

// exec: the program of the trap is gone, though the new one begins at the same place.
static void test_return_to_another_process_begins_a_stack(void **state) {
    (void)state;
    rig r;
    machine_new(&r);
    call(&r, 0x1008, 0x2000, USER_SP);
    trap(&r, 0x2010, USER_SP - FRAME, USER, false);
    tl_attribution_set_space(r.attribution, 0, 2);
    trap_return(&r, 0x2014, USER_SP - FRAME, USER);
    PATH(0x2014);
    assert_int_equal(now(&r)->space, 2);
    rig_free(&r);
}

// A guest kernel delivers a signal; its handler ends with a system call.
static void test_handler_of_a_guests_signal_is_a_root(void **state) {
    (void)state;
    rig r;
    machine_new(&r);
    for (uint32_t n = 0; n < 3; n++) {
        call(&r, 0x1008, 0x2000, USER_SP);
        trap(&r, 0x2010, USER_SP - FRAME, USER, true);
        trap_return(&r, 0x3000, USER_SP - 1024, USER);
        PATH(0x3000);
        trap(&r, 0x3010, USER_SP - 1024, USER, false);
        trap_return(&r, 0x2010, USER_SP - FRAME, USER);
        PATH(0x2000, 0x1000);
        go_back(&r, 0x1008, USER_SP);
    }
    rig_free(&r);
}

static void test_handler_may_choose_where_its_stack_goes_on(void **state) {
    (void)state;
    rig r;
    machine_new(&r);
    call(&r, 0x1008, 0x2000, USER_SP);
    call(&r, 0x2008, 0x3000, USER_SP - FRAME);
    trap(&r, 0x3010, USER_SP - 2 * FRAME, KERNEL, false);
    trap_return(&r, 0x3080, USER_SP - 2 * FRAME, KERNEL); // a fix-up of the same function
    PATH(0x3000, 0x2000, 0x1000);
    trap(&r, 0x3010, USER_SP - 2 * FRAME, KERNEL, false);
    trap_return(&r, 0x1040, USER_SP, KERNEL); // out of both calls
    PATH(0x1000);
    rig_free(&r);
}

// A function of the handler's task calls on the stack for interrupts, which is far away.
static void test_calls_on_another_stack_return(void **state) {
    (void)state;
    enum { FAR_SP = 1 << 28 };
    rig r;
    machine_new(&r);
    call(&r, 0x1008, 0x2000, KERNEL_SP);
    call(&r, 0x2008, 0x3000, FAR_SP);
    call(&r, 0x3008, 0x4000, FAR_SP - FRAME);
    PATH(0x4000, 0x3000, 0x2000, 0x1000);
    go_back(&r, 0x3008, FAR_SP - FRAME);
    go_back(&r, 0x2008, FAR_SP);
    PATH(0x2000, 0x1000);
    call(&r, 0x2008, 0x3000, FAR_SP);
    tl_callgraph_return(r.graph, 0, 0x1020, KERNEL_SP); // longjmp over both
    PATH(0x1000);
    call(&r, 0x1008, 0x2000, KERNEL_SP);
    call(&r, 0x2008, 0x3000, FAR_SP);
    call(&r, 0x1030, 0x5000, KERNEL_SP); // or a jump that was not told
    PATH(0x5000, 0x2000, 0x1000);
    rig_free(&r);
}

// Stacks do not grow without end by traps that never return, or by calls on two stacks.
static void test_traps_without_return_end_somewhere(void **state) {
    (void)state;
    enum { N = 100000 };
    rig r;
    machine_new(&r);
    for (uint32_t n = 0; n < N; n++)
        trap(&r, HANDLER, KERNEL_SP, KERNEL, false);
    for (uint32_t n = 0; n < N; n++) {
        call(&r, 0x2008, 0x3000, n % 2 ? KERNEL_SP : USER_SP);
        call(&r, 0x3008, 0x2000, n % 2 ? OTHER_SP : KERNEL_SP);
    }
    assert_true(tl_callgraph_n_contexts(r.graph) < 100);
    rig_free(&r);
}

// Tasks that end leave stacks that wait in vain, in memory that new tasks get.
static void test_stacks_of_ended_tasks_are_used_again(void **state) {
    (void)state;
    enum { N = 200000, SWITCH = 0xc000, START = 0xd000 };
    rig r;
    machine_new(&r);
    call(&r, 0x1008, SWITCH, KERNEL_SP);
    for (uint32_t n = 0; n < N; n++) {
        tl_callgraph_return(r.graph, 0, START, OTHER_SP);
        PATH(START);
        call(&r, START + 8, SWITCH, OTHER_SP - FRAME);
        go_back(&r, 0x1008, KERNEL_SP);
        PATH(0x1000);
        call(&r, 0x1008, SWITCH, KERNEL_SP);
    }
    rig_free(&r);
}

static void test_tail_call_of_a_trap_replaces_its_handler(void **state) {
    (void)state;
    rig r;
    machine_new(&r);
    call(&r, 0x1008, 0xa000, USER_SP); // an entry from now on
    go_back(&r, 0x1008, USER_SP);
    trap(&r, 0x1010, USER_SP, KERNEL, false);
    tl_callgraph_jump(r.graph, 0, 0xa000, USER_SP);
    PATH(0xa000, 0x1000);
    assert_true(now(&r)->is_trap);
    trap_return(&r, 0x1010, USER_SP, KERNEL);
    trap(&r, 0x1010, USER_SP, KERNEL, true);
    tl_callgraph_jump(r.graph, 0, 0xa000, USER_SP);
    PATH(0xa000);
    trap_return(&r, 0x1010, USER_SP, KERNEL);
    PATH(0x1000);
    rig_free(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_trap_is_called_by_the_instruction_that_trapped),
    cmocka_unit_test(test_interrupt_is_a_root),
    cmocka_unit_test(test_traps_nest),
    cmocka_unit_test(test_kernel_switches_tasks),
    cmocka_unit_test(test_handler_switches_tasks),
    cmocka_unit_test(test_another_hart_goes_on_with_a_task),
    cmocka_unit_test(test_path_is_carried_into_a_new_space_from_the_trap_on),
    cmocka_unit_test(test_return_to_another_process_begins_a_stack),
    cmocka_unit_test(test_handler_of_a_guests_signal_is_a_root),
    cmocka_unit_test(test_handler_may_choose_where_its_stack_goes_on),
    cmocka_unit_test(test_calls_on_another_stack_return),
    cmocka_unit_test(test_traps_without_return_end_somewhere),
    cmocka_unit_test(test_stacks_of_ended_tasks_are_used_again),
    cmocka_unit_test(test_tail_call_of_a_trap_replaces_its_handler),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
