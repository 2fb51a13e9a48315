// SPDX-License-Identifier: MIT
// Starting programs. A new address space is built aside. It takes the old one's place only when it
// is complete. A failing execve therefore leaves its caller unchanged. The stack is laid out as
// Linux does (fs/binfmt_elf.c). From the top there are the strings, the auxiliary vector,
// environment, arguments and their number, 16-byte aligned.
#include "linux/process/exec.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "linux/call/syscall.h"
#include "linux/isa.h"
#include "linux/memory/frames.h"
#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"
#include "linux/perf/perf_event.h"
#include "linux/process/futex.h"
#include "linux/process/symbol.h"
#include "loader/elf.h"

enum { MAX_SCRIPT_DEPTH = 4, SCRIPT_LINE_BYTES = 256, MAX_STRING_BYTES = 131072 };

typedef struct strings { // argv or envp, one NUL-terminated string after the other
    char *bytes;
    size_t n_bytes, capacity, n;
} strings;

static bool strings_add(strings *s, const char *text, size_t n) { // n without the NUL
    if (s->capacity - s->n_bytes < n + 1) {
        size_t wanted = 2 * s->capacity + n + 256;
        char *grown = realloc(s->bytes, wanted);
        if (!grown)
            return false;
        s->bytes = grown;
        s->capacity = wanted;
    }
    memcpy(s->bytes + s->n_bytes, text, n);
    s->bytes[s->n_bytes + n] = '\0';
    s->n_bytes += n + 1;
    ++s->n;
    return true;
}

static void strings_done(strings *s) { free(s->bytes); }

// Takes the first string away and puts others in its place.
static bool strings_replace_first(strings *s, const char *const *texts, size_t n_texts) {
    strings changed = {0};
    bool is_complete = true;
    for (size_t i = 0; i < n_texts; ++i)
        is_complete = is_complete && strings_add(&changed, texts[i], strlen(texts[i]));
    const char *rest = s->n ? s->bytes + strlen(s->bytes) + 1 : s->bytes;
    for (size_t i = 1; i < s->n; ++i, rest += strlen(rest) + 1)
        is_complete = is_complete && strings_add(&changed, rest, strlen(rest));
    strings_done(is_complete ? s : &changed);
    if (is_complete)
        *s = changed;
    return is_complete;
}

typedef struct image {    // the program to start
    tl_file *file;        // held
    tl_file *interpreter; // held; NULL: static
    tl_elf elf, interpreter_elf;
    char path[4096];       // as it was named
    char fixed_path[4096]; // of the first program, below its folder's fixed name; "": none
    // AT_EXECFN is `path`, but argv[0] for the first program. The name that a user typed for the
    // file then does not move the stack.
    const char *execfn;
    strings argv, envp;
} image;

static void image_done(tl_os *os, image *im) {
    tl_file_unref(os, im->file);
    tl_file_unref(os, im->interpreter);
    strings_done(&im->argv);
    strings_done(&im->envp);
}

// ---- Finding out what it is.

// "#!interpreter argument": cuts the line. false: it is not one, or names nothing.
static bool parse_script(char *line, char **ret_interpreter, char **ret_argument) {
    if (line[0] != '#' || line[1] != '!')
        return false;
    line[strcspn(line, "\n")] = '\0';
    char *at = line + 2 + strspn(line + 2, " \t");
    size_t n = strlen(at);
    while (n > 0 && (at[n - 1] == ' ' || at[n - 1] == '\t'))
        at[--n] = '\0';
    size_t name = strcspn(at, " \t");
    *ret_interpreter = at;
    *ret_argument = NULL;
    if (at[name]) {
        at[name] = '\0';
        *ret_argument = at + name + 1 + strspn(at + name + 1, " \t");
    }
    return at[0] != '\0';
}

static int64_t fail(tl_error *err, tl_status status, int64_t number, const char *sentence, const char *name, const char *other) {
    (void)tl_fail(err, status, sentence, name, other);
    return -number;
}

