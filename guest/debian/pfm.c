/* SPDX-License-Identifier: MIT
 * A client of perf_event_open on a library that is not ours. libpfm4 names and encodes the events;
 * this program counts one group of them between two system calls. Each line of output is a name and
 * a count. tools/check-linux builds it and holds its counts against those that tally has of the
 * region pfm_begin..pfm_end. */
#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_EVENTS = 16, LINES = 4096, LINE_BYTES = 64 };
static char data[LINES][LINE_BYTES];

/* ENABLE, a walk through the data, twice, and DISABLE. The region's symbols stand behind the first
 * call and at the second. */
static long count(int leader) {
    register long a0 __asm__("a0") = leader;
    register long a1 __asm__("a1") = PERF_EVENT_IOC_ENABLE;
    register long a2 __asm__("a2") = PERF_IOC_FLAG_GROUP;
    register long a7 __asm__("a7") = SYS_ioctl;
    __asm__ volatile("ecall\n"
                     ".globl pfm_begin\npfm_begin:\n"
                     "li   t2, 2\n"
                     "1: mv t0, %[data]\n"
                     "mv   t1, %[n]\n"
                     "2: ld t3, 0(t0)\n"
                     "sd   t3, 8(t0)\n"
                     "addi t0, t0, 64\n"
                     "addi t1, t1, -1\n"
                     "bnez t1, 2b\n"
                     "addi t2, t2, -1\n"
                     "bnez t2, 1b\n"
                     "mv   a0, %[fd]\n"
                     "li   a1, %[disable]\n"
                     "li   a2, 1\n"
                     ".globl pfm_end\npfm_end:\n"
                     "ecall\n"
                     : "+&r"(a0), "+&r"(a1), "+&r"(a2)
                     : "r"(a7), [n] "r"((long)LINES), [fd] "r"((long)leader), [data] "r"(data), [disable] "i"(PERF_EVENT_IOC_DISABLE)
                     : "t0", "t1", "t2", "t3", "memory");
    return a0;
}

int main(int argc, char **argv) {
    int fds[MAX_EVENTS], n = argc - 1;
    uint64_t values[1 + MAX_EVENTS];
    if (n < 1 || n > MAX_EVENTS || pfm_initialize() != PFM_SUCCESS)
        return 2;
    for (int i = 0; i < n; i++) {
        struct perf_event_attr attr = {.size = sizeof attr};
        pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof arg};
        int status = pfm_get_os_event_encoding(argv[1 + i], PFM_PLM3, PFM_OS_PERF_EVENT, &arg); /* PLM3: user mode */
        if (status != PFM_SUCCESS) {
            printf("%s: %s\n", argv[1 + i], pfm_strerror(status));
            return 3;
        }
        attr.disabled = i == 0;
        attr.read_format = PERF_FORMAT_GROUP;
        fds[i] = (int)syscall(SYS_perf_event_open, &attr, 0, -1, i == 0 ? -1 : fds[0], PERF_FLAG_FD_CLOEXEC);
        if (fds[i] < 0) {
            printf("%s: %s\n", argv[1 + i], strerror(errno));
            return 4;
        }
    }
    memset(data, 1, sizeof data);
    if (count(fds[0]) != 0 || read(fds[0], values, sizeof values) != (ssize_t)((size_t)(1 + n) * sizeof values[0]) ||
        values[0] != (uint64_t)n)
        return 5;
    for (int i = 0; i < n; i++)
        printf("%s %llu\n", argv[1 + i], (unsigned long long)values[1 + i]);
    return 0;
}
