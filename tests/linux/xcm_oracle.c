// SPDX-License-Identifier: MIT
// Boots Linux on the machine, lets guest/linux/xcm_lab.c work there, and compares what the monitor
// inside found with the machine itself: dumps of caches and TLB, verdicts of probes, and a
// transcript that is replayed outside. tools/check-linux runs it.
//
//   xcm_oracle KERNEL INITRD DISK APPEND      DISK is written: the guest's dumps come back on it
//
// The exit status is that of the guest; 1: something differs.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "board/system.h"
#include "isa/a64/hart.h"
#include "machine/oracle.h"
#include "model/isa.h"
#include "monitor/linux/transcript.h"
#include "monitor/xcm.h"
#include "session/plan.h"
#include "session/run.h"

enum {
    TARGET = 1,
    SLICE_CYCLES = 5000,
    MOST_DUMPS = 16,
    MOST_TRIALS = 1 << 20,
    L1D_LINES = 512,
    L1I_LINES = 512,
    PAGES = 512,
    TABLES = 64,
    LINE = 64
};
enum { L1D_WAYS = 4, L1I_WAYS = 2, TLB_WAYS = 4, MAIN_TLB = 128, WALK_END = 144 };
static const xcm_geometry A53 = {128, L1D_WAYS, 256, L1I_WAYS, LINE};

typedef struct picture { // of everything that a dump reads
    tl_line_view l1d[L1D_LINES], l1i[L1I_LINES];
    uint8_t l1d_data[L1D_LINES][LINE], l1i_data[L1I_LINES][LINE];
    tl_page pages[PAGES];
    tl_walk_table tables[TABLES];
} picture;

typedef struct trial {
    uint64_t algorithm, v, other, instret; // instret: of the target when it was asked
    bool truth, has_verdict, is_halted, is_void;
    uint64_t verdict, why, published;
} trial;

static struct {
    tl_machine *machine;
    char text[1 << 16];
    size_t n_text, n_read;
    picture *before[MOST_DUMPS], *after[MOST_DUMPS];
    trial trials[4096];
    uint32_t n_trials;
    uint64_t n_differences;
} lab;

static void differ(const char *sentence) {
    if (lab.n_differences++ < 10)
        printf("xcm_oracle: %s\n", sentence);
}

// -- The console: the guest says what it asks next.

static void put_console(void *ctx, const uint8_t *bytes, size_t n) {
    (void)ctx;
    fwrite(bytes, 1, n, stdout);
    fflush(stdout);
    for (size_t i = 0; i < n; i++)
        if (lab.n_text < sizeof lab.text - 1)
            lab.text[lab.n_text++] = (char)bytes[i];
}

static picture *look(void) {
    picture *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    for (uint32_t i = 0; i < L1D_LINES; i++)
        if (tl_oracle_l1_line(lab.machine, TARGET, false, i, &p->l1d[i]) && p->l1d[i].state != 'I')
            memcpy(p->l1d_data[i], tl_machine_ram(lab.machine, p->l1d[i].paddr), LINE);
    for (uint32_t i = 0; i < L1I_LINES; i++)
        if (tl_oracle_l1_line(lab.machine, TARGET, true, i, &p->l1i[i]) && p->l1i[i].state != 'I')
            memcpy(p->l1i_data[i], tl_machine_ram(lab.machine, p->l1i[i].paddr), LINE);
    for (uint32_t i = 0; i < PAGES; i++)
        (void)tl_oracle_page(lab.machine, TARGET, TL_TLB_SECOND, i, &p->pages[i]);
    for (uint32_t i = 0; i < TABLES; i++)
        (void)tl_oracle_table(lab.machine, TARGET, i, &p->tables[i]);
    return p;
}

// The tables of the target's process: three levels, pages of 4 KiB. 0: not mapped.
static uint64_t paddr_of(uint64_t vaddr) {
    const uint64_t address = UINT64_C(0xfffffffff000);
    uint64_t entry = (uint64_t)tl_a64(lab.machine->harts[TARGET])->sys.reg[TL_A64_R_TTBR0_EL1];
    for (uint32_t level = 1; level <= 3; level++) {
        const uint32_t shift = 39 - 9 * level;
        memcpy(&entry, (const uint8_t *)tl_machine_ram(lab.machine, entry & address) + (vaddr >> shift & 511) * 8, sizeof entry);
        if (!(entry & 1))
            return 0;
        if (!(entry & 2)) // a block
            return (entry & address & ~((UINT64_C(1) << shift) - 1)) | (vaddr & ((UINT64_C(1) << shift) - 1));
    }
    return (entry & address) | vaddr % 4096;
}

