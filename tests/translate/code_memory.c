// SPDX-License-Identifier: MIT
// The memory of translated code on a host that is strict. No page can ever be both written and
// executed. A host may grant no executable memory: the default engine then falls back to the
// interpreter with equal counts, and an explicit --engine translate is refused with one sentence.
//
//   code_memory TALLY PROGRAM      exit status 0: all is well, 1: it is not, 77: not x86-64 Linux
//
// The linker hands memfd_create and mmap64 (mmap, with 64-bit offsets) to this file, so that any
// one of them can be made to fail. A seccomp filter does so to TALLY.
#include "model/engine.h"

#ifdef TL_HAS_TRANSLATOR

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tally/run.h>

enum { N_HARTS = 4, CODE_CACHE_BYTES = 2 << 20, CUT = 200000, USAGE = 2 };
static const char *program;
static int null_fd;

static void die(const char *what, const char *more) {
    fprintf(stderr, "code_memory: %s: %s\n", what, more);
    exit(1);
}

// ---- calls that can be made to fail ----

static int memfd_left = -1, mmap_left = -1; // this many succeed, then all fail; -1: none fails
int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
void *__real_mmap64(void *at, size_t n_bytes, int rights, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t n_bytes, int rights, int flags, int fd, off_t offset);

static bool is_refused(int *left) {
    if (*left < 0)
        return false;
    if (*left > 0)
        *left -= 1;
    else
        return true;
    return false;
}

int __wrap_memfd_create(const char *name, unsigned flags) {
    if (is_refused(&memfd_left)) {
        errno = EPERM;
        return -1;
    }
    return __real_memfd_create(name, flags);
}

void *__wrap_mmap64(void *at, size_t n_bytes, int rights, int flags, int fd, off_t offset) {
    if ((rights & PROT_EXEC) && is_refused(&mmap_left)) {
        errno = EACCES;
        return MAP_FAILED;
    }
    return __real_mmap64(at, n_bytes, rights, flags, fd, offset);
}

// ---- what is mapped ----

typedef struct mappings {
    uint32_t n_written, n_executed; // of code memory
} mappings;

// Every page of the process: none is both. Mappings of code must all have the size asked for.
static mappings look(const char *when) {
    mappings seen = {0};
    char line[512];
    FILE *file = fopen("/proc/self/maps", "r");
    if (!file)
        die("no /proc", when);
    while (fgets(line, sizeof line, file)) {
        unsigned long begin, end;
        char rights[8];
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) != 3)
            die("maps", line);
        if (rights[1] == 'w' && rights[2] == 'x')
            die(when, line);
        bool is_named = strchr(line, '/') || strchr(line, '[');
        if (rights[2] == 'x' && !is_named)
            die("executable memory of no file", line);
        if (!strstr(line, "/memfd:"))
            continue;
        if (end - begin != CODE_CACHE_BYTES || rights[3] != 's' || rights[0] != 'r')
            die(when, line);
        if (strcmp(rights, "rw-s") == 0)
            seen.n_written++;
        else if (strcmp(rights, "r-xs") == 0)
            seen.n_executed++;
        else
            die(when, line);
    }
    fclose(file);
    return seen;
}

static void expect(uint32_t n, const char *when) {
    mappings seen = look(when);
    if (seen.n_written != n || seen.n_executed != n)
        die(when, "not one mapping to write and one to execute for each hart");
}

static atomic_bool is_over;
static atomic_uint n_looks;

static void *keep_looking(void *unused) { // while translated code is made and runs
    (void)unused;
    while (!atomic_load(&is_over)) {
        (void)look("while harts run");
        atomic_fetch_add(&n_looks, 1);
    }
    return NULL;
}

// ---- runs ----

static tl_status start(tl_engine engine, tl_run **ret_run, tl_error *err) {
    static const char *const overrides[] = {"harts=4", NULL};
    static const char *const argv[] = {"program", NULL};
    tl_run_options options;
    tl_run_options_init(&options);
    options.program = program;
    options.argv = argv;
    options.overrides = overrides;
    options.engine = engine;
    options.code_cache_bytes = CODE_CACHE_BYTES;
    options.translate_after_runs = 0;
    for (int i = 0; i < 3; i++)
        options.std_fd[i] = null_fd;
    tl_status status = tl_run_new(&options, ret_run, err);
    return status == TL_OK ? tl_run_load(*ret_run, err) : status;
}

