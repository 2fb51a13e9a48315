// SPDX-License-Identifier: MIT
// Threads that have memory and descriptors, but no code, call the file layer as a program would.
#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "linux/file/fd.h"
#include "linux/file/file_system.h"
#include "linux/test_rig.h"

enum {
    SYS_GETCWD = 17,
    SYS_EPOLL_CREATE1 = 20,
    SYS_EPOLL_CTL = 21,
    SYS_EPOLL_PWAIT = 22,
    SYS_DUP = 23,
    SYS_DUP3 = 24,
    SYS_FCNTL = 25,
    SYS_IOCTL = 29,
    SYS_FLOCK = 32,
    SYS_MKDIRAT = 34,
    SYS_UNLINKAT = 35,
    SYS_SYMLINKAT = 36,
    SYS_LINKAT = 37,
    SYS_FTRUNCATE = 46,
    SYS_CHDIR = 49,
    SYS_OPENAT = 56,
    SYS_CLOSE = 57,
    SYS_PIPE2 = 59,
    SYS_GETDENTS64 = 61,
    SYS_LSEEK = 62,
    SYS_READ = 63,
    SYS_WRITE = 64,
    SYS_NEWFSTATAT = 79,
    SYS_UMASK = 166,
    SYS_SOCKET = 198,
    SYS_SOCKETPAIR = 199,
    SYS_BIND = 200,
    SYS_LISTEN = 201,
    SYS_ACCEPT = 202,
    SYS_CONNECT = 203,
    SYS_GETSOCKNAME = 204,
    SYS_GETPEERNAME = 205,
    SYS_RENAMEAT2 = 276,
    SYS_GETRANDOM = 278,
    SYS_STATX = 291,
    SYS_CLOSE_RANGE = 436,
};
enum { PATH = 0, DATA = 0x10000, OUT = 0x40000, N_BYTES = 0x80000, N_THREADS = 2 };
static const uint64_t AT = UINT64_C(0x100000);
static const uint64_t CWD = (uint64_t)(int64_t)TL_AT_FDCWD;

typedef struct rig {
    char top[64];
    tl_os *os;
    tl_process processes[N_THREADS];
    tl_thread threads[N_THREADS];
    tl_thread *t; // the calling thread
} rig;

