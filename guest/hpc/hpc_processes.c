/* SPDX-License-Identifier: MIT
 * Grants of the distributed counters by process. A parent and its forked child read counters. A
 * child after exec reads them too ("granted"), or every start is illegal ("until_exec"). Processes
 * share harts; none finds a value, a request or useren of the process before. */
#include "check.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define TALLY_HPC_USER
#include <tally/hpc.h>

enum { READS = 3000, RETRIES = 1000 };
static sigjmp_buf recovery;

static void recover(int number) { siglongjmp(recovery, number); }
static uint64_t csrr_hpcc(void) { return TALLY_HPC_CSRR(TALLY_HPCC); }
static void start(void) { TALLY_HPC_CSRS(TALLY_HPCC, TALLY_HPC_TRIGGER); }
#define IS_ILLEGAL(statement) (sigsetjmp(recovery, 1) ? 1 : ((statement), 0))

/* The directory is constant for all processes, so a foreign value would differ from it. */
static void *read_on(void *unused) {
    const uint32_t directory = TALLY_HPC_ID(TALLY_HPC_DIRECTORY, 0, 0), core = TALLY_HPC_ID(TALLY_HPC_CORE, 0, 0);
    uint64_t first[64] = {0}, out[64] = {0}, received = 0;
    int n = tally_hpc_read(directory, 0x23, first, 64, &received, RETRIES);
    CHECK_EQ(n, 3);
    for (int round = 0; round < READS; round++) {
        n = tally_hpc_read(directory, 0x23, out, 64, &received, RETRIES);
        CHECK_EQ(n, 3);
        CHECK_EQ(received, 0x23);
        CHECK(out[0] == first[0] && out[1] == first[1] && out[2] == first[2]);
        n = tally_hpc_read(core, 0x7, out, 64, &received, RETRIES);
        CHECK_EQ(n, 3);
        CHECK_EQ(received, 7);
    }
    return unused;
}

/* Without the grant every start is illegal and the FIFO is always empty. */
static void look_on(void) {
    for (volatile int round = 0; round < 20 * READS; round++) { /* volatile: the jump out of a signal must not lose it */
        CHECK_EQ(csrr_hpcc() & (TALLY_HPC_USEREN | TALLY_HPC_TRIGGER | TALLY_HPC_EMPTY), TALLY_HPC_EMPTY);
        CHECK_EQ(TALLY_HPC_CSRR(TALLY_HPCR), 0);
        CHECK_EQ(TALLY_HPC_CSRR(TALLY_HPCM), 0);
        if (round % 100 == 0)
            CHECK_EQ(IS_ILLEGAL(start()), 1);
    }
}

static void wait_for(pid_t child) {
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_handler = recover};
    CHECK_OK(sigaction(SIGILL, &action, NULL));
    CHECK(argc >= 2);
    if (strcmp(argv[1], "absent") == 0) {
        CHECK_EQ(IS_ILLEGAL(csrr_hpcc()), 1);
        return 0;
    }
    int stays = strcmp(argv[1], "granted") == 0;
    if (argc > 2) { /* started by exec */
        CHECK_EQ(csrr_hpcc() & TALLY_HPC_USEREN, stays ? TALLY_HPC_USEREN : 0);
        if (stays)
            (void)read_on(NULL);
        else
            look_on();
        return 0;
    }
    CHECK_EQ(csrr_hpcc() & TALLY_HPC_USEREN, TALLY_HPC_USEREN);
    pid_t forked = fork();
    CHECK(forked >= 0);
    if (forked == 0) {
        CHECK_EQ(csrr_hpcc() & TALLY_HPC_USEREN, TALLY_HPC_USEREN);
        (void)read_on(NULL);
        _exit(0);
    }
    pid_t executed = fork();
    CHECK(executed >= 0);
    if (executed == 0) {
        execl("/proc/self/exe", argv[0], argv[1], "again", (char *)NULL);
        _exit(100);
    }
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, read_on, NULL), 0);
    (void)read_on(NULL);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    wait_for(forked);
    wait_for(executed);
    CHECK_EQ(csrr_hpcc() & TALLY_HPC_USEREN, TALLY_HPC_USEREN);
    printf("%s: %d reads of each process and thread, none wrong\n", argv[1], 2 * READS);
    return 0;
}