static int64_t open_failed(tl_thread *t, tl_error *err, const char *path, int64_t result) {
    const char *root = t->os->options.root;
    tl_file *file;
    int64_t again;
    switch (-result) {
    case ENOENT:
    case ENOTDIR:
        if (root)
            (void)tl_fail(err, TL_ENOENT, "%s: no such file under --root %s, below which the program is looked up, too", path, root);
        else
            (void)tl_fail(err, TL_ENOENT, "%s: no such file; check the path", path);
        break;
    case EACCES: // which of the three it is
        again = tl_file_open_program(t, AT_FDCWD, path, 0, false, &file);
        if (again == 0) {
            tl_file_unref(t->os, file);
            (void)tl_fail(err, TL_EACCESS, "%s: not marked executable; chmod +x it", path);
        } else {
            (void)tl_fail(err, TL_EACCESS, "%s: not a program but a folder or device, or permission denied; name an executable file", path);
        }
        break;
    default: (void)tl_fail(err, TL_EIO, "%s: %s", path, strerror((int)-result)); break;
    }
    return result;
}

static bool is_for_machine(const tl_os *os, const tl_elf *elf, const char *name, tl_error *err) {
    const tl_os_isa *own = tl_os_isa_of(os), *its = tl_os_isa_of_elf(elf->machine);
    if (its == own)
        return true;
    (void)tl_fail(err, TL_EFORMAT, "%s: %s program, but machine %s executes %s programs; choose a machine for it, such as --machine %s",
                  name, its->name, os->machine->config.name, own->name, its->default_machine);
    return false;
}

static int64_t find_interpreter(tl_thread *t, image *im, tl_error *err) {
    const char *wanted = im->elf.interpreter;
    tl_file_source source;
    int64_t result = tl_file_open_program(t, AT_FDCWD, wanted, 0, true, &im->interpreter);
    if (result < 0) {
        (void)tl_fail(err, TL_ENOENT,
                      "%s: its dynamic loader %s was not found, neither under the sysroot %s nor as it is; name a directory that has it "
                      "with --sysroot, or link the program with -static",
                      im->path, wanted, t->os->options.sysroot);
        return result == -ENOMEM ? result : -ENOENT;
    }
    tl_file_source_init(&source, t->os, im->interpreter, wanted);
    if (tl_elf_read(&source.source, &im->interpreter_elf, err) != TL_OK || !is_for_machine(t->os, &im->interpreter_elf, wanted, err))
        return -ELIBBAD;
    if (!im->interpreter_elf.is_relocatable)
        return fail(err, TL_EFORMAT, ELIBBAD, "%s: its dynamic loader %s is not position-independent", im->path, wanted);
    return 0;
}

// Reads im->file, whose reference it takes, and im->path. On success im->file is an ELF program,
// scripts have become their interpreters.
static int64_t identify(tl_thread *t, image *im, tl_error *err) {
    tl_os *os = t->os;
    char script[128];
    bool is_script = false;
    for (int depth = 0;; ++depth) {
        char line[SCRIPT_LINE_BYTES + 1] = {0}, *interpreter, *argument;
        int64_t n = tl_file_pread(os, im->file, line, SCRIPT_LINE_BYTES, 0);
        if (n < 0)
            return fail(err, TL_EIO, -n, "%s: cannot be read%s", im->path, "");
        if (!parse_script(line, &interpreter, &argument))
            break;
        if (depth == MAX_SCRIPT_DEPTH)
            return fail(err, TL_EFORMAT, ELOOP, "%s: scripts that run scripts, too deep%s", im->path, "");
        if (!is_script)
            snprintf(script, sizeof script, "%.120s", im->path);
        is_script = true;
        // A script does not see names of the host's folders.
        const char *name = depth == 0 && im->path[0] == '/' && im->fixed_path[0] && !os->options.root ? im->fixed_path : im->path;
        const char *replacement[3] = {interpreter, argument ? argument : name, name};
        if (!strings_replace_first(&im->argv, replacement, argument ? 3 : 2))
            return -ENOMEM;
        tl_file *next;
        int64_t result = tl_file_open_program(t, AT_FDCWD, interpreter, 0, true, &next);
        if (result < 0)
            return fail(err, result == -EACCES ? TL_EACCESS : TL_ENOENT, -result, "%s: its interpreter %s cannot be run", im->path,
                        interpreter);
        tl_file_unref(os, im->file);
        im->file = next;
        snprintf(im->path, sizeof im->path, "%s", interpreter);
    }
    tl_file_source source;
    char name[300];
    if (is_script)
        snprintf(name, sizeof name, "%.120s (the interpreter of %.120s)", im->path, script);
    tl_file_source_init(&source, os, im->file, is_script ? name : im->path);
    if (tl_elf_read(&source.source, &im->elf, err) != TL_OK || !is_for_machine(os, &im->elf, source.source.name, err))
        return -ENOEXEC;
    return im->elf.interpreter[0] ? find_interpreter(t, im, err) : 0;
}

