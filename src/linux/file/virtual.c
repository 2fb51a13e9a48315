// SPDX-License-Identifier: MIT
#include "linux/file/virtual.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/file/fd.h"
#include "linux/file/file_host.h"

typedef enum node_kind { NODE_DIR, NODE_TEXT, NODE_LINK, NODE_FD, NODE_DEVICE, NODE_SHM } node_kind;

typedef struct node {
    node_kind kind;
    uint32_t mode;
    tl_proc_subject subject;
    tl_proc_text_fn *make;    // NODE_TEXT
    char target[TL_PATH_MAX]; // NODE_LINK, NODE_FD
    tl_file *file;            // NODE_FD
    tl_device_row device;     // NODE_DEVICE; else its name is NULL
    tl_shm_entry *shm;        // NODE_SHM
} node;

static void set_dir(node *to) {
    to->kind = NODE_DIR;
    to->mode = S_IFDIR | 0555;
}

static void set_link(node *to, const char *target) {
    to->kind = NODE_LINK;
    to->mode = S_IFLNK | 0777;
    snprintf(to->target, sizeof to->target, "%s", target);
}

static void set_text(node *to, tl_proc_text_fn *make) {
    to->kind = NODE_TEXT;
    to->mode = S_IFREG | 0444;
    to->make = make;
}

// "123", and nothing else, without leading zeros; -1 otherwise.
static int32_t number_of(const char *text, size_t n) {
    int64_t value = 0;
    if (n == 0 || n > 10 || (n > 1 && text[0] == '0'))
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value > INT32_MAX ? -1 : (int32_t)value;
}

static const tl_proc_row *row_of(const tl_proc_row *rows, const char *name) {
    while (rows->name && strcmp(rows->name, name) != 0)
        rows++;
    return rows->name ? rows : NULL;
}

// Is `path` a directory because some row lies below it?
static bool is_dir_of(const tl_proc_row *rows, const char *path) {
    size_t n = strlen(path);
    for (; rows->name; rows++)
        if (strncmp(rows->name, path, n) == 0 && rows->name[n] == '/')
            return true;
    return false;
}

static int64_t resolve_fd(tl_thread *owner, int32_t fd, node *to) {
    tl_file *file = owner && owner->files ? tl_file_of_fd(owner, fd) : NULL;
    if (!file)
        return -ENOENT;
    to->kind = NODE_FD;
    to->mode = S_IFLNK | (tl_file_may_read(file) ? 0500u : 0) | (tl_file_may_write(file) ? 0300u : 0);
    to->file = file;
    tl_file_describe(file, to->target, sizeof to->target);
    return 0;
}

// Below /proc/PID or /proc/PID/task/TID: `rest` without leading slash, not empty.
static int64_t resolve_in_task(const char *rest, bool is_task, node *to) {
    tl_process *p = to->subject.process;
    tl_thread *owner = to->subject.thread ? to->subject.thread : p->threads;
    const tl_proc_row *row = row_of(is_task ? tl_proc_task_rows : tl_proc_process_rows, rest);
    if (row) {
        set_text(to, row->make);
    } else if (strcmp(rest, "exe") == 0) {
        if (!p->exe_path)
            return -ENOENT;
        set_link(to, p->exe_path);
    } else if (strcmp(rest, "cwd") == 0 && owner && owner->fs) {
        set_link(to, owner->fs->cwd->path);
    } else if (strcmp(rest, "root") == 0) {
        set_link(to, "/");
    } else if (strcmp(rest, "fd") == 0 || strcmp(rest, "fdinfo") == 0 || (strcmp(rest, "task") == 0 && !is_task)) {
        set_dir(to);
    } else if (strncmp(rest, "fd/", 3) == 0) {
        return resolve_fd(owner, number_of(rest + 3, strlen(rest + 3)), to);
    } else if (strncmp(rest, "task/", 5) == 0 && !is_task) {
        size_t n = strcspn(rest + 5, "/");
        tl_thread *t = tl_thread_find(p->os, number_of(rest + 5, n));
        if (!t || t->process != p)
            return -ENOENT;
        to->subject.thread = t;
        if (rest[5 + n] == 0) {
            set_dir(to);
            return 0;
        }
        return resolve_in_task(rest + 6 + n, true, to);
    } else {
        return -ENOENT;
    }
    return 0;
}