static rig *rig_new(void) {
    rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    strcpy(r->top, "/tmp/tally-files-XXXXXX");
    assert_non_null(mkdtemp(r->top));
    r->os = tl_test_os_new(16 << 20);
    tl_os *os = r->os;
    os->options = (tl_os_options){.root = r->top, .std_fd = {-1, -1, -1}};
    os->hart = os->machine->harts[0];
    assert_int_equal(tl_file_system_new(os, NULL), TL_OK);
    for (int i = 0; i < N_THREADS; i++) {
        tl_process *p = &r->processes[i];
        tl_thread *t = &r->threads[i];
        *p = (tl_process){.os = os,
                          .pid = TL_FIRST_PID + i,
                          .vm = tl_vm_new(os),
                          .actions = tl_sigactions_new(),
                          .threads = t,
                          .n_threads = 1,
                          .next = os->processes};
        os->processes = p;
        for (int limit = 0; limit < 16; limit++)
            p->limits[limit] = (tl_rlimit){UINT64_MAX, UINT64_MAX};
        p->limits[7] = (tl_rlimit){20, 20};
        const tl_map map = {.vaddr = AT, .bytes = N_BYTES, .prot = 3, .max_prot = 7, .kind = TL_VMA_ANON, .flags = TL_MAP_FIXED};
        assert_int_equal(tl_vm_map(p->vm, &map), AT);
        *t = (tl_thread){.os = os,
                         .process = p,
                         .tid = p->pid,
                         .state = TL_THREAD_RUNNING,
                         .hart = os->hart,
                         .last_hart = -1,
                         .deadline = TL_NO_DEADLINE};
        t->files = tl_files_new(os, os->options.std_fd);
        t->fs = tl_fs_new(os);
        assert_true(t->files && t->fs);
    }
    r->t = &r->threads[0];
    return r;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static void rig_free(rig *r) {
    tl_os *os = r->os;
    for (int i = 0; i < N_THREADS; i++) {
        tl_thread *t = &r->threads[i];
        tl_wait_forget(t);
        tl_files_unref(os, t->files);
        tl_fs_unref(os, t->fs);
        tl_time_process_done(t->process);
        tl_signal_queue_done(&t->pending);
        tl_signal_queue_done(&t->process->pending);
        tl_sigactions_unref(t->process->actions);
        tl_vm_unref(t->process->vm);
    }
    tl_file_system_done(os);
    while (os->free_entries) {
        tl_wait_entry *entry = os->free_entries;
        os->free_entries = entry->next_of_thread;
        free(entry);
    }
    nftw(r->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    tl_test_os_free(os);
    free(r);
}

// Guest memory of the calling thread.
static void poke(rig *r, uint64_t at, const void *from, size_t n) { assert_true(tl_vm_write(r->t->process, AT + at, from, n)); }
static void peek(rig *r, uint64_t at, void *to, size_t n) { assert_true(tl_vm_read(r->t->process, AT + at, to, n)); }

static uint64_t path_at(rig *r, const char *path) {
    poke(r, PATH, path, strlen(path) + 1);
    return AT + PATH;
}

static int64_t run(rig *r, bool is_retry) {
    tl_thread *t = r->t;
    t->is_retry = is_retry;
    r->os->hart->client = t;
    const tl_syscall *call = tl_syscall_at(t->os, t->syscall_number);
    assert_non_null(call);
    return call->handler(t, t->syscall_args);
}

static int64_t call(rig *r, uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    tl_thread *t = r->t;
    tl_wait_forget(t);
    t->syscall_number = number;
    memcpy(t->syscall_args, (const uint64_t[6]){a, b, c, d}, sizeof t->syscall_args);
    memset(t->retry, 0, sizeof t->retry);
    t->deadline = TL_NO_DEADLINE;
    return run(r, false);
}

static int64_t retry(rig *r) {
    tl_wait_forget(r->t);
    return run(r, true);
}

static bool is_asleep(const tl_thread *t) { // registered, and not woken since
    for (const tl_wait_entry *entry = t->waits; entry; entry = entry->next_of_thread)
        if (!entry->queue)
            return false;
    return t->waits != NULL;
}

static int32_t open_file(rig *r, const char *path, uint32_t flags) {
    return (int32_t)call(r, SYS_OPENAT, CWD, path_at(r, path), flags, 0644);
}

static int64_t write_text(rig *r, int32_t fd, const char *text) {
    poke(r, DATA, text, strlen(text));
    return call(r, SYS_WRITE, (uint64_t)fd, AT + DATA, strlen(text), 0);
}

static int64_t read_some(rig *r, int32_t fd, size_t n) { return call(r, SYS_READ, (uint64_t)fd, AT + OUT, n, 0); }

static void touch(rig *r, const char *path) {
    int32_t fd = open_file(r, path, TL_O_WRONLY | TL_O_CREAT);
    assert_true(fd >= 0);
    assert_int_equal(call(r, SYS_CLOSE, (uint64_t)fd, 0, 0, 0), 0);
}

static void make_pipe(rig *r, int32_t fds[2], uint32_t flags) {
    assert_int_equal(call(r, SYS_PIPE2, AT + OUT, flags, 0, 0), 0);
    peek(r, OUT, fds, 2 * sizeof *fds);
}

static tl_abi_stat stat_of(rig *r, const char *path) {
    tl_abi_stat st;
    assert_int_equal(call(r, SYS_NEWFSTATAT, CWD, path_at(r, path), AT + OUT, 0), 0);
    peek(r, OUT, &st, sizeof st);
    return st;
}

// ---- Pipes.

static void test_a_pipe_holds_64_kib_and_small_writes_are_whole(void **state) {
    (void)state;
    rig *r = rig_new();
    int32_t fds[2];
    make_pipe(r, fds, TL_O_NONBLOCK);
    uint64_t writer = (uint64_t)fds[1];
    assert_int_equal(call(r, SYS_WRITE, writer, AT + DATA, 100000, 0), 65536);
    assert_int_equal(call(r, SYS_WRITE, writer, AT + DATA, 1, 0), -EAGAIN);
    assert_int_equal(read_some(r, fds[0], 4000), 4000);
    assert_int_equal(call(r, SYS_WRITE, writer, AT + DATA, 4096, 0), -EAGAIN); // all or nothing
    assert_int_equal(call(r, SYS_WRITE, writer, AT + DATA, 4097, 0), 4000);
    assert_int_equal(call(r, SYS_IOCTL, (uint64_t)fds[0], TL_FIONREAD, AT + OUT, 0), 0);
    int32_t n;
    peek(r, OUT, &n, sizeof n);
    assert_int_equal(n, 65536);
    assert_int_equal(call(r, SYS_FCNTL, writer, TL_F_SETPIPE_SZ, 4096, 0), -EBUSY);
    assert_int_equal(call(r, SYS_FCNTL, writer, TL_F_SETPIPE_SZ, 100000, 0), 131072);
    assert_int_equal(call(r, SYS_WRITE, writer, AT + DATA, 100000, 0), 65536);
    rig_free(r);
}

static void test_bytes_come_out_of_a_pipe_in_order(void **state) {
    (void)state;
    rig *r = rig_new();
    int32_t fds[2];
    uint8_t bytes[7000], got[7000], next_in = 0, next_out = 0;
    make_pipe(r, fds, TL_O_NONBLOCK);
    for (int round = 0; round < 60; round++) { // wraps around the ring several times
        size_t n_in = 997 + (size_t)round * 97, n_out = 900 + (size_t)round * 100;
        for (size_t i = 0; i < n_in; i++)
            bytes[i] = next_in++;
        poke(r, DATA, bytes, n_in);
        int64_t put = call(r, SYS_WRITE, (uint64_t)fds[1], AT + DATA, n_in, 0);
        next_in = (uint8_t)(next_in - (n_in - (size_t)(put > 0 ? put : 0)));
        int64_t n = read_some(r, fds[0], n_out);
        assert_true(n > 0);
        peek(r, OUT, got, (size_t)n);
        for (int64_t i = 0; i < n; i++)
            assert_int_equal(got[i], next_out++);
    }
    rig_free(r);
}

static void test_a_blocked_writer_goes_on_until_all_is_out(void **state) {
    (void)state;
    rig *r = rig_new();
    int32_t fds[2];
    make_pipe(r, fds, 0);
    tl_file *reader = tl_file_ref(tl_file_of_fd(r->t, fds[0]));
    assert_int_equal(call(r, SYS_WRITE, (uint64_t)fds[1], AT + DATA, 100000, 0), TL_SYS_BLOCK);
    assert_true(is_asleep(&r->threads[0]));
    assert_int_equal(r->t->result_if_signal, 65536);
    r->t = &r->threads[1];
    int32_t fd = tl_fd_install(r->t, reader, false, 0);
    assert_int_equal(read_some(r, fd, 60000), 60000);
    assert_false(is_asleep(&r->threads[0]));
    r->t = &r->threads[0];
    assert_int_equal(retry(r), 100000);
    rig_free(r);
}

static void test_ends_of_a_pipe_notice_each_other(void **state) {
    (void)state;
    rig *r = rig_new();
    int32_t fds[2];
    make_pipe(r, fds, 0);
    assert_int_equal(read_some(r, fds[0], 10), TL_SYS_BLOCK);
    assert_int_equal(r->t->result_if_signal, -TL_ERESTARTSYS);
    // Bytes that do not exist touch no page. This page held the descriptors.
    assert_int_equal(tl_vm_resident_bytes(r->t->process->vm), TL_PAGE_BYTES);
    assert_true(is_asleep(r->t));
    tl_fd_close(r->t, fds[1]);
    assert_false(is_asleep(r->t));
    assert_int_equal(retry(r), 0);
    make_pipe(r, fds, 0);
    tl_fd_close(r->t, fds[0]);
    assert_int_equal(write_text(r, fds[1], "x"), -EPIPE);
    assert_int_equal(tl_signal_pending_mask(r->t), tl_signal_bit(SIGPIPE));
    rig_free(r);
}

// ---- Descriptors.

static void test_the_lowest_free_descriptor_is_next(void **state) {
    (void)state;
    rig *r = rig_new();
    touch(r, "f");
    assert_int_equal(open_file(r, "f", 0), 0);
    assert_int_equal(open_file(r, "f", 0), 1);
    assert_int_equal(open_file(r, "f", TL_O_CLOEXEC), 2);
    assert_int_equal(call(r, SYS_CLOSE, 1, 0, 0, 0), 0);
    assert_int_equal(call(r, SYS_DUP, 2, 0, 0, 0), 1);
    assert_int_equal(call(r, SYS_FCNTL, 0, TL_F_DUPFD, 10, 0), 10);
    assert_int_equal(call(r, SYS_FCNTL, 0, TL_F_DUPFD, 20, 0), -EINVAL);
    assert_int_equal(call(r, SYS_DUP3, 0, 19, TL_O_CLOEXEC, 0), 19);
    assert_int_equal(call(r, SYS_DUP3, 0, 20, 0, 0), -EBADF);
    assert_int_equal(open_file(r, "f", 0), 3);
    for (int32_t fd = 4; fd < 19; fd++)
        assert_int_equal(fd == 10 ? 10 : open_file(r, "f", 0), fd);
    assert_int_equal(open_file(r, "f", 0), -EMFILE);
    tl_files_close_on_exec(r->os, r->t->files);
    assert_null(tl_fd_at(r->t->files, 2));
    assert_null(tl_fd_at(r->t->files, 19));
    assert_non_null(tl_fd_at(r->t->files, 1)); // the copy had not asked for it
    assert_int_equal(call(r, SYS_CLOSE_RANGE, 3, UINT32_MAX, 0, 0), 0);
    assert_int_equal(open_file(r, "f", 0), 2);
    assert_int_equal(open_file(r, "f", 0), 3);
    rig_free(r);
}

// Calls that give two descriptors leave none behind when they fail.
static void test_both_descriptors_of_a_pair_are_open_or_none(void **state) {
    (void)state;
    rig *r = rig_new();
    const uint64_t nowhere = AT + N_BYTES;
    int32_t fds[2] = {7, 7};
    for (int is_socket = 0; is_socket < 2; is_socket++) {
        uint64_t number = is_socket ? SYS_SOCKETPAIR : SYS_PIPE2, flag = is_socket ? SOCK_CLOEXEC | SOCK_STREAM : TL_O_CLOEXEC;
#define PAIR(flags, vaddr) (is_socket ? call(r, number, AF_UNIX, flags, 0, vaddr) : call(r, number, vaddr, flags, 0, 0))
        poke(r, OUT, fds, sizeof fds);
        assert_int_equal(PAIR(flag, nowhere - 4), -EFAULT); // half of it fits
        for (int32_t fd = 0; fd < 20; fd++)
            assert_null(tl_fd_at(r->t->files, fd));
        assert_int_equal(PAIR(flag, AT + OUT), 0);
        peek(r, OUT, fds, sizeof fds);
        assert_int_equal(fds[0], 0);
        assert_int_equal(fds[1], 1);
        assert_true(tl_fd_at(r->t->files, 0)->close_on_exec && tl_fd_at(r->t->files, 1)->close_on_exec);
        for (int32_t fd = 2; fd < 19; fd++)
            assert_int_equal(call(r, SYS_DUP, 0, 0, 0, 0), fd);
        uint64_t full = r->os->account.n_bytes;
        assert_int_equal(PAIR(flag, AT + OUT), -EMFILE); // one is free
        assert_null(tl_fd_at(r->t->files, 19));
        assert_int_equal(call(r, SYS_DUP, 0, 0, 0, 0), 19);
        assert_int_equal(PAIR(flag, AT + OUT), -EMFILE); // none is
        assert_int_equal(r->os->account.n_bytes, full);
        assert_int_equal(call(r, SYS_CLOSE_RANGE, 0, UINT32_MAX, 0, 0), 0);
        uint64_t empty = r->os->account.n_bytes;
        assert_int_equal(PAIR(flag & ~(uint64_t)(SOCK_CLOEXEC | TL_O_CLOEXEC), AT + OUT), 0);
        assert_false(tl_fd_at(r->t->files, 0)->close_on_exec || tl_fd_at(r->t->files, 1)->close_on_exec);
        assert_int_equal(call(r, SYS_CLOSE_RANGE, 0, UINT32_MAX, 0, 0), 0);
        assert_int_equal(r->os->account.n_bytes, empty);
#undef PAIR
    }
    rig_free(r);
}

// ---- Names, numbers, layouts.

static void test_directories_are_listed_by_name_and_can_be_resumed(void **state) {
    (void)state;
    rig *r = rig_new();
    static const char *const names[] = {".", "..", "Z", "a", "b", "dir", "link", "m"};
    static const uint8_t types[] = {4, 4, 8, 8, 8, 4, 10, 8};
    for (const char *const *name = (const char *const[]){"m", "b", "Z", "a", NULL}; *name; name++)
        touch(r, *name);
    assert_int_equal(call(r, SYS_MKDIRAT, CWD, path_at(r, "dir"), 0700, 0), 0);
    poke(r, DATA, "a", 2);
    assert_int_equal(call(r, SYS_SYMLINKAT, AT + DATA, CWD, path_at(r, "link"), 0), 0);
    int32_t fd = open_file(r, ".", TL_O_DIRECTORY);
    assert_int_equal(call(r, SYS_GETDENTS64, (uint64_t)fd, AT + OUT, 20, 0), -EINVAL);
    size_t n_seen = 0;
    // Two records at a time.
    for (int64_t n; (n = call(r, SYS_GETDENTS64, (uint64_t)fd, AT + OUT, 60, 0)) != 0;) {
        uint8_t bytes[64];
        assert_in_range(n, 24, 60);
        peek(r, OUT, bytes, (size_t)n);
        for (int64_t at = 0; at < n; n_seen++) {
            uint64_t inode;
            int64_t next;
            uint16_t length;
            memcpy(&inode, bytes + at, 8);
            memcpy(&next, bytes + at + 8, 8);
            memcpy(&length, bytes + at + 16, 2);
            assert_true(n_seen < sizeof types);
            assert_string_equal((const char *)bytes + at + 19, names[n_seen]);
            assert_int_equal(bytes[at + 18], types[n_seen]);
            assert_int_equal(length % 8, 0);
            assert_int_equal(next, n_seen + 1);
            assert_int_not_equal(inode, 0);
            at += length;
        }
    }
    assert_int_equal(n_seen, sizeof types);
    assert_int_equal(call(r, SYS_LSEEK, (uint64_t)fd, 0, SEEK_SET, 0), 0);
    assert_true(call(r, SYS_GETDENTS64, (uint64_t)fd, AT + OUT, 60, 0) > 0);
    rig_free(r);
}

static void test_inode_numbers_come_in_the_order_of_first_sight(void **state) {
    (void)state;
    rig *r = rig_new();
    touch(r, "one");
    touch(r, "two");
    tl_abi_stat one = stat_of(r, "one"), two = stat_of(r, "two");
    assert_int_equal(two.inode, one.inode + 1);
    assert_int_equal(one.device, two.device);
    poke(r, DATA, "again", 6);
    assert_int_equal(call(r, SYS_LINKAT, CWD, path_at(r, "one"), CWD, AT + DATA), 0);
    assert_int_equal(stat_of(r, "again").inode, one.inode);
    assert_int_equal(stat_of(r, "again").n_links, 2);
    assert_int_equal(call(r, SYS_UNLINKAT, CWD, path_at(r, "one"), 0, 0), 0);
    assert_int_equal(stat_of(r, "again").inode, one.inode);
    int32_t fd = open_file(r, "again", 0);
    assert_int_equal(call(r, SYS_UNLINKAT, CWD, path_at(r, "again"), 0, 0), 0);
    assert_int_equal(tl_file_of_fd(r->t, fd)->inode, one.inode); // open, it keeps its number
    tl_fd_close(r->t, fd);
    touch(r, "three"); // may well be the same inode of the host
    assert_true(stat_of(r, "three").inode > two.inode);
    rig_free(r);
}

static void test_statx_has_the_kernels_layout(void **state) {
    (void)state;
    tl_stat st = {.device = tl_make_device(8, 3),
                  .inode = 11,
                  .rdevice = tl_make_device(300, 70000),
                  .size = 5000,
                  .mode = S_IFREG | 0640,
                  .n_links = 2,
                  .uid = 1,
                  .gid = 7};
    st.mtime = (struct timespec){13, 17};
    tl_abi_statx x;
    uint8_t bytes[256];
    tl_statx_encode(&st, &x);
    memcpy(bytes, &x, sizeof bytes);
    uint32_t u32;
    uint64_t u64;
    static const struct {
        size_t offset;
        uint64_t value;
        bool is_64;
    } fields[] = {{4, 4096, false},    {16, 2, false},  {20, 1, false},  {24, 7, false},   {32, 11, true},
                  {40, 5000, true},    {48, 16, true},  {112, 13, true}, {120, 17, false}, {128, 300, false},
                  {132, 70000, false}, {136, 8, false}, {140, 3, false}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        memcpy(&u64, bytes + fields[i].offset, 8);
        memcpy(&u32, bytes + fields[i].offset, 4);
        assert_int_equal(fields[i].is_64 ? u64 : u32, fields[i].value);
    }
    assert_int_equal(x.mode, S_IFREG | 0640);
    tl_abi_stat plain;
    tl_stat_encode(&st, &plain);
    memcpy(bytes, &plain, sizeof plain);
    memcpy(&u64, bytes + 48, 8); // size
    assert_int_equal(u64, 5000);
    memcpy(&u64, bytes + 88, 8); // mtime
    assert_int_equal(u64, 13);
}

static void test_a_working_directory_survives_its_rename(void **state) {
    (void)state;
    rig *r = rig_new();
    char path[64];
    assert_int_equal(call(r, SYS_MKDIRAT, CWD, path_at(r, "old"), 0755, 0), 0);
    assert_int_equal(call(r, SYS_CHDIR, path_at(r, "old"), 0, 0, 0), 0);
    touch(r, "inside");
    poke(r, DATA, "/new", 5);
    assert_int_equal(call(r, SYS_RENAMEAT2, CWD, path_at(r, "../old"), CWD, AT + DATA), 0);
    assert_int_equal(call(r, SYS_GETCWD, AT + OUT, sizeof path, 0, 0), 5);
    peek(r, OUT, path, 5);
    assert_string_equal(path, "/new");
    assert_true(open_file(r, "../new/inside", 0) >= 0);
    assert_int_equal(call(r, SYS_UNLINKAT, CWD, path_at(r, "inside"), 0, 0), 0);
    assert_int_equal(call(r, SYS_UNLINKAT, CWD, path_at(r, "/new"), AT_REMOVEDIR, 0), 0);
    assert_int_equal(call(r, SYS_GETCWD, AT + OUT, sizeof path, 0, 0), -ENOENT);
    assert_int_equal(open_file(r, "gone", TL_O_CREAT | TL_O_WRONLY), -ENOENT);
    rig_free(r);
}

static void test_the_users_umask_holds_until_the_program_sets_its_own(void **state) {
    (void)state;
    rig *r = rig_new();
    mode_t before = umask(077);
    touch(r, "private");
    assert_int_equal(stat_of(r, "private").mode & 0777, 0600);
    assert_int_equal(call(r, SYS_UMASK, 002, 0, 0, 0), 022);
    touch(r, "own");
    assert_int_equal(stat_of(r, "own").mode & 0777, 0644);
    assert_int_equal(call(r, SYS_UMASK, 0, 0, 0, 0), 002);
    assert_int_equal(call(r, SYS_MKDIRAT, CWD, path_at(r, "dir"), 0777, 0), 0);
    assert_int_equal(stat_of(r, "dir").mode & 0777, 0777);
    umask(before);
    rig_free(r);
}

static void test_a_device_node_of_the_host_is_not_opened(void **state) {
    (void)state;
    rig *r = rig_new();
    char host[96];
    snprintf(host, sizeof host, "%s/node", r->top);
    if (mknod(host, S_IFCHR | 0666, 0x0105) == 0) // needs privileges: /dev/zero
        assert_int_equal(open_file(r, "node", 0), -ENXIO);
    assert_true(open_file(r, "/dev/zero", 0) >= 0);
    assert_int_equal(open_file(r, "/dev/tty", 0), -ENXIO);
    assert_int_equal(open_file(r, "/dev/mem", 0), -ENOENT);
    assert_int_equal(open_file(r, "/proc/kcore", 0), -ENOENT);
    rig_free(r);
}

// ---- epoll.

static int64_t control(rig *r, int32_t instance, int operation, int32_t fd, uint32_t events, uint64_t data) {
    tl_abi_epoll_event event = {.events = events, .data = data};
    poke(r, DATA, &event, sizeof event);
    return call(r, SYS_EPOLL_CTL, (uint64_t)instance, (uint64_t)operation, (uint64_t)fd, AT + DATA);
}

// Events that hold now; the first one in *ret_event.
static int64_t look(rig *r, int32_t instance, int max, tl_abi_epoll_event *ret_event) {
    int64_t n = call(r, SYS_EPOLL_PWAIT, (uint64_t)instance, AT + OUT, (uint64_t)max, 0);
    if (n > 0)
        peek(r, OUT, ret_event, sizeof *ret_event);
    return n;
}

static int32_t new_epoll(rig *r) { return (int32_t)call(r, SYS_EPOLL_CREATE1, 0, 0, 0, 0); }

static void test_level_edge_and_oneshot(void **state) {
    (void)state;
    rig *r = rig_new();
    int32_t fds[2], level = new_epoll(r), edge = new_epoll(r), once = new_epoll(r);
    tl_abi_epoll_event event;
    make_pipe(r, fds, 0);
    assert_int_equal(control(r, level, EPOLL_CTL_ADD, fds[0], EPOLLIN, 3), 0);
    assert_int_equal(control(r, edge, EPOLL_CTL_ADD, fds[0], EPOLLIN | EPOLLET, 5), 0);
    assert_int_equal(control(r, once, EPOLL_CTL_ADD, fds[0], EPOLLIN | EPOLLONESHOT, 7), 0);
    assert_int_equal(look(r, level, 4, &event), 0);
    write_text(r, fds[1], "abc");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(look(r, level, 4, &event), 1);
        assert_int_equal(event.data, 3);
        assert_int_equal(event.events, EPOLLIN);
        assert_int_equal(look(r, edge, 4, &event), i == 0);
        assert_int_equal(look(r, once, 4, &event), i == 0);
    }
    assert_int_equal(read_some(r, fds[0], 1), 1);
    assert_int_equal(look(r, edge, 4, &event), 0); // still readable, but nothing new
    write_text(r, fds[1], "d");
    assert_int_equal(look(r, edge, 4, &event), 1);
    assert_int_equal(look(r, once, 4, &event), 0);
    assert_int_equal(control(r, once, EPOLL_CTL_MOD, fds[0], EPOLLIN | EPOLLONESHOT, 8), 0);
    assert_int_equal(look(r, once, 4, &event), 1);
    assert_int_equal(event.data, 8);
    assert_int_equal(read_some(r, fds[0], 10), 3);
    assert_int_equal(look(r, level, 4, &event), 0);
    tl_fd_close(r->t, fds[1]);
    assert_int_equal(look(r, edge, 4, &event), 1);
    assert_int_equal(event.events, EPOLLHUP);
    tl_fd_close(r->t, fds[0]);
    assert_int_equal(look(r, level, 4, &event), 0); // closed descriptors leave
    rig_free(r);
}

static void test_ready_descriptors_take_turns(void **state) {
    (void)state;
    rig *r = rig_new();
    int32_t a[2], b[2], instance = new_epoll(r);
    tl_abi_epoll_event event;
    make_pipe(r, a, 0);
    make_pipe(r, b, 0);
    control(r, instance, EPOLL_CTL_ADD, a[0], EPOLLIN, 1);
    control(r, instance, EPOLL_CTL_ADD, b[0], EPOLLIN, 2);
    write_text(r, b[1], "x");
    write_text(r, a[1], "x");
    static const uint64_t order[] = {2, 1, 2, 1};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(look(r, instance, 1, &event), 1);
        assert_int_equal(event.data, order[i]);
    }
    assert_int_equal(look(r, instance, 5, &event), 2);
    rig_free(r);
}