// ---- The new address space.

static int64_t map_segment(tl_vm *vm, tl_file *file, const tl_elf_segment *segment, uint64_t bias) {
    uint64_t start = segment->vaddr + bias, page = tl_align_down(start, TL_PAGE_BYTES), file_end = start + segment->file_bytes;
    uint64_t mapped_end = segment->file_bytes ? tl_align_up(file_end, TL_PAGE_BYTES) : page;
    uint64_t end = tl_align_up(start + segment->memory_bytes, TL_PAGE_BYTES);
    tl_map map = {.vaddr = page,
                  .prot = segment->prot,
                  .max_prot = TL_PROT_READ | TL_PROT_WRITE | TL_PROT_EXEC,
                  .kind = TL_VMA_FILE,
                  .flags = TL_MAP_FIXED | TL_MAP_BELOW_MIN};
    if (segment->file_bytes) {
        map.bytes = mapped_end - page;
        map.file = file;
        map.offset = tl_align_down(segment->offset, TL_PAGE_BYTES);
        int64_t result = tl_vm_map(vm, &map);
        if (result < 0)
            return result;
        // The last page is zero after the bytes of the file if the page is writable.
        if (segment->memory_bytes > segment->file_bytes && (segment->prot & TL_PROT_WRITE) && mapped_end > file_end &&
            !tl_vm_space_zero(vm, file_end, mapped_end - file_end))
            return -EFAULT;
    }
    if (end > mapped_end) {
        map = (tl_map){.vaddr = mapped_end,
                       .bytes = end - mapped_end,
                       .prot = segment->prot,
                       .max_prot = TL_PROT_READ | TL_PROT_WRITE | TL_PROT_EXEC,
                       .kind = TL_VMA_ANON,
                       .flags = TL_MAP_FIXED | TL_MAP_BELOW_MIN};
        int64_t result = tl_vm_map(vm, &map);
        if (result < 0)
            return result;
    }
    return 0;
}

static int64_t map_elf(tl_vm *vm, tl_file *file, const tl_elf *elf, uint64_t bias) {
    for (uint32_t i = 0; i < elf->n_segments; ++i) {
        int64_t result = map_segment(vm, file, &elf->segments[i], bias);
        if (result < 0)
            return result;
    }
    return 0;
}

// A relocatable file where there is room for it.
static int64_t map_interpreter(tl_vm *vm, const image *im, uint64_t *ret_bias) {
    const tl_elf *elf = &im->interpreter_elf;
    uint64_t first = tl_align_down(elf->first_vaddr, TL_PAGE_BYTES);
    tl_map map = {.bytes = elf->end_vaddr - first, .kind = TL_VMA_ANON};
    int64_t at = tl_vm_map(vm, &map);
    if (at < 0)
        return at;
    (void)tl_vm_unmap(vm, (uint64_t)at, (uint64_t)at + tl_align_up(map.bytes, TL_PAGE_BYTES));
    *ret_bias = (uint64_t)at - first;
    return map_elf(vm, im->interpreter, elf, *ret_bias);
}

