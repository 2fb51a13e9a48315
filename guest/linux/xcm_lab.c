// SPDX-License-Identifier: MIT
// The cross-core monitor inside Linux: a process on core 1 works, and this one halts, reads and
// steps it through xcm.ko. Whatever is done to the worker, it finishes with the right result.
//
//   xcm_lab TEST...      core 1 is the target, core 2 the debugger; the module is loaded
//
// Lines "xcm_lab: TEST ok|FAIL ..." are for tools/check-linux. Lines "xcm-ask", "xcm-verdict" and
// "xcm-dump" are for tests/linux/xcm_oracle.c, which compares them with the machine itself; the
// target stands still for a moment before and after, so that the oracle can look. Dumps and the
// transcript go to the disk /dev/vda.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "monitor/client/xcm_client.h"
#include "monitor/linux/transcript.h"

enum { TARGET = 1, PAGE = 4096, HEAP_BYTES = 1 << 23 };
#define XCM_WORK_HEAP UINT64_C(0x5000000000)
#define XCM_WORK_WALK_BYTES (HEAP_BYTES / 2 - N_OF_A_SET * 0x2000)
#define XCM_WORK_EXCLUSIVES
#include "../xcm_work.h"
static uint8_t *const HEAP = (uint8_t *)XCM_WORK_HEAP;
enum { LDR_X1_X0 = 0xf9400001, BR_X1 = 0xd61f0020, RET = 0xd65f03c0 };

typedef struct shared {
    volatile uint64_t total, rounds_done, n_rounds, line; // line: the last walk's first one
    volatile int has_begun;
} shared;
static shared *box;
static xcm_client *client;
static xcm_client_reply reply;
static const char *test_name;
static uint64_t seed = 88172645463325252;

// -- Verdicts of tests.

static void pass(const char *format, ...) {
    va_list list;
    va_start(list, format);
    printf("xcm_lab: %s ok ", test_name);
    vprintf(format, list);
    printf("\n");
    fflush(stdout);
    va_end(list);
}
static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    printf("xcm_lab: %s FAIL ", test_name);
    vprintf(format, list);
    printf("\n");
    fflush(stdout);
    va_end(list);
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
static void sleep_ms(unsigned ms) { usleep(ms * 1000); }

// -- The worker: rounds of work with a probe point between them.

static uint64_t run_rounds(uint64_t n, uint64_t *counted) {
    uint64_t state = 88172645463325252, sum = 0;
    for (uint64_t round = 0; round < n; round++) {
        const uint64_t line = scatter(&state);
        if (line != 0)
            box->line = line - XCM_WORK_HEAP;
        probe_point(round);
        sum = sum * 7 + work(round + 1);
        if (counted)
            store_counted(counted, 3);
        box->rounds_done = round + 1;
        n = box->n_rounds;
    }
    return counted ? sum + *counted : sum;
}
static uint64_t expected_total(uint64_t n) {
    uint64_t sum = 0;
    for (uint64_t round = 0; round < n; round++)
        sum = sum * 7 + work(round + 1);
    return sum + 3 * n;
}

static void pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    if (sched_setaffinity(0, sizeof set, &set) < 0)
        fail("core %d: %s", core, strerror(errno));
}