static void test_instances_nest_but_not_in_circles(void **state) {
    (void)state;
    rig *r = rig_new();
    int32_t fds[2], inner = new_epoll(r), outer = new_epoll(r);
    tl_abi_epoll_event event;
    make_pipe(r, fds, 0);
    touch(r, "file");
    int32_t file = open_file(r, "file", 0);
    assert_int_equal(control(r, inner, EPOLL_CTL_ADD, file, EPOLLIN, 0), -EPERM);
    assert_int_equal(control(r, inner, EPOLL_CTL_ADD, inner, EPOLLIN, 0), -EINVAL);
    assert_int_equal(control(r, inner, EPOLL_CTL_ADD, 99, EPOLLIN, 0), -EBADF);
    assert_int_equal(control(r, inner, EPOLL_CTL_MOD, fds[0], EPOLLIN, 0), -ENOENT);
    assert_int_equal(control(r, inner, EPOLL_CTL_ADD, fds[0], EPOLLIN, 1), 0);
    assert_int_equal(control(r, inner, EPOLL_CTL_ADD, fds[0], EPOLLIN, 1), -EEXIST);
    assert_int_equal(control(r, outer, EPOLL_CTL_ADD, inner, EPOLLIN, 2), 0);
    assert_int_equal(control(r, inner, EPOLL_CTL_ADD, outer, EPOLLIN, 3), -ELOOP);
    assert_int_equal(call(r, SYS_EPOLL_PWAIT, (uint64_t)outer, AT + OUT, 4, (uint64_t)-1), TL_SYS_BLOCK);
    assert_true(is_asleep(r->t));
    tl_thread *sleeper = r->t;
    tl_file *writer = tl_file_ref(tl_file_of_fd(r->t, fds[1]));
    r->t = &r->threads[1];
    write_text(r, tl_fd_install(r->t, writer, false, 0), "x");
    assert_false(is_asleep(sleeper));
    r->t = sleeper;
    assert_int_equal(retry(r), 1);
    peek(r, OUT, &event, sizeof event);
    assert_int_equal(event.data, 2);
    assert_int_equal(look(r, inner, 4, &event), 1);
    assert_int_equal(read_some(r, fds[0], 1), 1);
    assert_int_equal(look(r, outer, 4, &event), 0);
    rig_free(r);
}

