/* SPDX-License-Identifier: MIT
 *
 * Running out of memory, three ways, chosen by the first argument:
 *   limit   malloc under RLIMIT_AS fails with ENOMEM and the program goes on
 *   space   mmap of more than the address space fails with ENOMEM
 *   touch N touches page after page of up to N GiB: more than the machine has. The kernel's answer is SIGKILL. Never run
 *           this one outside a machine of limited memory. */
#include "check.h"

#include <sys/mman.h>
#include <sys/resource.h>

static void *map(size_t size) { return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); }

static int run_into_the_limit(void) {
    enum { MIB = 1 << 20 };
    struct rlimit limit = {256L * MIB, 256L * MIB};
    CHECK_OK(setrlimit(RLIMIT_AS, &limit));
    char *last = NULL, *block;
    int n = 0;
    while ((block = malloc(MIB)) != NULL) {
        memset(block, 1, MIB);
        *(char **)block = last;
        last = block;
        CHECK(++n < 256);
    }
    CHECK_EQ(errno, ENOMEM);
    CHECK(n > 200);
    CHECK_FAILS(map(256L * MIB), ENOMEM);
    free(last);
    CHECK((block = malloc(MIB / 2)) != NULL); /* what was freed can be had again */
    section("limit");
    CHECK_END;
}

static int exhaust_address_space(void) {
    CHECK_FAILS(map(1UL << 62), ENOMEM);
    CHECK(malloc((1UL << 62) + *(volatile size_t *)&(size_t){0}) == NULL);
    CHECK_EQ(errno, ENOMEM);
    section("address space");
    return 0;
}

static int touch(long n_gib) {
    for (long i = 0; i < n_gib; i++) {
        volatile char *block = map(1L << 30);
        CHECK(block != MAP_FAILED);
        for (long at = 0; at < 1L << 30; at += 4096)
            block[at] = 1;
    }
    return 3;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "limit") == 0)
        return run_into_the_limit();
    if (argc > 1 && strcmp(argv[1], "space") == 0)
        return exhaust_address_space();
    if (argc > 2 && strcmp(argv[1], "touch") == 0)
        return touch(atol(argv[2]));
    return 2;
}