static bool is_true(uint64_t algorithm, uint64_t v, uint64_t other) {
    uint64_t found = 0;
    tl_page page;
    switch (algorithm) {
    case XCM_BTB: return tl_oracle_target(lab.machine, TARGET, v, &found) && found == other;
    case XCM_RSB: return tl_oracle_return_stack(lab.machine, TARGET, &found, 1) == 1 && found == other;
    case XCM_ITLB: return tl_oracle_page_of(lab.machine, TARGET, TL_TLB_FETCH, v, &page);
    case XCM_DTLB: return tl_oracle_page_of(lab.machine, TARGET, TL_TLB_DATA, v, &page);
    default: return tl_oracle_is_in_l2(lab.machine, paddr_of(v));
    }
}

// Other cores go on while the target stands, and share L2 with it. The last look before it runs is
// the one that counts.
static void look_again(trial *t) {
    const tl_hart *h = lab.machine->harts[TARGET];
    if (t->has_verdict || h->instret != t->instret || !h->is_halted)
        return;
    t->is_halted = true;
    t->truth = is_true(t->algorithm, t->v, t->other);
    // Nobody asks L2 for a line that L1 has.
    t->is_void = t->algorithm == XCM_L2 && tl_oracle_state_of(lab.machine, TARGET, false, paddr_of(t->v)) != 'I';
}

static void obey(const char *line) {
    uint32_t n = 0;
    uint64_t a = 0, b = 0, c = 0;
    if (sscanf(line, "xcm-dump begin %u", &n) == 1 && n < MOST_DUMPS) {
        lab.before[n] = look();
    } else if (sscanf(line, "xcm-dump end %u", &n) == 1 && n < MOST_DUMPS) {
        lab.after[n] = look();
    } else if (sscanf(line, "xcm-ask %u %" SCNu64 " %" SCNu64 " %" SCNu64, &n, &a, &b, &c) == 4 && n < 4096) {
        lab.trials[n] = (trial){.algorithm = a, .v = b, .other = c, .instret = lab.machine->harts[TARGET]->instret};
        look_again(&lab.trials[n]);
        lab.n_trials = n + 1;
    } else if (sscanf(line, "xcm-verdict %u %" SCNu64 " %" SCNx64 " %" SCNu64, &n, &a, &b, &c) == 4 && n < lab.n_trials) {
        lab.trials[n].has_verdict = true;
        lab.trials[n].verdict = a;
        lab.trials[n].why = b;
        lab.trials[n].published = c;
    }
}

static void read_console(void) {
    for (char *end; (end = memchr(lab.text + lab.n_read, '\n', lab.n_text - lab.n_read)) != NULL;) {
        *end = '\0';
        obey(lab.text + lab.n_read);
        lab.n_read = (size_t)(end - lab.text) + 1;
    }
    memmove(lab.text, lab.text + lab.n_read, lab.n_text - lab.n_read);
    lab.n_text -= lab.n_read;
    lab.n_read = 0;
}

// -- Dumps: an entry equals that of one of the two pictures, between which other cores may have
// taken or cleaned lines.

static bool is_line(const xcm_line *found, const tl_line_view *line, bool is_fetch) {
    const bool has_state = is_fetch ? (found->state != 'I') == (line->state != 'I') : found->state == line->state;
    return has_state && (line->state == 'I' || found->paddr == line->paddr);
}