static pid_t start_worker(uint64_t n_rounds) {
    box->total = box->rounds_done = 0;
    box->n_rounds = n_rounds;
    box->has_begun = 0;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        uint64_t counted = 0;
        pin(TARGET);
        // The kernel maps a page at its first use, and Debug state cannot wait for that.
        for (uint32_t at = 0; at < HEAP_BYTES; at += PAGE)
            ((volatile uint8_t *)HEAP)[at] = 1;
        box->has_begun = 1;
        box->total = run_rounds(n_rounds, &counted);
        _exit(7);
    }
    return pid;
}
// The worker's end and its result, whatever was done to it.
static void finish_worker(pid_t pid) {
    int status = 0;
    for (uint32_t i = 0; waitpid(pid, &status, WNOHANG) == 0; i++) {
        if (i == 20000)
            fail("the worker does not end: %" PRIu64 " rounds of %" PRIu64, box->rounds_done, box->n_rounds);
        sleep_ms(1);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
        fail("the worker ended with %x", status);
    if (box->total != expected_total(box->n_rounds))
        fail("the worker's result is %" PRIu64 ", %" PRIu64 " is right", box->total, expected_total(box->n_rounds));
}

// -- Requests.

#define CALL(function, ...)                                                                                  \
    ({                                                                                                       \
        const uint64_t args_[] = {__VA_ARGS__};                                                              \
        const int error_ = xcm_client_call(client, function, args_, sizeof args_ / sizeof args_[0], &reply); \
        if (error_ < 0)                                                                                      \
            fail("%s: %s", xcm_op_of(function)->name, strerror(-error_));                                    \
        reply.code;                                                                                          \
    })
#define EXPECT(want, function, ...)                                                                                                     \
    do {                                                                                                                                \
        const xcm_code got_ = CALL(function, __VA_ARGS__);                                                                              \
        if (got_ != (want))                                                                                                             \
            fail("line %d: %s: %02x %s, %02x is right", __LINE__, xcm_op_of(function)->name, got_, xcm_code_text((uint8_t)got_), want); \
    } while (0)
#define DO(function, ...) EXPECT(XCM_DONE, function, __VA_ARGS__)

static void open_client(void) {
    char why[256];
    if (xcm_client_open_netlink(TARGET, &client, why, sizeof why) < 0)
        fail("%s", why);
}
static void close_client(void) {
    xcm_client_close(client);
    client = NULL;
}

static void expect_event(xcm_event kind) {
    xcm_client_event event;
    const int got = xcm_client_wait(client, 2000, &event);
    if (got <= 0) {
        (void)CALL(XCM_STATUS);
        fail("event %d has not come: state %s, pc %" PRIx64 ", %" PRIu64 " hits, sticky %" PRIx64 ", %" PRIu64 " rounds of the worker",
             kind, xcm_state_name((uint8_t)reply.state), reply.values[3], reply.values[6], reply.values[1], box->rounds_done);
    }
    if (event.kind != kind)
        fail("event %d at %" PRIx64 " (%" PRIx64 ") came, not %d", event.kind, event.pc, event.detail, kind);
}
static uint64_t of(const void *at) { return (uint64_t)(uintptr_t)at; }

// The worker halts at an address.
static void halt_at(const void *at) {
    xcm_client_event old;
    while (xcm_client_wait(client, 0, &old) > 0)
        ;
    DO(XCM_LIST_LOAD, 0, 0, of(at), of(stubs) + 64); // nobody comes to the last one
    DO(XCM_LISTEN_START);
    expect_event(XCM_EVENT_HIT);
}

// The number of rounds that are left becomes small.
static void end_rounds(void) { box->n_rounds = box->rounds_done + 3; }

// -- Disk: blocks of a head and bytes, each of whole sectors.

static int disk = -1;
static void save(const char *kind, const void *bytes, size_t n) {
    struct {
        char kind[8];
        uint64_t n;
        char rest[496];
    } head = {.n = n};
    if (disk < 0)
        disk = open("/dev/vda", O_WRONLY | O_CLOEXEC);
    memcpy(head.kind, kind, strnlen(kind, sizeof head.kind));
    static const char zeros[512];
    if (write(disk, &head, sizeof head) != sizeof head || write(disk, bytes, n) != (ssize_t)n ||
        write(disk, zeros, -n % 512) != (ssize_t)(-n % 512) || fsync(disk) < 0)
        fail("/dev/vda: %s", strerror(errno));
}

// -- Tests.

static void test_demo(void) {
    uint64_t heap_word = 0;
    open_client();
    const pid_t worker = start_worker(50);
    halt_at(probe_point);
    DO(XCM_REG_XFER, 0, 0, 34);
    if (reply.values[32] != of(probe_point))
        fail("pc is %" PRIx64, reply.values[32]);
    const uint64_t round = reply.values[0];
    // A register is written, and an instruction of the program reads it.
    DO(XCM_REG_XFER, 1, 0, 77);
    DO(XCM_RESUME, 0, 1);
    if (reply.values[0] != of(probe_return))
        fail("a step led to %" PRIx64, reply.values[0]);
    DO(XCM_REG_XFER, 0, 1, 1);
    if (reply.values[0] != 77)
        fail("x1 is %" PRIu64, reply.values[0]);
    DO(XCM_MEM_XFER, 0, of(work), 64, 0);
    if (memcmp(reply.values, (const void *)work, 64) != 0)
        fail("code differs in memory");
    DO(XCM_MEM_XFER, 0, of(work), 64, 1);
    if (memcmp(reply.values, (const void *)work, 64) != 0)
        fail("code differs in memory, read fast");
    DO(XCM_MEM_XFER, 1, of(HEAP) + 17, 8, 0, 0x1122334455667788);
    DO(XCM_MEM_XFER, 0, of(HEAP) + 17, 8, 0);
    heap_word = reply.values[0];
    if (heap_word != 0x1122334455667788)
        fail("memory holds %" PRIx64, heap_word);
    EXPECT(XCM_EXCEPTION, XCM_MEM_XFER, 0, 0x10, 8, 0);
    for (uint32_t i = 0; i < 10; i++)
        DO(XCM_RESUME, 0, 1);
    DO(XCM_LISTEN_STOP);
    finish_worker(worker);
    close_client();
    pass("round %" PRIu64, round);
}

static uint8_t *payloads;
static void test_dump(void) {
    enum { CAPACITY = 1 << 22 };
    payloads = malloc(CAPACITY);
    open_client();
    const pid_t worker = start_worker(UINT64_MAX);
    halt_at(probe_point);
    for (uint32_t k = 0; k < 4; k++) {
        size_t n = 0;
        xcm_record r;
        printf("xcm-dump begin %u\n", k);
        fflush(stdout);
        sleep_ms(3);
        const uint64_t since = now_ns();
        DO(XCM_UARCH_DUMP, 7, 0, 1000);
        const uint64_t took = now_ns() - since;
        printf("xcm-dump end %u\n", k);
        fflush(stdout);
        sleep_ms(3);
        while (n + 640 < CAPACITY && xcm_client_take(client, &r, payloads + n + 8, 512)) {
            memcpy(payloads + n, &r.type, sizeof r.type);
            const uint32_t bytes = r.size - XCM_RECORD_BYTES;
            memset(payloads + n + 2, 0, 2);
            memcpy(payloads + n + 4, &bytes, 4);
            n += 8 + bytes;
        }
        save("dump", payloads, n);
        DO(XCM_RESUME);
        expect_event(XCM_EVENT_HIT);
        if (k > 0)
            pass("dump %u: %zu bytes, %" PRIu64 " us", k, n, took / 1000);
    }
    end_rounds();
    DO(XCM_LISTEN_STOP);
    finish_worker(worker);
    close_client();
}

static uint32_t n_trials = 20;
static void test_probe(void) {
    open_client();
    const pid_t worker = start_worker(UINT64_MAX);
    halt_at(probe_point);
    DO(XCM_CALIBRATE, of(load_site), LDR_X1_X0, of(HEAP));
    if (reply.values[5] != 0)
        fail("events %" PRIx64 " do not rest in a null window", reply.values[5]);
    uint64_t probing = 0;
    for (uint32_t trial = 0; trial < 5 * n_trials; trial++) {
        DO(XCM_LISTEN_STOP);
        DO(XCM_ROUND_RESET);
        halt_at(probe_point);
        const uint64_t r = next_random(&seed);
        uint64_t args[4] = {trial % 5 + 1, 0, 0, 0};
        switch (args[0]) {
        case XCM_BTB: args[1] = of(jump_site), args[2] = of(jump_targets) + 8 * (r % 2), args[3] = BR_X1; break;
        case XCM_RSB:
            DO(XCM_REG_XFER, 0, 30, 1);
            args[1] = of(probe_return), args[2] = r % 2 ? reply.values[0] : of(work), args[3] = RET;
            break;
        case XCM_ITLB: args[1] = of(stubs) + PAGE * (r % N_STUBS); break;
        case XCM_DTLB:
            DO(XCM_REG_XFER, 0, 31, 1); // the stack's page is there
            args[1] = r % 2 ? reply.values[0] : of(HEAP) + PAGE * (r % 24), args[2] = of(load_site), args[3] = LDR_X1_X0;
            break;
        default: // half of them: a line of the last walk
            args[1] = of(HEAP) + 0x400000 + (r % 2 ? box->line + (r >> 8) % 16 * 0x2000 : r % 0x400000 / 64 * 64) % 0x400000;
            args[2] = of(load_site), args[3] = LDR_X1_X0;
            break;
        }
        printf("xcm-ask %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", trial, args[0], args[1], args[2]);
        fflush(stdout);
        sleep_ms(2);
        const uint64_t since = now_ns();
        const xcm_code code = CALL(XCM_PROBE, args[0], args[1], args[2], args[3]);
        probing += now_ns() - since;
        if (code != XCM_DONE && code != XCM_UNKNOWN_VERDICT)
            fail("PROBE %" PRIu64 ": %s", args[0], xcm_code_text((uint8_t)code));
        printf("xcm-verdict %u %" PRIu64 " %" PRIx64 " %" PRIu64 "\n", trial, reply.values[0], reply.values[1], reply.values[10]);
        fflush(stdout);
        EXPECT(XCM_WRONG_STATE, XCM_PROBE, 3, of(probe_point), 0);
    }
    end_rounds();
    DO(XCM_LISTEN_STOP);
    finish_worker(worker);
    close_client();
    pass("%u probes, %" PRIu64 " us each", 5 * n_trials, probing / 1000 / (5 * n_trials));
}

// -- Step mode beside single steps of ptrace, which are the kernel's own.

enum { MOST_HITS = 1 << 17 };
static uint64_t *hits, n_hits, n_steps;
static uint64_t listed[1024], n_listed, rounds_to_step = 2;

static bool is_listed(uint64_t pc) {
    for (uint64_t i = 0; i < n_listed; i++)
        if (listed[i] == pc)
            return true;
    return false;
}

static void __attribute__((noinline)) stepped_part(void) {
    // Single steps of ptrace never end a loop of exclusives.
    box->total = run_rounds(rounds_to_step, NULL);
}
__attribute__((noinline)) void step_end(void);
void step_end(void) { __asm__ volatile(""); }

static pid_t start_stepped(bool is_traced) {
    box->n_rounds = rounds_to_step;
    box->total = 0;
    box->has_begun = 0;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        pin(is_traced ? 0 : TARGET);
        if (is_traced && ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
            _exit(1);
        if (is_traced)
            raise(SIGSTOP);
        while (!is_traced && !box->has_begun)
            ;
        stepped_part();
        step_end();
        _exit(7);
    }
    return pid;
}

static void step_by_ptrace(void) {
    int status = 0;
    const pid_t pid = start_stepped(true);
    bool is_in = false;
    if (waitpid(pid, &status, 0) < 0)
        fail("waitpid: %s", strerror(errno));
    for (;;) {
        struct user_regs_struct regs;
        struct iovec to = {&regs, sizeof regs};
        if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &to) < 0)
            fail("PTRACE_GETREGSET: %s", strerror(errno));
        is_in |= regs.pc == of(stepped_part);
        if (is_in) {
            n_steps += 1;
            if (is_listed(regs.pc) && n_hits < MOST_HITS)
                hits[n_hits++] = regs.pc;
            if (regs.pc == of(step_end))
                break;
        }
        if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
            fail("PTRACE_SINGLESTEP: %x", status);
    }
    ptrace(PTRACE_CONT, pid, 0, 0);
    waitpid(pid, &status, 0);
}