static int64_t map_trampoline(tl_vm *vm) {
    const uint32_t *code = tl_os_isa_of(vm->os)->trampoline;
    tl_map map = {.vaddr = TL_TRAMPOLINE_VADDR,
                  .bytes = TL_PAGE_BYTES,
                  .prot = TL_PROT_READ | TL_PROT_WRITE | TL_PROT_EXEC,
                  .max_prot = TL_PROT_READ | TL_PROT_EXEC,
                  .kind = TL_VMA_TRAMPOLINE,
                  .flags = TL_MAP_FIXED};
    int64_t result = tl_vm_map(vm, &map);
    if (result < 0)
        return result;
    if (!tl_vm_space_write(vm, TL_TRAMPOLINE_VADDR, code, sizeof tl_os_isa_of(vm->os)->trampoline))
        return -ENOMEM;
    return tl_vm_protect(vm, TL_TRAMPOLINE_VADDR, TL_TRAMPOLINE_VADDR + TL_PAGE_BYTES, TL_PROT_READ | TL_PROT_EXEC);
}

static int64_t map_stack(tl_vm *vm, const tl_rlimit *limit, bool is_executable) {
    uint64_t bytes = limit->soft, gap;
    if (bytes > TL_USER_END / 6 * 5)
        bytes = TL_USER_END / 6 * 5;
    gap = bytes + TL_STACK_GUARD < TL_STACK_GAP_MIN ? TL_STACK_GAP_MIN : tl_align_up(bytes + TL_STACK_GUARD, TL_PAGE_BYTES);
    vm->stack_limit_bytes = bytes < TL_PAGE_BYTES ? TL_PAGE_BYTES : tl_align_down(bytes, TL_PAGE_BYTES);
    vm->mmap_top = TL_STACK_TOP - gap;
    tl_map map = {.vaddr = TL_STACK_TOP - TL_PAGE_BYTES,
                  .bytes = TL_PAGE_BYTES,
                  .prot = (uint8_t)(TL_PROT_READ | TL_PROT_WRITE | (is_executable ? TL_PROT_EXEC : 0)),
                  .max_prot = TL_PROT_READ | TL_PROT_WRITE | TL_PROT_EXEC,
                  .kind = TL_VMA_STACK,
                  .flags = TL_MAP_FIXED};
    int64_t result = tl_vm_map(vm, &map);
    return result < 0 ? result : 0;
}

typedef struct placed { // where things went
    tl_vm *vm;
    uint64_t bias, interpreter_base, entry, sp;
    uint64_t arg_start, arg_end, env_start, env_end, auxv_start, auxv_end;
} placed;

enum { N_AUXV = 20, MINSIGSTKSZ_TAG = 51 }; // AT_MINSIGSTKSZ

typedef struct texts { // where they are on the stack
    uint64_t random, platform, execfn;
} texts;

static size_t fill_auxv(const tl_os *os, const image *im, const placed *at, const texts *of, uint64_t *ret_words) {
    const tl_os_isa *isa = tl_os_isa_of(os);
    uint64_t auxv[N_AUXV][2] = {
        {AT_HWCAP, isa->hwcap},
        {AT_PAGESZ, TL_PAGE_BYTES},
        {AT_CLKTCK, 100},
        {AT_PHDR, im->elf.phdr_vaddr ? im->elf.phdr_vaddr + at->bias : 0},
        {AT_PHENT, 56},
        {AT_PHNUM, im->elf.n_phdrs},
        {AT_BASE, at->interpreter_base},
        {AT_FLAGS, 0},
        {AT_ENTRY, im->elf.entry + at->bias},
        {AT_UID, TL_UID},
        {AT_EUID, TL_UID},
        {AT_GID, TL_GID},
        {AT_EGID, TL_GID},
        {AT_SECURE, 0},
        {AT_RANDOM, of->random},
        {AT_HWCAP2, 0},
        {AT_EXECFN, of->execfn},
    };
    size_t n = 17;
    if (isa->platform) {
        auxv[n][0] = AT_PLATFORM;
        auxv[n++][1] = of->platform;
    }
    if (isa->frame_hint != 0) {
        auxv[n][0] = MINSIGSTKSZ_TAG;
        auxv[n++][1] = isa->frame_hint;
    }
    n += 1; // AT_NULL
    memcpy(ret_words, auxv, n * sizeof *auxv);
    return n;
}

