/* SPDX-License-Identifier: MIT
 *
 * Code that writes code: instructions made at run time, patched in place and in a loop, made
 * visible by fence.i, by the riscv_flush_icache system call, by the compiler's builtin and by
 * mprotect; code across a page border; another thread's code. */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGE = 4096, SYS_FLUSH = 259 };
typedef long (*function)(long);

/* li a0, imm (addi a0, zero, imm); ret */
static uint32_t li_a0(int value) { return 0x00000513u | (uint32_t)value << 20; }
static uint32_t addi_a0(int value) { return 0x00050513u | (uint32_t)value << 20; }
static const uint32_t ret = 0x00008067u;

static void flush_fence(void) { __asm__ volatile("fence.i" ::: "memory"); }

static char *map_code(size_t size) {
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static void put(char *at, uint32_t instruction) { memcpy(at, &instruction, 4); }

static void test_each_way_to_synchronize(void) {
    char *code = map_code(PAGE);
    function f = (function)code;
    for (int i = 0; i < 300; i++) {
        put(code, li_a0(i));
        put(code + 4, ret);
        switch (i % 3) {
        case 0: flush_fence(); break;
        case 1: CHECK_OK(syscall(SYS_FLUSH, code, code + 8, 1)); break; /* this thread only */
        case 2: __builtin___clear_cache(code, code + 8); break;
        }
        CHECK_EQ(f(0), i);
    }
    section("each way");
}

static void test_mprotect_cycle(void) {
    char *code = map_code(PAGE);
    for (int i = 0; i < 20; i++) {
        CHECK_OK(mprotect(code, PAGE, PROT_READ | PROT_WRITE));
        put(code, li_a0(i + 500));
        put(code + 4, ret);
        CHECK_OK(mprotect(code, PAGE, PROT_READ | PROT_EXEC));
        flush_fence();
        CHECK_EQ(((function)code)(0), i + 500);
    }
    section("write xor execute");
}

static void test_patch_inside_a_running_loop(void) {
    /* The first round patches the loop's first instruction: addi 1 becomes addi 100. */
    long result;
    __asm__ volatile(".option push\n.option norvc\n"
                     "   la t0, 1f\n   la t1, 3f\n   lw t2, 0(t1)\n   li %0, 0\n   li t3, 4\n   j 1f\n"
                     "3: addi %0, %0, 100\n"
                     ".pushsection .selfpatch, \"awx\", @progbits\n.balign 4\n"
                     "1: addi %0, %0, 1\n"
                     "   sw t2, 0(t0)\n   fence.i\n   addi t3, t3, -1\n   bnez t3, 1b\n"
                     "   la t1, 2f\n   jr t1\n"
                     ".popsection\n2:\n.option pop\n"
                     : "=&r"(result)
                     :
                     : "t0", "t1", "t2", "t3", "memory");
    CHECK_EQ(result, 301);
    section("self-patching loop");
}

static void test_instruction_across_a_page_border(void) {
    char *code = map_code(2 * PAGE);
    char *at = code + PAGE - 2; /* the first instruction has two bytes on each page */
    for (int i = 1; i < 10; i++) {
        put(at, addi_a0(i * 16));
        put(at + 4, ret);
        flush_fence();
        CHECK_EQ(((function)at)(5), 5 + i * 16);
        code[PAGE] = (char)(code[PAGE] ^ 0x10); /* changes the immediate on the second page only: bit 20 is bit 4 of that byte */
        flush_fence();
        CHECK_EQ(((function)at)(5), 5 + (i * 16 ^ 1));
    }
    section("across a page border");
}

static void test_new_mapping_at_an_old_place(void) {
    char *code = map_code(PAGE);
    for (int i = 0; i < 10; i++) { /* same virtual address, new physical page, new code each time */
        CHECK(mmap(code, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == code);
        put(code, li_a0(i + 900));
        put(code + 4, ret);
        flush_fence();
        CHECK_EQ(((function)code)(0), i + 900);
    }
    section("remapped code");
}

static char *shared_code;
static int round_number; /* 2 n: version n may be written; 2 n + 1: version n may be run */

static void *run_what_the_other_wrote(void *arg) {
    (void)arg;
    for (int n = 0; n < 100; n++) {
        while (__atomic_load_n(&round_number, __ATOMIC_ACQUIRE) != 2 * n + 1)
            sched_yield();
        flush_fence(); /* the reader's own duty */
        CHECK_EQ(((function)shared_code)(1), 1 + n);
        __atomic_store_n(&round_number, 2 * n + 2, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void test_code_for_another_thread(void) {
    pthread_t thread;
    shared_code = map_code(PAGE);
    CHECK_EQ(pthread_create(&thread, NULL, run_what_the_other_wrote, NULL), 0);
    for (int n = 0; n < 100; n++) {
        while (__atomic_load_n(&round_number, __ATOMIC_ACQUIRE) != 2 * n)
            sched_yield();
        put(shared_code, addi_a0(n));
        put(shared_code + 4, ret);
        __atomic_store_n(&round_number, 2 * n + 1, __ATOMIC_RELEASE);
    }
    CHECK_EQ(pthread_join(thread, NULL), 0);
    section("another thread's code");
}

int main(void) {
    test_each_way_to_synchronize();
    test_mprotect_cycle();
    test_patch_inside_a_running_loop();
    test_instruction_across_a_page_border();
    test_new_mapping_at_an_old_place();
    test_code_for_another_thread();
    CHECK_END;
}