static void load_list(uint64_t entry) {
    uint64_t args[1026] = {1, entry};
    memcpy(args + 2, listed, n_listed * 8);
    if (xcm_client_call(client, XCM_LIST_LOAD, args, (uint32_t)n_listed + 2, &reply) < 0 || reply.code != XCM_DONE)
        fail("LIST_LOAD: %s", xcm_code_text((uint8_t)reply.code));
}

static void test_steps(void) {
    hits = malloc(MOST_HITS * sizeof *hits);
    for (uint64_t at = of(work); n_listed < 990 && at < of(work) + 4 * 40; at += 4)
        listed[n_listed++] = at;
    for (uint64_t at = of(jump_to); at < of(store_counted); at += 4)
        listed[n_listed++] = at;
    // Addresses within the exclusives cannot be served.
    for (uint64_t at = of(store_counted) + 16; at < of(store_counted) + 28; at += 4)
        listed[n_listed++] = at;
    for (uint64_t k = 0; k < N_STUBS; k++)
        listed[n_listed++] = of(stubs) + PAGE * k + 4;
    while (n_listed < 1000) // code that never runs, in pages of code
        listed[n_listed] = of(stubs) + PAGE * (n_listed % N_STUBS) + 64 + 4 * (n_listed / N_STUBS), n_listed++;
    listed[n_listed++] = of(step_end);
    step_by_ptrace();

    open_client();
    const pid_t pid = start_stepped(false);
    load_list(of(stepped_part));
    // A program at each address: its record says where, and the target goes on by itself.
    for (uint64_t i = 0; i + 1 < n_listed; i++)
        DO(XCM_PROGRAM_LOAD, listed[i], 1, xcm_op_code(XCM_REG_XFER), 3, 0, 32, 1);
    DO(XCM_LISTEN_START);
    const uint64_t since = now_ns();
    box->has_begun = 1;
    uint64_t seen = 0;
    xcm_client_event event = {0};
    for (;;) {
        xcm_record r;
        uint64_t words[64] = {0};
        const int got = xcm_client_wait(client, 50, &event);
        while (xcm_client_take(client, &r, (uint8_t *)words, sizeof words)) {
            if (r.type != XCM_RECORD_REG)
                continue;
            if (seen >= n_hits || words[2] != hits[seen])
                fail("hit %" PRIu64 " is %" PRIx64 ", ptrace is at %" PRIx64, seen, words[2], seen < n_hits ? hits[seen] : 0);
            seen += 1;
        }
        if (got > 0 && event.kind == XCM_EVENT_HIT && event.pc == of(step_end))
            break;
        if (got > 0 && event.kind != XCM_EVENT_NO_HALT && event.kind != XCM_EVENT_SKIPPED)
            fail("event %d at %" PRIx64, event.kind, event.pc);
        if (now_ns() - since > UINT64_C(30000000000))
            fail("no end after %" PRIu64 " hits of %" PRIu64, seen, n_hits);
    }
    const uint64_t took = now_ns() - since;
    DO(XCM_STATUS);
    const uint64_t steps = reply.values[7];
    if (seen + 1 != n_hits)
        fail("%" PRIu64 " hits, ptrace has %" PRIu64, seen, n_hits);
    DO(XCM_LISTEN_STOP);
    int status = 0;
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7 || box->total != expected_total(rounds_to_step) - 3 * rounds_to_step)
        fail("the worker ended with %x and %" PRIu64, status, box->total);
    close_client();
    pass("%" PRIu64 " steps, ptrace %" PRIu64 ", %" PRIu64 " hits of %" PRIu64 " addresses, %" PRIu64 " steps/s", steps, n_steps, n_hits,
         n_listed, steps * 1000000000 / took);
}