static void test_a_wait_ends_at_its_time(void **state) {
    (void)state;
    rig *r = rig_new();
    int32_t fds[2], instance = new_epoll(r);
    make_pipe(r, fds, 0);
    control(r, instance, EPOLL_CTL_ADD, fds[0], EPOLLIN, 0);
    assert_int_equal(call(r, SYS_EPOLL_PWAIT, (uint64_t)instance, AT + OUT, 4, 3), TL_SYS_BLOCK);
    assert_int_equal(r->t->deadline, tl_os_ns_to_cycles(r->os, 3000000));
    r->os->now = r->t->deadline - 1;
    assert_int_equal(retry(r), TL_SYS_BLOCK);
    r->os->now += 1;
    assert_int_equal(retry(r), 0);
    rig_free(r);
}

// ---- Locks.

static int64_t set_lock(rig *r, int32_t fd, uint32_t command, int16_t type, int64_t start, int64_t length) {
    tl_abi_flock l = {.type = type, .start = start, .length = length};
    poke(r, DATA, &l, sizeof l);
    return call(r, SYS_FCNTL, (uint64_t)fd, command, AT + DATA, 0);
}

static void test_record_locks_split_join_and_deadlock(void **state) {
    (void)state;
    rig *r = rig_new();
    touch(r, "f");
    int32_t a = open_file(r, "f", TL_O_RDWR);
    r->t = &r->threads[1];
    int32_t b = open_file(r, "f", TL_O_RDWR);
    r->t = &r->threads[0];
    assert_int_equal(set_lock(r, a, TL_F_SETLK, TL_F_WRLCK, 0, 30), 0);
    assert_int_equal(set_lock(r, a, TL_F_SETLK, TL_F_UNLCK, 10, 10), 0);
    assert_int_equal(set_lock(r, a, TL_F_SETLK, TL_F_RDLCK, 25, 0), 0); // to the end
    r->t = &r->threads[1];
    assert_int_equal(set_lock(r, b, TL_F_SETLK, TL_F_WRLCK, 10, 10), 0);
    assert_int_equal(set_lock(r, b, TL_F_SETLK, TL_F_WRLCK, 9, 1), -EAGAIN);
    assert_int_equal(set_lock(r, b, TL_F_SETLK, TL_F_RDLCK, 24, 1), -EAGAIN);
    assert_int_equal(set_lock(r, b, TL_F_SETLK, TL_F_RDLCK, 25, 1000), 0);
    assert_int_equal(set_lock(r, b, TL_F_GETLK, TL_F_WRLCK, 5, 100), 0);
    tl_abi_flock l;
    peek(r, DATA, &l, sizeof l);
    assert_int_equal(l.pid, TL_FIRST_PID);
    assert_int_equal(set_lock(r, b, TL_F_SETLKW, TL_F_WRLCK, 0, 1), TL_SYS_BLOCK);
    r->t->state = TL_THREAD_SLEEPING;
    r->t->in_syscall = true;
    r->t = &r->threads[0];
    assert_int_equal(set_lock(r, a, TL_F_SETLKW, TL_F_WRLCK, 15, 1), -EDEADLK);
    r->threads[1].state = TL_THREAD_RUNNING;
    assert_true(is_asleep(&r->threads[1]));
    tl_fd_close(r->t, a); // any descriptor of the file gives up all of them
    assert_false(is_asleep(&r->threads[1]));
    r->t = &r->threads[1];
    poke(r, DATA, &(tl_abi_flock){.type = TL_F_WRLCK, .length = 1}, sizeof l);
    assert_int_equal(retry(r), 0);
    rig_free(r);
}

