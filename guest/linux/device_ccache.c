/* SPDX-License-Identifier: MIT
 *
 * The counters of the second-level cache in a window: what a process gets that was granted them,
 * what they cost, and what it cannot do with them. Runs on one hart with 6 counters.
 *
 *   device_ccache            without a grant: there is no such device
 *   device_ccache granted    all checks
 *   device_ccache read N     N loads of a counter and nothing else, for counting from outside
 *   device_ccache count      prints what counter 0 says of three calls of `work` */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

enum { WINDOW = 0x4000, SELECT = 0x2000 / 8, FILTER = 0x2800 / 8, COUNTER = 0x3000 / 8, LINES = 64 };
#define EVENT(set, bit) (1ul << ((bit) + 8) | (set))
enum { GET = 3, NTOB = 6, NTOT = 7, PERM = 10 };

static char memory[LINES + 1][64] __attribute__((aligned(4096)));

static bool is_listed(void) {
    DIR *dir = opendir("/dev");
    bool is_there = false;
    CHECK(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        is_there |= strcmp(entry->d_name, "ccache") == 0;
    closedir(dir);
    return is_there;
}

static void test_denied(void) {
    struct stat st;
    CHECK_FAILS(open("/dev/ccache", O_RDWR), ENOENT);
    CHECK_FAILS(stat("/dev/ccache", &st), ENOENT);
    CHECK(!is_listed());
    puts("denied");
}

static volatile uint64_t *map_all(void) {
    int fd = open("/dev/ccache", O_RDWR);
    CHECK(fd >= 0);
    void *at = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(at != MAP_FAILED);
    close(fd); /* the mapping keeps it */
    return at;
}

static void test_device(void) {
    struct stat st;
    char byte;
    int fd = open("/dev/ccache", O_RDWR);
    CHECK(fd >= 0);
    CHECK_OK(fstat(fd, &st));
    CHECK(S_ISCHR(st.st_mode));
    CHECK_EQ(major(st.st_rdev), 10);
    CHECK_EQ(minor(st.st_rdev), 60);
    CHECK(is_listed());
    CHECK_FAILS(read(fd, &byte, 1), EINVAL);
    CHECK_FAILS(write(fd, &byte, 1), EINVAL);
    close(fd);
    puts("device");
}

#define CANNOT_MAP(bytes, prot, flags, offset, error)                            \
    do {                                                                         \
        errno = 0;                                                               \
        CHECK(mmap(NULL, (bytes), (prot), (flags), fd, (offset)) == MAP_FAILED); \
        CHECK_EQ(errno, (error));                                                \
    } while (0)

static void test_mapping(void) {
    int fd = open("/dev/ccache", O_RDWR);
    CANNOT_MAP(WINDOW, PROT_READ, MAP_PRIVATE, 0, EINVAL);
    CANNOT_MAP(WINDOW, PROT_READ | PROT_EXEC, MAP_SHARED, 0, EINVAL);
    CANNOT_MAP(WINDOW + 1, PROT_READ, MAP_SHARED, 0, EINVAL);
    CANNOT_MAP(4096, PROT_READ, MAP_SHARED, WINDOW, EINVAL);
    CANNOT_MAP(2 * 4096, PROT_READ, MAP_SHARED, 3 * 4096, EINVAL);
    CANNOT_MAP(4096, PROT_READ, MAP_SHARED, (off_t)1 << 62, EINVAL);
    close(fd);
    fd = open("/dev/ccache", O_RDONLY);
    CANNOT_MAP(WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, 0, EACCES);
    volatile uint64_t *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0x3000);
    CHECK(page != MAP_FAILED);
    CHECK_EQ(page[0], 0);
    CHECK_FAILS(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE), EACCES);
    CHECK_FAILS(mprotect((void *)page, 4096, PROT_READ | PROT_EXEC), EACCES);
    CHECK_OK(munmap((void *)page, 4096));
    close(fd);

    char line[256];
    bool is_listed_there = false;
    volatile uint64_t *all = map_all();
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    while (fgets(line, sizeof line, maps))
        is_listed_there |= strstr(line, "rw-s 00000000") && strstr(line, "/dev/ccache");
    fclose(maps);
    CHECK(is_listed_there);
    CHECK_OK(msync((void *)all, WINDOW, MS_SYNC));
    CHECK_OK(madvise((void *)all, WINDOW, MADV_DONTNEED));
    CHECK_EQ(all[COUNTER], 0); /* comes back */
    CHECK_OK(munmap((void *)all, WINDOW));
    puts("mapping");
}