static int64_t build_stack(tl_os *os, const image *im, placed *at) {
    uint64_t random[2], top = TL_STACK_TOP - 8, execfn, random_vaddr, platform, *words, n = 0;
    const tl_os_isa *isa = tl_os_isa_of(os);
    const char *name = im->execfn ? im->execfn : im->path;
    size_t path_bytes = strlen(name) + 1;
    execfn = top - path_bytes;
    at->env_end = execfn;
    at->env_start = at->arg_end = at->env_end - im->envp.n_bytes;
    at->arg_start = at->arg_end - im->argv.n_bytes;
    random_vaddr = tl_align_down(at->arg_start, 16) - 16;
    platform = isa->platform ? random_vaddr - tl_align_up(strlen(isa->platform) + 1, 16) : random_vaddr;
    tl_os_random(os, random, sizeof random);
    if (!tl_vm_space_write(at->vm, execfn, name, path_bytes) ||
        !tl_vm_space_write(at->vm, at->env_start, im->envp.bytes, im->envp.n_bytes) ||
        !tl_vm_space_write(at->vm, at->arg_start, im->argv.bytes, im->argv.n_bytes) ||
        !tl_vm_space_write(at->vm, random_vaddr, random, sizeof random) ||
        (isa->platform && !tl_vm_space_write(at->vm, platform, isa->platform, strlen(isa->platform) + 1)))
        return -E2BIG;

    words = malloc((im->argv.n + im->envp.n + 3 + 2 * N_AUXV) * sizeof *words);
    if (!words)
        return -ENOMEM;
    words[n++] = im->argv.n;
    uint64_t vaddr = at->arg_start;
    const char *text = im->argv.bytes;
    for (size_t i = 0; i < im->argv.n; ++i, vaddr += strlen(text) + 1, text += strlen(text) + 1)
        words[n++] = vaddr;
    words[n++] = 0;
    vaddr = at->env_start;
    text = im->envp.bytes;
    for (size_t i = 0; i < im->envp.n; ++i, vaddr += strlen(text) + 1, text += strlen(text) + 1)
        words[n++] = vaddr;
    words[n++] = 0;
    const size_t n_auxv = fill_auxv(os, im, at, &(texts){.random = random_vaddr, .platform = platform, .execfn = execfn}, words + n);
    n += 2 * n_auxv;
    at->sp = tl_align_down(platform - n * sizeof *words, 16);
    at->auxv_end = at->sp + n * sizeof *words;
    at->auxv_start = at->auxv_end - 2 * n_auxv * sizeof *words;
    bool is_written = tl_vm_space_write(at->vm, at->sp, words, n * sizeof *words);
    free(words);
    return is_written ? 0 : -E2BIG;
}

// Everything in a new space. On failure nothing is left of it.
static int64_t place(tl_thread *t, const image *im, placed *at) {
    const tl_elf *elf = &im->elf;
    const tl_rlimit *stack_limit = &t->process->limits[RLIMIT_STACK];
    uint64_t room = stack_limit->soft / 4 < (UINT64_C(6) << 20) ? stack_limit->soft / 4 : UINT64_C(6) << 20;
    if (im->argv.n_bytes + im->envp.n_bytes + 8 * (im->argv.n + im->envp.n) > (room < MAX_STRING_BYTES ? MAX_STRING_BYTES : room))
        return -E2BIG;
    *at = (placed){.vm = tl_vm_new(t->os)};
    if (!at->vm)
        return -ENOMEM;
    if (elf->is_relocatable)
        at->bias = tl_align_up(TL_PIE_BASE, elf->align_bytes) - tl_align_down(elf->first_vaddr, elf->align_bytes);
    int64_t result =
        elf->end_vaddr + at->bias > TL_STACK_TOP - TL_STACK_GAP_MIN ? -ENOMEM : map_stack(at->vm, stack_limit, elf->wants_executable_stack);
    if (result == 0)
        result = map_elf(at->vm, im->file, elf, at->bias);
    if (result == 0)
        result = map_trampoline(at->vm);
    at->entry = elf->entry + at->bias;
    if (result == 0 && im->interpreter) {
        result = map_interpreter(at->vm, im, &at->interpreter_base);
        at->entry = im->interpreter_elf.entry + at->interpreter_base;
    }
    at->vm->brk_start = at->vm->brk_end = tl_align_up(elf->end_vaddr + at->bias, TL_PAGE_BYTES);
    if (result == 0)
        result = build_stack(t->os, im, at);
    if (result < 0 && at->vm->is_out_of_memory)
        result = -ENOMEM;
    if (result < 0)
        tl_vm_unref(at->vm);
    return result;
}