// Two owners and 40 bytes against one word per byte.
static void test_record_locks_are_as_byte_by_byte(void **state) {
    (void)state;
    enum { N = 40 };
    rig *r = rig_new();
    uint64_t random = 99;
    int32_t fds[2];
    int16_t held[2][N];
    touch(r, "f");
    for (int i = 0; i < 2; i++) {
        r->t = &r->threads[i];
        fds[i] = open_file(r, "f", TL_O_RDWR);
        for (int k = 0; k < N; k++)
            held[i][k] = TL_F_UNLCK;
    }
    for (int step = 0; step < 4000; step++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        int who = (int)(random >> 63), start = (int)(random >> 40) % N, n = 1 + (int)(random >> 33 & 0xff) % (N - start);
        int16_t type = (int16_t)((random >> 29 & 7) % 3);
        bool conflicts = false;
        for (int k = start; k < start + n; k++)
            conflicts |= type != TL_F_UNLCK && held[!who][k] != TL_F_UNLCK && (type == TL_F_WRLCK || held[!who][k] == TL_F_WRLCK);
        r->t = &r->threads[who];
        assert_int_equal(set_lock(r, fds[who], TL_F_SETLK, type, start, n), conflicts ? -EAGAIN : 0);
        for (int k = start; !conflicts && k < start + n; k++)
            held[who][k] = type;
        for (int k = 0; k < N; k += 7) { // as the other sees it: the whole stretch
            tl_abi_flock l;
            r->t = &r->threads[!who];
            assert_int_equal(set_lock(r, fds[!who], TL_F_GETLK, TL_F_WRLCK, k, 1), 0);
            peek(r, DATA, &l, sizeof l);
            assert_int_equal(l.type, held[who][k]);
            int first = k, last = k;
            while (first > 0 && held[who][first - 1] == held[who][k])
                first--;
            while (last < N - 1 && held[who][last + 1] == held[who][k])
                last++;
            if (l.type != TL_F_UNLCK) {
                assert_int_equal(l.start, first);
                assert_int_equal(l.length, last - first + 1);
            }
        }
    }
    for (int i = 0; i < 2; i++) {
        r->t = &r->threads[i];
        tl_fd_close(r->t, fds[i]);
    }
    assert_null(r->os->file_system->locks.root);
    rig_free(r);
}

