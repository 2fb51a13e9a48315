/* SPDX-License-Identifier: MIT
 * Machine-independent rules of perf_event_open: refusals and errors, reads, groups, states, resets,
 * rings, inheritance. Software events only, because the host's kernel is the second oracle. */
#include "check.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int open_on(struct perf_event_attr *attr, pid_t pid, int cpu, int group, unsigned long flags) {
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, flags);
}
static int open_self(struct perf_event_attr *attr, int group) { return open_on(attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC); }

static struct perf_event_attr software(uint64_t config) {
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER7, .config = config, .disabled = 1, .exclude_kernel = 1};
    return attr;
}

#define REFUSED(error, ...)                                          \
    do {                                                             \
        struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY); \
        __VA_ARGS__;                                                 \
        CHECK_FAILS(open_self(&attr, -1), error);                    \
    } while (0)
#define TAKEN(...)                                                   \
    do {                                                             \
        struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY); \
        __VA_ARGS__;                                                 \
        int taken = open_self(&attr, -1);                            \
        CHECK_OK(taken);                                             \
        CHECK_OK(close(taken));                                      \
    } while (0)

static void requests(void) {
    REFUSED(EINVAL, attr.sample_type = UINT64_C(1) << 40);
    REFUSED(EINVAL, attr.read_format = UINT64_C(1) << 40);
    REFUSED(EINVAL, attr.__reserved_2 = 1);
    REFUSED(EINVAL, attr.sample_period = UINT64_C(1) << 63);
    REFUSED(EINVAL, (attr.freq = 1, attr.sample_freq = 1000000000));
    REFUSED(EINVAL, attr.inherit_thread = 1);
    REFUSED(EINVAL, (attr.remove_on_exec = 1, attr.enable_on_exec = 1));
    REFUSED(EINVAL, attr.sigtrap = 1);
    REFUSED(EINVAL, (attr.sample_type = PERF_SAMPLE_STACK_USER, attr.sample_stack_user = 65535));
    REFUSED(EINVAL, (attr.sample_type = PERF_SAMPLE_STACK_USER, attr.sample_stack_user = 12));
    REFUSED(EINVAL, (attr.sample_type = PERF_SAMPLE_REGS_USER, attr.sample_regs_user = 0));
    REFUSED(EINVAL, (attr.sample_type = PERF_SAMPLE_BRANCH_STACK, attr.branch_sample_type = 0));
    REFUSED(EINVAL, attr.sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT);
    REFUSED(EINVAL, (attr.use_clockid = 1, attr.clockid = 99));
    REFUSED(EOPNOTSUPP, (attr.sample_type = PERF_SAMPLE_BRANCH_STACK, attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY));
    REFUSED(ENOENT, attr.config = 1000);
    REFUSED(ENOENT, attr.type = 12345);
    REFUSED(E2BIG, attr.size = 16);
    REFUSED(E2BIG, attr.size = 5000);
    TAKEN(attr.size = 0);
    TAKEN(attr.size = PERF_ATTR_SIZE_VER0);
    TAKEN(attr.sample_type = PERF_SAMPLE_STACK_USER | PERF_SAMPLE_IP, attr.sample_stack_user = 4096);
    TAKEN(attr.inherit = 1, attr.inherit_thread = 1);
    TAKEN(attr.pinned = 1, attr.exclusive = 1);
    TAKEN(attr.use_clockid = 1, attr.clockid = CLOCK_MONOTONIC);
    for (uint64_t config = 0; config <= PERF_COUNT_SW_BPF_OUTPUT; config++)
        TAKEN(attr.config = config);

    struct { /* a later kernel's attr: all right while what is new is zero */
        struct perf_event_attr attr;
        uint64_t more[400];
    } big = {.attr = software(PERF_COUNT_SW_DUMMY)};
    big.attr.size = 1024;
    int fd = open_self(&big.attr, -1);
    CHECK_OK(fd);
    CHECK_OK(close(fd));
    ((char *)&big)[1000] = 1;
    CHECK_FAILS(open_self(&big.attr, -1), E2BIG);
    CHECK(big.attr.size >= PERF_ATTR_SIZE_VER7 && big.attr.size < 1000);

    struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);
    CHECK_FAILS(open_on(NULL, 0, -1, -1, 0), EFAULT);
    CHECK_FAILS(open_on(&attr, 0, -1, -1, 1 << 20), EINVAL);
    CHECK_FAILS(open_on(&attr, -1, -1, -1, 0), EINVAL);
    CHECK_FAILS(open_on(&attr, 0, 100000, -1, 0), EINVAL);
    CHECK_FAILS(open_on(&attr, 0, -2, -1, 0), EINVAL);
    CHECK_FAILS(open_on(&attr, 0x7ffffff0, -1, -1, 0), ESRCH);
    CHECK_FAILS(open_on(&attr, 0, -1, 1000, 0), EBADF);
    CHECK_FAILS(open_on(&attr, 0, -1, 0, 0), EBADF); /* a file, but of another kind */
    CHECK_FAILS(open_on(&attr, -1, -1, -1, PERF_FLAG_PID_CGROUP), EINVAL);
    int with_flag = open_on(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC), without = open_on(&attr, 0, -1, -1, 0);
    CHECK_EQ(fcntl(with_flag, F_GETFD), FD_CLOEXEC);
    CHECK_EQ(fcntl(without, F_GETFD), 0);
    CHECK_OK(close(with_flag));
    CHECK_OK(close(without));
    puts("requests");
}