// ---- Taking over.

static void set_comm(tl_thread *t, const char *path) {
    const char *slash = strrchr(path, '/');
    memset(t->comm, 0, sizeof t->comm);
    memcpy(t->comm, slash ? slash + 1 : path, strnlen(slash ? slash + 1 : path, sizeof t->comm - 1));
}

static void reset_signals(tl_process *p) {
    if (p->actions->n_refs > 1) { // shared by CLONE_SIGHAND
        tl_sigactions *own = tl_sigactions_new();
        if (own) {
            memcpy(own->action, p->actions->action, sizeof own->action);
            tl_sigactions_unref(p->actions);
            p->actions = own;
        }
    }
    for (int signal = 1; signal <= TL_N_SIGNALS; ++signal) {
        tl_sigaction *action = &p->actions->action[signal];
        *action = (tl_sigaction){.handler = action->handler == (uint64_t)(uintptr_t)SIG_IGN ? action->handler : 0};
    }
}

static bool own_files(tl_thread *t) {
    tl_files *own = tl_files_copy(t->os, t->files);
    if (!own)
        return false;
    tl_files_unref(t->os, t->files);
    t->files = own;
    return true;
}

// From here on there is no way back.
static void take_over(tl_thread *t, const image *im, const placed *at) {
    tl_process *p = t->process;
    tl_os *os = t->os;
    bool was_vfork_child = p->is_vfork_child;
    for (tl_thread *other = p->threads, *next; other; other = next) {
        next = other->next_in_process;
        if (other != t)
            tl_thread_end(other);
    }
    t->tid = p->pid;
    tl_futex_thread_done(t);
    if (p->vm) {
        if (p->vm->max_resident_pages << TL_PAGE_LOG2 > p->max_resident_bytes)
            p->max_resident_bytes = p->vm->max_resident_pages << TL_PAGE_LOG2;
        tl_vm_unref(p->vm);
    }
    p->vm = at->vm;
    if (was_vfork_child)
        tl_process_vfork_done(p);
    reset_signals(p);
    t->altstack_vaddr = t->altstack_bytes = 0;
    t->altstack_flags = 0;
    t->has_saved_blocked = false;
    tl_time_process_exec(p);
    tl_files_close_on_exec(os, t->files);
    set_comm(t, im->path);
    p->did_exec = true;
    uint32_t kept_pmus = p->granted_pmus & tl_sched_granted_pmus(os, true);
    if (kept_pmus != p->granted_pmus) {
        p->granted_pmus = kept_pmus;
        tl_sched_pmus_changed(t);
    }
    p->exit_signal = SIGCHLD;
    p->fault = (tl_fault_note){0};
    tl_file *old_exe = p->exe_file;
    p->exe_file = tl_file_ref(im->file);
    tl_file_unref(os, old_exe);
    const char *path = tl_file_path(im->file);
    free(p->exe_path);
    p->exe_path = strdup(path[0] ? path : im->path);
    p->load_bias = at->bias;
    p->arg_start = at->arg_start;
    p->arg_end = at->arg_end;
    p->env_start = at->env_start;
    p->env_end = at->env_end;
    p->auxv_start = at->auxv_start;
    p->auxv_end = at->auxv_end;
}