static void test_what_is_closed_is_given_back(void **state) {
    (void)state;
    rig *r = rig_new();
    int32_t ends[2], pair[2];
    touch(r, "f");
    (void)open_file(r, "f", TL_O_RDWR); // tables have grown, names are known
    uint64_t before = r->os->account.n_bytes;
    for (int round = 0; round < 3; round++) {
        int32_t fd = open_file(r, "f", TL_O_RDWR), text = open_file(r, "/proc/self/stat", 0), folder = open_file(r, ".", 0);
        assert_int_equal(set_lock(r, fd, TL_F_SETLK, TL_F_WRLCK, 3, 1), 0);
        assert_true(read_some(r, text, 10) == 10);
        assert_true(call(r, SYS_GETDENTS64, (uint64_t)folder, AT + OUT, 4096, 0) > 0);
        assert_int_equal(call(r, SYS_PIPE2, AT + OUT, 0, 0, 0), 0);
        peek(r, OUT, ends, sizeof ends);
        assert_int_equal(write_text(r, ends[1], "hello"), 5);
        assert_int_equal(call(r, SYS_FCNTL, (uint64_t)ends[1], TL_F_SETPIPE_SZ, 1 << 20, 0), 1 << 20);
        assert_int_equal(call(r, SYS_SOCKETPAIR, AF_UNIX, SOCK_STREAM, 0, AT + OUT), 0);
        peek(r, OUT, pair, sizeof pair);
        assert_int_equal(write_text(r, pair[1], "hello"), 5);
        int32_t epoll = (int32_t)call(r, SYS_EPOLL_CREATE1, 0, 0, 0, 0);
        tl_abi_epoll_event event = {.events = EPOLLIN};
        poke(r, DATA, &event, sizeof event);
        assert_int_equal(call(r, SYS_EPOLL_CTL, (uint64_t)epoll, EPOLL_CTL_ADD, (uint64_t)pair[0], AT + DATA), 0);
        assert_true(r->os->account.n_bytes > before + (1 << 20));
        const int32_t all[] = {fd, text, folder, ends[0], ends[1], pair[0], epoll, pair[1]};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            tl_fd_close(r->t, all[i]);
        assert_int_equal(r->os->account.n_bytes, before);
    }
    r->os->account.most_bytes = before + 1000;
    assert_int_equal(call(r, SYS_PIPE2, AT + OUT, 0, 0, 0), 0); // the ends fit, the bytes do not
    peek(r, OUT, ends, sizeof ends);
    assert_int_equal(write_text(r, ends[1], "hello"), -ENOMEM);
    r->os->account.most_bytes = before;
    assert_int_equal(open_file(r, "f", TL_O_RDWR), -ENOMEM);
    rig_free(r);
}

// ---- The loopback.

static void test_loopback_connections_need_no_network(void **state) {
    (void)state;
    rig *r = rig_new();
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, other;
    uint32_t n = sizeof address;
    int32_t server = (int32_t)call(r, SYS_SOCKET, AF_INET, SOCK_STREAM, 0, 0),
            client = (int32_t)call(r, SYS_SOCKET, AF_INET, SOCK_STREAM, 0, 0);
    poke(r, DATA, &address, n);
    assert_int_equal(call(r, SYS_BIND, (uint64_t)server, AT + DATA, n, 0), 0);
    assert_int_equal(call(r, SYS_LISTEN, (uint64_t)server, 1, 0, 0), 0);
    poke(r, OUT, &n, sizeof n);
    assert_int_equal(call(r, SYS_GETSOCKNAME, (uint64_t)server, AT + DATA, AT + OUT, 0), 0);
    peek(r, DATA, &other, sizeof other);
    assert_int_equal(ntohs(other.sin_port), 32768); // ports are given out in order
    assert_int_equal(call(r, SYS_ACCEPT, (uint64_t)server, 0, 0, 0), TL_SYS_BLOCK);
    assert_int_equal(call(r, SYS_CONNECT, (uint64_t)client, AT + DATA, n, 0), 0);
    int32_t accepted = (int32_t)call(r, SYS_ACCEPT, (uint64_t)server, AT + DATA, AT + OUT, 0);
    assert_true(accepted >= 0);
    peek(r, DATA, &other, sizeof other);
    assert_int_equal(ntohs(other.sin_port), 32769);
    assert_int_equal(write_text(r, client, "hello"), 5);
    assert_int_equal(read_some(r, accepted, 100), 5);
    tl_fd_close(r->t, client);
    assert_int_equal(read_some(r, accepted, 100), 0);
    address.sin_addr.s_addr = htonl(0x08080808);
    address.sin_port = htons(53);
    poke(r, DATA, &address, n);
    client = (int32_t)call(r, SYS_SOCKET, AF_INET, SOCK_STREAM, 0, 0);
    assert_int_equal(call(r, SYS_CONNECT, (uint64_t)client, AT + DATA, n, 0), -ENETUNREACH);
    rig_free(r);
}