static int64_t resolve_dev(const tl_thread *asker, const char *name, node *to) {
    const tl_os *os = asker->os;
    tl_file_system *fs = os->file_system;
    static const char *const std_links[][2] = {
        {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"}, {"stderr", "/proc/self/fd/2"}, {"fd", "/proc/self/fd"}};
    tl_device_row rows[TL_MAX_DEVICES];
    uint32_t n = tl_device_list(os, asker->process->context, rows);
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0) {
            to->kind = NODE_DEVICE;
            to->mode = S_IFCHR | 0666;
            to->device = rows[i];
            return 0;
        }
    for (size_t i = 0; i < sizeof std_links / sizeof *std_links; i++)
        if (strcmp(std_links[i][0], name) == 0) {
            set_link(to, std_links[i][1]);
            return 0;
        }
    if (strcmp(name, "shm") == 0) {
        set_dir(to);
        to->mode = S_IFDIR | S_ISVTX | 0777;
        return 0;
    }
    if (strncmp(name, "shm/", 4) != 0)
        return -ENOENT;
    if (strchr(name + 4, '/'))
        return tl_shm_find(fs, name + 4) ? -ENOTDIR : -ENOENT;
    to->kind = NODE_SHM;
    to->shm = tl_shm_find(fs, name + 4);
    if (!to->shm)
        return -ENOENT;
    tl_stat st;
    tl_mem_inode_stat(to->shm->inode, &st);
    to->mode = st.mode;
    return 0;
}

static int64_t resolve(tl_thread *asker, const char *path, node *to) {
    tl_os *os = asker->os;
    memset(to, 0, offsetof(node, target));
    to->file = NULL;
    to->device = (tl_device_row){.name = NULL};
    to->shm = NULL;
    to->subject = (tl_proc_subject){.asker = asker, .process = asker->process};
    if (strncmp(path, "/dev/", 5) == 0)
        return resolve_dev(asker, path + 5, to);
    const tl_proc_row *row = row_of(tl_proc_rows, path);
    if (row && !tl_proc_is_there(os, row))
        return -ENOENT;
    if (row) {
        set_text(to, row->make);
        return 0;
    }
    if (strcmp(path, "/dev") == 0 || is_dir_of(tl_proc_rows, path)) {
        set_dir(to);
        return 0;
    }
    if (strncmp(path, "/sys/devices/system/cpu/cpu", 27) == 0) {
        int32_t number = number_of(path + 27, strlen(path + 27));
        if (number < 0 || (uint32_t)number >= os->machine->n_harts)
            return -ENOENT;
        set_dir(to);
        return 0;
    }
    if (strncmp(path, "/proc/", 6) != 0)
        return -ENOENT;
    const char *name = path + 6;
    char link[64];
    if (strcmp(name, "self") == 0) {
        snprintf(link, sizeof link, "%d", asker->process->pid);
        set_link(to, link);
        return 0;
    }
    if (strcmp(name, "thread-self") == 0) {
        snprintf(link, sizeof link, "%d/task/%d", asker->process->pid, asker->tid);
        set_link(to, link);
        return 0;
    }
    size_t n = strcspn(name, "/");
    to->subject.process = tl_process_find(os, number_of(name, n));
    if (!to->subject.process)
        return -ENOENT;
    if (name[n] == 0) {
        set_dir(to);
        return 0;
    }
    return resolve_in_task(name + n + 1, false, to);
}

int64_t tl_virtual_lookup(void *ctx, const char *path, uint32_t *ret_mode, char *target, bool *ret_is_magic) {
    node found;
    int64_t error = resolve(ctx, path, &found);
    if (error)
        return error;
    *ret_mode = found.mode;
    // The path of an open directory leads there.
    *ret_is_magic = found.kind == NODE_FD && !found.file->dir;
    if (S_ISLNK(found.mode))
        strcpy(target, found.target);
    return 0;
}

tl_file *tl_virtual_file_of(tl_thread *t, const char *path) {
    node found;
    return resolve(t, path, &found) == 0 && found.kind == NODE_FD ? found.file : NULL;
}

// ---- stat.

static uint64_t device_of_path(const char *path) {
    if (strncmp(path, "/etc/", 5) == 0)
        return tl_device_etc();
    return strncmp(path, "/proc", 5) == 0 ? tl_device_proc() : strncmp(path, "/sys", 4) == 0 ? tl_device_sys() : tl_device_dev();
}

// FNV-1a, above all numbers that are given out in turn.
static uint64_t inode_of_path(const char *path) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *path; path++)
        hash = (hash ^ (uint8_t)*path) * UINT64_C(0x100000001b3);
    return UINT64_C(1) << 40 | (hash >> 32);
}

