/* SPDX-License-Identifier: MIT
 *
 * Code whose physical page had other code before: a plug-in that is unloaded, and another one that is loaded in its place. The page is
 * read as data first, as a dynamic loader reads headers, and mapped as code afterwards; meanwhile so much other code ran that no TLB of
 * instructions knows the place any longer. The kernel makes what it reads visible to instruction fetch, so no fence.i is needed. */
#define _GNU_SOURCE
#include "check.h"

#include <sys/mman.h>

enum { PAGE = 4096, N_OTHERS = 100, N_ROUNDS = 12 };
typedef long (*function)(void);

static uint32_t li_a0(int value) { return 0x00000513u | (uint32_t)value << 20; } /* addi a0, zero, value */
static const uint32_t ret = 0x00008067u;

static char *others;

static void make_others(void) { /* a function in each page */
    others = mmap(NULL, N_OTHERS * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(others != MAP_FAILED);
    for (int i = 0; i < N_OTHERS; i++) {
        uint32_t code[2] = {li_a0(i), ret};
        memcpy(others + i * PAGE, code, sizeof code);
    }
    __asm__ volatile("fence.i" ::: "memory");
}

static void run_others(void) {
    for (int i = 0; i < N_OTHERS; i++)
        CHECK_EQ(((function)(others + i * PAGE))(), i);
}

static void test_page_of_a_file(int flags) {
    char *place = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(place != MAP_FAILED);
    for (int i = 0; i < N_ROUNDS; i++) {
        /* The view of the file keeps the page while the code comes and goes. */
        int fd = memfd_create("code", 0);
        uint32_t code[PAGE / 4] = {li_a0(700 + i), ret};
        CHECK(fd >= 0);
        CHECK_EQ(write(fd, code, sizeof code), PAGE);
        volatile const uint32_t *view = mmap(NULL, PAGE, PROT_READ, flags, fd, 0);
        CHECK(view != MAP_FAILED);
        CHECK_EQ(view[0], li_a0(700 + i));
        CHECK(mmap(place, PAGE, PROT_READ | PROT_EXEC, flags | MAP_FIXED, fd, 0) == place);
        CHECK_EQ(((function)place)(), 700 + i);
        run_others();
        CHECK_OK(munmap(place, PAGE));
        CHECK_OK(munmap((void *)view, PAGE));
        CHECK_OK(close(fd));
    }
    section(flags == MAP_SHARED ? "shared pages of files" : "private pages of files");
}

static void test_shared_memory(void) {
    char *place = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(place != MAP_FAILED);
    for (int i = 0; i < N_ROUNDS; i++) {
        CHECK(mmap(place, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == place);
        uint32_t code[2] = {li_a0(800 + i), ret};
        memcpy(place, code, sizeof code);
        CHECK_OK(mprotect(place, PAGE, PROT_READ | PROT_EXEC));
        __asm__ volatile("fence.i" ::: "memory");
        CHECK_EQ(((function)place)(), 800 + i);
        run_others();
        CHECK_OK(munmap(place, PAGE));
    }
    section("shared memory");
}

int main(void) {
    make_others();
    test_page_of_a_file(MAP_PRIVATE);
    test_page_of_a_file(MAP_SHARED);
    test_shared_memory();
    CHECK_END;
}