static void test_randomness_is_the_seeds(void **state) {
    (void)state;
    uint8_t bytes[2][32];
    for (int i = 0; i < 2; i++) {
        rig *r = rig_new();
        memset(r->os->random_state, 7, sizeof r->os->random_state);
        assert_int_equal(call(r, SYS_GETRANDOM, AT + OUT, 16, 0, 0), 16);
        peek(r, OUT, bytes[i], 16);
        assert_int_equal(read_some(r, open_file(r, "/dev/urandom", 0), 16), 16);
        peek(r, OUT, bytes[i] + 16, 16);
        assert_memory_not_equal(bytes[i], bytes[i] + 16, 16);
        assert_int_equal(call(r, SYS_GETRANDOM, AT + OUT, 16, 8, 0), -EINVAL);
        rig_free(r);
    }
    assert_memory_equal(bytes[0], bytes[1], sizeof bytes[0]);
}

// Calls the file layer with random arguments in a root of its own. Any result is allowed; no call
// may crash. The letters give the likely kind of each argument. FILES_SEED and FILES_CALLS in the
// environment choose another or a longer run.
static const struct {
    uint16_t number;
    char arguments[7];
} sorts[] = {
    {17, "bn"},      {19, "sg"},      {20, "g"},       {21, "fsfe"},   {22, "fens0n"}, {23, "f"},       {24, "ffg"},     {25, "fsn"},
    {25, "fsl"},     {25, "fgs"},     {29, "fib"},     {32, "fs"},     {33, "dpg"},    {34, "dpg"},     {35, "dpg"},     {36, "pdp"},
    {37, "dpdpg"},   {43, "pb"},      {44, "fb"},      {45, "pn"},     {46, "fn"},     {47, "fsnn"},    {48, "dps"},     {49, "p"},
    {50, "f"},       {52, "fg"},      {53, "dpg"},     {54, "dpssg"},  {55, "fss"},    {56, "dpgg"},    {56, "dpgg"},    {56, "dpOg"},
    {56, "dpOg"},    {57, "f"},       {59, "bg"},      {61, "fbn"},    {61, "fbn"},    {62, "fns"},     {63, "fbn"},     {63, "fbn"},
    {64, "fbn"},     {64, "fbn"},     {65, "fvs"},     {66, "fvs"},    {67, "fbnn"},   {68, "fbnn"},    {69, "fvsn"},    {70, "fvsn"},
    {71, "ffbn"},    {71, "ff0n"},    {72, "sbbbt0"},  {73, "est0"},   {74, "fbng"},   {75, "fvsg"},    {76, "f0f0ng"},  {76, "fbfbng"},
    {77, "ffng"},    {78, "dpbn"},    {79, "dpbg"},    {80, "fb"},     {82, "f"},      {85, "sg"},      {86, "fstb"},    {87, "fb"},
    {88, "dptg"},    {90, "bb"},      {101, "tb"},     {102, "sb"},    {103, "stb"},   {107, "seb"},    {108, "sb"},     {109, "s"},
    {110, "sstb"},   {111, "s"},      {113, "sb"},     {114, "sb"},    {115, "sstb"},  {160, "b"},      {166, "s"},      {169, "bb"},
    {179, "b"},      {198, "sss"},    {198, "sg0"},    {199, "1s0b"},  {199, "1g0b"},  {200, "fkn"},    {200, "fks"},    {201, "fs"},
    {202, "fbb"},    {203, "fkn"},    {203, "fks"},    {204, "fbb"},   {205, "fbb"},   {206, "fbngkn"}, {207, "fbngbb"}, {208, "fssbn"},
    {208, "f1sbn"},  {209, "fssbb"},  {209, "f1sbb"},  {210, "fs"},    {211, "fmg"},   {211, "fmg"},    {212, "fmg"},    {212, "fmg"},
    {223, "fnns"},   {242, "fbbg"},   {243, "fmsgt"},  {269, "fmsg"},  {276, "dpdps"}, {278, "bns"},    {279, "pg"},     {285, "f0f0n0"},
    {285, "fbfbn0"}, {286, "fvsn0g"}, {287, "fvsn0g"}, {291, "dpggb"}, {424, "fs00"},  {434, "s0"},     {436, "nnf"},    {437, "dpbn"},
    {439, "dpsg"},   {56, "dpO"},     {56, "dpO"},     {56, "dpO"},    {56, "dpO"},    {56, "dpO"},     {56, "dpO"},     {56, "dpO"},
    {56, "dpO"},     {56, "dpO"},     {56, "dpO"},     {56, "dpO"},    {56, "dpO"},    {59, "b0"},      {59, "b0"},      {59, "b0"},
    {199, "110b"},   {199, "1s0b"},   {19, "s0"},      {20, "0"},      {279, "p0"},    {85, "10"},      {74, "ftng"},    {198, "110"},
    {198, "sss"},    {441, "festb"},
};

static uint64_t next_random(uint64_t *random) {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random >> 11;
}