static void stat_node(tl_thread *t, const char *path, const node *found, tl_stat *ret_stat) {
    if (found->kind == NODE_SHM) {
        tl_mem_inode_stat(found->shm->inode, ret_stat);
        return;
    }
    tl_file identity = {.device = device_of_path(path), .inode = inode_of_path(path)};
    tl_stat_anonymous(t->os, &identity, found->mode, ret_stat);
    bool is_own = strncmp(path, "/proc/", 6) == 0 && path[6] >= '0' && path[6] <= '9';
    ret_stat->uid = is_own ? TL_UID : 0;
    ret_stat->gid = is_own ? TL_GID : 0;
    struct timespec start = {.tv_sec = (int64_t)TL_REALTIME_START_S};
    ret_stat->atime = ret_stat->mtime = ret_stat->ctime = start;
    if (found->device.name)
        ret_stat->rdevice = tl_make_device(found->device.major, found->device.minor);
    if (strncmp(path, "/etc/", 5) == 0) { // a file like any other: it has a size
        tl_strbuf text = {.text = NULL};
        found->make(&text, &found->subject);
        ret_stat->size = text.n_bytes;
        tl_strbuf_done(&text);
    }
    if (found->kind == NODE_LINK)
        ret_stat->size = strncmp(path, "/proc", 5) == 0 ? 0 : strlen(found->target);
    if (found->kind == NODE_FD)
        ret_stat->size = 64;
}

int64_t tl_virtual_stat(tl_thread *t, const tl_place *place, tl_stat *ret_stat) {
    node found;
    int64_t error = resolve(t, place->path, &found);
    if (error)
        return error;
    if (place->is_magic && found.kind == NODE_FD)
        return tl_file_stat(t->os, found.file, ret_stat);
    stat_node(t, place->path, &found, ret_stat);
    return 0;
}

// ---- Open texts.

typedef struct text_file {
    tl_file base;
    tl_strbuf text;           // made anew by a read from the start
    uint64_t n_charged_bytes; // for text
    bool is_made;
} text_file;

static text_file *text_of(tl_file *file) { return (text_file *)file; }

static void text_close(tl_os *os, tl_file *file) {
    (void)os;
    tl_strbuf_done(&text_of(file)->text);
    free(file);
}

static int64_t text_read(tl_thread *t, tl_file *file, const tl_io *io) {
    text_file *f = text_of(file);
    if (*io->pos == 0 || !f->is_made) {
        node found;
        int64_t error = resolve(t, file->path, &found);
        if (error || found.kind != NODE_TEXT)
            return -ESRCH;
        if (!tl_account_has_room(&t->os->account, 1))
            return -ENOMEM;
        tl_strbuf_clear(&f->text);
        found.make(&f->text, &found.subject);
        tl_file_recharge(t->os, file, f->n_charged_bytes, f->text.capacity);
        f->n_charged_bytes = f->text.capacity;
        f->is_made = true;
    }
    if (f->text.has_failed)
        return -ENOMEM;
    if (*io->pos >= f->text.n_bytes)
        return 0;
    size_t n = tl_io_scatter(io, f->text.text + *io->pos, f->text.n_bytes - (size_t)*io->pos);
    *io->pos += n;
    return (int64_t)n;
}