// -- Each function in each state.

static uint32_t check_all_codes(xcm_state state) {
    uint8_t packet[XCM_HEADER_BYTES];
    uint32_t n = 0;
    for (uint32_t function = 0; function < 256; function++) {
        const xcm_op *op = xcm_op_of((uint8_t)function);
        const uint32_t own = op ? op->states : 0, others[] = {own, own ^ 1, own ^ 0x80, 0xff};
        for (uint32_t k = 0; k < 4; k++) {
            const bool is_right = op && others[k] == own, is_allowed = op && (op->states & state);
            const xcm_code want = !op             ? XCM_UNKNOWN_OP
                                  : !is_right     ? XCM_WRONG_BITMAP
                                  : !is_allowed   ? XCM_WRONG_STATE
                                  : op->least > 0 ? XCM_BAD_ARGUMENT
                                                  : XCM_DONE;
            if (want == XCM_DONE) // it would run
                continue;
            const int error =
                xcm_client_send(client, packet, xcm_seal(packet, XCM_GET, (uint16_t)(others[k] << 8 | function), 0, 0, 0), &reply);
            if (error < 0 || reply.code != want || reply.n_values != 0 || reply.state != state)
                fail("state %s, op %02x%02x: %s, %02x in state %s, %02x is right", xcm_state_name((uint8_t)state), others[k], function,
                     error < 0 ? strerror(-error) : "", reply.code, xcm_state_name((uint8_t)reply.state), want);
            n += 1;
            if (state == XCM_HALTED && n % 64 == 0) { // within the stop budget
                DO(XCM_RESUME);
                expect_event(XCM_EVENT_HIT);
            }
        }
    }
    return n;
}