static tl_result *finish(tl_run *run, uint32_t n_mappings) {
    tl_run_state state = TL_RUN_GOING;
    tl_result *result;
    tl_error err = {0};
    while (state != TL_RUN_ENDED) {
        if (tl_run_advance(run, CUT, &state, &err) != TL_OK)
            die("run", err.text);
        expect(n_mappings, "between two runs");
    }
    if (tl_run_result(run, &result, &err) != TL_OK || tl_result_check(result, &err) != TL_OK)
        die("result", err.text);
    tl_run_free(run);
    return result;
}

static tl_result *run_watched(void) {
    pthread_t thread;
    tl_run *run;
    tl_error err = {0};
    if (pthread_create(&thread, NULL, keep_looking, NULL) != 0)
        die("no thread", "");
    if (start(TL_ENGINE_TRANSLATE, &run, &err) != TL_OK)
        die("translate", err.text);
    tl_result *result = finish(run, N_HARTS);
    while (atomic_load(&n_looks) == 0)
        usleep(1000);
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    expect(0, "afterwards");
    return result;
}

// The host refuses after `n` grants, for some hart that is.
static void run_refused(int *left, int n, const tl_result *expected) {
    static const char sentence[] = "the host grants no memory for translated code; use --engine interp";
    tl_run *run = NULL;
    tl_error err = {0};
    *left = n;
    if (start(TL_ENGINE_TRANSLATE, &run, &err) != TL_EACCESS || strcmp(err.text, sentence) != 0)
        die("an explicit engine was not refused", err.text);
    expect(0, "after a refusal");
    *left = n;
    if (start(TL_ENGINE_FASTEST, &run, &err) != TL_OK)
        die("no way around a refusal", err.text);
    *left = -1;
    tl_result *result = finish(run, 0);
    if (tl_result_equal(expected, result, &err) != TL_OK)
        die("other counts", err.text);
    tl_result_free(result);
}

// ---- the command line, under a filter of system calls ----

// The call is not permitted from now on, to any program that this process becomes.
static void forbid_memfd(void) {
    struct sock_filter rows[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = sizeof rows / sizeof *rows, .filter = rows};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        _exit(77);
}

// The exit status; what it said on standard error is in `said`.
static int run_tally(const char *tally, const char *engine, char *said, size_t room) {
    int ends[2];
    if (pipe(ends) != 0)
        die("no pipe", "");
    pid_t child = fork();
    if (child == 0) {
        dup2(null_fd, 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        forbid_memfd();
        if (engine)
            execl(tally, tally, "stat", "-e", "instructions", "--engine", engine, "--", program, (char *)NULL);
        else
            execl(tally, tally, "stat", "-e", "instructions", "--", program, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; n + 1 < room && (got = read(ends[0], said + n, room - 1 - n)) > 0;)
        n += (size_t)got;
    said[n] = '\0';
    close(ends[0]);
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        die("tally did not end by itself", said);
    return WEXITSTATUS(status);
}

static void run_filtered(const char *tally) {
    char said[16384];
    int status = run_tally(tally, "translate", said, sizeof said);
    if (status == 77) {
        printf("no filters of system calls here: the command line was left out\n");
        return;
    }
    const char *end = strchr(said, '\n');
    if (status != USAGE || !strstr(said, "the host grants no memory for translated code; use --engine interp") || !end || end[1] != '\0')
        die("--engine translate under a filter", said);
    if (run_tally(tally, NULL, said, sizeof said) != 0 || !strstr(said, "instructions") ||
        !strstr(said, "(interp, since this host runs no translated code)"))
        die("the default engine under a filter", said);
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    program = argv[2];
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    tl_result *result = run_watched();
    for (int n = 0; n < N_HARTS; n += N_HARTS - 1) {
        run_refused(&memfd_left, n, result);
        run_refused(&mmap_left, n, result);
    }
    tl_result_free(result);
    run_filtered(argv[1]);
    printf("%u looks while harts ran\n", atomic_load(&n_looks));
    close(null_fd);
    return 0;
}

#else

int main(void) { return 77; } // this host runs no translated code

#endif