static int64_t text_seek(tl_os *os, tl_file *file, int64_t offset, int whence) {
    (void)os;
    return whence == SEEK_END ? -EINVAL : tl_file_seek_in(file, offset, whence, 0);
}

static int64_t virtual_file_stat(tl_os *os, tl_file *file, tl_stat *ret_stat) {
    tl_thread *t = os->hart ? os->hart->client : NULL;
    node found;
    if (!t || resolve(t, file->path, &found) != 0) {
        tl_stat_anonymous(os, file, S_IFREG | 0444, ret_stat);
        return 0;
    }
    stat_node(t, file->path, &found, ret_stat);
    return 0;
}

static const tl_file_ops text_ops = {
    .kind = "a file of /proc",
    .close = text_close,
    .read = text_read,
    .seek = text_seek,
    .stat = virtual_file_stat,
};

// ---- Open directories.

static void plain_close(tl_os *os, tl_file *file) {
    (void)os;
    free(file);
}

static int64_t dir_read(tl_thread *t, tl_file *file, const tl_io *io) {
    (void)t, (void)file, (void)io;
    return -EISDIR;
}

typedef struct lister {
    tl_thread *asker;
    const char *path;
    tl_dirents out;
    uint64_t pos, at; // records before pos were handed out
    bool is_full;
} lister;

static void list(lister *l, const char *name) {
    if (l->is_full || l->at++ < l->pos)
        return;
    char path[TL_PATH_MAX + 300];
    snprintf(path, sizeof path, "%s/%s", l->path, name);
    node found;
    uint8_t type = DT_DIR;
    uint64_t inode = inode_of_path(path);
    if (name[0] != '.') {
        if (resolve(l->asker, path, &found) != 0)
            return;
        type = (uint8_t)(found.mode >> 12 & 15);
        if (found.kind == NODE_SHM) {
            tl_stat st;
            tl_mem_inode_stat(found.shm->inode, &st);
            inode = st.inode;
        }
    }
    if (!tl_dirent_put(&l->out, inode, (int64_t)l->at, type, name, strlen(name)))
        l->is_full = true;
    else
        l->pos = l->at;
}

static void list_number(lister *l, int64_t number) {
    char name[32];
    snprintf(name, sizeof name, "%lld", (long long)number);
    list(l, name);
}

// First components of all rows below l->path, each once.
static void list_rows(lister *l, const tl_proc_row *rows, const char *prefix) {
    size_t n = strlen(prefix);
    for (const tl_proc_row *row = rows; row->name; row++) {
        if (strncmp(row->name, prefix, n) != 0 || (n > 0 && row->name[n] != '/'))
            continue;
        const char *rest = row->name + n + (n > 0);
        size_t length = strcspn(rest, "/");
        bool is_known = false;
        for (const tl_proc_row *earlier = rows; earlier < row && !is_known; earlier++)
            is_known =
                strncmp(earlier->name, row->name, (size_t)(rest - row->name) + length) == 0 &&
                (earlier->name[(size_t)(rest - row->name) + length] == 0 || earlier->name[(size_t)(rest - row->name) + length] == '/');
        char name[TL_NAME_MAX + 1];
        if (is_known || length >= sizeof name || !tl_proc_is_there(l->asker->os, row))
            continue;
        memcpy(name, rest, length);
        name[length] = 0;
        list(l, name);
    }
}

static void list_task(lister *l, bool is_task) {
    list_rows(l, is_task ? tl_proc_task_rows : tl_proc_process_rows, "");
    list(l, "cwd");
    list(l, "exe");
    list(l, "fd");
    list(l, "root");
    if (!is_task)
        list(l, "task");
}

