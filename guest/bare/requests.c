/* SPDX-License-Identifier: MIT
 * Requests to the monitor of a chip from a board on one of its partitions: snapshots through the
 * registers of the context that runs, refusals, and the VM's entries of the audit log. A log at LOG
 * keeps what snapshots brought, so that the host can compare it. Elsewhere there is no window, and
 * nothing is checked. */
#include "bare.h"

#include <tally/smpm.h>

#define WINDOW UINT64_C(0x7000000)
#define LOG UINT64_C(0x80400000)
enum { PAGE_BYTES = 4096, MAX_METRICS = 512, N_SNAPSHOTS = 3, REG_WHO = 4, CMD_FILTER = 2, ENTRY_WORDS = 4 };
enum { RATE_CYCLES = 10000, MANY = 100000 };
enum { BY_ACCESS = 0, BY_HANDLE = 5, BY_RATE = 6 }; /* causes of refusals */

/* The log: words n, then the instructions of each snapshot. */
static u64 *const log_words = (u64 *)LOG;
static u64 values[SMPM_MAX_METRICS];
static struct smpm_metric metrics[MAX_METRICS];
static struct smpm_stamp stamp;
static struct smpm own;
static struct smpm_cap cap;
static const volatile u64 *audit;
static u64 vm, instret, scale;

static void load_window(void) { (void)*(volatile u64 *)WINDOW; }
static void store_window(void) { *(volatile u64 *)WINDOW = 1; }
static void load_no_register(void) { (void)cap.request[100]; }
static void store_audit(void) { *(volatile u64 *)audit = 1; }

static u64 pages_of(u64 n_words) { return (8 * n_words + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES; }
static u64 bytes_of(const volatile u64 *block) {
    u64 n = (u32)block[SMPM_W_SIZE], parts = (u32)block[SMPM_W_PARTS];
    return pages_of(SMPM_W_COUNTS + n * smpm_n_arrays((u32)parts) + (n + 63) / 64);
}

/* Regions follow one another: own, vm, list, requests, audit. */
static bool open_window(void) {
    if (run(MODE_M, load_window, 0, 0)->trapped)
        return false;
    cap.block = (const volatile u64 *)WINDOW;
    cap.block_words = (u32)(bytes_of(cap.block) / 8);
    cap.vm_block = cap.block + cap.block_words;
    cap.vm_block_words = (u32)(bytes_of(cap.vm_block) / 8);
    cap.list = cap.vm_block + cap.vm_block_words;
    cap.list_words = (u32)(pages_of(SMPM_W_COUNTS + 8 * cap.list[1]) / 8);
    cap.request = (volatile u64 *)(cap.list + cap.list_words);
    audit = cap.request + PAGE_BYTES / 8;
    cap.handle = cap.request[SMPM_REG_HANDLE];
    vm = (u32)cap.block[SMPM_W_ID];
    return true;
}

static void find_instret(void) {
    size_t n = MAX_METRICS;
    CHECK(smpm_list(&own, metrics, &n), 0);
    for (size_t i = 0; i < n; i++) {
        const char *name = "hart.instret", *at = metrics[i].name;
        while (*name && *name == *at)
            name++, at++;
        if (*name == *at) {
            instret = metrics[i].index;
            scale = metrics[i].scale;
        }
    }
    CHECK_TRUE(scale != 0);
}

static void wait_for_turn(u64 last) {
    while (cap.request[SMPM_REG_NOW] < last + RATE_CYCLES)
        ;
}

/* Everything before a request is in the block that it brings. */
static u64 take_snapshots(void) {
    u64 asked = cap.request[SMPM_REG_NOW];
    for (u64 i = 0; i < N_SNAPSHOTS; i++) {
        check_context = i;
        wait_for_turn(asked);
        asked = cap.request[SMPM_REG_NOW];
        CHECK(smpm_snapshot(&own), 0);
        stamp.t_commit = 0;
        for (u64 k = 0; k < MANY && stamp.t_commit <= asked; k++)
            CHECK(smpm_read(&own, SMPM_SELF, values, &stamp), 0);
        CHECK_TRUE(stamp.t_commit > asked);
        CHECK_TRUE(stamp.age < MANY);
        CHECK(stamp.flags & SMPM_AGE_UNKNOWN, 0);
        log_words[1 + i] = values[instret] * scale;
        log_words[0]++;
    }
    return asked;
}

static void expect_entry(u64 number, u64 cause) {
    check_context = number;
    const volatile u64 *entry = audit + ENTRY_WORDS * (number - 1);
    CHECK(entry[0], number);
    CHECK_TRUE(entry[1] <= cap.request[SMPM_REG_NOW]);
    CHECK(entry[2] & 0xff, cause);
    CHECK(entry[ENTRY_WORDS], 0); /* the last one */
}

int main(void) {
    log_words[0] = 0;
    if (!open_window())
        finish_all();
    CHECK(smpm_open(&own, &cap), 0);
    find_instret();
    CHECK(cap.request[REG_WHO], vm);
    CHECK(audit[0], 0);
    u64 last = take_snapshots();
    wait_for_turn(last);
    CHECK(smpm_snapshot(&own), 0);
    CHECK(smpm_snapshot(&own), SMPM_TOO_SOON);
    expect_entry(1, BY_RATE);
    cap.request[SMPM_REG_CMD] = CMD_FILTER; /* is not for contexts */
    CHECK(cap.request[SMPM_REG_STATUS], SMPM_STATUS_DENIED);
    expect_entry(2, BY_ACCESS);
    wait_for_turn(cap.request[SMPM_REG_NOW]);
    cap.request[SMPM_REG_HANDLE] = cap.handle + 64;
    CHECK(smpm_snapshot(&own), SMPM_DENIED);
    expect_entry(3, BY_HANDLE);
    CHECK(run(MODE_M, store_audit, 0, 0)->cause, CAUSE_STORE_ACCESS);
    expect_entry(4, BY_ACCESS);
    CHECK(run(MODE_M, store_window, 0, 0)->cause, CAUSE_STORE_ACCESS);
    CHECK(run(MODE_M, load_no_register, 0, 0)->cause, CAUSE_LOAD_ACCESS);
    /* Another context has registers and a capability of its own. */
    csr_write(satp, (u64)SATP_SV39 << 60 | 0x80100);
    CHECK(cap.request[REG_WHO], vm | UINT64_C(1) << 32);
    CHECK_TRUE(cap.request[SMPM_REG_HANDLE] != cap.handle);
    cap.request[SMPM_REG_HANDLE] = cap.handle;
    CHECK(smpm_snapshot(&own), SMPM_DENIED);
    expect_entry(5, BY_HANDLE);
    csr_write(satp, 0);
    finish_all();
}
