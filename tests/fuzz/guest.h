// SPDX-License-Identifier: MIT
// Any bytes as the code of a Linux program, for fuzz targets that say of which instruction set
// (kind_of_guest). Tally must not crash, the conservation identities must hold, and every engine
// must end the run alike with equal counts. The program sees an empty folder as root and /dev/null
// as standard streams. Input: one byte of choices, then code and data.
#ifndef TL_TESTS_FUZZ_GUEST_H
#define TL_TESTS_FUZZ_GUEST_H

#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tally/run.h>

enum {
    MAX_INSNS = 20000,
    MAX_CODE_BYTES = 16 << 10,
    CODE = 0x10000,
    // Zeros. Code is read-only, because execution of changed code without FENCE.I is unspecified.
    DATA = 0x20000,
    DATA_BYTES = 64 << 10,
    MAX_PROLOGUE = 8,
};

// Choices: two bits for the engine (blocks, translator, both, both), two harts, the machine, two
// bits for how a run is cut.
enum { CHOOSE_ENGINE = 3, CHOOSE_HARTS = 4, CHOOSE_TINY = 8, CHOOSE_CUT_SHIFT = 4, CHOOSE_CUT = 3 };

// The instruction set of the programs. The prologue runs before the input, so that random code
// reaches something.
typedef struct guest_kind {
    uint16_t elf_machine;
    uint32_t elf_flags;
    const uint32_t *prologue;
    size_t n_prologue;
    const char *machine, *small_machine;
    const char *small[10]; // settings of the small machine, up to NULL
    bool is_translated;    // an engine translates it
} guest_kind;
static const guest_kind kind_of_guest;

static int null_fd = -1;
static char root[64];
static const char PROGRAM[] = "/program";

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *place) {
    (void)st, (void)kind;
    if (place->level > 0)
        (void)remove(path);
    return 0;
}

static void empty_root(void) {
    (void)chmod(root, 0700);
    (void)nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void leave(void) {
    empty_root();
    (void)rmdir(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void start(void) {
    const char *folder = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/fuzz-guest-XXXXXX", folder && strlen(folder) < 32 ? folder : "/tmp");
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null_fd < 0 || !mkdtemp(root))
        abort();
    atexit(leave);
    signal(SIGXFSZ, SIG_IGN);
    // A program that asks for a huge file does not get it.
    struct rlimit limit = {UINT64_C(1) << 30, UINT64_C(1) << 30};
    (void)setrlimit(RLIMIT_FSIZE, &limit);
}

// Puts the program into the root folder, which is emptied.
static void make_program(const uint8_t *code, size_t n) {
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segments[2];
        uint32_t prologue[MAX_PROLOGUE];
    } front = {
        .header =
            {
                .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                .e_type = ET_EXEC,
                .e_machine = kind_of_guest.elf_machine,
                .e_version = EV_CURRENT,
                .e_entry = CODE + sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr),
                .e_phoff = sizeof(Elf64_Ehdr),
                .e_flags = kind_of_guest.elf_flags,
                .e_ehsize = sizeof(Elf64_Ehdr),
                .e_phentsize = sizeof(Elf64_Phdr),
                .e_phnum = 2,
            },
        .segments =
            {
                {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = CODE, .p_align = 4096},
                {.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = DATA, .p_memsz = DATA_BYTES, .p_align = 4096},
            },
    };
    const size_t n_prologue = kind_of_guest.n_prologue * sizeof front.prologue[0];
    memcpy(front.prologue, kind_of_guest.prologue, n_prologue);
    size_t n_front = sizeof front.header + sizeof front.segments + n_prologue;
    front.segments[0].p_filesz = front.segments[0].p_memsz = n_front + n;
    char path[80];
    snprintf(path, sizeof path, "%s%s", root, PROGRAM);
    empty_root();
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (fd < 0 || write(fd, &front, n_front) != (ssize_t)n_front || write(fd, code, n) != (ssize_t)n || close(fd) != 0)
        abort();
}

// The result of one run, or NULL when it could not be started.
static tl_result *run_once(const uint8_t *data, size_t size, tl_engine engine) {
    static const uint64_t cuts[] = {UINT64_MAX, 10007, 997, 101};
    const char *const argv[] = {"program", "argument", NULL};
    uint8_t choices = data[0];
    const bool is_small = choices & CHOOSE_TINY;
    const char *overrides[3 + sizeof kind_of_guest.small / sizeof kind_of_guest.small[0]] = {
        "ram=16MiB", choices & CHOOSE_HARTS ? "harts=2" : "harts=1"};
    for (size_t i = 0; is_small && kind_of_guest.small[i]; i++)
        overrides[2 + i] = kind_of_guest.small[i];
    tl_run_options options;
    tl_run_options_init(&options);
    options.program = PROGRAM;
    options.argv = argv;
    options.sysroot = options.root = root;
    for (int i = 0; i < 3; i++)
        options.std_fd[i] = null_fd;
    options.machine = is_small ? kind_of_guest.small_machine : kind_of_guest.machine;
    options.overrides = overrides;
    options.engine = engine;
    options.max_insns = MAX_INSNS;
    // A machine with two events is built more quickly. The identities cover every signal anyway.
    options.events = "cycles,instructions";

    make_program(data + 1, size - 1);
    tl_run *run = NULL;
    tl_result *result = NULL;
    tl_error err = {TL_OK, ""};
    if (tl_run_new(&options, &run, &err) != TL_OK || tl_run_load(run, &err) != TL_OK) {
        if (!err.text[0])
            abort(); // refused without a word
        // Only an x86-64 host has this engine.
        if (err.status != TL_EINVAL || engine != TL_ENGINE_TRANSLATE) {
            fprintf(stderr, "%s\n", err.text);
            abort();
        }
        tl_run_free(run);
        return NULL;
    }
    tl_run_state state = TL_RUN_GOING;
    while (state != TL_RUN_ENDED) {
        if (tl_run_advance(run, cuts[choices >> CHOOSE_CUT_SHIFT & CHOOSE_CUT], &state, &err) != TL_OK) {
            fprintf(stderr, "%s\n", err.text);
            abort();
        }
    }
    if (tl_run_result(run, &result, &err) != TL_OK || tl_result_check(result, &err) != TL_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    tl_run_free(run);
    return result;
}

static void compare(const uint8_t *data, size_t size, tl_engine engine, const tl_result *expected) {
    tl_result *result = run_once(data, size, engine);
    tl_error err, again = {TL_OK, ""};
    if (result && tl_result_equal(expected, result, &err) != TL_OK) {
        // A program that reads file times may act differently each time.
        tl_result *second = run_once(data, size, TL_ENGINE_STEP);
        if (tl_result_equal(expected, second, &again) == TL_OK) {
            fprintf(stderr, "engines disagree: %s\n", err.text);
            abort();
        }
        tl_result_free(second);
    }
    tl_result_free(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (null_fd < 0)
        start();
    if (size < 1 || size > MAX_CODE_BYTES)
        return 0;
    uint8_t choices = data[0];
    tl_result *expected = run_once(data, size, TL_ENGINE_STEP);
    if ((choices & CHOOSE_ENGINE) != 1 || !kind_of_guest.is_translated)
        compare(data, size, TL_ENGINE_BLOCK, expected);
    if ((choices & CHOOSE_ENGINE) != 0 && kind_of_guest.is_translated)
        compare(data, size, TL_ENGINE_TRANSLATE, expected);
    tl_result_free(expected);
    return 0;
}

#endif