static void test_states(void) {
    uint32_t n = 0;
    open_client();
    const pid_t worker = start_worker(UINT64_MAX);
    n += check_all_codes(XCM_IDLE);
    DO(XCM_LISTEN_START);
    n += check_all_codes(XCM_LISTENING);
    DO(XCM_LISTEN_STOP);
    n += check_all_codes(XCM_ENDED);
    DO(XCM_ROUND_RESET);
    halt_at(probe_point);
    n += check_all_codes(XCM_HALTED);
    // Elements by an address of this process, and by one that is not there.
    uint8_t packet[XCM_HEADER_BYTES + 8];
    uint64_t elements[3] = {0, 32, 1};
    for (uint32_t k = 0; k < 2; k++) {
        xcm_seal(packet, XCM_GET, xcm_op_code(XCM_REG_XFER), 0, 0, 0);
        const uint64_t list = k == 0 ? of(elements) : 0x10000;
        const uint32_t three = 3;
        memcpy(packet + 12, &three, 4);
        memcpy(packet + 16, &list, 8);
        memset(packet + 6, 0, 2);
        const uint16_t sum = xcm_checksum(packet, XCM_HEADER_BYTES);
        memcpy(packet + 6, &sum, 2);
        if (xcm_client_send(client, packet, XCM_HEADER_BYTES, &reply) < 0 || reply.code != (k == 0 ? XCM_DONE : XCM_BAD_ARGUMENT) ||
            (k == 0 && reply.values[0] != of(probe_point)))
            fail("elements by address %" PRIx64 ": %02x", list, reply.code);
    }
    end_rounds();
    DO(XCM_LISTEN_STOP);
    DO(XCM_DRV_UNLOAD);
    finish_worker(worker);
    close_client();
    pass("%u packets", n);
}

// -- The target is never left halted (X-14 and hazards that only Linux has).

static void wait_running(const char *after) { // the worker advances
    const uint64_t before = box->rounds_done;
    for (uint32_t i = 0; box->rounds_done < before + 2; i++) {
        if (i == 2000)
            fail("the target stands still after: %s", after);
        sleep_ms(1);
    }
}

static void check_budget(const char *after) {
    const uint64_t budget_ns = 50000000, slack_ns = 1000000;
    DO(XCM_STATUS);
    if (reply.values[5] > budget_ns + slack_ns)
        fail("%s: a stop took %" PRIu64 " ns", after, reply.values[5]);
    pass("%s: longest stop %" PRIu64 " us", after, reply.values[5] / 1000);
}

