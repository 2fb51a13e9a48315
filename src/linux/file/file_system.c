// SPDX-License-Identifier: MIT
#include "linux/file/file_system.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "linux/file/fd.h"
#include "linux/file/lock.h"
#include "linux/isa.h"
#include "linux/memory/frames.h"

enum { HOST_MAJOR = 8, HOST_MINOR_FIRST = 1, FIRST_ROWS = 256, NOBODY = 65534 };

struct timespec tl_realtime(const tl_os *os) {
    uint64_t ns = tl_os_now_ns(os);
    return (struct timespec){.tv_sec = (int64_t)(TL_REALTIME_START_S + ns / 1000000000), .tv_nsec = (int64_t)(ns % 1000000000)};
}

static uint64_t hash_of(tl_inode_key key) {
    uint64_t h = (key.inode ^ key.device * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ h >> 31;
}

static bool is_key(const tl_inode_row *row, tl_inode_key key) { return row->key.device == key.device && row->key.inode == key.inode; }

static tl_inode_row *row_of(tl_inode_row *rows, uint64_t capacity, tl_inode_key key) {
    uint64_t at = hash_of(key) & (capacity - 1);
    while (rows[at].number && !is_key(&rows[at], key))
        at = (at + 1) & (capacity - 1);
    return &rows[at];
}

static bool grow(tl_file_system *fs) {
    if (fs->n_rows * 2 < fs->rows_capacity)
        return true;
    uint64_t capacity = fs->rows_capacity ? fs->rows_capacity * 2 : FIRST_ROWS;
    if (!tl_account_charge(fs->account, (capacity - fs->rows_capacity) * sizeof *fs->rows))
        return false;
    tl_inode_row *rows = calloc(capacity, sizeof *rows);
    if (!rows) {
        tl_account_release(fs->account, (capacity - fs->rows_capacity) * sizeof *fs->rows);
        return false;
    }
    for (uint64_t i = 0; i < fs->rows_capacity; i++)
        if (fs->rows[i].number)
            *row_of(rows, capacity, fs->rows[i].key) = fs->rows[i];
    free(fs->rows);
    fs->rows = rows;
    fs->rows_capacity = capacity;
    return true;
}

uint64_t tl_inode_number(tl_file_system *fs, uint64_t host_device, uint64_t host_inode) {
    tl_inode_key key = {.device = host_device, .inode = host_inode};
    if (!grow(fs) && fs->n_rows + 1 >= fs->rows_capacity)
        return fs->next_inode++; // and another one the next time
    tl_inode_row *row = row_of(fs->rows, fs->rows_capacity, key);
    if (!row->number) {
        *row = (tl_inode_row){.key = key, .number = fs->next_inode++};
        fs->n_rows++;
    }
    return row->number;
}

void tl_inode_forget(tl_file_system *fs, uint64_t host_device, uint64_t host_inode) {
    if (!fs->rows)
        return;
    uint64_t mask = fs->rows_capacity - 1;
    tl_inode_row *row = row_of(fs->rows, fs->rows_capacity, (tl_inode_key){.device = host_device, .inode = host_inode});
    if (!row->number)
        return;
    fs->n_rows--;
    uint64_t hole = (uint64_t)(row - fs->rows);
    // Rows after it move up if they may.
    for (uint64_t at = (hole + 1) & mask; fs->rows[at].number; at = (at + 1) & mask) {
        uint64_t home = hash_of(fs->rows[at].key) & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            fs->rows[hole] = fs->rows[at];
            hole = at;
        }
    }
    fs->rows[hole] = (tl_inode_row){.number = 0};
}

uint64_t tl_device_number(tl_file_system *fs, uint64_t host_device) {
    for (uint32_t i = 0; i < fs->n_devices; i++)
        if (fs->devices[i] == host_device)
            return tl_make_device(HOST_MAJOR, HOST_MINOR_FIRST + i);
    uint64_t *devices = realloc(fs->devices, (fs->n_devices + 1) * sizeof *devices);
    if (!devices)
        return tl_make_device(HOST_MAJOR, 0);
    fs->devices = devices;
    devices[fs->n_devices] = host_device;
    return tl_make_device(HOST_MAJOR, HOST_MINOR_FIRST + fs->n_devices++);
}

void tl_stat_of_host(tl_file_system *fs, const struct stat *host, tl_stat *ret_stat) {
    *ret_stat = (tl_stat){
        .device = tl_device_number(fs, host->st_dev),
        .inode = tl_inode_number(fs, host->st_dev, host->st_ino),
        .size = S_ISDIR(host->st_mode) ? TL_PAGE_BYTES : (uint64_t)host->st_size,
        .mode = host->st_mode,
        .n_links = (uint32_t)host->st_nlink,
        .uid = host->st_uid == geteuid() ? TL_UID
               : host->st_uid == 0       ? 0
                                         : NOBODY,
        .gid = host->st_gid == getegid() ? TL_GID
               : host->st_gid == 0       ? 0
                                         : NOBODY,
        .atime = host->st_atim,
        .mtime = host->st_mtim,
        .ctime = host->st_ctim,
    };
}

