// SPDX-License-Identifier: MIT
// Whole runs of programs of a few instructions. The tests assemble the programs themselves, so no
// guest compiler is needed. They check how runs end, the messages, and that observers change
// nothing.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/os.h"
#include "linux/test_program.h"
#include "machine/test_rig.h"
#include "model/isa.h"

typedef struct outcome {
    tl_os_report report;
    uint64_t now, instret, sum;
} outcome;

static void collect(void *ctx, const char *sentence) { snprintf((char *)ctx, 400, "%s", sentence); }

static outcome run(program *p, uint32_t n_harts, uint64_t ram_bytes, uint64_t step, char *warning) {
    tl_config config;
    tl_machine *machine;
    tl_os *os;
    tl_error err = {.text = ""};
    outcome out;
    char *argv[] = {"prog", NULL}, *envp[] = {NULL};
    const tl_os_options options = {
        .program = p->path, .argv = argv, .envp = envp, .std_fd = {0, 1, 2}, .warn = warning ? collect : NULL, .ctx = warning};
    tl_config_default(&config);
    config.n_harts = n_harts;
    config.ram_bytes = ram_bytes;
    config.os.slice_cycles = 5000;
    assert_int_equal(tl_machine_new(&config, &tl_engine_interp, &machine, &err), TL_OK);
    if (tl_os_new(machine, &options, &os, &err) != TL_OK)
        fail_msg("%s", err.text);
    tl_os_limits limits = {.until_cycle = UINT64_MAX, .until_instret = step, .break_pc = {UINT64_MAX, UINT64_MAX}};
    do {
        assert_int_equal(tl_os_run(os, &limits, &out.report, &err), TL_OK);
        tl_machine_sync(machine);
        if (out.report.stop == TL_OS_LIMIT)
            assert_int_equal(tl_machine_sum(machine, TL_S_HART_INSTRET), limits.until_instret);
        limits.until_instret += step;
    } while (out.report.stop == TL_OS_LIMIT);
    tl_machine_sync(machine);
    if (tl_machine_check_identities(machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    out.now = tl_os_now_cycles(os);
    out.instret = tl_machine_sum(machine, TL_S_HART_INSTRET);
    out.sum = 0;
    for (uint32_t slot = 0; slot < machine->probe.n_cells; ++slot)
        out.sum = (out.sum ^ machine->tally[slot]) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    tl_os_free(os);
    tl_machine_free(machine);
    return out;
}

static outcome run_once(program *p) {
    finish(p);
    outcome out = run(p, 1, 16 << 20, UINT64_MAX, NULL);
    unlink(p->path);
    return out;
}

static void test_a_program_exits_with_its_status(void **state) {
    (void)state;
    program p = {.n_code = 0};
    li(&p, A0, 42);
    ecall(&p, SYS_EXIT);
    outcome out = run_once(&p);
    assert_int_equal(out.report.stop, TL_OS_EXITED);
    assert_int_equal(out.report.exit_status, 42);
    assert_string_equal(out.report.message, "");
    assert_int_equal(out.instret, 2); // the ECALL does not retire
}

static void assert_killed(program *p, int signal, const char *message) {
    outcome out = run_once(p);
    assert_int_equal(out.report.stop, TL_OS_KILLED);
    assert_int_equal(out.report.signal, signal);
    assert_string_equal(out.report.message, message);
}

static void test_crashes_are_described(void **state) {
    (void)state;
    program load = {.n_code = 0}, store = {.n_code = 0}, wild = {.n_code = 0}, illegal = {.n_code = 0}, halves = {.n_code = 0},
            trap = {.n_code = 0}, atomic = {.n_code = 0};
    load_word(&load, A0, ZERO);
    assert_killed(&load, 11, "killed by SIGSEGV: load from 0x0 at pc 0x10078");
    lui(&store, A1, BASE >> 12);
    store_word(&store, A0, A1);
    assert_killed(&store, 11, "killed by SIGSEGV: store to 0x10000 at pc 0x1007c, which its mapping does not permit");
    li(&wild, A0, 0x700);
    emit(&wild, A0 << 15 | 0x67); // jr a0
    assert_killed(&wild, 11, "killed by SIGSEGV: jump to 0x700 at pc 0x700");
    emit(&illegal, 0xffffffff);
    assert_killed(&illegal, 4, "killed by SIGILL: illegal instruction 0xffffffff at pc 0x10078");
    emit(&halves, 0xdeadbe6b); // reserved
    assert_killed(&halves, 4, "killed by SIGILL: illegal instruction 0xdeadbe6b at pc 0x10078");
    emit(&trap, 0x00100073);
    assert_killed(&trap, 5, "killed by SIGTRAP: breakpoint instruction at pc 0x10078");
    addi(&atomic, A1, SP, 2);
    emit(&atomic, 0x0005a52f); // amoadd.w a0, x0, (a1)
    outcome out = run_once(&atomic);
    assert_int_equal(out.report.signal, 7);
    assert_non_null(strstr(out.report.message, "killed by SIGBUS: misaligned atomic access to 0x"));
}

static void test_a_stack_overflow_is_recognized(void **state) {
    (void)state;
    program p = {.n_code = 0};
    addi(&p, SP, SP, -2032);
    store_word(&p, A0, SP);
    jump(&p, -8);
    outcome out = run_once(&p);
    assert_int_equal(out.report.signal, 11);
    assert_memory_equal(out.report.message, "killed by SIGSEGV: stack overflow: store to 0x3fff7", 51);
    assert_non_null(strstr(out.report.message, "at pc 0x1007c, below the stack limit of 8 MiB"));
}

static void test_full_ram_kills_and_says_so(void **state) {
    (void)state;
    program p = {.n_code = 0};
    lui(&p, A1, 0x4000); // mmap(0, 64 MiB, RW, PRIVATE | ANONYMOUS, -1, 0)
    li(&p, A0, 0);
    li(&p, A2, 3);
    li(&p, A3, 0x22);
    li(&p, A4, -1);
    li(&p, A5, 0);
    ecall(&p, 222);
    lui(&p, T0, 1);
    store_word(&p, A2, A0);
    emit(&p, T0 << 20 | A0 << 15 | A0 << 7 | 0x33); // add a0, a0, t0
    jump(&p, -8);
    outcome out = run_once(&p);
    assert_int_equal(out.report.signal, 9);
    assert_string_equal(
        out.report.message,
        "killed by SIGKILL: out of memory: all 16 MiB of the machine's RAM are in use; give it more with ram in the machine file");
}

static void test_a_deadlock_names_who_waits_for_what(void **state) {
    (void)state;
    program p = {.n_code = 0};
    addi(&p, A0, SP, -8);
    store_word(&p, ZERO, A0);
    li(&p, A1, 0); // FUTEX_WAIT, 0, no timeout
    li(&p, A2, 0);
    li(&p, A3, 0);
    ecall(&p, SYS_FUTEX);
    outcome out = run_once(&p);
    assert_int_equal(out.report.stop, TL_OS_DEADLOCK);
    assert_memory_equal(out.report.message, "deadlock: every thread sleeps and nothing can wake one: thread 1000 (tally-test-os-", 83);
    assert_non_null(strstr(out.report.message, ") waits for a futex at 0x3ffff"));
}

static void test_an_unknown_call_is_told_once(void **state) {
    (void)state;
    program p = {.n_code = 0};
    char warning[400] = "";
    ecall(&p, 511);
    ecall(&p, 511);
    addi(&p, A0, A0, 38 + 7); // -ENOSYS
    ecall(&p, SYS_EXIT);
    finish(&p);
    outcome out = run(&p, 1, 16 << 20, UINT64_MAX, warning);
    unlink(p.path);
    assert_int_equal(out.report.exit_status, 7);
    assert_string_equal(warning, "the program called system call 511, which is unknown here; it was told ENOSYS");
}

// Three threads of different lengths count in their registers, yield, and count in a word that all
// of them write. The last one to end ends the process.
static void make_threads(program *p) {
    addi(p, A5, SP, -512);
    for (int i = 0; i < 2; ++i) {
        lui(p, A0, 0x50); // CLONE_SYSVSEM | CLONE_THREAD, and below: VM | FS | FILES | SIGHAND
        addi(p, A0, A0, 0x780);
        addi(p, A0, A0, 0x780);
        addi(p, A1, SP, -1024 * (i + 1));
        li(p, A2, 0);
        li(p, A3, 0);
        li(p, A4, 0);
        ecall(p, SYS_CLONE);
    }
    lui(p, T0, 3);
    addi(p, T0, T0, -1);
    bnez(p, T0, -4);
    ecall(p, SYS_YIELD);
    lui(p, T0, 2);
    addi(p, T0, T0, -1);
    store_word(p, T0, A5);
    bnez(p, T0, -8);
    li(p, A0, 3);
    ecall(p, SYS_EXIT);
}

static void test_looking_changes_nothing(void **state) {
    (void)state;
    program p = {.n_code = 0};
    make_threads(&p);
    finish(&p);
    for (uint32_t n_harts = 1; n_harts <= 3; ++n_harts) {
        outcome whole = run(&p, n_harts, 16 << 20, UINT64_MAX, NULL);
        assert_int_equal(whole.report.stop, TL_OS_EXITED);
        assert_int_equal(whole.report.exit_status, 3);
        static const uint64_t steps[] = {1, 7, 1001};
        for (size_t i = 0; i < 3; ++i) {
            outcome cut = run(&p, n_harts, 16 << 20, steps[i], NULL);
            assert_int_equal(cut.now, whole.now);
            assert_int_equal(cut.instret, whole.instret);
            assert_int_equal(cut.sum, whole.sum);
        }
    }
    unlink(p.path);
}

typedef struct walk { // a program that is stopped at limits of cycles again and again
    tl_machine *machine;
    tl_os *os;
    tl_os_stop stop;
} walk;

static walk walk_new(program *p) {
    tl_config config;
    tl_error err = {.text = ""};
    walk w = {.stop = TL_OS_LIMIT};
    char *argv[] = {"prog", NULL}, *envp[] = {NULL};
    const tl_os_options options = {.program = p->path, .argv = argv, .envp = envp, .std_fd = {0, 1, 2}};
    tl_config_default(&config);
    config.n_harts = 3;
    config.ram_bytes = 16 << 20;
    config.os.slice_cycles = 5000;
    config.interleave_cycles = 8; // a stall outlasts a turn
    assert_int_equal(tl_machine_new(&config, &tl_engine_interp, &w.machine, &err), TL_OK);
    if (tl_os_new(w.machine, &options, &w.os, &err) != TL_OK)
        fail_msg("%s", err.text);
    return w;
}

static void walk_to(walk *w, uint64_t cycle) {
    const tl_os_limits limits = {.until_cycle = cycle, .until_instret = UINT64_MAX, .break_pc = {UINT64_MAX, UINT64_MAX}};
    tl_os_report report;
    assert_int_equal(tl_os_run(w->os, &limits, &report, NULL), TL_OK);
    w->stop = report.stop;
}

// The second walk also stops a little before each limit. Such a stop forgets which harts were
// steady. No decision before it may delay the limit after it.
static void test_a_limit_of_cycles_cuts_at_the_same_place_however_it_is_reached(void **state) {
    (void)state;
    program p = {.n_code = 0};
    make_threads(&p);
    finish(&p);
    for (uint64_t ahead = 1; ahead <= 64; ahead *= 2) {
        walk plain = walk_new(&p), halting = walk_new(&p);
        for (uint64_t cycle = 1000; plain.stop == TL_OS_LIMIT; cycle += 211) {
            walk_to(&plain, cycle);
            walk_to(&halting, cycle - ahead);
            if (halting.stop == TL_OS_LIMIT)
                walk_to(&halting, cycle);
            assert_int_equal(halting.stop, plain.stop);
            for (uint32_t i = 0; i < plain.machine->n_harts; ++i) {
                assert_int_equal(halting.machine->harts[i]->now, plain.machine->harts[i]->now);
                assert_int_equal(halting.machine->harts[i]->instret, plain.machine->harts[i]->instret);
            }
        }
        tl_os_free(plain.os);
        tl_os_free(halting.os);
        tl_machine_free(plain.machine);
        tl_machine_free(halting.machine);
    }
    unlink(p.path);
}

static void test_an_instruction_set_without_a_row_is_refused(void **state) {
    (void)state;
    const tl_isa other = {.name = "other64"};
    tl_engine_type engine = tl_engine_interp;
    tl_machine *machine = tl_test_machine(1);
    tl_os *os = NULL;
    tl_error err = {.text = ""};
    char *argv[] = {"prog", NULL}, *envp[] = {NULL};
    const tl_os_options options = {.program = "/bin/true", .argv = argv, .envp = envp, .std_fd = {0, 1, 2}};
    engine.isa = &other;
    machine->engine = &engine;
    assert_int_equal(tl_os_new(machine, &options, &os, &err), TL_EINVAL);
    assert_string_equal(err.text,
                        "other64: Linux programs of this instruction set cannot run, because their system calls are unknown; run a kernel");
    assert_null(os);
    machine->engine = &tl_engine_step;
    tl_machine_free(machine);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_an_instruction_set_without_a_row_is_refused),
    cmocka_unit_test(test_a_program_exits_with_its_status),
    cmocka_unit_test(test_crashes_are_described),
    cmocka_unit_test(test_a_stack_overflow_is_recognized),
    cmocka_unit_test(test_full_ram_kills_and_says_so),
    cmocka_unit_test(test_a_deadlock_names_who_waits_for_what),
    cmocka_unit_test(test_an_unknown_call_is_told_once),
    cmocka_unit_test(test_looking_changes_nothing),
    cmocka_unit_test(test_a_limit_of_cycles_cuts_at_the_same_place_however_it_is_reached),
};

TL_TEST_MAIN(tests)