// Warns of a program for another machine, once. Without --root an absolute path such as /bin/sh
// names a host program. execve returns ENOEXEC, and most guest programs do not print that error.
static void say_foreign(tl_os *os, const image *im) {
    enum { MACHINE_OFFSET = 18 };
    uint8_t header[MACHINE_OFFSET + 2];
    if (os->has_warned_foreign || tl_file_pread(os, im->file, header, sizeof header, 0) != sizeof header ||
        memcmp(header, "\177ELF", 4) != 0 ||
        (header[MACHINE_OFFSET] | header[MACHINE_OFFSET + 1] << 8) == tl_os_isa_of(os)->isa->elf_machine)
        return;
    os->has_warned_foreign = true;
    const tl_os_isa *isa = tl_os_isa_of(os);
    tl_os_warn(os, "the program executed %.150s, which is not %s program; it was told ENOEXEC; %s %s programs%s (docs/userlands.md)",
               im->path, isa->title, os->options.root ? "put" : "give it a folder of", isa->name,
               os->options.root ? " into the folder of --root" : " with --root DIR");
}

// Events that wait for the exec begin to count; records name the program and its code.
static void tell_perf(tl_thread *t) {
    tl_pev_exec(t);
    tl_pev_note_comm(t, true);
    for (const tl_vma *area = tl_vm_first(t->process->vm); area; area = area->next)
        if (area->file && (area->prot & TL_PROT_EXEC))
            tl_pev_note_mmap(t, area->start, area->end - area->start, area->prot, MAP_PRIVATE, area->offset, area->file);
}

static int64_t exec(tl_thread *t, image *im) {
    placed at;
    int64_t result = identify(t, im, NULL);
    if (result == -ENOEXEC)
        say_foreign(t->os, im);
    if (result < 0)
        return result;
    if (im->argv.n == 0 && !strings_add(&im->argv, "", 0)) // as Linux does since 5.18
        return -ENOMEM;
    if (!own_files(t))
        return -ENOMEM;
    result = place(t, im, &at);
    if (result < 0)
        return result;
    take_over(t, im, &at);
    tl_hart *h = t->hart;
    tl_registers registers;
    tl_os_isa_of(t->os)->start(&registers, at.sp);
    tl_os_isa_of(t->os)->load(h, &registers);
    h->pc = at.entry;
    tl_sched_space_changed(t);
    tl_os_count(t->os, TL_S_OS_EXEC, 1);
    if (t->os->perf)
        tell_perf(t);
    return TL_SYS_NO_RESULT;
}

// ---- System calls.

static int64_t import_strings(tl_process *p, uint64_t vaddr, strings *to) {
    char *text = malloc(MAX_STRING_BYTES);
    int64_t result = text ? 0 : -ENOMEM;
    for (uint64_t pointer = 1; result >= 0 && vaddr; vaddr += sizeof pointer) {
        if (!tl_vm_read(p, vaddr, &pointer, sizeof pointer)) {
            result = -EFAULT;
            break;
        }
        if (pointer == 0)
            break;
        int64_t n = tl_vm_read_string(p, pointer, text, MAX_STRING_BYTES);
        if (n < 0)
            result = n == -ENAMETOOLONG ? -E2BIG : n;
        else if (to->n_bytes > (UINT64_C(6) << 20))
            result = -E2BIG;
        else if (!strings_add(to, text, (size_t)n))
            result = -ENOMEM;
    }
    free(text);
    return result;
}

static int64_t exec_at(tl_thread *t, int32_t dirfd, uint64_t path_vaddr, uint64_t argv_vaddr, uint64_t envp_vaddr, int flags) {
    image *im = calloc(1, sizeof *im);
    if (!im)
        return -ENOMEM;
    int64_t result = tl_vm_read_string(t->process, path_vaddr, im->path, sizeof im->path);
    if (result == 0 && !(flags & AT_EMPTY_PATH))
        result = -ENOENT;
    if (result >= 0)
        result = tl_file_open_program(t, dirfd, im->path, flags, true, &im->file);
    if (result >= 0 && im->path[0] == '\0')
        snprintf(im->path, sizeof im->path, "/dev/fd/%d", dirfd);
    if (result >= 0)
        result = import_strings(t->process, argv_vaddr, &im->argv);
    if (result >= 0)
        result = import_strings(t->process, envp_vaddr, &im->envp);
    if (result >= 0)
        result = exec(t, im);
    image_done(t->os, im);
    free(im);
    return result;
}