static void test_registers(void) {
    volatile uint64_t *r = map_all();
    CHECK_EQ(r[0], 0x060a0801); /* one bank, 8 ways, 2^10 sets, 2^6 bytes: the cache of `rocket` */
    for (int i = 0; i < 64; i++) {
        r[COUNTER + i] = 0x123456789ull + (unsigned)i;
        CHECK_EQ(r[COUNTER + i], i < 6 ? 0x123456789ull + (unsigned)i : 0);
    }
    r[FILTER] = ~0ull;
    CHECK_EQ(r[FILTER], 7); /* data cache, instruction cache, devices */
    r[FILTER] = 0;
    r[SELECT] = ~0ull << 8 | 1;
    CHECK_EQ(r[SELECT], 0xfccb01);
    r[SELECT] = 0;
    r[COUNTER] = 0x123456789;
    volatile uint32_t *half = (volatile uint32_t *)&r[COUNTER];
    CHECK_EQ(half[0], 0x23456789);
    CHECK_EQ(half[1], 1);
    half[1] = 7;
    CHECK_EQ(r[COUNTER], 0x723456789);
    munmap((void *)r, WINDOW);
    puts("registers");
}

static inline uint64_t cycle(void) {
    uint64_t value;
    __asm__ volatile("rdcycle %0" : "=r"(value)::"memory");
    return value;
}

static void touch_lines(bool is_store) {
    for (int i = 0; i < LINES; i++)
        if (is_store)
            *(volatile char *)memory[i] = 1;
        else
            (void)*(volatile char *)memory[i];
}

static void test_counts_and_cost(void) {
    volatile uint64_t *r = map_all();
    static const int events[] = {NTOB, NTOT, PERM, GET};
    uint64_t sum = 0, all = 0, best = ~0ull;
    *(volatile char *)memory[LINES] = 1;      /* the page is there */
    for (int round = 0; round < 2; round++) { /* the first brings code, stack and translations */
        for (int i = 0; i < 5; i++) {
            r[SELECT + i] = 0;
            r[COUNTER + i] = 0;
        }
        for (int i = 0; i < 4; i++)
            r[SELECT + i] = EVENT(1, events[i]);
        r[SELECT + 4] = EVENT(1, NTOB) | EVENT(1, NTOT) | EVENT(1, PERM) | EVENT(1, GET);
        __asm__ volatile("fence.i" ::: "memory"); /* instruction caches begin anew, so that there is something to get */
        touch_lines(round == 0);
        sum = r[COUNTER] + r[COUNTER + 1] + r[COUNTER + 2] + r[COUNTER + 3];
        all = r[COUNTER + 4];
        if (round == 0) {
            CHECK(r[COUNTER + 1] >= LINES - 1); /* stores to absent lines; one was there */
            CHECK(r[COUNTER + 1] <= LINES + 8);
            CHECK(r[COUNTER + 3] > 0);
        }
    }
    CHECK(all >= sum && all <= sum + 4); /* it was read last, and the reading code uses the cache */
    for (int i = 0; i < 16; i++) {
        uint64_t start = cycle();
        (void)r[COUNTER];
        uint64_t end = cycle(), again = cycle();
        uint64_t cost = (end - start) - (again - end);
        best = cost < best ? cost : best;
    }
    CHECK_EQ(best, 41); /* mem.mmio of `rocket`, and the load's own cycle */
    munmap((void *)r, WINDOW);
    puts("counts and cost");
}

static sigjmp_buf escape;
static volatile int caught_code;
static volatile uintptr_t caught_address;
static void on_fault(int signal, siginfo_t *info, void *context) {
    (void)context;
    caught_code = info->si_code;
    caught_address = (uintptr_t)info->si_addr;
    siglongjmp(escape, signal);
}

/* The signal that a statement ends in, or 0. */
#define SIGNAL_OF(statement)            \
    ({                                  \
        int got = sigsetjmp(escape, 1); \
        if (got == 0) {                 \
            statement;                  \
        }                               \
        got;                            \
    })

