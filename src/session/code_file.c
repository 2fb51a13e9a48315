// SPDX-License-Identifier: MIT
// Names of translated code for Linux perf: see code_file.h. Records are collected in a buffer of
// fixed size, so nothing is allocated while a machine runs. A name is the guest's function and the
// distance from its beginning, or the guest's address.
#include "session/code_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "model/code_log.h"

enum {
    BUFFER_BYTES = 256 << 10, // more than a record of the longest block, and its lines
    PATH_BYTES = 64,
    NAME_BYTES = 256,
    JIT_VERSION = 1,
    JIT_CODE_LOAD = 0,
    JIT_DEBUG_INFO = 2,
    JIT_CLOSE = 3,
};
static const uint32_t JIT_MAGIC = 0x4a695444; // "JiTD", in the byte order of the host

typedef struct jit_header {
    uint32_t magic, version, total_bytes, elf_machine, pad, pid;
    uint64_t timestamp, flags;
} jit_header;

typedef struct jit_record { // begins each record
    uint32_t id, total_bytes;
    uint64_t timestamp;
} jit_record;

typedef struct jit_load { // then the name with its zero byte, then the code
    jit_record record;
    uint32_t pid, tid;
    uint64_t vma, code, n_bytes, index;
} jit_load;

typedef struct jit_debug { // then the lines
    jit_record record;
    uint64_t code, n_lines;
} jit_debug;

typedef struct jit_line { // then the name of the file with its zero byte
    uint64_t code;
    uint32_t line, discriminator;
} jit_line;

struct tl_code_file {
    tl_code_log log;
    tl_host_symbols kind;
    tl_machine *machine;
    const tl_guest *guest;
    char path[PATH_BYTES];
    pid_t pid;
    int fd;
    int failure;  // errno of the first write that failed, or 0
    void *marker; // by this mapping of the file perf finds it
    size_t marker_bytes;
    uint64_t n_pieces;
    bool is_begun[TL_MAX_HARTS]; // the code around the blocks has its name
    size_t n_held;
    uint8_t held[BUFFER_BYTES];
};

