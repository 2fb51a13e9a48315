// SPDX-License-Identifier: MIT
// Contexts that take turns under one kernel, and kernels that take turns on one machine. The
// programs retire known numbers of instructions, so what each context is charged has one right
// answer.
#include <signal.h>

#include "base/bits.h"
#include "linux/os.h"
#include "linux/test_program.h"

enum { MAX_SWITCHES = 4000 };

typedef struct rig {
    tl_machine *machine;
    tl_os *os;
    uint64_t instret[TL_OS_MAX_CONTEXTS + 1], cycles[TL_OS_MAX_CONTEXTS + 1]; // charged to each
    uint64_t gated_instret, gated_cycles;
    uint64_t last_instret, last_cycle;
    uint32_t order[MAX_SWITCHES]; // contexts that got the harts
    uint64_t at[MAX_SWITCHES];    // when
    uint32_t n_switches;
    tl_os_report report;
} rig;

static tl_machine *new_machine(uint32_t n_harts) {
    tl_config config;
    tl_machine *machine;
    tl_error err;
    tl_config_default(&config);
    config.n_harts = n_harts;
    config.ram_bytes = 64 << 20;
    config.os.slice_cycles = 5000;
    if (tl_machine_new(&config, &tl_engine_interp, &machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    return machine;
}

static tl_os *new_os(tl_machine *machine, program *p, const tl_os_options *more) {
    static char *argv[] = {"prog", NULL}, *envp[] = {NULL};
    tl_os_options options = *more;
    tl_os *os;
    tl_error err;
    options.program = p->path;
    options.argv = argv;
    options.envp = envp;
    options.std_fd[0] = 0;
    options.std_fd[1] = 1;
    options.std_fd[2] = 2;
    if (tl_os_new(machine, &options, &os, &err) != TL_OK)
        fail_msg("%s", err.text);
    return os;
}

static uint32_t add(tl_os *os, program *p, uint64_t quantum_cycles) {
    char *argv[] = {"prog", NULL}, *envp[] = {NULL};
    const tl_os_program more = {.program = p->path, .argv = argv, .envp = envp, .std_fd = {0, 1, 2}, .quantum_cycles = quantum_cycles};
    uint32_t context = 99;
    tl_error err;
    if (tl_os_add(os, &more, &context, &err) != TL_OK)
        fail_msg("%s", err.text);
    return context;
}

static void charge(rig *r, uint64_t *ret_instret, uint64_t *ret_cycles) {
    tl_machine_sync(r->machine);
    uint64_t instret = tl_machine_sum(r->machine, TL_S_HART_INSTRET), now = tl_machine_now_cycles(r->machine);
    *ret_instret += instret - r->last_instret;
    *ret_cycles += now - r->last_cycle;
    r->last_instret = instret;
    r->last_cycle = now;
}

// Runs to the end, switching as asked; each switch takes `cost_cycles` besides the kernel's own.
static void run_all(rig *r, uint64_t cost_cycles) {
    const tl_os_limits limits = {.until_cycle = UINT64_MAX, .until_instret = UINT64_MAX, .break_pc = {UINT64_MAX, UINT64_MAX}};
    for (;;) {
        uint32_t context = tl_os_context(r->os);
        assert_int_equal(tl_os_run(r->os, &limits, &r->report, NULL), TL_OK);
        charge(r, &r->instret[context], &r->cycles[context]);
        if (r->report.stop != TL_OS_SWITCH)
            return;
        assert_int_equal(r->report.cycle, tl_machine_now_cycles(r->machine));
        for (uint32_t i = 0; i < r->machine->n_harts; i++)
            assert_int_equal(r->machine->harts[i]->now, r->report.cycle); // all of them stand still
        assert_int_not_equal(r->report.next, context);
        tl_os_leave(r->os);
        uint64_t began = tl_os_enter(r->os, r->report.next, r->report.cycle + cost_cycles);
        assert_true(began >= r->report.cycle + cost_cycles);
        charge(r, &r->gated_instret, &r->gated_cycles);
        assert_true(r->n_switches < MAX_SWITCHES);
        r->at[r->n_switches] = began;
        r->order[r->n_switches++] = r->report.next;
    }
}

static void free_rig(rig *r) {
    tl_os_free(r->os);
    tl_machine_free(r->machine);
}

// Counts down from n * 4096, then exits: 1 + 2 * n * 4096 + 2 instructions retire, as ECALL does
// not.
static uint64_t make_counter(program *p, uint32_t n, int32_t status) {
    *p = (program){.n_code = 0};
    lui(p, T0, n);
    addi(p, T0, T0, -1);
    bnez(p, T0, -4);
    li(p, A0, status);
    ecall(p, SYS_EXIT);
    finish(p);
    return 1 + 2 * (uint64_t)n * 4096 + 2;
}

static void test_contexts_take_turns_and_are_charged_exactly(void **state) {
    (void)state;
    program programs[3];
    uint64_t wanted[3];
    rig r = {.machine = new_machine(2)};
    for (uint32_t i = 0; i < 3; i++)
        wanted[i] = make_counter(&programs[i], 10 * (i + 1), (int32_t)i);
    r.os = new_os(r.machine, &programs[0], &(tl_os_options){.quantum_cycles = 22300});
    assert_int_equal(add(r.os, &programs[1], 22300), 1);
    assert_int_equal(add(r.os, &programs[2], 22300), 2);
    run_all(&r, 700);
    assert_int_equal(r.report.stop, TL_OS_EXITED);
    for (uint32_t i = 0; i < 3; i++) {
        tl_os_report end;
        assert_int_equal(r.instret[i], wanted[i]);
        assert_true(tl_os_context_has_ended(r.os, i, &end));
        assert_int_equal(end.stop, TL_OS_EXITED);
        assert_int_equal(end.exit_status, i);
        unlink(programs[i].path);
    }
    assert_int_equal(r.gated_instret, 0);
    assert_true(r.n_switches > 8);
    for (uint32_t i = 0; i < 6; i++) { // round and round, while all live
        assert_int_equal(r.order[i], (i + 1) % 3);
        if (i > 0) {
            uint64_t took = r.at[i] - r.at[i - 1];
            // The quantum, the switch, and less than a fetch run.
            assert_true(took >= 22300 + 1000 && took < 22300 + 1000 + 400);
        }
    }
    // A hart pays os.switch, which is longer than 700; but no thread is left of a context that
    // ended.
    assert_int_equal(r.gated_cycles, 1000 * (uint64_t)(r.n_switches - 2) + 2 * 700);
    free_rig(&r);
}

static void test_a_long_switch_takes_what_the_caller_says(void **state) {
    (void)state;
    program a, b;
    rig r = {.machine = new_machine(1)};
    make_counter(&a, 4, 0);
    make_counter(&b, 4, 0);
    r.os = new_os(r.machine, &a, &(tl_os_options){.quantum_cycles = 10000});
    (void)add(r.os, &b, 10000);
    run_all(&r, 2500);
    assert_true(r.n_switches > 0);
    assert_int_equal(r.gated_cycles, 2500 * (uint64_t)r.n_switches);
    unlink(a.path);
    unlink(b.path);
    free_rig(&r);
}

static void test_without_a_quantum_the_next_waits_for_the_end(void **state) {
    (void)state;
    program a, b;
    rig r = {.machine = new_machine(2)};
    uint64_t n_a = make_counter(&a, 20, 0), n_b = make_counter(&b, 5, 0);
    r.os = new_os(r.machine, &a, &(tl_os_options){0});
    (void)add(r.os, &b, 0);
    run_all(&r, 0);
    assert_int_equal(r.n_switches, 1);
    assert_int_equal(r.order[0], 1);
    assert_int_equal(r.instret[0], n_a);
    assert_int_equal(r.instret[1], n_b);
    unlink(a.path);
    unlink(b.path);
    free_rig(&r);
}

// Sleeps for a millisecond, which is a million cycles, then exits.
static void make_sleeper(program *p) {
    *p = (program){.n_code = 0};
    addi(p, SP, SP, -16);
    lui(p, T0, 244);                                           // 999424 ns
    emit(p, ZERO << 20 | SP << 15 | 3u << 12 | 0 << 7 | 0x23); // sd zero, 0(sp)
    emit(p, T0 << 20 | SP << 15 | 3u << 12 | 8 << 7 | 0x23);   // sd t0, 8(sp)
    addi(p, A0, SP, 0);
    li(p, A1, 0);
    ecall(p, SYS_NANOSLEEP);
    li(p, A0, 3);
    ecall(p, SYS_EXIT);
    finish(p);
}

static void test_a_context_that_sleeps_yields_and_comes_back(void **state) {
    (void)state;
    program sleeper, counter;
    rig r = {.machine = new_machine(1)};
    make_sleeper(&sleeper);
    uint64_t n = make_counter(&counter, 300, 0); // 2.4 million cycles
    r.os = new_os(r.machine, &sleeper, &(tl_os_options){.quantum_cycles = 50000});
    (void)add(r.os, &counter, 50000);
    run_all(&r, 0);
    tl_os_report end;
    assert_true(tl_os_context_has_ended(r.os, 0, &end));
    assert_int_equal(end.exit_status, 3);
    assert_int_equal(r.instret[0], 9);
    assert_int_equal(r.instret[1], n);
    assert_int_equal(r.n_switches, 3); // it sleeps; it wakes, at the end of a quantum; it ends
    assert_int_equal(r.order[0], 1);
    assert_int_equal(r.order[1], 0);
    assert_int_equal(r.order[2], 1);
    assert_true(r.at[1] >= 999424 && r.at[1] < 999424 + 50000 + 3000);
    unlink(sleeper.path);
    unlink(counter.path);
    free_rig(&r);
}

static void test_the_end_of_a_context_kills_what_is_left_of_it(void **state) {
    (void)state;
    program parent = {.n_code = 0}, other;
    rig r = {.machine = new_machine(2)};
    li(&parent, A0, 17); // SIGCHLD: a child process
    li(&parent, A1, 0);
    ecall(&parent, SYS_CLONE);
    bnez(&parent, A0, 8);
    jump(&parent, 0); // the child, for ever
    li(&parent, A0, 9);
    ecall(&parent, SYS_EXIT);
    finish(&parent);
    uint64_t n = make_counter(&other, 30, 4);
    r.os = new_os(r.machine, &other, &(tl_os_options){.quantum_cycles = 20000});
    (void)add(r.os, &parent, 20000);
    run_all(&r, 0);
    assert_int_equal(r.report.stop, TL_OS_EXITED);
    assert_int_equal(r.report.exit_status, 4);
    assert_int_equal(r.instret[0], n);
    // To the parent and back. Nothing of its context is left then.
    assert_int_equal(r.n_switches, 2);
    unlink(parent.path);
    unlink(other.path);
    free_rig(&r);
}

static void test_nothing_runs_in_no_context(void **state) {
    (void)state;
    program first, sleeper;
    rig r = {.machine = new_machine(1)};
    make_sleeper(&sleeper);
    make_counter(&first, 1, 0);
    r.os = new_os(r.machine, &sleeper, &(tl_os_options){.quantum_cycles = 50000});
    (void)add(r.os, &first, 50000);
    run_all(&r, 0);
    // To the counter, which ends; to the sleeper, which sleeps; to the sleeper, which wakes.
    assert_int_equal(r.n_switches, 3);
    assert_int_equal(r.order[1], TL_OS_NO_CONTEXT);
    assert_int_equal(r.order[2], 0);
    assert_int_equal(r.instret[TL_OS_NO_CONTEXT], 0);
    assert_true(r.cycles[TL_OS_NO_CONTEXT] > 900000);
    unlink(sleeper.path);
    unlink(first.path);
    free_rig(&r);
}

static void test_how_each_context_ended_is_told_apart(void **state) {
    (void)state;
    program crash = {.n_code = 0}, lock = {.n_code = 0};
    rig r = {.machine = new_machine(1)};
    load_word(&crash, A0, ZERO);
    finish(&crash);
    addi(&lock, A0, SP, 0); // FUTEX_WAIT for the value that is there: argc is 1
    li(&lock, A1, 128);
    li(&lock, A2, 1);
    li(&lock, A3, 0);
    ecall(&lock, SYS_FUTEX);
    finish(&lock);
    r.os = new_os(r.machine, &lock, &(tl_os_options){.quantum_cycles = 50000});
    (void)add(r.os, &crash, 50000);
    run_all(&r, 0);
    tl_os_report end;
    assert_int_equal(r.report.stop, TL_OS_DEADLOCK);
    assert_non_null(strstr(r.report.message, "deadlock: every thread sleeps and nothing can wake one: thread 1000"));
    assert_false(tl_os_context_has_ended(r.os, 0, &end));
    assert_true(tl_os_context_has_ended(r.os, 1, &end));
    assert_int_equal(end.stop, TL_OS_KILLED);
    assert_int_equal(end.signal, SIGSEGV);
    assert_non_null(strstr(end.message, "killed by SIGSEGV: load from 0x0"));
    unlink(crash.path);
    unlink(lock.path);
    free_rig(&r);
}

static void test_two_kernels_take_turns_on_one_machine(void **state) {
    (void)state;
    program programs[2];
    uint64_t wanted[2], found[2] = {0}, gated = 0, n_turns = 0;
    rig r = {.machine = new_machine(2)};
    tl_os *kernels[2];
    tl_os_report report;
    bool has_ended[2] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        wanted[i] = make_counter(&programs[i], 20, (int32_t)(5 + i));
        kernels[i] = new_os(r.machine, &programs[i],
                            &(tl_os_options){.ram_offset_bytes = (uint64_t)i << 25, .ram_bytes = 1 << 25, .starts_away = i > 0});
    }
    for (uint32_t i = 0; !has_ended[0] || !has_ended[1]; i ^= 1) {
        uint64_t ignored = 0;
        if (n_turns++ > 0) {
            uint64_t began = tl_os_enter(kernels[i], tl_os_context(kernels[i]), 0);
            charge(&r, &gated, &ignored);
            assert_int_equal(began, tl_machine_now_cycles(r.machine));
        }
        const tl_os_limits limits = {
            .until_cycle = tl_machine_now_cycles(r.machine) + 30000, .until_instret = UINT64_MAX, .break_pc = {UINT64_MAX, UINT64_MAX}};
        if (!has_ended[i]) {
            assert_int_equal(tl_os_run(kernels[i], &limits, &report, NULL), TL_OK);
            has_ended[i] = report.stop == TL_OS_EXITED;
            assert_true(has_ended[i] ? report.exit_status == (int)(5 + i) : report.stop == TL_OS_LIMIT);
        }
        (void)tl_os_halt(kernels[i]);
        charge(&r, &found[i], &ignored);
        tl_os_leave(kernels[i]);
    }
    assert_true(n_turns > 8);
    assert_int_equal(found[0], wanted[0]);
    assert_int_equal(found[1], wanted[1]);
    assert_int_equal(gated, 0);
    for (uint32_t i = 0; i < 2; i++) {
        tl_os_free(kernels[i]);
        unlink(programs[i].path);
    }
    tl_machine_free(r.machine);
}

// Forks a child that runs for ever on the second hart, and sleeps meanwhile.
static void make_family(program *p) {
    *p = (program){.n_code = 0};
    li(p, A0, SIGCHLD);
    li(p, A1, 0);
    ecall(p, SYS_CLONE);
    bnez(p, A0, 8);
    jump(p, 0);
    addi(p, SP, SP, -16);
    lui(p, T0, 244);
    emit(p, ZERO << 20 | SP << 15 | 3u << 12 | 0 << 7 | 0x23);
    emit(p, T0 << 20 | SP << 15 | 3u << 12 | 8 << 7 | 0x23);
    addi(p, A0, SP, 0);
    li(p, A1, 0);
    ecall(p, SYS_NANOSLEEP);
    li(p, A0, 0);
    ecall(p, SYS_EXIT);
    finish(p);
}

static void test_threads_come_back_to_their_harts(void **state) {
    (void)state;
    program family, other;
    rig r = {.machine = new_machine(2)};
    make_family(&family);
    make_counter(&other, 40, 0);
    r.os = new_os(r.machine, &family, &(tl_os_options){.quantum_cycles = 30000});
    (void)add(r.os, &other, 30000);
    run_all(&r, 0);
    assert_true(r.n_switches > 6);
    assert_true(r.machine->harts[1]->instret > 100000); // the child, alone on its hart
    assert_int_equal(tl_machine_sum(r.machine, TL_S_OS_MIGRATION), 0);
    unlink(family.path);
    unlink(other.path);
    free_rig(&r);
}

static void test_a_quantum_goes_on_after_a_pause(void **state) {
    (void)state;
    program programs[2];
    uint64_t switched_at = 0, ran = 0, n_pauses = 0;
    rig r = {.machine = new_machine(1)};
    make_counter(&programs[0], 40, 0);
    make_counter(&programs[1], 40, 0);
    r.os = new_os(r.machine, &programs[0], &(tl_os_options){.quantum_cycles = 50000});
    (void)add(r.os, &programs[1], 50000);
    while (!switched_at) {
        // The third pause begins when the quantum is all but over, and the harts run past its end.
        uint64_t begin = tl_machine_now_cycles(r.machine), until = begin + (ran < 39000 ? 20000 : ran < 49999 ? 49999 - ran : 1000);
        const tl_os_limits limits = {.until_cycle = until, .until_instret = UINT64_MAX, .break_pc = {UINT64_MAX, UINT64_MAX}};
        assert_int_equal(tl_os_run(r.os, &limits, &r.report, NULL), TL_OK);
        uint64_t end = tl_os_halt(r.os);
        ran += end - begin;
        n_pauses++;
        if (r.report.stop == TL_OS_SWITCH)
            switched_at = ran;
        tl_os_leave(r.os);
        (void)tl_os_enter(r.os, tl_os_context(r.os), end + 5000); // the pause counts for nobody
    }
    assert_true(switched_at >= 50000 && switched_at < 50000 + 400);
    assert_true(n_pauses >= 3);
    for (uint32_t i = 0; i < 2; i++)
        unlink(programs[i].path);
    free_rig(&r);
}

static void test_a_transfer_is_told_and_waited_for(void **state) {
    (void)state;
    program p = {.n_code = 0};
    char path[] = "/tmp/tally-test-contexts-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (int i = 0; i < 2; i++) { // the second one finds its page
        li(&p, A0, 1);
        addi(&p, A1, SP, 0);
        li(&p, A2, 8);
        ecall(&p, 64); // write
    }
    li(&p, A0, 0);
    ecall(&p, SYS_EXIT);
    finish(&p);
    for (int is_told = 0; is_told < 2; is_told++) {
        rig r = {.machine = new_machine(1)};
        char *argv[] = {"prog", NULL}, *envp[] = {NULL};
        const tl_os_options options = {
            .program = p.path, .argv = argv, .envp = envp, .std_fd = {0, fd, fd}, .reports_transfers = is_told != 0};
        const tl_os_limits limits = {.until_cycle = UINT64_MAX, .until_instret = UINT64_MAX, .break_pc = {UINT64_MAX, UINT64_MAX}};
        uint64_t n_bytes[2] = {0}, n_told = 0;
        assert_int_equal(tl_os_new(r.machine, &options, &r.os, NULL), TL_OK);
        for (;;) {
            assert_int_equal(tl_os_run(r.os, &limits, &r.report, NULL), TL_OK);
            if (r.report.stop != TL_OS_TRANSFER)
                break;
            const tl_hart *h = r.machine->harts[r.report.break_hart];
            uint64_t now = h->now, idle = h->idle_cycles, supervisor = h->supervisor_cycles;
            assert_true(r.report.cycle <= now);
            for (int k = 0; k < 2; k++)
                n_bytes[k] += r.report.n_bytes[k];
            n_told++;
            tl_os_wait(r.os, r.report.break_hart, now); // nothing to wait for
            assert_int_equal(h->now, now);
            tl_os_wait(r.os, r.report.break_hart, now + 700);
            assert_int_equal(h->now, now + 700);
            assert_int_equal(h->idle_cycles, idle);
            assert_int_equal(h->supervisor_cycles, supervisor + 700); // in the kernel
        }
        assert_int_equal(r.report.stop, TL_OS_EXITED);
        assert_int_equal(n_bytes[1], is_told ? 16 : 0);
        // The program's page is read, too.
        assert_true(is_told ? n_told >= 2 && n_bytes[0] > 0 : n_told == 0);
        tl_machine_sync(r.machine);
        assert_int_equal(tl_machine_check_identities(r.machine, NULL), TL_OK);
        free_rig(&r);
    }
    close(fd);
    unlink(path);
    unlink(p.path);
}