static int write_file(const char *path, const char *text) {
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    const ssize_t n = file < 0 ? -1 : write(file, text, strlen(text));
    const int error = n < 0 ? errno : 0;
    if (file >= 0)
        close(file);
    return error;
}

static void test_budget(void) {
    uint64_t n = 0;
    open_client();
    const pid_t worker = start_worker(UINT64_MAX);
    // An owner that sleeps.
    halt_at(probe_point);
    sleep_ms(120);
    expect_event(XCM_EVENT_BUDGET);
    DO(XCM_LISTEN_STOP);
    check_budget("owner sleeps");
    DO(XCM_ROUND_RESET);
    // An owner that asks without end.
    halt_at(probe_point);
    for (const uint64_t since = now_ns(); now_ns() - since < 120000000; n++)
        (void)CALL(XCM_REG_XFER, 0, 0, 31);
    DO(XCM_LISTEN_STOP);
    check_budget("owner floods");
    DO(XCM_ROUND_RESET);
    // Another core goes offline: that stops all cores, and waits for the halted one.
    halt_at(probe_point);
    if (write_file("/sys/devices/system/cpu/cpu3/online", "0") != 0)
        fail("core 3 does not go offline");
    if (write_file("/sys/devices/system/cpu/cpu3/online", "1") != 0)
        fail("core 3 does not come back");
    DO(XCM_LISTEN_STOP);
    check_budget("all cores stop");
    wait_running("the budget");
    end_rounds();
    finish_worker(worker);
    close_client();
    pass("%" PRIu64 " requests of the flood", n);
}

static pid_t run_owner(void (*body)(void)) { // another process with the device
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        open_client();
        body();
        for (;;)
            pause();
    }
    return pid;
}
static volatile int *ready;
static void hold_halted(void) {
    halt_at(probe_point);
    *ready = 1;
}

static sigjmp_buf back;
static void jump_back(int number) {
    (void)number;
    siglongjmp(back, 1);
}
// The owner ends, and its child tries the ring: by an old mapping, by a new one, and by reading.
// *ready: 2, or a number for what still works.
static void leave_heir(void) {
    char path[32], byte;
    snprintf(path, sizeof path, "/dev/xcm%d", TARGET);
    close_client();
    const int device = open(path, O_RDWR);
    const volatile uint32_t *header = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, device, 0);
    if (device < 0 || header == MAP_FAILED || *header != XCM_RING_MAGIC)
        fail("%s: %s", path, strerror(errno));
    *ready = 1;
    fflush(NULL);
    const pid_t parent = getpid();
    if (fork() != 0)
        _exit(0);
    while (getppid() == parent)
        sleep_ms(1);
    volatile int works = 2;
    signal(SIGBUS, jump_back);
    if (sigsetjmp(back, 1) == 0)
        works = *header == XCM_RING_MAGIC ? 3 : 2;
    if (mmap(NULL, PAGE, PROT_READ, MAP_SHARED, device, 0) != MAP_FAILED)
        works = 4;
    if (read(device, &byte, 1) != -1 || errno != ENODEV)
        works = 5;
    *ready = works;
    _exit(0);
}