int64_t tl_sys_execve(tl_thread *t, const uint64_t args[6]) { return exec_at(t, AT_FDCWD, args[0], args[1], args[2], 0); }

int64_t tl_sys_execveat(tl_thread *t, const uint64_t args[6]) {
    int flags = (int)args[4];
    if (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
        return -EINVAL;
    return exec_at(t, (int32_t)args[0], args[1], args[2], args[3], flags);
}

// ---- The first program.

static tl_status no_memory(const tl_os *os, const char *program, tl_error *err) {
    return tl_fail(err, TL_ENOMEM, "%s: no memory to load it; give the machine more RAM than %" PRIu64 " MiB", program,
                   tl_frames_total(os->frames) << TL_PAGE_LOG2 >> 20);
}

static tl_status status_of(const tl_error *err, int64_t result) {
    if (err->status != TL_OK)
        return err->status;
    return result == -ENOMEM ? TL_ENOMEM : result == -EACCES ? TL_EACCESS : result == -ENOENT ? TL_ENOENT : TL_EFORMAT;
}

static int64_t load_first(tl_thread *t, image *im, char *const *argv, char *const *envp, tl_error *err) {
    for (; argv && *argv; ++argv)
        if (!strings_add(&im->argv, *argv, strlen(*argv)))
            return -ENOMEM;
    for (; envp && *envp; ++envp)
        if (!strings_add(&im->envp, *envp, strlen(*envp)))
            return -ENOMEM;
    if (im->argv.n == 0 && !strings_add(&im->argv, im->path, strlen(im->path)))
        return -ENOMEM;
    if (!tl_file_system_name_program(t, im->path, im->fixed_path))
        im->fixed_path[0] = '\0';
    int64_t result = tl_file_open_program(t, AT_FDCWD, im->fixed_path[0] ? im->fixed_path : im->path, 0, true, &im->file);
    if (result < 0)
        return open_failed(t, err, im->path, result);
    result = identify(t, im, err);
    placed at;
    if (result == 0)
        result = place(t, im, &at);
    if (result == -E2BIG)
        return fail(err, TL_EINVAL, E2BIG, "%s: its arguments and environment are too long%s", im->path, "");
    if (result < 0)
        return result;
    take_over(t, im, &at);
    tl_os_isa_of(t->os)->start(&t->registers, at.sp);
    t->pc = at.entry;
    return 0;
}

tl_status tl_exec_first(tl_os *os, const tl_os_program *program, tl_error *err) {
    tl_error local = {.status = TL_OK};
    tl_process *p = tl_process_new(os, NULL);
    tl_thread *t = p ? tl_thread_new(p, p->pid) : NULL;
    image *im = calloc(1, sizeof *im);
    int64_t result = -ENOMEM;
    if (p)
        p->context = os->n_contexts;
    if (t && im) {
        p->actions = tl_sigactions_new();
        t->files = tl_files_new(os, program->std_fd);
        t->fs = tl_fs_new(os);
        snprintf(im->path, sizeof im->path, "%s", program->program);
        im->execfn = program->argv ? program->argv[0] : NULL;
        if (p->actions && t->files && t->fs)
            result = load_first(t, im, program->argv, program->envp, &local);
    }
    if (im)
        image_done(os, im);
    free(im);
    if (result < 0 && local.status == TL_OK)
        (void)no_memory(os, program->program, &local);
    if (result < 0) {
        if (err)
            *err = local;
        return status_of(&local, result);
    }
    os->contexts[os->n_contexts++] = (tl_context){.first = p, .quantum_cycles = program->quantum_cycles};
    if (!os->first)
        os->first = p;
    p->granted_pmus = tl_sched_granted_pmus(os, false);
    tl_sched_ready(t);
    if (t->hart)
        ++t->hart->tally[TL_S_OS_EXEC];
    return TL_OK;
}