static void test_one_context_too_many_is_refused(void **state) {
    (void)state;
    program p;
    rig r = {.machine = new_machine(1)};
    make_counter(&p, 1, 0);
    r.os = new_os(r.machine, &p, &(tl_os_options){.quantum_cycles = 5000});
    for (uint32_t i = 1; i < TL_OS_MAX_CONTEXTS; i++)
        assert_int_equal(add(r.os, &p, 5000), i);
    char *none[] = {NULL};
    const tl_os_program more = {.program = p.path, .argv = none, .envp = none};
    uint32_t context;
    tl_error err;
    assert_int_equal(tl_os_add(r.os, &more, &context, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "one kernel has at most 32 contexts; give it to another VM"));
    run_all(&r, 0);
    for (uint32_t i = 0; i < TL_OS_MAX_CONTEXTS; i++)
        assert_int_equal(r.instret[i], 1 + 2 * 4096 + 2);
    unlink(p.path);
    free_rig(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contexts_take_turns_and_are_charged_exactly),
        cmocka_unit_test(test_a_long_switch_takes_what_the_caller_says),
        cmocka_unit_test(test_without_a_quantum_the_next_waits_for_the_end),
        cmocka_unit_test(test_a_context_that_sleeps_yields_and_comes_back),
        cmocka_unit_test(test_the_end_of_a_context_kills_what_is_left_of_it),
        cmocka_unit_test(test_nothing_runs_in_no_context),
        cmocka_unit_test(test_how_each_context_ended_is_told_apart),
        cmocka_unit_test(test_two_kernels_take_turns_on_one_machine),
        cmocka_unit_test(test_threads_come_back_to_their_harts),
        cmocka_unit_test(test_a_quantum_goes_on_after_a_pause),
        cmocka_unit_test(test_a_transfer_is_told_and_waited_for),
        cmocka_unit_test(test_one_context_too_many_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