static void groups(void) {
    struct perf_event_attr attr = software(PERF_COUNT_SW_TASK_CLOCK);
    uint64_t ids[3], values[32], id;
    void *volatile nowhere = (void *)8;
    int leader = open_self(&attr, -1);
    CHECK_OK(leader);
    attr.disabled = 0;
    attr.pinned = 1;
    CHECK_FAILS(open_self(&attr, leader), EINVAL);
    attr.pinned = 0;
    attr.inherit = 1;
    CHECK_FAILS(open_self(&attr, leader), EINVAL);
    attr.inherit = 0;
    CHECK_FAILS(open_on(&attr, 0, 0, leader, 0), EINVAL); /* on another cpu */
    int second = open_self(&attr, leader), third = open_self(&attr, leader);
    CHECK_OK(second);
    CHECK_OK(third);
    CHECK_FAILS(open_self(&attr, second), EINVAL); /* does not lead */
    int fds[3] = {leader, second, third};
    for (int i = 0; i < 3; i++)
        CHECK_OK(ioctl(fds[i], PERF_EVENT_IOC_ID, &ids[i]));
    CHECK(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2] && ids[0] != 0);
    CHECK_FAILS(ioctl(leader, PERF_EVENT_IOC_ID, 8), EFAULT);
    for (int i = 0; i < 3; i++)
        CHECK_OK(close(fds[i]));

    attr = software(PERF_COUNT_SW_TASK_CLOCK);
    attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    leader = open_self(&attr, -1);
    attr.disabled = 0;
    attr.read_format = PERF_FORMAT_ID;
    second = open_self(&attr, leader);
    CHECK_OK(second);
    CHECK_EQ(read(leader, values, sizeof values), 7 * 8); /* 1 group, 2 times, 2 counts with ids */
    CHECK_EQ(values[0], 2);
    CHECK_EQ(values[1] + values[2] + values[3] + values[5], 0); /* the leader is off, so is the group */
    CHECK_OK(ioctl(leader, PERF_EVENT_IOC_ID, &id));
    CHECK_EQ(values[4], id);
    CHECK_OK(ioctl(second, PERF_EVENT_IOC_ID, &id));
    CHECK_EQ(values[6], id);
    CHECK_FAILS(read(leader, values, 7 * 8 - 1), ENOSPC);
    CHECK_FAILS(read(second, values, 8), ENOSPC);
    CHECK_FAILS(read(leader, nowhere, 7 * 8), EFAULT);
    CHECK_OK(ioctl(leader, PERF_EVENT_IOC_ENABLE, 0)); /* the second one was on all the time */
    for (volatile int i = 0; i < 200000; i++)
        ;
    CHECK_OK(ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP));
    CHECK_EQ(read(leader, values, sizeof values), 7 * 8);
    CHECK(values[1] > 0 && values[1] == values[2] && values[3] > 0 && values[5] > 0);
    uint64_t before = values[5];
    CHECK_EQ(read(second, values, sizeof values), 2 * 8);
    CHECK_EQ(values[0], before);
    CHECK_OK(ioctl(leader, PERF_EVENT_IOC_RESET, 0));
    CHECK_EQ(read(leader, values, sizeof values), 7 * 8);
    CHECK_EQ(values[3], 0);
    CHECK_EQ(values[5], before); /* not the group */
    CHECK(values[1] > 0);        /* nor the times */
    CHECK_OK(ioctl(second, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP));
    CHECK_EQ(read(leader, values, sizeof values), 7 * 8);
    CHECK_EQ(values[5], 0);
    CHECK_OK(close(leader)); /* the second one goes on alone; it is off */
    CHECK_EQ(read(second, values, sizeof values), 2 * 8);
    CHECK_OK(ioctl(second, PERF_EVENT_IOC_ENABLE, 0));
    for (volatile int i = 0; i < 200000; i++)
        ;
    CHECK_EQ(read(second, values, sizeof values), 2 * 8);
    CHECK(values[0] > 0);
    CHECK_OK(close(second));
    puts("groups");
}

