// SPDX-License-Identifier: MIT
// A process reads its own counts in the read window of its board, through Linux's stock UIO driver.
// The kernel's command line names the window: uio_pdrv_genirq.of_id=tally,smpm-blocks.
//
//   smpm_reader [LOOPS [vm]]     prints "smpm NAME VALUE" for each count that is not 0, after work of
//                                LOOPS times 4 instructions. vm: contexts may read the VM's block;
//                                else a load from it must fail. Status 1: a check failed, and what
//
// The process sleeps before each read, and a commit meanwhile brings its block up to date. Between
// two reads the block has grown by the work, and by little more.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../include/tally/smpm.h"

enum { MOST_METRICS = 512 };
static const char MAPS[] = "/sys/class/uio/uio0/maps";
static uint64_t before[SMPM_MAX_METRICS], after[SMPM_MAX_METRICS];
static struct smpm_metric metrics[MOST_METRICS];
static size_t n_metrics = MOST_METRICS;

static int fail(const char *what) {
    fprintf(stderr, "smpm_reader: %s\n", what);
    return 1;
}

// A number of a map's folder; 0: there is none.
static uint64_t number_of(unsigned map, const char *name) {
    char path[80], text[32] = "";
    snprintf(path, sizeof path, "%s/map%u/%s", MAPS, map, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return 0;
    close(fd);
    return strtoull(text, NULL, 16);
}

// UIO: the offset of map N is N pages.
static volatile uint64_t *map_region(int fd, unsigned map, int prot, uint32_t *ret_words) {
    const uint64_t n_bytes = number_of(map, "size");
    void *at = n_bytes == 0 ? MAP_FAILED : mmap(NULL, n_bytes, prot, MAP_SHARED, fd, map * sysconf(_SC_PAGESIZE));
    *ret_words = (uint32_t)(n_bytes / 8);
    return at == MAP_FAILED ? NULL : at;
}

static void sleep_a_while(void) {
    const struct timespec ms = {.tv_nsec = 5000000};
    nanosleep(&ms, NULL);
}

static __attribute__((noinline)) void work(uint64_t n_loops) {
    __asm__ volatile(".option push\n.option norvc\n1: addi %0, %0, -1\n nop\n nop\n bnez %0, 1b\n.option pop" : "+r"(n_loops));
}

static uint64_t value_of(const uint64_t *values, const char *name) {
    for (size_t i = 0; i < n_metrics; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return values[metrics[i].index] * metrics[i].scale;
    return SMPM_NO_VALUE;
}

static uint64_t units_of(const uint64_t *values, const char *name) {
    char rest[64];
    snprintf(rest, sizeof rest, "%s.remainder", name);
    const uint64_t whole = value_of(values, name), remainder = value_of(values, rest);
    return remainder == SMPM_NO_VALUE ? whole : whole + remainder;
}

static int read_values(struct smpm *s, uint64_t *values, struct smpm_stamp *stamp) {
    sleep_a_while();
    return smpm_read(s, SMPM_SELF, values, stamp);
}

// A child that loads from the region of the VM's block is killed, because contexts may not.
static bool is_vm_refused(const volatile uint64_t *vm_block) {
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        (void)vm_block[0];
        _exit(0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
}

int main(int argc, char **argv) {
    const bool reads_vm = argc > 2 && strcmp(argv[2], "vm") == 0; // the owner permits it
    const uint64_t n_loops = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
    static struct smpm s;
    static struct smpm_stamp first, second;
    struct smpm_cap cap = {0};
    int fd = open("/dev/uio0", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return fail("/dev/uio0: no window; boot with uio_pdrv_genirq.of_id=tally,smpm-blocks on a chip with a monitor");
    uint32_t n_words;
    cap.block = map_region(fd, 0, PROT_READ, &cap.block_words);
    const volatile uint64_t *vm_block = map_region(fd, 1, PROT_READ, &cap.vm_block_words);
    cap.vm_block = reads_vm ? vm_block : NULL;
    cap.list = map_region(fd, 2, PROT_READ, &cap.list_words);
    cap.request = map_region(fd, 3, PROT_READ | PROT_WRITE, &n_words);
    const volatile uint64_t *audit = map_region(fd, 4, PROT_READ, &n_words);
    if (!cap.block || !vm_block || !cap.list || !cap.request || !audit)
        return fail(strerror(errno));
    if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 5 * sysconf(_SC_PAGESIZE)) != MAP_FAILED)
        return fail("there is a sixth region");
    cap.handle = cap.request[SMPM_REG_HANDLE];
    if (smpm_open(&s, &cap) != 0 || smpm_list(&s, metrics, &n_metrics) != 0)
        return fail("the window holds no block");
    if (audit[0] != 0)
        return fail("something was refused before");
    if (smpm_snapshot(&s) != 0)
        return fail("the request for a snapshot failed");
    if (read_values(&s, before, &first) != 0)
        return fail("the first read failed");
    work(n_loops);
    if (read_values(&s, after, &second) != 0)
        return fail("the second read failed");
    const uint64_t grown = units_of(after, "hart.instret_u") - units_of(before, "hart.instret_u"), wanted = 4 * n_loops;
    printf("smpm context %" PRIu64 " of vm %u\n", cap.block[SMPM_W_ID] >> 32, (uint32_t)cap.block[SMPM_W_ID]);
    printf("smpm work %" PRIu64 " grown %" PRIu64 "\n", wanted, grown);
    for (size_t i = 0; i < n_metrics; i++)
        if (metrics[i].is_available && after[metrics[i].index] != 0)
            printf("smpm %s %" PRIu64 "\n", metrics[i].name, after[metrics[i].index] * metrics[i].scale);
    if (first.flags & ~SMPM_PARTIAL || second.flags & ~SMPM_PARTIAL)
        return fail("a block has flags");
    if (second.gen <= first.gen || second.t_commit <= first.t_commit)
        return fail("no commit between the reads");
    if (smpm_snapshot(&s) != 0 || smpm_snapshot(&s) != SMPM_TOO_SOON || audit[0] != 1)
        return fail("a second request at once is not refused, or leaves no entry");
    // Last, because the child runs in an address space of its own.
    if (!reads_vm && (!is_vm_refused(vm_block) || audit[0] != 2))
        return fail("the VM's block is not refused, or leaves no entry");
    // The library reads a few hundred words by a few instructions each.
    return grown >= wanted && grown < wanted + 50000 ? 0 : fail("the block did not grow by the work");
}
