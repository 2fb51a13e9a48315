/* SPDX-License-Identifier: MIT
 *
 * Changing what is mapped: mprotect in parts, mremap in all its forms, the program break, advice
 * that drops pages, page residency, locking, and copy on write after fork seen from both sides. */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { PAGE = 4096 };

static sigjmp_buf recovery;
static void on_fault(int number) { siglongjmp(recovery, number); }

static int can_read(volatile char *at) {
    if (sigsetjmp(recovery, 1))
        return 0;
    (void)*at;
    return 1;
}

static int can_write(volatile char *at) {
    if (sigsetjmp(recovery, 1))
        return 0;
    *at = *at;
    return 1;
}

static char *map_anonymous(size_t size) {
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

/* Writes a pattern of rights as text: w(rite), r(ead), -(none). */
static void describe(char *at, int n_pages, char *text) {
    for (int i = 0; i < n_pages; i++)
        text[i] = can_write(at + i * PAGE) ? 'w' : can_read(at + i * PAGE) ? 'r' : '-';
    text[n_pages] = 0;
}

static void test_mprotect_splits_and_joins(void) {
    char *at = map_anonymous(8 * PAGE), text[16];
    memset(at, 3, 8 * PAGE);
    CHECK_OK(mprotect(at + 2 * PAGE, 3 * PAGE, PROT_READ));
    CHECK_OK(mprotect(at + 3 * PAGE, PAGE, PROT_NONE));
    CHECK_OK(mprotect(at + 7 * PAGE, 1, PROT_READ)); /* length rounds up */
    describe(at, 8, text);
    CHECK(strcmp(text, "wwr-rwwr") == 0);
    CHECK_OK(mprotect(at, 8 * PAGE, PROT_READ | PROT_WRITE));
    describe(at, 8, text);
    CHECK(strcmp(text, "wwwwwwww") == 0);
    for (int i = 0; i < 8 * PAGE; i++)
        CHECK_EQ(at[i], 3); /* contents never changed */
    CHECK_FAILS(mprotect(at + 1, PAGE, PROT_READ), EINVAL);
    CHECK_OK(munmap(at + 4 * PAGE, PAGE));
    CHECK_FAILS(mprotect(at, 8 * PAGE, PROT_READ), ENOMEM); /* a hole inside */
    CHECK_OK(munmap(at, 8 * PAGE));
    section("mprotect");
}

static void test_mremap(void) {
    char *at = map_anonymous(4 * PAGE);
    for (int i = 0; i < 4; i++)
        at[i * PAGE] = (char)(i + 1);
    CHECK(mremap(at, 4 * PAGE, 2 * PAGE, 0) == at); /* shrink in place */
    CHECK(can_read(at + PAGE) && !can_read(at + 2 * PAGE));
    CHECK(mremap(at, 2 * PAGE, 3 * PAGE, 0) == at); /* grow into the hole just made */
    CHECK_EQ(at[PAGE], 2);
    CHECK_EQ(at[2 * PAGE], 0);
    char *wall = mmap(at + 3 * PAGE, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(wall == at + 3 * PAGE);
    CHECK_FAILS(mremap(at, 3 * PAGE, 100 * PAGE, 0), ENOMEM); /* no room, may not move */
    char *moved = mremap(at, 3 * PAGE, 100 * PAGE, MREMAP_MAYMOVE);
    CHECK(moved != MAP_FAILED && moved != at);
    CHECK(!can_read(at));
    CHECK_EQ(moved[0] * 10 + moved[PAGE], 12);
    CHECK_EQ(moved[99 * PAGE], 0);
    char *target = map_anonymous(4 * PAGE);
    target[3 * PAGE] = 77;
    CHECK(mremap(moved, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target);
    CHECK_EQ(target[PAGE], 2);
    CHECK_EQ(target[3 * PAGE], 77);
    CHECK(!can_read(moved));
    CHECK_FAILS(mremap(target + 1, PAGE, PAGE, 0), EINVAL);
    CHECK_FAILS(mremap(moved, PAGE, 2 * PAGE, MREMAP_MAYMOVE), EFAULT); /* nothing mapped there any more */
    section("mremap");
}

static void test_program_break(void) {
    char *start = sbrk(0);
    CHECK(sbrk(5 * PAGE) == start);
    CHECK(sbrk(0) == start + 5 * PAGE);
    for (int i = 0; i < 5 * PAGE; i++)
        CHECK_EQ(start[i], 0);
    memset(start, 9, 5 * PAGE);
    CHECK_OK(brk(start + 2 * PAGE));
    CHECK_EQ(start[2 * PAGE - 1], 9);
    CHECK_OK(brk(start + 4 * PAGE));
    char *page = (char *)(((uintptr_t)start + 2 * PAGE + PAGE - 1) & -(uintptr_t)PAGE);
    CHECK_EQ(page[0], 0); /* pages given back come again as zeros */
    CHECK(sbrk(0) == start + 4 * PAGE);
    CHECK_FAILS(brk((void *)-1L), ENOMEM);
    CHECK(sbrk(0) == start + 4 * PAGE);
    CHECK_OK(brk(start));
    section("program break");
}

static void test_advice(void) {
    char *at = map_anonymous(4 * PAGE);
    memset(at, 5, 4 * PAGE);
    CHECK_OK(madvise(at + PAGE, 2 * PAGE, MADV_DONTNEED));
    CHECK_EQ(at[0], 5);
    CHECK_EQ(at[PAGE], 0);
    CHECK_EQ(at[3 * PAGE - 1], 0);
    CHECK_EQ(at[3 * PAGE], 5);
    CHECK_OK(madvise(at, 4 * PAGE, MADV_WILLNEED));
    CHECK_OK(madvise(at, 4 * PAGE, MADV_SEQUENTIAL));
    CHECK_OK(madvise(at, 4 * PAGE, MADV_NORMAL));
    CHECK_FAILS(madvise(at + 1, PAGE, MADV_DONTNEED), EINVAL);
    CHECK_OK(munmap(at, 4 * PAGE));
    section("advice");
}

static void test_residency_and_locks(void) {
    unsigned char resident[4];
    char *at = map_anonymous(4 * PAGE);
    at[0] = at[2 * PAGE] = 1;
    CHECK_OK(mincore(at, 4 * PAGE, resident));
    CHECK_EQ(resident[0] & 1, 1);
    CHECK_EQ(resident[2] & 1, 1);
    CHECK_OK(mlock(at, PAGE));
    CHECK_OK(munlock(at, PAGE));
    CHECK_OK(munmap(at + PAGE, PAGE));
    CHECK_FAILS(mincore(at, 4 * PAGE, resident), ENOMEM);
    CHECK_FAILS(mincore(at + 2 * PAGE + 1, 1, resident), EINVAL);
    section("residency");
}

static void test_copy_on_write(void) {
    enum { N = 64 };
    char *at = map_anonymous(N * PAGE);
    int to_child[2], to_parent[2], status;
    char byte;
    CHECK_OK(pipe(to_child));
    CHECK_OK(pipe(to_parent));
    for (int i = 0; i < N; i++)
        at[i * PAGE] = (char)i;
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < N; i += 2)
            at[i * PAGE] = 100;
        CHECK_EQ(write(to_parent[1], "c", 1), 1);
        CHECK_EQ(read(to_child[0], &byte, 1), 1); /* now the parent has written the odd ones */
        for (int i = 0; i < N; i++)
            CHECK_EQ(at[i * PAGE], i % 2 ? i : 100);
        CHECK_EQ(write(1, "", 0), 0);
        pid_t grandchild = fork(); /* a copy of a copy */
        if (grandchild == 0) {
            for (int i = 0; i < N; i++)
                CHECK_EQ(at[i * PAGE]++, i % 2 ? i : 100);
            _exit(0);
        }
        CHECK_EQ(waitpid(grandchild, &status, 0), grandchild);
        CHECK_EQ(at[0], 100);
        _exit(status != 0);
    }
    CHECK_EQ(read(to_parent[0], &byte, 1), 1);
    for (int i = 0; i < N; i++)
        CHECK_EQ(at[i * PAGE], i);
    for (int i = 1; i < N; i += 2)
        at[i * PAGE] = 101;
    CHECK_EQ(write(to_child[1], "p", 1), 1);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    for (int i = 0; i < N; i++)
        CHECK_EQ(at[i * PAGE], i % 2 ? 101 : i);
    section("copy on write");
}

static char touch_stack(int depth) {
    volatile char frame[PAGE];
    frame[0] = (char)depth;
    frame[PAGE - 1] = depth > 0 ? touch_stack(depth - 1) : 0;
    return (char)(frame[0] + frame[PAGE - 1]);
}

static void test_stack_grows(void) {
    struct rlimit limit;
    CHECK_OK(getrlimit(RLIMIT_STACK, &limit));
    CHECK(limit.rlim_cur >= 2 << 20);
    CHECK_EQ(touch_stack(400), (char)(400 * 401 / 2)); /* 1.6 MiB */
    section("stack");
}

int main(void) {
    signal(SIGSEGV, on_fault);
    signal(SIGBUS, on_fault);
    test_mprotect_splits_and_joins();
    test_mremap();
    test_program_break();
    test_advice();
    test_residency_and_locks();
    test_copy_on_write();
    test_stack_grows();
    CHECK_END;
}