static uint64_t timestamp(void) { // perf record -k mono
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void write_held(tl_code_file *file) {
    for (size_t done = 0; done < file->n_held && file->failure == 0;) {
        ssize_t n = write(file->fd, file->held + done, file->n_held - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            file->failure = errno;
    }
    file->n_held = 0;
}

static void put(tl_code_file *file, const void *bytes, size_t n) {
    if (n > BUFFER_BYTES - file->n_held)
        write_held(file);
    memcpy(file->held + file->n_held, bytes, n);
    file->n_held += n;
}

// ---- the two formats ----

static void put_map_line(tl_code_file *file, const tl_code_piece *piece, const char *name) {
    char line[NAME_BYTES + 64];
    int n = snprintf(line, sizeof line, "%" PRIxPTR " %" PRIx64 " %s\n", (uintptr_t)piece->code, piece->n_bytes, name);
    put(file, line, (size_t)n);
}

// perf has 32 bits for a line: the low ones of the address.
static void put_debug(tl_code_file *file, const tl_code_piece *piece) {
    static const char source[] = "guest", padding[8] = {0};
    size_t n_bytes = sizeof(jit_debug) + piece->n_lines * (sizeof(jit_line) + sizeof source), n_padding = -n_bytes & 7;
    const jit_debug debug = {
        .record = {.id = JIT_DEBUG_INFO, .total_bytes = (uint32_t)(n_bytes + n_padding), .timestamp = timestamp()},
        .code = (uintptr_t)piece->code,
        .n_lines = piece->n_lines,
    };
    put(file, &debug, sizeof debug);
    for (uint32_t i = 0; i < piece->n_lines; i++) {
        const jit_line line = {.code = (uintptr_t)piece->code + piece->lines[i].offset_bytes, .line = piece->lines[i].pc & INT32_MAX};
        put(file, &line, sizeof line);
        put(file, source, sizeof source);
    }
    put(file, padding, n_padding);
}

static void put_load(tl_code_file *file, const tl_code_piece *piece, const char *name) {
    size_t name_bytes = strlen(name) + 1;
    const jit_load load = {
        .record = {.id = JIT_CODE_LOAD, .total_bytes = (uint32_t)(sizeof load + name_bytes + piece->n_bytes), .timestamp = timestamp()},
        .pid = (uint32_t)file->pid,
        .tid = (uint32_t)syscall(SYS_gettid),
        .vma = (uintptr_t)piece->code,
        .code = (uintptr_t)piece->code,
        .n_bytes = piece->n_bytes,
        .index = file->n_pieces,
    };
    put(file, &load, sizeof load);
    put(file, name, name_bytes);
    put(file, piece->code, piece->n_bytes);
}

static void put_piece(tl_code_file *file, const tl_code_piece *piece, const char *name) {
    if (file->kind == TL_HOST_SYMBOLS_MAP) {
        put_map_line(file, piece, name);
    } else {
        if (piece->n_lines > 0)
            put_debug(file, piece);
        put_load(file, piece, name);
    }
    file->n_pieces++;
}

static void publish(tl_code_log *log, const tl_hart *h, const tl_code_piece *piece) {
    tl_code_file *file = (tl_code_file *)log;
    char name[NAME_BYTES];
    if (file->failure != 0)
        return;
    if (!file->is_begun[h->id]) { // ways in and out of the blocks lie before the first one
        const tl_code_piece around = {.code = h->host_code, .n_bytes = (uint64_t)(piece->code - h->host_code)};
        file->is_begun[h->id] = true;
        put_piece(file, &around, "tally:enter-and-leave");
    }
    uint64_t within = 0;
    const char *function = file->guest ? file->guest->type->name_at(file->guest, piece->pc, &within) : NULL;
    const char *suffix = piece->is_cold ? ":cold" : "";
    if (!function)
        snprintf(name, sizeof name, "guest:0x%" PRIx64 "%s", piece->pc, suffix);
    else if (within == 0)
        snprintf(name, sizeof name, "guest:%s%s", function, suffix);
    else
        snprintf(name, sizeof name, "guest:%s+0x%" PRIx64 "%s", function, within, suffix);
    put_piece(file, piece, name);
}

// ---- the file ----

static tl_status open_file(tl_code_file *file, tl_error *err) {
    if (file->kind == TL_HOST_SYMBOLS_MAP)
        snprintf(file->path, sizeof file->path, "/tmp/perf-%d.map", (int)file->pid);
    else
        snprintf(file->path, sizeof file->path, "jit-%d.dump", (int)file->pid);
    // The file is a leftover of an equal process number, or another user's. The new file replaces
    // it.
    if (unlink(file->path) != 0 && errno != ENOENT)
        return tl_fail(err, TL_EIO, "%s: %s", file->path, strerror(errno));
    file->fd = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    return file->fd >= 0 ? TL_OK : tl_fail(err, TL_EIO, "%s: %s", file->path, strerror(errno));
}

static tl_status begin_dump(tl_code_file *file, tl_error *err) {
    const jit_header header = {.magic = JIT_MAGIC,
                               .version = JIT_VERSION,
                               .total_bytes = sizeof header,
                               .elf_machine = EM_X86_64,
                               .pid = (uint32_t)file->pid,
                               .timestamp = timestamp()};
    put(file, &header, sizeof header);
    write_held(file);
    file->marker_bytes = (size_t)sysconf(_SC_PAGESIZE);
    file->marker = mmap(NULL, file->marker_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file->fd, 0);
    if (file->marker == MAP_FAILED) {
        file->marker = NULL;
        return tl_fail(err, TL_EIO, "%s: cannot be mapped to be executed, by which perf would find it: %s", file->path, strerror(errno));
    }
    return TL_OK;
}

tl_status tl_code_file_new(tl_host_symbols kind, tl_machine *machine, tl_arena *arena, tl_code_file **ret_file, tl_error *err) {
    if (!machine->harts[0]->host_code)
        return tl_fail(err, TL_EINVAL, "engine %s makes no host code that perf could name; use --engine translate", machine->engine->name);
    tl_code_file *file = tl_arena_alloc(arena, sizeof *file);
    if (!file)
        return tl_no_memory(err);
    *file = (tl_code_file){.log.publish = publish, .kind = kind, .machine = machine, .pid = getpid(), .fd = -1};
    tl_status status = open_file(file, err);
    if (status == TL_OK && kind == TL_HOST_SYMBOLS_JITDUMP)
        status = begin_dump(file, err);
    if (status != TL_OK) {
        tl_code_file_free(file);
        return status;
    }
    for (uint32_t i = 0; i < machine->n_harts; i++)
        machine->harts[i]->code_log = &file->log;
    *ret_file = file;
    return TL_OK;
}

void tl_code_file_set_guest(tl_code_file *file, const tl_guest *guest) { file->guest = guest; }

tl_status tl_code_file_flush(tl_code_file *file, tl_error *err) {
    write_held(file);
    return file->failure == 0 ? TL_OK : tl_fail(err, TL_EIO, "%s: %s", file->path, strerror(file->failure));
}

void tl_code_file_free(tl_code_file *file) {
    if (!file)
        return;
    for (uint32_t i = 0; i < file->machine->n_harts; i++)
        file->machine->harts[i]->code_log = NULL;
    if (file->marker) {
        const jit_record close_record = {.id = JIT_CLOSE, .total_bytes = sizeof close_record, .timestamp = timestamp()};
        put(file, &close_record, sizeof close_record);
        munmap(file->marker, file->marker_bytes);
    }
    if (file->fd >= 0) {
        write_held(file);
        close(file->fd);
    }
}
