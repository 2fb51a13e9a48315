// SPDX-License-Identifier: MIT
// The devices a program may expect, and the names of /dev/shm.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "linux/file/file_host.h"
#include "linux/file/virtual.h"

enum { MISC_MAJOR = 10, OWNER_MINOR = 254 };
static const tl_device_row fixed_rows[] = {
    {"full", TL_DEVICE_FULL, 1, 7, NULL}, {"null", TL_DEVICE_NULL, 1, 3, NULL},       {"random", TL_DEVICE_RANDOM, 1, 8, NULL},
    {"tty", TL_DEVICE_TTY, 5, 0, NULL},   {"urandom", TL_DEVICE_URANDOM, 1, 9, NULL}, {"zero", TL_DEVICE_ZERO, 1, 5, NULL},
};

static int compare_names(const void *a, const void *b) {
    return strcmp(((const tl_device_row *)a)->name, ((const tl_device_row *)b)->name);
}

uint32_t tl_device_list(const tl_os *os, uint32_t context, tl_device_row ret_rows[TL_MAX_DEVICES]) {
    uint32_t n = TL_COUNT_OF(fixed_rows);
    memcpy(ret_rows, fixed_rows, sizeof fixed_rows);
    for (uint32_t i = 0; i < os->machine->n_pmus; i++) {
        const tl_machine_pmu *row = &os->machine->pmus[i];
        if (row->pmu && row->type->device_name && row->type->grant && row->type->grant(row->settings) == TL_GRANTED)
            ret_rows[n++] = (tl_device_row){row->type->device_name, TL_DEVICE_WINDOW, MISC_MAJOR, row->type->device_minor, row->pmu};
    }
    if (os->window.name && context < TL_OS_MAX_CONTEXTS && os->window.contexts >> context & 1)
        ret_rows[n++] = (tl_device_row){os->window.name, TL_DEVICE_OWNER, MISC_MAJOR, OWNER_MINOR, NULL};
    qsort(ret_rows, n, sizeof *ret_rows, compare_names);
    return n;
}

typedef struct device_file {
    tl_file base;
    tl_device_row row;
} device_file;

static const tl_file_ops null_ops, random_ops, window_ops;
static const tl_device_row *row_of(const tl_file *file) { return &((const device_file *)file)->row; }

static void device_close(tl_os *os, tl_file *file) {
    (void)os;
    free(file);
}

static int64_t device_read(tl_thread *t, tl_file *file, const tl_io *io) {
    if (row_of(file)->kind == TL_DEVICE_NULL)
        return 0;
    for (int i = 0; i < io->n_spans; i++) {
        if (file->ops == &random_ops)
            tl_os_random(t->os, io->spans[i].iov_base, io->spans[i].iov_len);
        else
            memset(io->spans[i].iov_base, 0, io->spans[i].iov_len);
    }
    return (int64_t)io->n_bytes;
}

static int64_t device_write(tl_thread *t, tl_file *file, const tl_io *io) {
    (void)t;
    return row_of(file)->kind == TL_DEVICE_FULL ? -ENOSPC : (int64_t)io->n_bytes;
}

static size_t null_available(tl_os *os, tl_file *file, uint64_t pos) {
    (void)os, (void)pos;
    return row_of(file)->kind == TL_DEVICE_NULL ? 0 : SIZE_MAX;
}

// The most bytes that one call returns, as on Linux.
static size_t random_available(tl_os *os, tl_file *file, uint64_t pos) {
    (void)os, (void)file, (void)pos;
    return (32 << 20) - 1;
}

static int64_t device_seek(tl_os *os, tl_file *file, int64_t offset, int whence) {
    (void)os, (void)offset, (void)whence;
    file->pos = 0;
    return 0;
}

static int64_t device_stat(tl_os *os, tl_file *file, tl_stat *ret_stat) {
    tl_stat_anonymous(os, file, S_IFCHR | 0666, ret_stat);
    ret_stat->rdevice = tl_make_device(row_of(file)->major, row_of(file)->minor);
    ret_stat->uid = ret_stat->gid = 0;
    return 0;
}

