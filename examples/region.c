/* SPDX-License-Identifier: MIT
 * Counts one region of a program from within, as on any Linux: a group of perf events, switched on and off around the work.
 *
 *     riscv64-linux-gnu-gcc -O2 -static examples/region.c -o region
 *     tally stat -- ./region
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { N_EVENTS = 4, SIZE = 512 };
static int matrix[SIZE][SIZE];

static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} events[N_EVENTS] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"L1D load misses", PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_RESULT_MISS << 16},
    {"dTLB load misses", PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_RESULT_MISS << 16},
};

static int by_rows(void) {
    int sum = 0;
    for (int row = 0; row < SIZE; row++)
        for (int column = 0; column < SIZE; column++)
            sum += matrix[row][column];
    return sum;
}

static int by_columns(void) {
    int sum = 0;
    for (int column = 0; column < SIZE; column++)
        for (int row = 0; row < SIZE; row++)
            sum += matrix[row][column];
    return sum;
}

static int open_event(int i, int leader) {
    struct perf_event_attr attr = {
        .type = events[i].type,
        .size = sizeof attr,
        .config = events[i].config,
        .disabled = leader < 0,
        .exclude_kernel = 1,
        .read_format = PERF_FORMAT_GROUP,
    };
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, 0);
}

int main(void) {
    int leader = -1;
    for (int i = 0; i < N_EVENTS; i++) {
        int fd = open_event(i, leader);
        if (fd < 0) {
            perror(events[i].name);
            return 1;
        }
        leader = leader < 0 ? fd : leader;
    }
    for (int row = 0; row < SIZE; row++)
        for (int column = 0; column < SIZE; column++)
            matrix[row][column] = row ^ column;
    for (int k = 0; k < 2; k++) {
        uint64_t counts[1 + N_EVENTS];
        ioctl(leader, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
        ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
        int sum = k == 0 ? by_rows() : by_columns();
        ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
        if (read(leader, counts, sizeof counts) != sizeof counts)
            return 1;
        printf("by %s, sum %d:\n", k == 0 ? "rows" : "columns", sum);
        for (int i = 0; i < N_EVENTS; i++)
            printf("%12llu  %s\n", (unsigned long long)counts[1 + i], events[i].name);
    }
    return 0;
}
