// SPDX-License-Identifier: MIT
// Replays transcripts: accesses to a PMU's registers with the answers they must get, as somebody at
// a real machine would write them down. One step a line, # begins a comment; registers are numbers
// or names, numbers decimal or 0x.
//
//   preset u74 [xlen 32]      begins anew: a PMU of hart 0 after reset, in machine mode
//   mode M|S|U                the hart changes its privilege mode
//   advance hart0.dtlb.miss 7 the machine counts
//   write REG VALUE           a CSR instruction that does nothing else, or a store of XLEN bits
//   begin REG VALUE           the same up to where it retires
//   retire                    the rest of it: its own events are advanced between the two
//   read REG = VALUE
//   illegal read REG, illegal write REG
//   interrupts = N            overflow interrupts since the beginning
//   user MASK                 counters that user mode may read where there is no system software
#ifndef TL_MODEL_TEST_TRANSCRIPT_H
#define TL_MODEL_TEST_TRANSCRIPT_H

#include <dirent.h>
#include <stdlib.h>

#include "isa/rv/arch.h"
#include "model/test_pmu_rig.h"

typedef struct transcript {
    pmu_rig rig;
    const tl_pmu_type *type;
    const char *file;
    uint32_t line, n_steps;
} transcript;

#define TRANSCRIPT_FAIL(t, ...)                       \
    do {                                              \
        print_error("%s:%u: ", (t)->file, (t)->line); \
        fail_msg(__VA_ARGS__);                        \
    } while (0)

static inline uint64_t transcript_number(const transcript *t, const char *text) {
    char *end;
    uint64_t value = strtoull(text, &end, 0);
    if (end == text || *end != '\0')
        TRANSCRIPT_FAIL(t, "'%s' is not a number", text);
    return value;
}

static inline uint32_t transcript_reg(const transcript *t, const char *text) {
    if (*text >= '0' && *text <= '9')
        return (uint32_t)transcript_number(t, text);
    for (uint32_t i = 0; i < t->type->regmap->n_regs; i++) {
        const tl_reg *reg = &t->type->regmap->regs[i];
        for (uint32_t k = 0; k < 2 * tl_reg_count(reg); k++) {
            char name[32];
            bool is_high = k % 2 != 0;
            tl_reg_name(reg, k / 2, is_high, name, sizeof name);
            if ((!is_high || reg->high_addr != 0) && strcmp(name, text) == 0)
                return (is_high ? reg->high_addr : reg->addr) + k / 2 * (reg->stride > 0 ? reg->stride : 1);
        }
    }
    TRANSCRIPT_FAIL(t, "no register is called '%s'", text);
    return 0;
}

static inline void transcript_begin(transcript *t, const char *preset, uint32_t access_bits) {
    const tl_pmu_preset *found = tl_pmu_find_preset(t->type, preset);
    if (!found)
        TRANSCRIPT_FAIL(t, "no preset is called '%s'", preset);
    rig_done(&t->rig);
    rig_init(&t->rig);
    rig_attach(&t->rig, t->type, found, access_bits, 0);
}

static inline void transcript_step(transcript *t, uint32_t n, char *const *words) {
    pmu_rig *rig = &t->rig;
    const char *verb = words[0];
    if (strcmp(verb, "preset") == 0 && (n == 2 || n == 4)) {
        transcript_begin(t, words[1], n == 4 ? (uint32_t)transcript_number(t, words[3]) : 64);
        return;
    }
    if (!rig->pmu)
        TRANSCRIPT_FAIL(t, "a transcript begins with a preset");
    if (strcmp(verb, "mode") == 0 && n == 2) {
        rig_set_mode(rig, *words[1] == 'M' ? TL_PRIV_M : *words[1] == 'S' ? TL_PRIV_S : TL_PRIV_U);
    } else if (strcmp(verb, "advance") == 0 && n == 3) {
        tl_cell cell;
        if (tl_probe_resolve(&rig->probe, words[1], &cell) != TL_OK)
            TRANSCRIPT_FAIL(t, "no signal is called '%s'", words[1]);
        rig_advance(rig, cell, transcript_number(t, words[2]));
        rig_poll(rig);
    } else if (strcmp(verb, "write") == 0 && n == 3) {
        rig_write(rig, transcript_reg(t, words[1]), transcript_number(t, words[2]));
    } else if (strcmp(verb, "begin") == 0 && n == 3) {
        assert_true(rig_begin_write(rig, transcript_reg(t, words[1]), transcript_number(t, words[2])));
    } else if (strcmp(verb, "retire") == 0 && n == 1) {
        rig_retire(rig);
    } else if (strcmp(verb, "read") == 0 && n == 4) {
        uint64_t value, want = transcript_number(t, words[3]);
        if (!rig_read(rig, transcript_reg(t, words[1]), &value))
            TRANSCRIPT_FAIL(t, "reading %s is illegal", words[1]);
        if (value != want)
            TRANSCRIPT_FAIL(t, "%s reads 0x%llx, not 0x%llx", words[1], (unsigned long long)value, (unsigned long long)want);
    } else if (strcmp(verb, "illegal") == 0 && n == 3) {
        uint64_t value;
        uint32_t reg = transcript_reg(t, words[2]);
        if (*words[1] == 'r' ? rig_read(rig, reg, &value) : rig_begin_write(rig, reg, 0))
            TRANSCRIPT_FAIL(t, "access to %s is legal", words[2]);
    } else if (strcmp(verb, "interrupts") == 0 && n == 3) {
        if (rig->n_irqs != transcript_number(t, words[2]))
            TRANSCRIPT_FAIL(t, "there were %u interrupts", rig->n_irqs);
    } else if (strcmp(verb, "user") == 0 && n == 2) {
        rig->user_counters = (uint32_t)transcript_number(t, words[1]);
    } else {
        TRANSCRIPT_FAIL(t, "a step '%s' with %u words is not known", verb, n);
    }
    t->n_steps += 1;
}

static inline void replay_file(const tl_pmu_type *type, const char *path) {
    static transcript t; // its units point into it
    FILE *file = fopen(path, "r");
    char line[256];
    assert_non_null(file);
    memset(&t, 0, sizeof t);
    t.type = type;
    t.file = path;
    while (fgets(line, sizeof line, file)) {
        char *words[8], *rest = line;
        uint32_t n = 0;
        t.line += 1;
        line[strcspn(line, "#\n")] = '\0';
        for (char *word; (word = strsep(&rest, " \t")) != NULL && n < 8;)
            if (*word != '\0')
                words[n++] = word;
        if (n > 0)
            transcript_step(&t, n, words);
    }
    fclose(file);
    assert_true(t.n_steps > 0);
    rig_done(&t.rig);
}

// Every *.txt of a folder below the top of the tree; returns how many.
static inline uint32_t replay_folder(const tl_pmu_type *type, const char *folder) {
    const char *top = getenv("TALLY_SOURCE_ROOT");
    char path[1024];
    uint32_t n = 0;
    snprintf(path, sizeof path, "%s/%s", top ? top : ".", folder);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 4, ".txt") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", top ? top : ".", folder, entry->d_name);
        replay_file(type, path);
        n += 1;
    }
    closedir(dir);
    return n;
}

#endif
