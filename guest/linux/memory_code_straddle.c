/* SPDX-License-Identifier: MIT
 * An instruction of four bytes whose halves stand in two pages. Two processes share the first page
 * and have second pages of their own: either executes its own second half, however often they take
 * turns on one hart. A process whose second page changes places with another one executes the half
 * that is mapped. */
#include "check.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { PAGE = 4096, N_TURNS = 200 };
typedef long (*function)(void);

/* addi a0, zero, imm: imm is in the upper half; c.jr ra follows. */
static uint32_t li_a0(int value) { return 0x00000513u | (uint32_t)value << 20; }
static const uint16_t ret = 0x8082;

static void set_upper_half(char *second, int value) {
    uint16_t half = (uint16_t)(li_a0(value) >> 16);
    memcpy(second, &half, 2);
    memcpy(second + 2, &ret, 2);
    __builtin___clear_cache(second - 2, second + 4);
}

static void take_turns(int in, int out, function call, int value, int begins) {
    char token = 0;
    for (int i = 0; i < N_TURNS; i++) {
        if (i > 0 || !begins)
            CHECK_EQ(read(in, &token, 1), 1);
        CHECK_EQ(call(), value);
        CHECK_EQ(write(out, &token, 1), 1);
    }
}

static void test_two_processes(void) {
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int to_child[2], to_parent[2], status;
    CHECK(pages != MAP_FAILED);
    uint16_t low = (uint16_t)li_a0(0);
    function call = (function)(void *)(pages + PAGE - 2);
    memcpy(pages + PAGE - 2, &low, 2);
    set_upper_half(pages + PAGE, 5);
    CHECK_EQ(call(), 5);
    CHECK_OK(pipe(to_child));
    CHECK_OK(pipe(to_parent));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        set_upper_half(pages + PAGE, 7);
        take_turns(to_child[0], to_parent[1], call, 7, 0);
        _exit(0);
    }
    take_turns(to_parent[0], to_child[1], call, 5, 1);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    section("halves of two processes");
}

/* j offset, for offsets of 0 to 4094 */
static uint32_t jump(uint32_t offset) { return 0x6fu | (offset >> 1 & 0x3ff) << 21 | (offset >> 11 & 1) << 20; }

/* Two jumps lead to the instruction; engines may cache a target for each. No byte changes. */
static void test_pages_that_change_places(void) {
    int fd = memfd_create("code", 0);
    CHECK_OK(ftruncate(fd, 3 * PAGE));
    char *all = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    CHECK(all != MAP_FAILED && pages != MAP_FAILED);
    uint16_t low = (uint16_t)li_a0(0);
    const uint32_t jumps[2] = {jump(PAGE - 2 - 1024), jump(PAGE - 2 - 2048)};
    function call = (function)(void *)(pages + PAGE - 2), first = (function)(void *)(pages + 1024),
             second = (function)(void *)(pages + 2048);
    memcpy(all + PAGE - 2, &low, 2);
    memcpy(all + 1024, &jumps[0], 4);
    memcpy(all + 2048, &jumps[1], 4);
    set_upper_half(all + PAGE, 5);
    set_upper_half(all + 2 * PAGE, 7);
    for (int i = 0; i < N_TURNS; i++) {
        CHECK(mmap(pages + PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, (1 + i % 2) * PAGE) == pages + PAGE);
        if (i % 4 < 2)
            ((function)(void *)(pages + PAGE + 2))(); /* nothing but the return: the second line is fetched before the first */
        for (int k = 0; k < 3; k++)
            CHECK_EQ(first() + 100 * second() + 10000 * call(), i % 2 ? 70707 : 50505);
    }
    section("pages that change places");
}

int main(void) {
    test_two_processes();
    test_pages_that_change_places();
    CHECK_END;
}
