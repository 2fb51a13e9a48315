// SPDX-License-Identifier: MIT
// Three VMs, two of them in turns on one partition, run one program four times. Every copy must run
// as if it were alone: it ends with 0 and writes its text. First contexts of VMs retire equally
// many instructions; a second one has another process number. Counts of the tenants must sum to
// those of the whole chip, shared units included.
//
//   tenants_apart PROGRAM    a static program that writes to standard output
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "result/tenants.h"
#include "session/tenants.h"

enum { N_COPIES = 4, MAX_TEXT = 4096, MAX_PATH = 4096 };

static char folder[] = "/tmp/tally-tenants-XXXXXX";

static void check(bool is_true, const char *sentence) {
    if (is_true)
        return;
    fprintf(stderr, "tenants_apart: %s; its files are in %s\n", sentence, folder);
    exit(1);
}

static void must(tl_status status, const tl_error *err) { check(status == TL_OK, err->text); }

static void path_of(const char *name, char path[MAX_PATH]) { snprintf(path, MAX_PATH, "%s/%s", folder, name); }

static void context(FILE *file, const char *program, unsigned copy, unsigned quantum) {
    fprintf(file, "      - {name: copy%u, program: %s, quantum: %u, stdout: %s/out%u}\n", copy, program, quantum, folder, copy);
}

// Quanta are far below the length of a run, so that copies are in memory side by side.
static void write_plan(const char *program, char path[MAX_PATH]) {
    path_of("tenants.yaml", path);
    FILE *file = fopen(path, "w");
    check(file != NULL, "cannot write the tenants file");
    fprintf(file, "machine: cloud4\nvms:\n");
    fprintf(file, "  - partition: 0\n    quantum: 300000\n    contexts:\n");
    context(file, program, 0, 70000);
    context(file, program, 1, 110000);
    fprintf(file, "  - partition: 0\n    quantum: 200000\n    contexts:\n");
    context(file, program, 2, 50000);
    fprintf(file, "  - partition: 2\n    contexts:\n");
    context(file, program, 3, 50000);
    check(fclose(file) == 0, "cannot write the tenants file");
}

static size_t text_of(unsigned copy, char text[MAX_TEXT]) {
    char name[16], path[MAX_PATH];
    snprintf(name, sizeof name, "out%u", copy);
    path_of(name, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    check(fd >= 0, "a context wrote no output");
    ssize_t n = read(fd, text, MAX_TEXT);
    close(fd);
    check(n > 0, "a context wrote no output");
    return (size_t)n;
}

static uint64_t value_of(const tl_tenants_counts *counts, uint32_t row, const char *column) {
    for (uint32_t i = 0; i < TL_N_TENANTS_COLUMNS; i++)
        if (strcmp(tl_tenants_columns[i].name, column) == 0)
            return tl_tenants_column_value(counts, row, i);
    check(false, "a column is missing");
    return 0;
}

static void check_contexts(const tl_tenants_counts *counts) {
    uint64_t n_insns = 0;
    uint32_t n_contexts = 0;
    for (uint32_t r = 0; r < counts->n_rows; r++) {
        const tl_tenants_view *view = &counts->rows[r].view;
        if (view->kind != TL_TENANTS_CONTEXT)
            continue;
        uint64_t n = value_of(counts, r, "instructions");
        printf("vm %u context %u: %" PRIu64 " instructions, %" PRIu64 " switches\n", view->vm, view->context, n, view->n_switches);
        check(view->reason == TL_END_EXITED && view->status == 0, "a context did not exit with 0");
        check(n_contexts == 0 || view->context > 0 || n == n_insns, "copies of one program retired different numbers of instructions");
        check(view->partition != 0 || view->n_switches >= 10, "a context that shares its partition was hardly switched");
        n_insns = view->context == 0 ? n : n_insns;
        n_contexts++;
    }
    check(n_contexts == N_COPIES && n_insns > 100000, "a context is missing, or the program is too short");
    static char first[MAX_TEXT], other[MAX_TEXT];
    size_t n_bytes = text_of(0, first);
    for (unsigned copy = 1; copy < N_COPIES; copy++)
        check(text_of(copy, other) == n_bytes && memcmp(first, other, n_bytes) == 0, "copies of one program wrote different texts");
}

// Row 0 is the device.
static void check_sums(const tl_tenants_counts *counts) {
    static const char *const columns[] = {"instructions", "dram_lines", "dma_read_bytes", "dma_written_bytes"};
    for (size_t c = 0; c < TL_COUNT_OF(columns); c++) {
        uint64_t sum = 0, whole = value_of(counts, 0, columns[c]);
        for (uint32_t r = 1; r < counts->n_rows; r++)
            if (counts->rows[r].view.kind != TL_TENANTS_VM)
                sum += value_of(counts, r, columns[c]);
        printf("%s: %" PRIu64 "\n", columns[c], whole);
        check(whole > 0 && sum == whole, "counts of the tenants do not sum to the chip's");
    }
}

static void remove_files(void) {
    static const char *const names[] = {"tenants.yaml", "out0", "out1", "out2", "out3"};
    char path[MAX_PATH];
    for (size_t i = 0; i < TL_COUNT_OF(names); i++) {
        path_of(names[i], path);
        unlink(path);
    }
    rmdir(folder);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: tenants_apart PROGRAM\n");
        return 2;
    }
    check(mkdtemp(folder) != NULL, "cannot make a folder");
    char path[MAX_PATH];
    write_plan(argv[1], path);
    tl_tenants_options options;
    tl_tenants_init(&options);
    options.file = path;
    tl_tenants *tenants;
    tl_error err;
    must(tl_tenants_open(&options, &tenants, &err), &err);
    for (tl_run_state state = TL_RUN_GOING; state != TL_RUN_ENDED;)
        must(tl_tenants_run(tenants, &state, &err), &err);
    tl_tenants_counts *counts;
    must(tl_tenants_count(tenants, false, &counts, &err), &err);
    check_contexts(counts);
    check_sums(counts);
    tl_tenants_release(counts);
    tl_tenants_close(tenants);
    remove_files();
    return 0;
}
