// SPDX-License-Identifier: MIT
// A commit in the middle of a copy, at the same place each time: the block lies across two pages,
// the second cannot be read, and the handler of the fault commits before it lets the reader go on.
#ifndef TL_PMU_SMPM_TEST_TEAR_H
#define TL_PMU_SMPM_TEST_TEAR_H

#include "base/testing.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pmu/smpm/block.h"

enum { WORDS_BEFORE_TEAR = 8 + 20 };

static struct {
    uint8_t *pages;
    size_t page_bytes;
    uint64_t *words;
    uint32_t n;
    unsigned n_faults;
} tear;

static inline void commit_within_fault(int signal) {
    (void)signal;
    tear.n_faults++;
    mprotect(tear.pages + tear.page_bytes, tear.page_bytes, PROT_READ | PROT_WRITE);
    tl_smpm_block_begin(tear.words);
    for (uint32_t i = 0; i < tear.n; i++)
        tl_smpm_block_add(tear.words, TL_SMPM_CTR, i, 1);
    tl_smpm_block_end(tear.words, 1);
}

// A block of zeros, all metrics available; ends with tear_done.
static inline uint64_t *tear_begin(const tl_smpm_shape *shape) {
    tear.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    tear.pages = mmap(NULL, 2 * tear.page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(tear.pages != MAP_FAILED);
    tear.words = (uint64_t *)(void *)(tear.pages + tear.page_bytes) - WORDS_BEFORE_TEAR;
    tear.n = shape->n;
    tear.n_faults = 0;
    tl_smpm_block_format(tear.words, shape);
    for (uint32_t i = 0; i < shape->n; i++)
        tl_smpm_block_set_available(tear.words, i, true);
    return tear.words;
}

static inline void tear_arm(struct sigaction *ret_old) {
    const struct sigaction action = {.sa_handler = commit_within_fault};
    assert_int_equal(sigaction(SIGSEGV, &action, ret_old), 0);
    assert_int_equal(mprotect(tear.pages + tear.page_bytes, tear.page_bytes, PROT_NONE), 0);
}

static inline void tear_done(const struct sigaction *old) {
    assert_int_equal(sigaction(SIGSEGV, old, NULL), 0);
    munmap(tear.pages, 2 * tear.page_bytes);
}

#endif