static void test_hazards(void) {
    char why[256];
    int status = 0;
    ready = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t worker = start_worker(UINT64_MAX);
    // The owner is killed while the target is halted.
    pid_t owner = run_owner(hold_halted);
    while (!*ready)
        sleep_ms(1);
    const uint64_t before = now_ns();
    kill(owner, SIGKILL);
    waitpid(owner, &status, 0);
    wait_running("the owner was killed");
    pass("owner killed: the worker goes on, seen after %" PRIu64 " us", (now_ns() - before) / 1000);

    // A child keeps a descriptor beyond its owner's session.
    *ready = 0;
    owner = run_owner(leave_heir);
    waitpid(owner, &status, 0);
    while (!*ready || *ready == 1)
        sleep_ms(1);
    if (*ready != 2)
        fail("a descriptor of an ended session: %d", *ready);
    pass("a descriptor of an ended session maps nothing");

    // Two owners, an unloaded module, cores that leave.
    open_client();
    xcm_client *second = NULL;
    if (xcm_client_open_netlink(TARGET, &second, why, sizeof why) != -EBUSY)
        fail("two owners");
    if (xcm_client_unload_module(why, sizeof why) != -EAGAIN)
        fail("the module was unloaded, or: %s", why);
    halt_at(probe_point);
    if (write_file("/sys/devices/system/cpu/cpu2/online", "0") != EBUSY || write_file("/sys/devices/system/cpu/cpu1/online", "0") != EBUSY)
        fail("a core of the monitor went offline");
    cpu_set_t set; // the kernel had moved the worker already
    CPU_ZERO(&set);
    CPU_SET(TARGET, &set);
    if (sched_setaffinity(worker, sizeof set, &set) < 0)
        fail("the worker cannot be pinned again: %s", strerror(errno));
    pass("refused: second owner, unloading, offline cores");

    // The OS lock is taken back: by hand, through the target's debug block.
    DO(XCM_LISTEN_STOP);
    DO(XCM_ROUND_RESET);
    halt_at(probe_point);
    const int memory = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
    volatile uint32_t *debug = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0xb110000);
    enum { OSLAR = 0x300, EDPRSR = 0x314, OSLK = 1 << 5 };
    if (debug == MAP_FAILED)
        fail("/dev/mem: %s", strerror(errno));
    DO(XCM_BP_CTL, 0, 3);
    DO(XCM_RESUME);
    debug[OSLAR / 4] = 1;
    sleep_ms(1);
    DO(XCM_BP_CTL, 1, 3, of(probe_point), 0);
    expect_event(XCM_EVENT_HIT);
    DO(XCM_REG_XFER, 0, 0, 31);
    pass("OS lock taken back: registers are read");
    DO(XCM_LISTEN_STOP);
    if (debug[EDPRSR / 4] & OSLK)
        fail("the OS lock is set");
    munmap((void *)debug, PAGE);
    close(memory);
    wait_running("the OS lock was taken back");

    // A stranger's packets, and packets without sense.
    DO(XCM_ROUND_RESET);
    halt_at(probe_point);
    fflush(NULL);
    const pid_t stranger = fork();
    if (stranger == 0) { // the socket is the owner's, the process is not
        uint8_t noise[256];
        uint32_t n_refused = 0;
        for (uint32_t i = 0; i < 300; i++) {
            for (uint32_t k = 0; k < sizeof noise; k++)
                noise[k] = (uint8_t)next_random(&seed);
            uint32_t n = 32 + 8 * (uint32_t)(next_random(&seed) % 28);
            if (i % 2)
                n = xcm_seal(noise, XCM_GET, xcm_op_code(XCM_RESUME), 0, 0, 0);
            if (xcm_client_send(client, noise, n, &reply) == 0)
                n_refused += reply.code < XCM_DONE;
        }
        _exit(n_refused >= 290 ? 0 : 1);
    }
    if (waitpid(stranger, &status, 0) < 0 || status != 0)
        fail("a stranger's packets were not all refused: %x", status);
    pass("a stranger's packets are refused");
    end_rounds();
    close_client(); // halted
    finish_worker(worker);
    if (xcm_client_unload_module(why, sizeof why) != 0)
        fail("%s", why);
    pass("the module is unloaded");
}

// -- The target is reset while it is halted, and while it runs. Linux does not get that core back.

static void reset_target(volatile uint32_t *debug) {
    enum { EDPRCR = 0x310, KEEP_POWER = 9, CWRR = 2 };
    debug[EDPRCR / 4] = KEEP_POWER | CWRR;
}

static void test_lost(void) {
    const int memory = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
    volatile uint32_t *debug = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0xb110000);
    if (debug == MAP_FAILED)
        fail("/dev/mem: %s", strerror(errno));
    // The worker stays on the lost core, so it must not have the device open.
    (void)start_worker(UINT64_MAX);
    open_client();
    halt_at(probe_point);
    DO(XCM_REG_XFER, 0, 0, 34);
    reset_target(debug);
    expect_event(XCM_EVENT_LOST);
    EXPECT(XCM_WRONG_STATE, XCM_REG_XFER, 0, 0, 34);
    if (reply.state != XCM_ENDED)
        fail("the state is %s", xcm_state_name((uint8_t)reply.state));
    pass("reset while it is halted: reported");
    DO(XCM_ROUND_RESET);
    DO(XCM_LISTEN_START); // the firmware has the core
    EXPECT(XCM_WRONG_LEVEL, XCM_HALT_REQ);
    reset_target(debug);
    expect_event(XCM_EVENT_LOST);
    (void)CALL(XCM_STATUS);
    if (reply.state != XCM_ENDED)
        fail("the state is %s", xcm_state_name((uint8_t)reply.state));
    close_client();
    pass("reset while it runs: reported");
}

// -- A transcript for a replay outside.