static void controls(void) {
    struct perf_event_attr attr = software(PERF_COUNT_SW_TASK_CLOCK);
    uint64_t period = 5;
    int fd = open_self(&attr, -1);
    CHECK_FAILS(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1), EINVAL); /* it does not sample */
    CHECK_FAILS(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), EINVAL);
    CHECK_FAILS(ioctl(fd, PERF_EVENT_IOC_PERIOD, 8), EFAULT);
    CHECK_FAILS(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd), EINVAL);
    CHECK_FAILS(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 1000), EBADF);
    CHECK_FAILS(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 0), EBADF);
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1L));
    CHECK_FAILS(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), EINVAL); /* there is none */
    CHECK_FAILS(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "x"), EINVAL);
    CHECK_FAILS(ioctl(fd, 0x5401, 0), ENOTTY);
    CHECK_FAILS(ioctl(fd, 0x24ff, 0), ENOTTY);
    CHECK_FAILS(write(fd, &period, 8), EINVAL);
    CHECK_FAILS(lseek(fd, 0, SEEK_SET), ESPIPE);
    CHECK_OK(close(fd));
    attr.sample_period = 1000000;
    attr.inherit = 1;
    fd = open_self(&attr, -1);
    CHECK_FAILS(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1), EINVAL); /* it is inherited */
    period = 0;
    CHECK_FAILS(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), EINVAL);
    period = UINT64_C(1) << 63;
    CHECK_FAILS(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), EINVAL);
    period = 2000000;
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period));
    CHECK_FAILS(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), EINVAL); /* of a thread, inherited */
    CHECK_OK(close(fd));
    attr.sample_type = PERF_SAMPLE_READ;
    attr.inherit = 0;
    fd = open_self(&attr, -1);
    CHECK_OK(fd);
    CHECK_OK(close(fd));

    /* on and off by prctl: what this thread opened */
    attr = software(PERF_COUNT_SW_TASK_CLOCK);
    attr.disabled = 0;
    uint64_t first, then;
    fd = open_self(&attr, -1);
    CHECK_OK(prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0));
    CHECK_EQ(read(fd, &first, 8), 8);
    for (volatile int i = 0; i < 100000; i++)
        ;
    CHECK_EQ(read(fd, &then, 8), 8);
    CHECK_EQ(first, then);
    CHECK(first > 0);
    CHECK_OK(prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0));
    for (volatile int i = 0; i < 100000; i++)
        ;
    CHECK_EQ(read(fd, &then, 8), 8);
    CHECK(then > first);
    CHECK_OK(close(fd));
    puts("controls");
}

