/* SPDX-License-Identifier: MIT
 *
 * Reads its own counters from inside of a context, with include/tally/smpm_device.h.
 *
 *   smpm_reader SAMPLES [sleep | snapshot] [all]
 *
 * sleep: sleeps before each sample, so that its context loses the harts and its block is complete.
 * snapshot: works, asks for a snapshot, and waits until it is in the block. Each sample is a line:
 * commits, the cycle of the last one, flags, and the counts that are available. all: every metric,
 * one a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tally/smpm_device.h"

enum { MAX_LIST = 2048, WORK = 4000, MAX_WAITS = 100000 };

static struct smpm s;
static struct smpm_stamp stamp;
static struct smpm_metric list[MAX_LIST];
static uint64_t values[SMPM_MAX_METRICS];

static int fail(const char *what, int why) {
    fprintf(stderr, "smpm_reader: %s: %d\n", what, why);
    return 1;
}

static uint64_t work(void) {
    static uint64_t table[4096];
    uint64_t x = 1;
    for (int i = 0; i < WORK; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
        table[x >> 52] += x;
    }
    return table[7];
}

/* 0, or what went wrong. */
static int ask_and_wait(void) {
    int result = SMPM_BUSY;
    for (int i = 0; i < MAX_WAITS && (result == SMPM_BUSY || result == SMPM_TOO_SOON); i++)
        result = smpm_snapshot(&s);
    if (result != 0)
        return result;
    uint64_t asked = SMPM_REG_READ(s.cap.request, SMPM_REG_NOW);
    for (int i = 0; i < MAX_WAITS; i++) {
        result = smpm_read(&s, SMPM_SELF, values, &stamp);
        if (result == 0 && stamp.t_commit > asked)
            return 0;
    }
    return SMPM_BUSY;
}

static void print_sample(size_t n_list, int sample, int is_all) {
    static const char *const names[] = {"hart.instret", "hart.insn_load", "hart.insn_store", "l1d.load_miss"};
    printf("sample %d gen %llu commit %llu flags %x", sample, (unsigned long long)stamp.gen, (unsigned long long)stamp.t_commit,
           stamp.flags);
    for (size_t i = 0; i < n_list && !is_all; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strcmp(list[i].name, names[k]) == 0 && values[list[i].index] != SMPM_NO_VALUE)
                printf(" %s %llu", list[i].name, (unsigned long long)values[list[i].index] * list[i].scale);
    putchar('\n');
    for (size_t i = 0; i < n_list && is_all; i++)
        if (values[list[i].index] != SMPM_NO_VALUE)
            printf("%s %llu\n", list[i].name, (unsigned long long)values[list[i].index] * list[i].scale);
}

int main(int argc, char **argv) {
    int n_samples = argc > 1 ? atoi(argv[1]) : 3;
    int is_snapshot = argc > 2 && strcmp(argv[2], "snapshot") == 0, is_all = argc > 3;
    size_t n_list = MAX_LIST;
    uint64_t sum = 0;
    int result = smpm_open_device(&s, "/dev/smpm");
    if (result != 0)
        return fail("open", result);
    result = smpm_list(&s, list, &n_list);
    if (result != 0)
        return fail("list", result);
    for (int i = 0; i < n_samples; i++) {
        const struct timespec pause = {.tv_nsec = 100000};
        sum += work();
        if (!is_snapshot)
            nanosleep(&pause, NULL);
        result = is_snapshot ? ask_and_wait() : smpm_read(&s, SMPM_SELF, values, &stamp);
        if (result != 0)
            return fail("read", result);
        print_sample(n_list, i, is_all);
    }
    return sum == 1;
}