tl_status tl_file_system_new(tl_os *os, tl_error *err) {
    tl_file_system *fs = calloc(1, sizeof *fs);
    if (!fs)
        return tl_fail(err, TL_ENOMEM, "no host memory for the file layer");
    os->file_system = fs;
    fs->account = &os->account;
    fs->env = (tl_path_env){.root_fd = -1, .sysroot_fd = -1, .is_confined = os->options.root != NULL, .lookup = tl_virtual_lookup};
    fs->next_inode = 2;
    fs->next_anonymous = UINT64_C(1) << 32;
    fs->mem_limit_bytes = (tl_frames_total(os->frames) << TL_PAGE_LOG2) / 2;
    const char *root = fs->env.is_confined ? os->options.root : "/";
    fs->env.root_fd = tl_path_open_root(root);
    if (fs->env.root_fd < 0) {
        tl_status status = tl_fail(err, errno == EACCES ? TL_EACCESS : TL_ENOENT, "--root %s: %s", root, strerror(errno));
        tl_file_system_done(os);
        return status;
    }
    char cwd[TL_PATH_MAX];
    if (!fs->env.is_confined && !os->options.host_paths && getcwd(cwd, sizeof cwd) && cwd[0] == '/' && !tl_path_is_virtual(cwd)) {
        int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && !tl_path_set_alias(&fs->env, TL_ALIAS_CWD, cwd, fd)) {
            tl_file_system_done(os);
            return tl_fail(err, TL_ENOMEM, "no host memory for the file layer");
        }
    }
    const char *sysroot = os->options.sysroot ? os->options.sysroot : tl_os_isa_of(os)->sysroot;
    if (strcmp(sysroot, "/") != 0 && sysroot[0]) {
        fs->env.sysroot_fd = tl_path_open_root(sysroot);
        // The default need not exist, because static programs do without it.
        if (fs->env.sysroot_fd < 0 && os->options.sysroot) {
            tl_status status = tl_fail(err, errno == EACCES ? TL_EACCESS : TL_ENOENT, "--sysroot %s: %s", sysroot, strerror(errno));
            tl_file_system_done(os);
            return status;
        }
    }
    return TL_OK;
}

void tl_file_system_done(tl_os *os) {
    tl_file_system *fs = os->file_system;
    if (!fs)
        return;
    tl_sockets_done(os);
    while (fs->shm) {
        tl_shm_entry *entry = fs->shm;
        fs->shm = entry->next;
        tl_mem_inode_unref(os, entry->inode);
        free(entry);
    }
    while (fs->fifos) {
        tl_fifo *fifo = fs->fifos;
        fs->fifos = fifo->next;
        free(fifo);
    }
    while (fs->socket_names) {
        tl_socket_name *name = fs->socket_names;
        fs->socket_names = name->next;
        free(name);
    }
    tl_locks_done(fs);
    tl_path_aliases_done(&fs->env);
    if (fs->env.root_fd >= 0)
        close(fs->env.root_fd);
    if (fs->env.sysroot_fd >= 0)
        close(fs->env.sysroot_fd);
    free(fs->rows);
    free(fs->devices);
    free(fs);
    os->file_system = NULL;
}

bool tl_file_system_name_program(tl_thread *t, const char *path, char ret_path[TL_PATH_MAX]) {
    tl_path_env *env = &t->os->file_system->env;
    tl_place place;
    if (t->os->options.host_paths || tl_walk_at(t, TL_AT_FDCWD, path, TL_WALK_READ | TL_WALK_FOLLOW, &place) != 0)
        return false;
    bool is_named = false;
    if (place.tree == TL_TREE_HOST && place.exists && place.last == TL_LAST_NAME && strlen(place.name) < TL_NAME_MAX) {
        char folder[TL_PATH_MAX];
        size_t n = (size_t)(strrchr(place.path, '/') - place.path);
        memcpy(folder, n ? place.path : "/", n ? n : 1);
        folder[n ? n : 1] = 0;
        int fd = openat(place.dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int which = TL_ALIAS_PROGRAM + (int)t->process->context;
        is_named = fd >= 0 && tl_path_set_alias(env, which, folder, fd);
        if (is_named)
            snprintf(ret_path, TL_PATH_MAX, "%s/%s", env->aliases[which].name, place.name);
    }
    tl_place_done(&place);
    return is_named;
}

int64_t tl_walk_at(tl_thread *t, int32_t dirfd, const char *path, uint32_t walk, tl_place *ret_place) {
    tl_file_system *fs = t->os->file_system;
    fs->env.ctx = t;
    const tl_dir *from = t->fs->cwd;
    if (dirfd != TL_AT_FDCWD && (path[0] != '/' || walk & (TL_WALK_BENEATH | TL_WALK_IN_ROOT))) {
        tl_file *file = tl_file_of_fd(t, dirfd);
        if (!file)
            return -EBADF;
        if (!file->dir)
            return -ENOTDIR;
        from = file->dir;
    }
    return tl_path_walk(&fs->env, from, path, walk, ret_place);
}

int64_t tl_walk_user(tl_thread *t, int32_t dirfd, uint64_t path_vaddr, uint32_t walk, tl_place *ret_place) {
    char path[TL_PATH_MAX];
    int64_t n = tl_vm_read_string(t->process, path_vaddr, path, sizeof path);
    return n < 0 ? n : tl_walk_at(t, dirfd, path, walk, ret_place);
}