static void rings(void) {
    struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);
    attr.sample_period = 1;
    attr.comm = attr.task = attr.sample_id_all = attr.mmap = 1;
    attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_IDENTIFIER;
    attr.disabled = 0;
    attr.watermark = 1;
    attr.wakeup_watermark = 1;
    int fd = open_self(&attr, -1), other = open_self(&attr, -1);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    CHECK_EQ(poll(&wait, 1, 0), 1); /* nowhere to write to: no news will come */
    CHECK_EQ(wait.revents, POLLHUP);
    CHECK_FAILS(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0), EINVAL);
    CHECK_FAILS(mmap(NULL, 4 * 4096, PROT_READ, MAP_SHARED, fd, 0), EINVAL);
    CHECK_FAILS(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 4096), EINVAL);
    struct perf_event_mmap_page *page = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(page != MAP_FAILED);
    CHECK_FAILS(mmap(NULL, 2 * 4096, PROT_READ, MAP_SHARED, fd, 0), EINVAL); /* of another size than the first */
    struct perf_event_mmap_page *twin = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(twin != MAP_FAILED);
    CHECK_EQ(page->data_offset, 4096);
    CHECK_EQ(page->data_size, 2 * 4096);
    CHECK_EQ(page->data_head, 0);
    CHECK_EQ(poll(&wait, 1, 0), 0);
    CHECK_OK(prctl(PR_SET_NAME, "renamed"));
    CHECK_EQ(poll(&wait, 1, 0), 1);
    CHECK(wait.revents & POLLIN);
    struct {
        struct perf_event_header header;
        uint32_t pid, tid;
        char comm[8];
        uint32_t id_pid, id_tid;
        uint64_t id;
    } record;
    CHECK_EQ(page->data_head, sizeof record);
    CHECK_EQ(twin->data_head, sizeof record);
    memcpy(&record, (char *)page + page->data_offset, sizeof record);
    uint64_t id;
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_ID, &id));
    CHECK_EQ(record.header.type, PERF_RECORD_COMM);
    CHECK_EQ(record.header.size, sizeof record);
    CHECK_EQ(record.pid, getpid());
    CHECK_EQ(record.tid, getpid());
    CHECK_EQ(memcmp(record.comm, "renamed", 8), 0);
    CHECK_EQ(record.id_tid, getpid());
    CHECK_EQ(record.id, id);
    page->data_tail = page->data_head;

    /* another event's records go there, too */
    CHECK_FAILS(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, other), EINVAL); /* has no pages */
    void *others = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0);
    CHECK(others != MAP_FAILED);
    CHECK_FAILS(ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, fd), EINVAL); /* has pages of its own */
    CHECK_OK(munmap(others, 2 * 4096));
    CHECK_OK(ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, fd));
    uint64_t head = page->data_head;
    CHECK_OK(prctl(PR_SET_NAME, "again"));
    CHECK_EQ(page->data_head, head + 2 * sizeof record);
    CHECK_OK(ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, -1L));
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
    CHECK_OK(prctl(PR_SET_NAME, "paused"));
    CHECK_EQ(page->data_head, head + 2 * sizeof record);
    CHECK_OK(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
    page->data_tail = page->data_head;

    /* a child is born; the record in front says that one was lost in the pause */
    head = page->data_head;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    struct {
        struct perf_event_header header;
        uint64_t id, lost;
        uint32_t lost_pid, lost_tid;
        uint64_t lost_id;
    } lost;
    struct {
        struct perf_event_header header;
        uint32_t pid, ppid, tid, ptid;
        uint64_t time;
    } birth;
    char *data = (char *)page + page->data_offset;
    for (size_t i = 0; i < sizeof lost; i++)
        ((char *)&lost)[i] = data[(head + i) % page->data_size];
    CHECK_EQ(lost.header.type, PERF_RECORD_LOST);
    CHECK_EQ(lost.header.size, sizeof lost);
    CHECK_EQ(lost.lost, 1);
    CHECK_EQ(lost.lost_id, id);
    for (size_t i = 0; i < sizeof birth; i++)
        ((char *)&birth)[i] = data[(head + sizeof lost + i) % page->data_size];
    CHECK_EQ(birth.header.type, PERF_RECORD_FORK);
    CHECK_EQ(birth.pid, pid);
    CHECK_EQ(birth.tid, pid);
    CHECK_EQ(birth.ppid, getpid());
    CHECK_EQ(birth.ptid, getpid());

    /* full: what does not fit is lost, and the next record that fits says how many were */
    page->data_tail = head = page->data_head;
    for (int i = 0; i < 1000; i++)
        CHECK_OK(prctl(PR_SET_NAME, "many"));
    uint64_t filled = page->data_head - head;
    CHECK(filled <= page->data_size && filled > page->data_size - 64);
    uint64_t n_written = filled / sizeof record;
    page->data_tail = page->data_head;
    CHECK_OK(prctl(PR_SET_NAME, "one more"));
    for (size_t i = 0; i < sizeof lost; i++)
        ((char *)&lost)[i] = data[(page->data_tail + i) % page->data_size];
    CHECK_EQ(lost.header.type, PERF_RECORD_LOST);
    CHECK_EQ(lost.lost, 1000 - n_written);
    CHECK_EQ(lost.id, id);

    CHECK_OK(munmap(page, 3 * 4096));
    CHECK_OK(munmap(twin, 3 * 4096));
    page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0); /* now it may have another size */
    CHECK(page != MAP_FAILED);
    CHECK_EQ(page->data_size, 0);
    CHECK_OK(close(fd)); /* the mapping holds the event */
    CHECK(page->version == 0);
    CHECK_OK(munmap(page, 4096));
    CHECK_OK(close(other));
    puts("rings");
}