static int64_t device_pread(tl_os *os, tl_file *file, void *to, size_t n, uint64_t offset) {
    (void)os, (void)file, (void)offset;
    memset(to, 0, n);
    return (int64_t)n;
}

static const tl_file_ops null_ops = {
    .kind = "a device",
    .close = device_close,
    .read = device_read,
    .write = device_write,
    .available = null_available,
    .seek = device_seek,
    .stat = device_stat,
    .pread = device_pread,
};

static const tl_file_ops random_ops = {
    .kind = "a device",
    .close = device_close,
    .read = device_read,
    .write = device_write,
    .available = random_available,
    .seek = device_seek,
    .stat = device_stat,
    .is_pollable = true,
};

// Windows of PMU counters that a program maps, as a driver would export them to a trusted program.
static bool pmu_window(const tl_os *os, const tl_file *file, uint64_t *ret_paddr, uint64_t *ret_bytes) {
    if (row_of(file)->kind == TL_DEVICE_OWNER) {
        *ret_paddr = os->window.paddr;
        *ret_bytes = os->window.bytes;
        return true;
    }
    const tl_pmu_type *type = row_of(file)->pmu->type;
    *ret_paddr = type->window_paddr;
    *ret_bytes = type->window_bytes;
    return true;
}

static const tl_file_ops window_ops = {
    .kind = "a device",
    .close = device_close,
    .stat = device_stat,
    .window = pmu_window,
};

int64_t tl_device_open(tl_os *os, const tl_device_row *row, uint32_t flags, tl_file **ret_file) {
    if (row->kind == TL_DEVICE_TTY)
        return -ENXIO; // no controlling terminal
    bool is_random = row->kind == TL_DEVICE_RANDOM || row->kind == TL_DEVICE_URANDOM;
    bool is_window = row->kind == TL_DEVICE_WINDOW || row->kind == TL_DEVICE_OWNER;
    const tl_file_ops *ops = is_window ? &window_ops : is_random ? &random_ops : &null_ops;
    device_file *f = tl_file_new(os, sizeof *f, ops, flags);
    if (!f)
        return -ENOMEM;
    f->row = *row;
    f->base.device = tl_device_dev();
    *ret_file = &f->base;
    return 0;
}

bool tl_file_is_dev_zero(const tl_file *file) { return file->ops == &null_ops && row_of(file)->kind == TL_DEVICE_ZERO; }

// ---- /dev/shm

bool tl_path_is_shm(const char *path) { return strncmp(path, "/dev/shm/", 9) == 0 && path[9] && !strchr(path + 9, '/'); }

static tl_shm_entry **shm_at(tl_file_system *fs, const char *name) { // sorted by name
    tl_shm_entry **at = &fs->shm;
    while (*at && strcmp((*at)->name, name) < 0)
        at = &(*at)->next;
    return at;
}

tl_shm_entry *tl_shm_find(tl_file_system *fs, const char *name) {
    tl_shm_entry *entry = *shm_at(fs, name);
    return entry && strcmp(entry->name, name) == 0 ? entry : NULL;
}

int64_t tl_shm_link(tl_file_system *fs, const char *name, tl_mem_inode *inode) {
    size_t n = strlen(name) + 1;
    if (tl_shm_find(fs, name))
        return -EEXIST;
    tl_shm_entry *entry = tl_account_charge(fs->account, sizeof *entry + n) ? malloc(sizeof *entry + n) : NULL;
    if (!entry)
        return -ENOMEM;
    tl_shm_entry **at = shm_at(fs, name);
    entry->next = *at;
    entry->inode = tl_mem_inode_ref(inode);
    memcpy(entry->name, name, n);
    *at = entry;
    tl_mem_inode_link(inode, 1);
    return 0;
}

int64_t tl_shm_unlink(tl_os *os, const char *name) {
    tl_shm_entry *entry = tl_shm_find(os->file_system, name);
    if (!entry)
        return -ENOENT;
    *shm_at(os->file_system, name) = entry->next;
    tl_mem_inode_link(entry->inode, -1);
    tl_mem_inode_unref(os, entry->inode);
    tl_account_release(&os->account, sizeof *entry + strlen(entry->name) + 1);
    free(entry);
    return 0;
}
