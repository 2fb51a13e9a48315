/* SPDX-License-Identifier: MIT
 * Signals that come at any instruction of a computation: whatever the handler does to registers,
 * flags and rounding, the computation comes to the same result as undisturbed. With an argument,
 * somebody else sends SIGUSR1, and so many have to come; else a timer does. */
#include "check.h"

#include <fenv.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>

enum { N_RESULTS = 16, N_CELLS = 64 };

static volatile sig_atomic_t n_signals;
static volatile double disturbed = 1;

static void on_signal(int number) {
    (void)number;
    double d = disturbed;
    fesetround(n_signals & 1 ? FE_UPWARD : FE_TOWARDZERO); /* the frame has the old mode */
    for (int i = 1; i < 4; i++)
        d = d / 3 + i;
    disturbed = d;
    n_signals++;
}

static uint64_t mix(uint64_t a, uint64_t b) { return (a ^ b) * UINT64_C(0x9e3779b97f4a7c15); }
static uint64_t turn(uint64_t a, uint64_t b) { return a << (b & 31) | a >> (63 - (b & 31)); }
static uint64_t part(uint64_t a, uint64_t b) { return a / (b | 1) + a % (b | 3); }
static uint64_t (*volatile const steps[])(uint64_t, uint64_t) = {mix, turn, part};

static __attribute__((noinline)) uint64_t work(uint64_t seed) {
    uint64_t cells[N_CELLS], a = seed + 1;
    uint8_t bytes[N_CELLS];
    double sum = 0.1;
    for (int i = 0; i < N_CELLS; i++) {
        a = steps[(unsigned)i % 3](a, seed + (uint64_t)i);
        cells[i] = a;
        bytes[i] = (uint8_t)(a >> 13);
    }
    for (int i = 0; i < N_CELLS; i++) {
        uint64_t c = cells[bytes[i] % N_CELLS];
        if (c & 4)
            sum = sum * 1.0000001 + (double)(int64_t)c;
        else
            sum = sum / 1.7 - (float)bytes[i];
        a += c * (uint32_t)a;
        cells[i] = a ^ (uint64_t)(int32_t)bytes[N_CELLS - 1 - i];
    }
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    return a ^ bits ^ cells[seed % N_CELLS];
}

int main(int argc, char **argv) {
    int least = argc > 1 ? atoi(argv[1]) : 40;
    struct sigaction action = {.sa_handler = on_signal};
    struct itimerval every = {{0, 150}, {0, 150}};
    sigset_t both, old;
    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    sigaddset(&both, SIGALRM);
    CHECK_OK(sigprocmask(SIG_BLOCK, &both, &old));
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    CHECK_OK(sigaction(SIGALRM, &action, NULL));
    uint64_t results[N_RESULTS];
    for (int i = 0; i < N_RESULTS; i++)
        results[i] = work((uint64_t)i);
    if (argc == 1)
        CHECK_OK(setitimer(ITIMER_REAL, &every, NULL));
    CHECK_OK(sigprocmask(SIG_SETMASK, &old, NULL));
    for (int i = 0; n_signals < least; i = (i + 1) % N_RESULTS)
        CHECK(work((uint64_t)i) == results[i]);
    section("a computation with signals everywhere");
    CHECK_END;
}