static uint64_t argument_of(rig *r, char sort, uint64_t *random) {
    static const char *const paths[] = {"f",
                                        "dir",
                                        "dir/f",
                                        "link",
                                        "/proc/self/fd/3",
                                        "/proc/self/maps",
                                        "/dev/null",
                                        "/dev/shm/s",
                                        "/dev/urandom",
                                        "..",
                                        "/",
                                        ".",
                                        "fifo",
                                        "socket",
                                        "/proc/self",
                                        "dir/",
                                        "new",
                                        "/dev/zero",
                                        "/proc/self/fd",
                                        "/sys/devices",
                                        "dir/../f",
                                        "",
                                        "/proc/stat",
                                        "/dev/shm",
                                        "/proc/self/task",
                                        "link/x"};
    uint64_t pick = next_random(random);
    if (next_random(random) % 16 == 0) {
        const uint64_t odd[] = {
            (uint64_t)-1, 0,         AT - 1,    AT + N_BYTES - pick % 70, UINT64_C(1) << pick % 64, (UINT64_C(1) << pick % 64) - 1,
            pick,         INT64_MAX, INT32_MAX, (uint64_t)INT64_MIN};
        return odd[pick % (sizeof odd / sizeof *odd)];
    }
    switch (sort) {
    case 'd': return pick % 4 ? CWD : pick % 13;
    case 'f': return pick % 13;
    case 's': return pick % 12;
    case 'n': return pick % 3 ? pick % 5000 : pick % 300000;
    case 'g': return UINT64_C(1) << pick % 24 | UINT64_C(1) << (pick >> 8) % 24;
    case 'O':
        return (pick & 3) | (pick & 4 ? TL_O_CREAT : 0) | (pick & 8 ? TL_O_NONBLOCK : 0) | (pick & 16 ? TL_O_APPEND : 0) |
               (pick & 0xe0 ? 0 : TL_O_TRUNC);
    case '0': return 0;
    case '1': return 1;
    case 'i': return (const uint64_t[]){TL_FIONREAD, TL_FIONBIO, TL_FIOCLEX, TL_TCGETS, TL_FIONCLEX}[pick % 5];
    case 'b': return AT + OUT + pick % 4096;
    case 'p': {
        const char *path = paths[pick % (sizeof paths / sizeof *paths)];
        uint64_t at = (pick >> 8) % 8 * 64;
        poke(r, at, path, strlen(path) + 1);
        return AT + at;
    }
    case 'v': {
        tl_abi_iovec vectors[12];
        for (int i = 0; i < 12; i++)
            vectors[i] = (tl_abi_iovec){.vaddr = AT + next_random(random) % N_BYTES, .n_bytes = next_random(random) % 9000};
        poke(r, DATA, vectors, sizeof vectors);
        return AT + DATA;
    }
    case 'm': {
        // The message carries SCM_RIGHTS.
        uint64_t control[4] = {pick & 8 ? 20 : 24, UINT64_C(1) << 32 | SOL_SOCKET, next_random(random) % 13, 0};
        tl_abi_msghdr header = {
            .iov = argument_of(r, 'v', random), .n_iov = pick % 12, .control = AT + DATA + 512, .control_bytes = pick & 16 ? 0 : 24};
        if (pick & 32) {
            header.name = argument_of(r, 'k', random);
            header.name_bytes = 16;
        }
        poke(r, DATA + 512, control, sizeof control);
        poke(r, DATA + 1024, &header, sizeof header);
        return AT + DATA + 1024;
    }
    case 't': {
        const uint64_t times[4] = {pick % 3, next_random(random) % 1000000, next_random(random) % 3, next_random(random) % 1000000};
        poke(r, DATA + 2048, times, sizeof times);
        return AT + DATA + 2048;
    }
    case 'e': {
        const tl_abi_epoll_event event = {.events = (uint32_t)next_random(random), .data = pick};
        poke(r, DATA + 3072, &event, sizeof event);
        return AT + DATA + 3072;
    }
    case 'l': {
        const tl_abi_flock lock = {.type = (int16_t)(pick % 3),
                                   .whence = (int16_t)(pick >> 8) % 3,
                                   .start = (int64_t)(pick >> 16) % 100,
                                   .length = (int64_t)(pick >> 24) % 100};
        poke(r, DATA + 3584, &lock, sizeof lock);
        return AT + DATA + 3584;
    }
    default: { // 'k'
        struct sockaddr_in address = {.sin_family = pick & 1 ? AF_UNIX : AF_INET,
                                      .sin_port = htons((uint16_t)(32768 + pick % 8)),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        if (pick & 1)
            memcpy((uint8_t *)&address + 2, pick & 2 ? "socket" : "\0abstr", 7);
        poke(r, DATA + 4000, &address, sizeof address);
        return AT + DATA + 4000;
    }
    }
}

static void test_arguments_of_all_sorts_do_no_harm(void **state) {
    (void)state;
    rig *r = rig_new();
    uint64_t random = getenv("FILES_SEED") ? strtoull(getenv("FILES_SEED"), NULL, 10) * 2 + 1 : 88172645463325252u;
    int n_calls = getenv("FILES_CALLS") ? atoi(getenv("FILES_CALLS")) : 20000, n_good = 0;
    bool is_verbose = getenv("FILES_VERBOSE") != NULL;
    for (int i = 0; i < N_THREADS; i++)
        r->processes[i].limits[1] = (tl_rlimit){1 << 20, 1 << 20};
    for (int i = 0; i < n_calls; i++) {
        size_t which = next_random(&random) % (sizeof sorts / sizeof *sorts);
        uint64_t args[6] = {0};
        r->t = &r->threads[next_random(&random) & 1];
        for (int k = 0; k < 6; k++)
            args[k] = argument_of(r, sorts[which].arguments[k] ? sorts[which].arguments[k] : '0', &random);
        tl_wait_forget(r->t);
        r->t->syscall_number = sorts[which].number;
        memcpy(r->t->syscall_args, args, sizeof args);
        memset(r->t->retry, 0, sizeof r->t->retry);
        r->t->deadline = TL_NO_DEADLINE;
        if (is_verbose)
            fprintf(stderr, "%d %s %#lx %#lx %#lx %#lx %#lx\n", i, tl_syscall_at(r->os, sorts[which].number)->name, args[0], args[1],
                    args[2], args[3], args[4]);
        int64_t result = run(r, false);
        if (result == TL_SYS_BLOCK && random & 1)
            result = retry(r);
        if (is_verbose)
            fprintf(stderr, " = %ld\n", (long)result);
        n_good += result >= 0;
        r->t->has_saved_blocked = false;
        r->os->now += next_random(&random) % 4096;
        while (r->os->n_timers && r->os->timers[1]->cycle <= r->os->now) {
            tl_timer *timer = r->os->timers[1];
            tl_timer_cancel(r->os, timer);
            timer->fire(r->os, timer);
        }
    }
    if (is_verbose)
        fprintf(stderr, "%d of %d calls succeeded\n", n_good, n_calls);
    assert_true(n_good > n_calls / 10); // or it tests nothing
    rig_free(r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_arguments_of_all_sorts_do_no_harm),
    cmocka_unit_test(test_a_pipe_holds_64_kib_and_small_writes_are_whole),
    cmocka_unit_test(test_bytes_come_out_of_a_pipe_in_order),
    cmocka_unit_test(test_a_blocked_writer_goes_on_until_all_is_out),
    cmocka_unit_test(test_ends_of_a_pipe_notice_each_other),
    cmocka_unit_test(test_the_lowest_free_descriptor_is_next),
    cmocka_unit_test(test_both_descriptors_of_a_pair_are_open_or_none),
    cmocka_unit_test(test_directories_are_listed_by_name_and_can_be_resumed),
    cmocka_unit_test(test_inode_numbers_come_in_the_order_of_first_sight),
    cmocka_unit_test(test_statx_has_the_kernels_layout),
    cmocka_unit_test(test_a_working_directory_survives_its_rename),
    cmocka_unit_test(test_the_users_umask_holds_until_the_program_sets_its_own),
    cmocka_unit_test(test_a_device_node_of_the_host_is_not_opened),
    cmocka_unit_test(test_level_edge_and_oneshot),
    cmocka_unit_test(test_ready_descriptors_take_turns),
    cmocka_unit_test(test_instances_nest_but_not_in_circles),
    cmocka_unit_test(test_a_wait_ends_at_its_time),
    cmocka_unit_test(test_record_locks_split_join_and_deadlock),
    cmocka_unit_test(test_record_locks_are_as_byte_by_byte),
    cmocka_unit_test(test_what_is_closed_is_given_back),
    cmocka_unit_test(test_loopback_connections_need_no_network),
    cmocka_unit_test(test_randomness_is_the_seeds),
};

TL_TEST_MAIN(tests)