static bool agrees(uint16_t type, const uint64_t *words, const picture *p) {
    const uint32_t way = (uint32_t)(words[0] >> 32), index = (uint32_t)words[0];
    const uint32_t dr[4] = {(uint32_t)words[1], (uint32_t)(words[1] >> 32), (uint32_t)words[2], (uint32_t)(words[2] >> 32)};
    xcm_line line;
    switch (type) {
    case XCM_RECORD_L1D_TAG: line = xcm_decode_l1d_tag(&A53, index, dr); return is_line(&line, &p->l1d[index * L1D_WAYS + way], false);
    case XCM_RECORD_L1I_TAG: line = xcm_decode_l1i_tag(&A53, index, dr); return is_line(&line, &p->l1i[index * L1I_WAYS + way], true);
    case XCM_RECORD_L1D_DATA: return memcmp(words + 1, p->l1d_data[index * L1D_WAYS + way], LINE) == 0;
    case XCM_RECORD_L1I_DATA:
        for (uint32_t i = 0; i < LINE / 4; i++) {
            const uint32_t halves[4] = {(uint32_t)words[1 + i], (uint32_t)(words[1 + i] >> 32), 0, 0};
            uint32_t word = 0;
            if (!xcm_decode_l1i_word(halves, &word) || memcmp(&word, &p->l1i_data[index * L1I_WAYS + way][4 * i], 4) != 0)
                return false;
        }
        return true;
    default: break;
    }
    const xcm_tlb_entry e = xcm_decode_tlb(index, dr);
    if (index < MAIN_TLB) {
        const tl_page *page = &p->pages[index * TLB_WAYS + way];
        return e.is_valid == (page->flags != 0) &&
               (!e.is_valid || (e.vaddr == page->vaddr && e.paddr == page->paddr && e.asid == page->asid));
    }
    if (index < WALK_END) {
        const tl_walk_table *table = &p->tables[(index - MAIN_TLB) * TLB_WAYS + way];
        return e.is_valid == (table->span_log2 != 0) &&
               (!e.is_valid || (e.paddr == table->paddr && e.vaddr == table->vaddr && e.bytes == UINT64_C(1) << table->span_log2));
    }
    return !e.is_valid;
}

static void check_dump(uint32_t k, const uint8_t *at, uint64_t n_bytes) {
    uint32_t n_records = 0, n_changed = 0, n_wrong = 0, n_valid[12] = {0};
    if (k >= MOST_DUMPS || !lab.before[k] || !lab.after[k]) {
        differ("a dump has no pictures");
        return;
    }
    for (uint64_t offset = 0; offset + 8 <= n_bytes;) {
        uint16_t type;
        uint32_t bytes;
        uint64_t words[64] = {0};
        memcpy(&type, at + offset, 2);
        memcpy(&bytes, at + offset + 4, 4);
        if (bytes > sizeof words || bytes > n_bytes - offset - 8)
            break;
        memcpy(words, at + offset + 8, bytes);
        offset += 8 + bytes;
        if (type < XCM_RECORD_L1D_TAG || type > XCM_RECORD_TLB)
            continue;
        n_records += 1;
        n_valid[type] += 1;
        if (agrees(type, words, lab.before[k]))
            continue;
        if (agrees(type, words, lab.after[k])) {
            n_changed += 1;
            continue;
        }
        if (n_wrong++ < 5)
            printf("xcm_oracle: dump %u: type %u, place %" PRIx64 ": %" PRIx64 " %" PRIx64 " is neither before nor after\n", k, type,
                   words[0], words[1], words[2]);
    }
    printf(
        "xcm_oracle: dump %u: %u records (%u L1D tags, %u L1I tags, %u TLB, %u and %u lines of data), %u changed by other cores, %u differ\n",
        k, n_records, n_valid[XCM_RECORD_L1D_TAG], n_valid[XCM_RECORD_L1I_TAG], n_valid[XCM_RECORD_TLB], n_valid[XCM_RECORD_L1D_DATA],
        n_valid[XCM_RECORD_L1I_DATA], n_changed, n_wrong);
    lab.n_differences += n_wrong;
    if (n_valid[XCM_RECORD_L1D_TAG] != L1D_LINES || n_valid[XCM_RECORD_L1I_TAG] != L1I_LINES ||
        n_valid[XCM_RECORD_TLB] != PAGES + 2 * TABLES)
        differ("a dump is not whole");
}

static void check_trials(void) {
    static const char *const names[] = {"", "btb", "rsb", "itlb", "dtlb", "l2"};
    uint32_t counts[6][2][3] = {{{0}}}, published[6] = {0}, n_void = 0;
    for (uint32_t i = 0; i < lab.n_trials; i++) {
        const trial *t = &lab.trials[i];
        if (!t->has_verdict || !t->is_halted || t->algorithm > XCM_L2 || t->verdict > XCM_UNKNOWN) {
            differ("a trial has no verdict");
            continue;
        }
        if (t->is_void) {
            n_void += 1;
            continue;
        }
        counts[t->algorithm][t->truth][t->verdict] += 1;
        published[t->algorithm] += t->published != t->truth;
        if (t->verdict != (t->truth ? XCM_YES : XCM_NO)) {
            printf("xcm_oracle: trial %u of %s: truth %d, verdict %" PRIu64 ", why %" PRIx64 "\n", i, names[t->algorithm], t->truth,
                   t->verdict, t->why);
            lab.n_differences += 1;
        }
    }
    for (uint32_t a = XCM_BTB; a <= XCM_L2 && lab.n_trials > 0; a++)
        printf("xcm_oracle: %-4s absent: NO %u YES %u UNKNOWN %u; present: NO %u YES %u UNKNOWN %u; published form wrong %u\n", names[a],
               counts[a][0][0], counts[a][0][1], counts[a][0][2], counts[a][1][0], counts[a][1][1], counts[a][1][2], published[a]);
    if (n_void > 0)
        printf("xcm_oracle: %u questions about lines of L1D did not count\n", n_void);
}