static void *spend(void *argument) {
    for (volatile int i = 0; i < 300000; i++)
        ;
    return argument;
}

static void inheritance(void) {
    struct perf_event_attr attr = software(PERF_COUNT_SW_TASK_CLOCK);
    uint64_t without, with;
    attr.disabled = 0;
    int own = open_self(&attr, -1);
    attr.inherit = 1;
    int all = open_self(&attr, -1);
    attr.inherit_thread = 1;
    int threads = open_self(&attr, -1);
    CHECK_OK(all);
    CHECK_OK(threads);
    uint64_t by_threads;
    pid_t pid = fork();
    if (pid == 0) {
        spend(NULL);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    for (int i = 0; i < 3; i++)
        CHECK_OK(ioctl(i == 0 ? own : i == 1 ? all : threads, PERF_EVENT_IOC_DISABLE, 0));
    CHECK_EQ(read(own, &without, 8), 8);
    CHECK_EQ(read(all, &with, 8), 8);
    CHECK_EQ(read(threads, &by_threads, 8), 8);
    CHECK(with > without + 50000 && with > by_threads + 50000);
    pthread_t thread;
    uint64_t before = by_threads;
    for (int i = 0; i < 3; i++)
        CHECK_OK(ioctl(i == 0 ? own : i == 1 ? all : threads, PERF_EVENT_IOC_ENABLE, 0));
    CHECK_EQ(pthread_create(&thread, NULL, spend, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(read(threads, &by_threads, 8), 8);
    uint64_t own_more;
    CHECK_EQ(read(own, &own_more, 8), 8);
    CHECK(by_threads - before > own_more - without + 50000);
    CHECK_OK(close(own));
    CHECK_OK(close(all));
    CHECK_OK(close(threads));

    /* the event of a process that has ended can be read, and says so */
    int end[2];
    char byte;
    CHECK_OK(pipe(end));
    pid = fork();
    if (pid == 0) {
        if (read(end[0], &byte, 1) != 1)
            _exit(1);
        spend(NULL);
        _exit(0);
    }
    attr = software(PERF_COUNT_SW_TASK_CLOCK);
    attr.disabled = 0;
    int child = open_on(&attr, pid, -1, -1, 0);
    CHECK_OK(child);
    CHECK_EQ(write(end[1], "x", 1), 1);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK_EQ(read(child, &with, 8), 8);
    CHECK(with > 50000);
    struct pollfd wait = {.fd = child, .events = POLLIN};
    CHECK_EQ(poll(&wait, 1, 0), 1);
    CHECK(wait.revents & POLLHUP);
    CHECK_OK(close(child));
    CHECK_FAILS(open_on(&attr, pid, -1, -1, 0), ESRCH);
    puts("inheritance");
}

int main(void) {
    struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);
    setvbuf(stdout, NULL, _IOLBF, 0);
#ifndef __riscv
    if (open_self(&attr, -1) < 0 && (errno == EACCES || errno == EPERM || errno == ENOSYS)) {
        puts("requests\ngroups\ncontrols\nrings\ninheritance"); /* this host permits no events */
        return 0;
    }
#endif
    (void)attr;
    requests();
    groups();
    controls();
    rings();
    inheritance();
    return 0;
}