static void test_transcript(void) {
    char path[] = "/tmp/transcript";
    open_client();
    const pid_t worker = start_worker(UINT64_MAX);
    halt_at(probe_point);
    DO(XCM_REG_XFER, 0, 0, 33);
    DO(XCM_CALIBRATE, of(load_site), LDR_X1_X0, of(HEAP));
    (void)CALL(XCM_PROBE, XCM_DTLB, of(HEAP) + PAGE, of(load_site), LDR_X1_X0);
    DO(XCM_MEM_XFER, 0, of(HEAP), 64, 1);
    DO(XCM_UARCH_READ, XCM_TLB, 1, 2, 0);
    DO(XCM_RESUME);
    expect_event(XCM_EVENT_HIT);
    EXPECT(XCM_EXCEPTION, XCM_MEM_XFER, 0, 64, 8, 0);
    DO(XCM_UARCH_DUMP, 1, 1);
    sleep_ms(60); // the budget ends the stop
    expect_event(XCM_EVENT_BUDGET);
    expect_event(XCM_EVENT_HIT);
    end_rounds();
    DO(XCM_LISTEN_STOP);
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || xcm_client_transcript(client, file) < 0)
        fail("the transcript cannot be read: %s", strerror(errno));
    const off_t n = lseek(file, 0, SEEK_END);
    void *bytes = mmap(NULL, (size_t)n, PROT_READ, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED)
        fail("%s: %s", path, strerror(errno));
    save("notes", bytes, (size_t)n);
    finish_worker(worker);
    close_client();
    pass("%" PRIu64 " notes", (uint64_t)n / sizeof(struct xcm_note));
}

// -- Speed: what a user waits for, and what the target loses.

static uint64_t time_of_rounds(uint64_t n) {
    const uint64_t from = box->rounds_done;
    while (box->rounds_done == from)
        ;
    const uint64_t start = box->rounds_done, since = now_ns();
    while (box->rounds_done < start + n)
        ;
    return now_ns() - since;
}

static void test_speed(void) {
    enum { N_ROUNDS = 100, N_HALTS = 50 };
    const pid_t worker = start_worker(UINT64_MAX);
    pin(0);
    while (box->rounds_done < 20)
        ;
    const uint64_t alone = time_of_rounds(N_ROUNDS);
    open_client();
    DO(XCM_LISTEN_START);
    const uint64_t watched = time_of_rounds(N_ROUNDS);
    pass("%d rounds: %" PRIu64 " us alone, %" PRIu64 " us while the monitor listens", N_ROUNDS, alone / 1000, watched / 1000);
    uint64_t halting = 0, n_halts = 0, reading = 0, resuming = 0, stepping = 0;
    for (uint32_t i = 0; i < N_HALTS; i++) {
        const uint64_t a = now_ns();
        if (CALL(XCM_HALT_REQ) != XCM_DONE)
            continue;
        const uint64_t b = now_ns();
        DO(XCM_REG_XFER, 0, 0, 34);
        const uint64_t c = now_ns();
        const bool has_stepped = CALL(XCM_RESUME, 0, 1) == XCM_DONE && reply.n_values == 1;
        const uint64_t d = now_ns();
        if (has_stepped)
            DO(XCM_RESUME);
        const uint64_t e = now_ns();
        halting += b - a, reading += c - b, stepping += d - c, resuming += e - d, n_halts += 1;
    }
    pass("of %" PRIu64 " halts: halt %" PRIu64 " us, 34 registers %" PRIu64 " us, one step %" PRIu64 " us, resume %" PRIu64 " us", n_halts,
         halting / 1000 / n_halts, reading / 1000 / n_halts, stepping / 1000 / n_halts, resuming / 1000 / n_halts);
    DO(XCM_LISTEN_STOP);
    end_rounds();
    finish_worker(worker);
    close_client();
}

// For xcmctl, which pins it: rounds of work, and whether their result is right.
static void test_work(void) {
    uint64_t counted = 0;
    box->n_rounds = rounds_to_step;
    if (run_rounds(rounds_to_step, &counted) != expected_total(rounds_to_step))
        fail("the result is wrong");
    pass("%" PRIu64 " rounds, the result is right", rounds_to_step);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"demo", test_demo},     {"dump", test_dump},     {"probe", test_probe},     {"steps", test_steps},
    {"states", test_states}, {"budget", test_budget}, {"hazards", test_hazards}, {"transcript", test_transcript},
    {"speed", test_speed},   {"work", test_work},     {"lost", test_lost},
};

int main(int argc, char **argv) {
    box = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    uint8_t *heap = mmap(HEAP, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE | MAP_FIXED_NOREPLACE, -1, 0);
    test_name = "start";
    if (box == MAP_FAILED || heap != HEAP)
        fail("memory: %s", strerror(errno));
    memset(heap, 1, HEAP_BYTES);
    if (argc < 2 || strcmp(argv[1], "work") != 0)
        pin(0);
    const char *trials = getenv("XCM_TRIALS");
    n_trials = trials ? (uint32_t)atoi(trials) : n_trials;
    const char *rounds = getenv("XCM_ROUNDS");
    rounds_to_step = rounds ? (uint64_t)atoi(rounds) : rounds_to_step;
    for (int i = 1; i < argc; i++)
        for (uint32_t k = 0; k < sizeof tests / sizeof tests[0]; k++)
            if (strcmp(argv[i], tests[k].name) == 0) {
                test_name = tests[k].name;
                tests[k].run();
            }
    return 0;
}