// -- Replay: the monitor outside makes the decisions of the one inside.

typedef struct replay {
    const struct xcm_note *notes;
    uint64_t n, at, n_different, n_told;
    uint64_t now_ns;
} replay;

static uint64_t packet_notes(const struct xcm_note *note) { return (note->value + sizeof *note - 1) / sizeof *note; }

static void note_difference(replay *r, const char *what) {
    if (r->n_different++ == 0)
        printf("xcm_oracle: replay: note %" PRIu64 ": %s differs\n", r->at, what);
}
static uint32_t replay_access(replay *r, xcm_block block, uint32_t offset, uint8_t kind, uint32_t value) {
    if (r->at == r->n)
        return 0;
    const struct xcm_note *note = &r->notes[r->at++];
    if (note->kind != kind || note->block != block || note->offset != offset || (kind == XCM_NOTE_WRITE && note->value != value))
        note_difference(r, "an access");
    r->now_ns = note->time_ns;
    return note->value;
}
static uint32_t replay_read(void *ctx, xcm_block block, uint32_t offset) { return replay_access(ctx, block, offset, XCM_NOTE_READ, 0); }
static void replay_write(void *ctx, xcm_block block, uint32_t offset, uint32_t value) {
    (void)replay_access(ctx, block, offset, XCM_NOTE_WRITE, value);
}
static uint64_t replay_now(void *ctx) { return ((replay *)ctx)->now_ns; }
static void replay_relax(void *ctx) { (void)ctx; }
static xcm_progress replay_run(void *ctx, xcm_routine routine, bool is_start) {
    (void)ctx;
    (void)routine;
    return is_start ? XCM_RUNS : XCM_HAS_RUN;
}
static void replay_notify(void *ctx, const uint8_t *packet, uint32_t n_bytes) {
    replay *r = ctx;
    if (r->at == r->n)
        return;
    const struct xcm_note *note = &r->notes[r->at];
    if (note->kind != XCM_NOTE_NOTIFY || note->value != n_bytes || packet_notes(note) > r->n - r->at - 1 ||
        memcmp(note + 1, packet, n_bytes) != 0) {
        note_difference(r, "a reply or an event");
        return;
    }
    r->at += 1 + packet_notes(note);
    r->n_told += 1;
}

static void check_replay(const struct xcm_note *notes, uint64_t n) {
    enum { LIST = 4096, HASH = 4 * LIST, PROGRAM_WORDS = 16384, RING_BYTES = 1 << 23, MOST_IDLE = 1000 };
    replay r = {.notes = notes, .n = n};
    const xcm_host host = {.ctx = &r,
                           .rd32 = replay_read,
                           .wr32 = replay_write,
                           .now_ns = replay_now,
                           .relax = replay_relax,
                           .notify = replay_notify,
                           .run_on_target = replay_run};
    xcm_config config = {.host = &host,
                         .ring = calloc(1, XCM_RING_HEADER_BYTES + RING_BYTES),
                         .ring_bytes = RING_BYTES,
                         .list = calloc(LIST, 8),
                         .list_capacity = LIST,
                         .hash = calloc(HASH, 4),
                         .hash_capacity = HASH,
                         .programs = calloc(PROGRAM_WORDS, 8),
                         .program_words = PROGRAM_WORDS};
    xcm *m = calloc(1, xcm_bytes());
    bool is_ready = false;
    uint32_t n_idle = 0;
    while (r.at < n && r.n_different == 0 && n_idle < MOST_IDLE) {
        const uint64_t before = r.at;
        const struct xcm_note *note = &notes[r.at];
        if (!is_ready && note->kind != XCM_NOTE_INIT)
            break;
        switch (note->kind) {
        case XCM_NOTE_INIT:
            config.mpidr = note->time_ns;
            config.budget_ns = note->value * UINT64_C(1000000);
            config.may_halt_kernel = note->offset;
            is_ready = xcm_init(m, &config);
            r.at += 1;
            break;
        case XCM_NOTE_OWNER: xcm_set_owner(m, note->time_ns), r.at += 1; break;
        case XCM_NOTE_DIED: r.at += 1, xcm_owner_died(m); break;
        case XCM_NOTE_EXPIRE: r.now_ns = note->time_ns, r.at += 1, xcm_expire(m); break;
        case XCM_NOTE_SUBMIT:
            if (packet_notes(note) > n - r.at - 1) {
                r.at = n;
                break;
            }
            r.at += 1 + packet_notes(note);
            xcm_submit(m, (const uint8_t *)(note + 1), note->value, note->time_ns, note->offset);
            break;
        default: xcm_tick(m); break;
        }
        n_idle = r.at == before ? n_idle + 1 : 0;
    }
    printf("xcm_oracle: replay: %" PRIu64 " of %" PRIu64 " notes, %" PRIu64 " replies and events, %" PRIu64 " differ\n", r.at, n, r.n_told,
           r.n_different);
    if (r.at != n || r.n_different != 0 || r.n_told == 0)
        differ("the replay decides otherwise");
    free(config.ring);
    free(config.list);
    free(config.hash);
    free(config.programs);
    free(m);
}