static void list_below_pid(lister *l, const char *rest, tl_process *p) {
    const char *last = strrchr(rest, '/') ? strrchr(rest, '/') + 1 : rest;
    tl_thread *owner = p->threads;
    int32_t tid = 0;
    if (strncmp(rest, "task/", 5) == 0) {
        tid = number_of(rest + 5, strcspn(rest + 5, "/"));
        owner = tl_thread_find(p->os, tid);
    }
    if (strcmp(last, "fd") == 0) {
        for (uint32_t fd = 0; owner && owner->files && fd < owner->files->capacity; fd++)
            if (owner->files->fds[fd].file)
                list_number(l, fd);
    } else if (strcmp(last, "task") == 0) {
        for (const tl_thread *t = p->threads; t; t = t->next_in_process)
            list_number(l, t->tid);
    } else if (tid && strcmp(last, "fdinfo") != 0) {
        list_task(l, true);
    }
}

static void list_all(lister *l) {
    tl_os *os = l->asker->os;
    const char *path = l->path;
    list(l, ".");
    list(l, "..");
    if (strcmp(path, "/dev") == 0) {
        tl_device_row rows[TL_MAX_DEVICES];
        uint32_t n = tl_device_list(os, l->asker->process->context, rows);
        for (uint32_t i = 0; i < n; i++)
            list(l, rows[i].name);
        static const char *const more[] = {"fd", "shm", "stderr", "stdin", "stdout"};
        for (size_t i = 0; i < sizeof more / sizeof *more; i++)
            list(l, more[i]);
        return;
    }
    if (strcmp(path, "/dev/shm") == 0) {
        for (const tl_shm_entry *entry = os->file_system->shm; entry; entry = entry->next)
            list(l, entry->name);
        return;
    }
    if (strncmp(path, "/proc/", 6) == 0) {
        size_t n = strcspn(path + 6, "/");
        tl_process *p = tl_process_find(os, number_of(path + 6, n));
        if (p && path[6 + n] == 0)
            list_task(l, false);
        else if (p)
            list_below_pid(l, path + 7 + n, p);
        if (p)
            return;
    }
    list_rows(l, tl_proc_rows, path);
    if (strcmp(path, "/proc") == 0) {
        list(l, "self");
        list(l, "thread-self");
        for (const tl_process *p = tl_process_first(os); p; p = p->next)
            list_number(l, p->pid);
    }
    if (strcmp(path, "/sys/devices/system/cpu") == 0)
        for (uint32_t i = 0; i < os->machine->n_harts; i++) {
            char name[32];
            snprintf(name, sizeof name, "cpu%u", i);
            list(l, name);
        }
}

static int64_t dir_get_entries(tl_thread *t, tl_file *file, uint64_t vaddr, size_t n) {
    uint8_t bytes[8192];
    lister l = {.asker = t, .path = file->path, .pos = file->pos, .out = {.bytes = bytes, .capacity = n < sizeof bytes ? n : sizeof bytes}};
    list_all(&l);
    if (l.out.n == 0 && l.is_full)
        return -EINVAL;
    if (!tl_vm_write(t->process, vaddr, bytes, l.out.n))
        return -EFAULT;
    file->pos = l.pos;
    return (int64_t)l.out.n;
}

static int64_t dir_seek(tl_os *os, tl_file *file, int64_t offset, int whence) {
    (void)os;
    return tl_file_seek_in(file, offset, whence, INT64_MAX);
}

static const tl_file_ops dir_ops = {
    .kind = "a directory",
    .close = plain_close,
    .read = dir_read,
    .seek = dir_seek,
    .stat = virtual_file_stat,
    .get_entries = dir_get_entries,
};

// ---- Opening.

static const tl_file_ops path_ops = {.kind = "a path", .close = plain_close, .stat = virtual_file_stat};

static int64_t open_new(tl_thread *t, const tl_place *place, size_t size, const tl_file_ops *ops, uint32_t flags, tl_file **ret_file) {
    tl_os *os = t->os;
    tl_file *file = tl_file_new(os, size, ops, flags);
    if (!file)
        return -ENOMEM;
    tl_file_set_path(os, file, place->path);
    if (file->path && ops == &dir_ops)
        file->dir = tl_dir_of_fd(&os->file_system->dirs, TL_TREE_VIRTUAL, -1, place->path);
    if (!file->path || (ops == &dir_ops && !file->dir)) {
        tl_file_unref(os, file);
        return -ENOMEM;
    }
    file->device = device_of_path(place->path);
    file->inode = inode_of_path(place->path);
    *ret_file = file;
    return 0;
}

