/* SPDX-License-Identifier: MIT
 * Code written through one mapping and run through another of the same physical page, as
 * just-in-time compilers that keep write and execute apart do it. Translations must hang on the
 * physical page, not on the address. */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
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

/* A file is mapped to be executed, and a system call writes its bytes: the new code runs next. */
static void test_written_file(int fd, const char *name) {
    CHECK_OK(ftruncate(fd, PAGE));
    char *executable = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    CHECK(executable != MAP_FAILED);
    for (int i = 0; i < 20; i++) {
        uint32_t code[2] = {li_a0(i + 70), ret};
        CHECK_EQ(pwrite(fd, code, sizeof code, i % 5 * 8), sizeof code);
        CHECK_EQ(((function)(void *)(executable + i % 5 * 8))(0), i + 70);
    }
    munmap(executable, PAGE);
    close(fd);
    section(name);
}

/* Code that ran is rewritten while its page is not executable: mprotect lets the new code run. */
static void test_protected_in_turns(void) {
    enum { N_OTHERS = 100 }; /* more than the ITLB has entries: it forgets the page */
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *others = mmap(NULL, N_OTHERS * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED && others != MAP_FAILED);
    for (int i = 0; i < N_OTHERS; i++)
        put(others + i * PAGE, ret);
    __asm__ volatile("fence.i" ::: "memory");
    for (int i = 0; i < 20; i++) {
        put(page, li_a0(i + 110));
        put(page + 4, ret);
        CHECK_OK(mprotect(page, PAGE, PROT_READ | PROT_EXEC));
        CHECK_EQ(((function)(void *)page)(0), i + 110);
        for (int k = 0; k < N_OTHERS; k++)
            ((function)(void *)(others + k * PAGE))(0);
        CHECK_OK(mprotect(page, PAGE, PROT_READ | PROT_WRITE));
    }
    munmap(page, PAGE);
    section("mprotect");
}

/* One thread writes code and flushes for all. The other, which ran the old code, runs the new one
 * without a FENCE.I of its own. */
static function shared_code;
static volatile int turn_written, turn_run;
static volatile long results[20];
static void *run_code(void *unused) {
    for (int i = 0; i < 20; i++) {
        while (turn_written <= i)
            ;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        results[i] = shared_code(0);
        turn_run = i + 1;
    }
    return unused;
}

static void test_flush_for_another_hart(void) {
    pthread_t thread;
    char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(code != MAP_FAILED);
    put(code + 4, ret);
    shared_code = (function)(void *)code;
    CHECK_EQ(pthread_create(&thread, NULL, run_code, NULL), 0);
    for (int i = 0; i < 20; i++) {
        put(code, li_a0(i + 90));
        CHECK_OK(syscall(SYS_FLUSH, code, code + 8, 0));
        turn_written = i + 1;
        while (turn_run <= i)
            ;
        CHECK_EQ(results[i], i + 90);
    }
    pthread_join(thread, NULL);
    section("flush for all");
}

int main(void) {
    char path[] = "/tmp/code-XXXXXX";
    test_two_views_of_one_page();
    test_written_file(memfd_create("code", 0), "written memfd");
    test_written_file(mkstemp(path), "written file");
    unlink(path);
    test_protected_in_turns();
    test_flush_for_another_hart();
    CHECK_END;
}