// -- The disk: heads and bytes in whole sectors.

static void check_disk(const char *path) {
    enum { SECTOR = 512 };
    FILE *file = fopen(path, "rb");
    uint32_t n_dumps = 0;
    struct {
        char kind[8];
        uint64_t n;
        char rest[496];
    } head;
    while (file && fread(&head, sizeof head, 1, file) == 1 && head.kind[0] != '\0' && head.n < UINT32_MAX) {
        const uint64_t whole = (head.n + SECTOR - 1) / SECTOR * SECTOR;
        uint8_t *bytes = malloc(whole);
        if (bytes && fread(bytes, 1, whole, file) == whole) {
            if (strncmp(head.kind, "dump", sizeof head.kind) == 0)
                check_dump(n_dumps++, bytes, head.n);
            else if (strncmp(head.kind, "notes", sizeof head.kind) == 0)
                check_replay((const struct xcm_note *)(const void *)bytes, head.n / sizeof(struct xcm_note));
        }
        free(bytes);
    }
    if (file)
        fclose(file);
}

static void warn(void *ctx, const char *sentence) {
    (void)ctx;
    fprintf(stderr, "xcm_oracle: %s\n", sentence);
}

int main(int argc, char **argv) {
    static const char *const overrides[] = {"ram=256MiB", NULL};
    tl_error err = {0};
    tl_config config;
    tl_system *system = NULL;
    tl_system_report report = {.stop = TL_SYSTEM_LIMIT};
    if (argc != 5) {
        fprintf(stderr, "usage: xcm_oracle KERNEL INITRD DISK APPEND\n");
        return 2;
    }
    const tl_system_options software = {.kernel = argv[1],
                                        .initrd = argv[2],
                                        .disk = argv[3],
                                        .append = argv[4],
                                        .is_disk_writable = true,
                                        .console_in = -1,
                                        .console_out = -1,
                                        .put_console = put_console,
                                        .warn = warn};
    if (tl_plan_config("a53x4", overrides, &config, &err) != TL_OK ||
        tl_machine_new(&config, tl_session_engine(TL_ENGINE_FASTEST, config.isa), &lab.machine, &err) != TL_OK ||
        tl_system_new(lab.machine, &software, &system, &err) != TL_OK) {
        fprintf(stderr, "xcm_oracle: %s\n", err.text);
        return 2;
    }
    while (report.stop == TL_SYSTEM_LIMIT) {
        const tl_system_limits limits = {
            .until_cycle = tl_system_now_cycles(system) + SLICE_CYCLES, .until_instret = UINT64_MAX, .break_pc = {TL_NO_LINE, TL_NO_LINE}};
        if (tl_system_run(system, &limits, &report, &err) != TL_OK) {
            fprintf(stderr, "xcm_oracle: %s\n", err.text);
            return 2;
        }
        read_console();
        if (lab.n_trials > 0)
            look_again(&lab.trials[lab.n_trials - 1]);
    }
    if (lab.machine->harts[TARGET]->is_halted)
        differ("the target is left halted");
    const int status = report.stop == TL_SYSTEM_EXITED ? report.exit_status : 1;
    tl_system_free(system); // the disk is complete
    check_trials();
    check_disk(argv[3]);
    tl_machine_free(lab.machine);
    printf("xcm_oracle: %" PRIu64 " differences\n", lab.n_differences);
    return lab.n_differences ? 1 : status;
}