static int64_t open_shm(tl_thread *t, const tl_place *place, tl_shm_entry *entry, uint32_t flags, uint32_t mode, tl_file **ret_file) {
    tl_os *os = t->os;
    tl_mem_inode *inode = NULL;
    if (entry) {
        if ((flags & (TL_O_CREAT | TL_O_EXCL)) == (TL_O_CREAT | TL_O_EXCL))
            return -EEXIST;
        tl_stat st;
        tl_mem_inode_stat(entry->inode, &st);
        bool reads = (flags & TL_O_ACCMODE) != TL_O_WRONLY, writes = (flags & TL_O_ACCMODE) != TL_O_RDONLY;
        if ((reads && !(st.mode & 0400)) || (writes && !(st.mode & 0200)))
            return -EACCES;
        inode = tl_mem_inode_ref(entry->inode);
    } else {
        if (!(flags & TL_O_CREAT))
            return -ENOENT;
        inode = tl_mem_inode_new(os, tl_device_shm(), mode & ~t->fs->umask & 07777);
        if (!inode)
            return -ENOMEM;
        int64_t error = tl_shm_link(os->file_system, place->name, inode);
        if (error) {
            tl_mem_inode_unref(os, inode);
            return error;
        }
    }
    tl_file *file = tl_file_of_mem(os, inode, flags, place->path);
    tl_mem_inode_unref(os, inode);
    if (!file)
        return -ENOMEM;
    int64_t error = flags & TL_O_TRUNC && tl_file_may_write(file) ? file->ops->truncate(os, file, 0) : 0;
    if (error)
        tl_file_unref(os, file);
    else
        *ret_file = file;
    return error;
}

int64_t tl_virtual_open(tl_thread *t, const tl_place *place, uint32_t flags, uint32_t mode, tl_file **ret_file) {
    node found;
    bool writes = (flags & TL_O_ACCMODE) != TL_O_RDONLY;
    int64_t error = resolve(t, place->path, &found);
    if (error == -ENOENT && tl_path_is_shm(place->path) && !(flags & TL_O_DIRECTORY))
        return place->wants_dir ? -EISDIR : open_shm(t, place, NULL, flags, mode, ret_file);
    if (error)
        return error == -ENOENT && flags & TL_O_CREAT ? -EACCES : error;
    if (place->is_magic && found.kind == NODE_FD)
        return tl_file_reopen(t, found.file, flags, ret_file);
    if ((flags & (TL_O_CREAT | TL_O_EXCL)) == (TL_O_CREAT | TL_O_EXCL))
        return -EEXIST;
    if (flags & TL_O_DIRECTORY && found.kind != NODE_DIR)
        return -ENOTDIR;
    if (flags & TL_O_PATH && found.kind != NODE_DIR)
        return open_new(t, place, sizeof(tl_file), &path_ops, flags, ret_file);
    switch (found.kind) {
    case NODE_DIR: return writes || flags & TL_O_CREAT ? -EISDIR : open_new(t, place, sizeof(tl_file), &dir_ops, flags, ret_file);
    case NODE_TEXT: return writes ? -EACCES : open_new(t, place, sizeof(text_file), &text_ops, flags, ret_file);
    case NODE_DEVICE:
        error = tl_device_open(t->os, &found.device, flags, ret_file);
        if (!error)
            tl_file_set_path(t->os, *ret_file, place->path);
        return error;
    case NODE_SHM: return open_shm(t, place, found.shm, flags, mode, ret_file);
    case NODE_LINK:
    case NODE_FD: break;
    }
    return -ELOOP; // O_NOFOLLOW
}

void tl_file_describe(const tl_file *file, char *to, size_t n) {
    const char *name = file->ops->link_name;
    if (file->path && file->path[0])
        snprintf(to, n, "%s", file->path);
    else if (name && strchr(name, ':'))
        snprintf(to, n, "%s", name);
    else
        snprintf(to, n, "%s:[%llu]", name ? name : "anon_inode", (unsigned long long)file->inode);
}