static void test_what_it_refuses(void) {
    volatile uint64_t *r = map_all();
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    CHECK_EQ(SIGNAL_OF((void)*(volatile uint8_t *)&r[COUNTER]), SIGSEGV);
    CHECK_EQ(caught_code, SEGV_ACCERR);
    CHECK_EQ(caught_address, (uintptr_t)&r[COUNTER]);
    CHECK_EQ(SIGNAL_OF(*(volatile uint16_t *)&r[COUNTER] = 1), SIGSEGV);
    CHECK_EQ(SIGNAL_OF((void)*(volatile uint64_t *)((char *)&r[COUNTER] + 4)), SIGBUS);
    CHECK_EQ(caught_code, BUS_ADRALN);
    CHECK_EQ(SIGNAL_OF(__atomic_fetch_add(&r[COUNTER], 1, __ATOMIC_RELAXED)), SIGSEGV);
    CHECK_EQ(SIGNAL_OF(__asm__ volatile("lr.d zero, (%0)" ::"r"(&r[COUNTER]) : "memory")), SIGSEGV);
    CHECK_EQ(SIGNAL_OF(__asm__ volatile("jalr %0" ::"r"(&r[0]) : "ra", "memory")), SIGSEGV);
    CHECK_EQ(SIGNAL_OF((void)*(volatile uint64_t *)((char *)r + WINDOW - 8)), 0); /* nothing there: 0 */

    int ends[2];
    CHECK_OK(pipe(ends));
    CHECK_FAILS(write(ends[1], (const void *)&r[COUNTER], 8), EFAULT); /* the kernel does not reach devices on our behalf */
    CHECK_OK(write(ends[1], "x", 1));
    CHECK_FAILS(read(ends[0], (void *)&r[COUNTER], 1), EFAULT);
    CHECK_FAILS(syscall(SYS_futex, &r[COUNTER], FUTEX_WAIT, 0, NULL, NULL, 0), EFAULT);
    CHECK_FAILS(syscall(SYS_futex, &r[COUNTER], FUTEX_WAKE, 1, NULL, NULL, 0), EFAULT);
    close(ends[0]);
    close(ends[1]);

    CHECK(mremap((void *)r, WINDOW, WINDOW + 4096, MREMAP_MAYMOVE) == MAP_FAILED);
    CHECK_EQ(errno, EFAULT);
    CHECK_OK(mprotect((void *)r, WINDOW, PROT_READ));
    CHECK_EQ(SIGNAL_OF((void)r[COUNTER]), 0);
    CHECK_EQ(SIGNAL_OF(r[COUNTER] = 1), SIGSEGV);
    CHECK_OK(mprotect((void *)r, WINDOW, PROT_NONE));
    CHECK_EQ(SIGNAL_OF((void)r[COUNTER]), SIGSEGV);
    CHECK_OK(mprotect((char *)r + 0x3000, 0x1000, PROT_READ | PROT_WRITE));
    CHECK_EQ(SIGNAL_OF(r[COUNTER] = 5), 0);
    CHECK_EQ(r[COUNTER], 5);
    CHECK_EQ(SIGNAL_OF((void)r[0]), SIGSEGV);
    CHECK_OK(munmap((char *)r + 0x1000, 0x1000));
    char *elsewhere = mmap(NULL, WINDOW, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile uint64_t *moved = mremap((char *)r + 0x3000, 0x1000, 0x1000, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere);
    CHECK(moved != MAP_FAILED);
    CHECK_EQ(moved[0], 5);
    CHECK_EQ(SIGNAL_OF((void)r[COUNTER]), SIGSEGV);
    munmap((void *)r, WINDOW);
    munmap((void *)moved, 0x1000);
    puts("what it refuses");
}

static void test_family(void) {
    volatile uint64_t *r = map_all();
    r[SELECT] = 0;
    r[COUNTER] = 41;
    pid_t child = fork();
    CHECK_OK(child);
    if (child == 0) {
        if (r[COUNTER] != 41)
            _exit(1);
        r[COUNTER] = 42; /* all processes share one block */
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(r[COUNTER], 42);
    munmap((void *)r, WINDOW);
    puts("family");
}

static char fresh[3][LINES + 3][64] __attribute__((aligned(4096)));

__attribute__((noinline)) void work(int round) {
    for (int i = 0; i < LINES + round; i++)
        (void)*(volatile char *)fresh[round][i];
}

/* The counter over three calls, in the second round, when only `work` misses the caches. */
static void count(void) {
    volatile uint64_t *r = map_all();
    uint64_t before = 0, after = 0;
    r[SELECT] = EVENT(1, NTOB);
    for (int round = 0; round < 2; round++) {
        before = r[COUNTER];
        if (round == 1)
            for (int i = 0; i < 3; i++)
                work(i);
        after = r[COUNTER];
    }
    printf("%lu\n", (unsigned long)(after - before));
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "read") == 0) {
        volatile uint64_t *r = map_all();
        uint64_t n = strtoul(argv[2], NULL, 10);
        (void)r[COUNTER];
        for (uint64_t i = 0; i < n; i++)
            (void)r[COUNTER];
    } else if (argc == 2 && strcmp(argv[1], "count") == 0) {
        count();
    } else if (argc == 2 && strcmp(argv[1], "granted") == 0) {
        test_device();
        test_mapping();
        test_registers();
        test_counts_and_cost();
        test_what_it_refuses();
        test_family();
    } else {
        test_denied();
    }
    return 0;
}
