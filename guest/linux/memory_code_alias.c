/* SPDX-License-Identifier: MIT
 *
 * Code written through one mapping and run through another of the same physical page, as just-in-time compilers that
 * keep write and execute apart do it. Translations must hang on the physical page, not on the address. */
#include "check.h"

#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGE = 4096, SYS_FLUSH = 259 };
typedef long (*function)(long);

/* li a0, imm (addi a0, zero, imm); ret */
static uint32_t li_a0(int value) { return 0x00000513u | (uint32_t)value << 20; }
static const uint32_t ret = 0x00008067u;

static void put(char *at, uint32_t instruction) { memcpy(at, &instruction, 4); }

static void test_two_views_of_one_page(void) {
    int fd = memfd_create("code", 0);
    CHECK_OK(ftruncate(fd, PAGE));
    char *writable = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *executable = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    CHECK(writable != MAP_FAILED && executable != MAP_FAILED);
    for (int i = 0; i < 20; i++) {
        put(writable, li_a0(i + 40));
        put(writable + 4, ret);
        CHECK_OK(syscall(SYS_FLUSH, executable, executable + 8, 0));
        __asm__ volatile("fence.i" ::: "memory");
        CHECK_EQ(((function)executable)(0), i + 40);
    }
    close(fd);
    section("two views");
}

int main(void) {
    test_two_views_of_one_page();
    CHECK_END;
}
