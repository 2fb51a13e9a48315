/* SPDX-License-Identifier: MIT
 *
 * MAP_FIXED_NOREPLACE: exactly there or not at all, and what is there stays as it is. */
#include "check.h"

#include <sys/mman.h>

enum { PAGE = 4096 };

static char *map(char *where, size_t size, int flags) {
    return mmap(where, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

int main(void) {
    char *area = map(NULL, 8 * PAGE, 0);
    CHECK(area != MAP_FAILED);
    memset(area, 1, 8 * PAGE);
    CHECK_FAILS(map(area, PAGE, MAP_FIXED_NOREPLACE), EEXIST);
    CHECK_FAILS(map(area - PAGE, 2 * PAGE, MAP_FIXED_NOREPLACE), EEXIST); /* its last page is taken */
    CHECK_FAILS(map(area, 100 * PAGE, MAP_FIXED_NOREPLACE), EEXIST);
    CHECK_EQ(area[0] + area[8 * PAGE - 1], 2);
    CHECK_OK(munmap(area + 3 * PAGE, 2 * PAGE));
    CHECK_FAILS(map(area + 2 * PAGE, 2 * PAGE, MAP_FIXED_NOREPLACE), EEXIST);
    CHECK_FAILS(map(area + 3 * PAGE, 3 * PAGE, MAP_FIXED_NOREPLACE), EEXIST);
    CHECK(map(area + 3 * PAGE, 2 * PAGE, MAP_FIXED_NOREPLACE) == area + 3 * PAGE);
    CHECK_EQ(area[3 * PAGE], 0);
    section("MAP_FIXED_NOREPLACE");
    CHECK_END;
}
