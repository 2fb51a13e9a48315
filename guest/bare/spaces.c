/* SPDX-License-Identifier: MIT
 * Work in three address spaces that take turns. On a partition of a chip with a monitor, each turn
 * begins by reading the own block of counts in the board's read window. A log at LOG keeps what was
 * read, so that the host can compare it with the truth. Elsewhere there is no window and no log.
 *
 * Every run fills RAM from PATTERN on with numbers that depend on its VM, and checks them at the
 * end: nobody else writes these addresses. */
#include "bare.h"

#include <tally/smpm.h>

#define WINDOW UINT64_C(0x7000000)
#define PATTERN UINT64_C(0x80300000)
#define LOG UINT64_C(0x80400000)
enum { N_SPACES = 3, N_TURNS = 4, N_PATTERN = 4096, PAGE_BYTES = 4096, HEADER_WORDS = 4, POLL_CYCLES = 250000 };
enum { TICK_CYCLES = 100 }; /* of the timer, on a chip of 1 GHz */

/* The log: words n of entries, n of values, n of commits seen, refused loads; then for each entry id, gen, t_commit, turn, values. */
static u64 *const log_words = (u64 *)LOG;
static u64 values[SMPM_MAX_METRICS];
static struct smpm_stamp stamp;
static struct smpm own;
static struct smpm_cap cap;
static u64 vm;

static void load_window(void) { (void)*(volatile u64 *)WINDOW; }
static void store_window(void) { *(volatile u64 *)WINDOW = 1; }

/* The bytes of a region are whole pages, and the regions follow one another: own, vm, list. */
static bool open_window(void) {
    if (run(MODE_M, load_window, 0, 0)->trapped)
        return false;
    const volatile u64 *block = (const volatile u64 *)WINDOW;
    u64 n = (u32)block[SMPM_W_SIZE], parts = (u32)block[SMPM_W_PARTS];
    u64 words = SMPM_W_COUNTS + n * smpm_n_arrays((u32)parts) + (n + 63) / 64;
    u64 bytes = (8 * words + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    cap = (struct smpm_cap){.block = block,
                            .block_words = (u32)(bytes / 8),
                            .vm_block = (const volatile u64 *)(WINDOW + bytes),
                            .vm_block_words = (u32)(2 * bytes / 8)};
    vm = (u32)block[SMPM_W_ID];
    return true;
}

/* Each space is a client of its own, because the region shows the block of who runs. */
static void read_own(u64 space, u64 turn) {
    check_context = space;
    CHECK(smpm_open(&own, &cap), 0);
    CHECK(smpm_read(&own, SMPM_SELF, values, &stamp), 0);
    u64 *entry = log_words + HEADER_WORDS + log_words[0] * (4 + own.n);
    entry[0] = own.cap.block[SMPM_W_ID];
    entry[1] = stamp.gen;
    entry[2] = stamp.t_commit;
    entry[3] = turn;
    for (u32 i = 0; i < own.n; i++)
        entry[4 + i] = values[i];
    log_words[0]++;
    log_words[1] = own.n;
    CHECK(entry[0], vm | (space + 1) << 32); /* context 0 is the time before the first space */
    CHECK(entry[1] & 1, 0);
}

/* A commit shows in the first read after it, and not before it. Clocks of the chip and of the timer
 * begin together. */
static void watch_commits(void) {
    const volatile u64 *commit = &cap.block[SMPM_W_COMMIT];
    const u64 end = MTIME + POLL_CYCLES / TICK_CYCLES;
    u64 known = *commit, before = MTIME, last_poll = before;
    while (before < end) {
        u64 seen = *commit, after = MTIME;
        if (seen != known) {
            CHECK_TRUE(seen < (after + 1) * TICK_CYCLES);
            CHECK_TRUE(seen + TICK_CYCLES > last_poll * TICK_CYCLES);
            log_words[2]++;
        }
        known = seen;
        last_poll = before;
        before = after;
    }
}

/* Two spaces show different pages at one address. A kernel that has ASIDs does not flush between
 * them. Elsewhere it must, so nothing is checked there. */
#define BOTH UINT64_C(0x40201000)
SNIPPET(load_there, "ld a0, 0(a0)");
static u64 pages[2][512] __attribute__((aligned(PAGE_BYTES)));
static void check_asids(void) {
    u64 satps[2];
    for (u64 i = 0; i < 2; i++) {
        u64 *root = standard_map();
        map(root, 3, BOTH, (u64)pages[i], 0, PTE_RW);
        pages[i][0] = 100 + i;
        satps[i] = satp_of(root, SATP_SV39) | (i + 1) << 44;
    }
    csr_write(satp, satps[1]);
    if (csr_read(satp) != satps[1])
        return; /* no ASIDs */
    sfence();
    for (u64 i = 0; i < 6; i++) {
        check_context = i;
        csr_write(satp, satps[i % 2]);
        outcome *o = run(MODE_S, load_there, BOTH, 0);
        CHECK(o->trapped, 0);
        CHECK(o->x[10], 100 + i % 2);
    }
    csr_write(satp, 0);
}

/* Loads of the own block and of the VM's at each level, M, S, U: bit 2 * level + region is set if the
 * load was refused. */
static void note_refused(void) {
    static const u64 levels[] = {MODE_M, MODE_S, MODE_U};
    for (u64 i = 0; i < 3; i++)
        for (u64 region = 0; region < 2; region++) {
            const outcome *o = run(levels[i], load_there, region ? (u64)cap.vm_block : (u64)cap.block, 0);
            if (o->trapped) {
                CHECK(o->cause, CAUSE_LOAD_ACCESS);
                log_words[3] |= 1 << (2 * i + region);
            }
        }
}

static u64 work(u64 n) {
    u64 sum = vm;
    for (u64 i = 0; i < n; i++) {
        sum = sum * 6364136223846793005 + i;
        if (sum >> 63)
            *(volatile u64 *)(PATTERN + 8 * (sum % N_PATTERN));
    }
    return sum;
}

int main(void) {
    bool has_window = open_window();
    u64 result = 0;
    log_words[0] = log_words[1] = log_words[2] = log_words[3] = 0;
    if (has_window)
        CHECK(run(MODE_M, store_window, 0, 0)->cause, CAUSE_STORE_ACCESS);
    for (u64 i = 0; i < N_PATTERN; i++)
        ((volatile u64 *)PATTERN)[i] = i * (2 * vm + 3);
    for (u64 turn = 0; turn < N_TURNS; turn++)
        for (u64 space = 0; space < N_SPACES; space++) {
            /* Machine mode does not translate. Two spaces share a root page, so their ASID names them. */
            csr_write(satp, (u64)SATP_SV39 << 60 | space << 44 | (0x80100 + space / 2));
            if (has_window && turn > 0)
                read_own(space, turn);
            result += work(1000 * (space + 1) + 100 * turn + 10 * vm);
        }
    csr_write(satp, 0);
    if (has_window) {
        watch_commits();
        note_refused();
    }
    check_asids();
    for (u64 i = 0; i < N_PATTERN; i++) {
        check_context = i;
        CHECK(((volatile u64 *)PATTERN)[i], i * (2 * vm + 3));
    }
    CHECK_TRUE(result != 0);
    finish_all();
}
