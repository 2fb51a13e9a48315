// SPDX-License-Identifier: MIT
// Random programs store into their own code, change the permissions of its pages and map others
// over it. They take signals at any place and run as one to four threads. Each engine must agree
// with the stepping one in registers, clock and every tally. The comparison lasts as long as the
// architecture says which bytes an instruction is made of. A first run of each finds out how long
// (specified.h). Usage: lockstep_wild FIRST_SEED N_SEEDS. Exit status: 0 all agree, 1 not, 2 usage.
// With TL_WILD_VERBOSE each seed prints a line.
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "engines.h"
#include "isa/rv/assemble.h"
#include "isa/rv/insn.h"
#include "linux/os.h"
#include "random_code.h"
#include "specified.h"

enum {
    FRONT = 0x10000, // headers, start, handler, structs: nobody writes here
    FRONT_BYTES = 0x2000,
    STRUCTS_AT = 0x100, // in it
    START_AT = 0x200,
    PATH_AT = FRONT + STRUCTS_AT + 64,
    HANDLER_AT = 0x1000,
    WILD = 0x20000, // a region for each thread
    REGION_BYTES = 0x2000,
    SPOT_BYTES = 256, // apart are the places where code is entered
    MAX_THREADS = 4,
    ELSEWHERE = 0x60000, // pages that come and go
    ELSEWHERE_PAGES = 2,
    DATA = 0x80000,
    DATA_BYTES = 0x20000,
    STACK_LOG2 = 14, // within the data: x2 of each thread; the alternate stacks lie behind
    RAM_BYTES = 16 << 20,
    MAX_INSNS = 8000,
};
enum { SYS_munmap = 215, SYS_clone = 220, SYS_mmap = 222, SYS_mprotect = 226, SYS_flush_icache = 259, SYS_openat = 56 };
enum { SYS_pread = 67, SYS_pwrite = 68, SYS_exit_group = 94, SYS_execve = 221, SYS_memfd = 279, SYS_madvise = 233 };
enum { SYS_setitimer = 103, SYS_yield = 124, SYS_kill = 129, SYS_altstack = 132, SYS_sigaction = 134, SYS_getpid = 172 };

static void die(const char *sentence) {
    fprintf(stderr, "lockstep_wild: %s\n", sentence);
    exit(1);
}

// ---- The program.

typedef struct wild {
    rng r;
    uint32_t n_threads, n_harts, machine;
    bool is_on_altstack, has_timer, is_nested, has_stack_in_code, forks;
    _Alignas(uint32_t) uint8_t front[FRONT_BYTES], code[MAX_THREADS * REGION_BYTES];
} wild;

static void call(tl_assembler *a, uint32_t number, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3) {
    tl_asm_load_constant(a, TL_A0, a0);
    tl_asm_load_constant(a, TL_A1, a1);
    tl_asm_load_constant(a, TL_A2, a2);
    tl_asm_load_constant(a, TL_A3, a3);
    tl_asm_load_constant(a, TL_A7, number);
    tl_asm_ecall(a);
}

static uint64_t region_of(uint32_t thread) { return WILD + thread * (uint64_t)REGION_BYTES; }
static uint64_t stack_of(const wild *w, uint32_t thread) {
    return w->has_stack_in_code ? region_of(thread) + REGION_BYTES / 2 : DATA + ((uint64_t)thread << STACK_LOG2) + (1 << STACK_LOG2) - 2048;
}
static uint64_t altstack_of(uint32_t thread) { return DATA + ((uint64_t)(MAX_THREADS + thread) << STACK_LOG2); }
static uint64_t pointer_of(uint32_t thread) { return DATA + ((uint64_t)thread << STACK_LOG2) + 4096; }
// Random state of each thread's handler.
static const uint64_t COUNTERS = DATA + (uint64_t)DATA_BYTES - 4096;

static uint32_t i_type(uint32_t opcode, uint32_t funct3, uint32_t rd, uint32_t rs1, uint32_t imm) {
    return imm << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}
static uint32_t s_type(uint32_t funct3, uint32_t rs2, uint32_t rs1, uint32_t imm) {
    return (imm >> 5 & 127) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | (imm & 31) << 7 | 0x23;
}
enum { FENCE_I = 0x100f };

// a0 = signal, a2 = context. A fault goes on somewhere else, with its pointers put right; anything
// else where it was.
static void write_handler(wild *w, tl_assembler *a) {
    enum { CONTEXT_PC = 176 };
    tl_asm_srli(a, TL_T0, TL_SP, w->has_stack_in_code ? 13 : STACK_LOG2);
    tl_asm_andi(a, TL_T0, TL_T0, MAX_THREADS - 1);
    if (w->n_threads < MAX_THREADS)
        tl_asm_andi(a, TL_T0, TL_T0, w->n_threads == 1 ? 0 : 1);
    tl_asm_slli(a, TL_T1, TL_T0, 6);
    tl_asm_load_constant(a, TL_T2, COUNTERS);
    tl_asm_op(a, TL_ASM_ADD, TL_T1, TL_T1, TL_T2);
    tl_asm_ld(a, TL_T3, TL_T1, 0); // the thread's random state
    tl_asm_load_constant(a, TL_T2, UINT64_C(6364136223846793005));
    tl_asm_op(a, TL_ASM_MUL, TL_T3, TL_T3, TL_T2);
    tl_asm_addi(a, TL_T3, TL_T3, 1443);
    tl_asm_sd(a, TL_T3, TL_T1, 0);
    tl_asm_load_constant(a, TL_T2, REGION_BYTES);
    tl_asm_op(a, TL_ASM_MUL, TL_T4, TL_T0, TL_T2);
    tl_asm_load_constant(a, TL_T2, WILD);
    tl_asm_op(a, TL_ASM_ADD, TL_T4, TL_T4, TL_T2); // its region
    tl_asm_srli(a, TL_T5, TL_T3, 64 - 5);          // of REGION_BYTES / SPOT_BYTES
    tl_asm_slli(a, TL_T5, TL_T5, 8);
    tl_asm_op(a, TL_ASM_ADD, TL_T5, TL_T5, TL_T4); // a place in it
    tl_asm_load_constant(a, TL_T6, 10);
    uint32_t is_usr1 = tl_asm_branch(a, TL_ASM_EQ, TL_A0, TL_T6);
    tl_asm_load_constant(a, TL_T6, 14);
    uint32_t is_alarm = tl_asm_branch(a, TL_ASM_EQ, TL_A0, TL_T6);
    tl_asm_sd(a, TL_T5, TL_A2, CONTEXT_PC);
    static const int pointers[] = {2, 8, 9};
    for (uint32_t i = 0; i < 3; i++) { // thread 0's, then as many steps further
        uint64_t first = pointers[i] == 2 ? stack_of(w, 0) : pointers[i] == 8 ? pointer_of(0) : WILD + REGION_BYTES / 2;
        tl_asm_load_constant(a, TL_T2, pointers[i] == 9 || (pointers[i] == 2 && w->has_stack_in_code) ? REGION_BYTES : 1 << STACK_LOG2);
        tl_asm_op(a, TL_ASM_MUL, TL_T2, TL_T2, TL_T0);
        tl_asm_load_constant(a, TL_T6, first);
        tl_asm_op(a, TL_ASM_ADD, TL_T2, TL_T2, TL_T6);
        tl_asm_sd(a, TL_T2, TL_A2, CONTEXT_PC + 8 * pointers[i]);
    }
    // The region may be written and executed again, mostly.
    tl_asm_andi(a, TL_T6, TL_T3, 0x70);
    uint32_t is_left = tl_asm_branch(a, TL_ASM_EQ, TL_T6, TL_X0);
    tl_asm_addi(a, TL_A0, TL_T4, 0);
    tl_asm_load_constant(a, TL_A1, REGION_BYTES);
    tl_asm_load_constant(a, TL_A2, PROT_READ | PROT_WRITE | PROT_EXEC);
    tl_asm_load_constant(a, TL_A7, SYS_mprotect);
    tl_asm_ecall(a);
    tl_asm_bind(a, is_left);
    tl_asm_word(a, i_type(0x67, 0, 0, TL_RA, 0)); // ret
    tl_asm_bind(a, is_usr1);
    tl_asm_bind(a, is_alarm);
    if (below(&w->r, 2)) { // changes a place of the region, be it where the thread was interrupted
        tl_asm_word(a, i_type(0x03, 2, TL_T2, TL_T4, below(&w->r, 512) * 4));
        tl_asm_word(a, s_type(below(&w->r, 2) + 1, TL_T2, TL_T5, 0));
    }
    if (below(&w->r, 4))
        tl_asm_word(a, FENCE_I);
    tl_asm_word(a, i_type(0x67, 0, 0, TL_RA, 0));
}

static void enter_region(wild *w, tl_assembler *a, uint32_t thread) {
    const uint64_t altstack[3] = {altstack_of(thread), 0, 1 << STACK_LOG2};
    tl_asm_load_constant(a, TL_T0, COUNTERS + 64 * thread);
    for (int i = 0; i < 3; i++) {
        tl_asm_load_constant(a, TL_T1, altstack[i]);
        tl_asm_sd(a, TL_T1, TL_T0, 8 * (i + 1));
    }
    tl_asm_load_constant(a, TL_T1, next(&w->r));
    tl_asm_sd(a, TL_T1, TL_T0, 0);
    call(a, SYS_altstack, COUNTERS + 64 * thread + 8, 0, 0, 0);
    for (uint32_t reg = 10; reg < 32; reg++)
        tl_asm_load_constant(a, reg, next(&w->r) >> below(&w->r, 64));
    tl_asm_load_constant(a, TL_SP, stack_of(w, thread));
    tl_asm_load_constant(a, TL_S0, pointer_of(thread));
    tl_asm_load_constant(a, TL_S1, region_of(thread) + REGION_BYTES / 2);
    tl_asm_load_constant(a, TL_RA, region_of(thread) + SPOT_BYTES * (uint64_t)below(&w->r, REGION_BYTES / SPOT_BYTES));
    tl_asm_word(a, i_type(0x67, 0, 0, TL_RA, 0));
}

static void write_front(wild *w) {
    const uint64_t entry = FRONT + START_AT;
    // The flags are SA_SIGINFO, SA_ONSTACK; then SA_NODEFER.
    static const uint64_t flags = 4 | UINT64_C(0x08000000), nested = UINT64_C(0x40000000);
    static const uint32_t signals[] = {4, 5, 7, 8, 10, 11, 14};
    tl_assembler a;
    tl_asm_init(&a, w->front + HANDLER_AT, FRONT_BYTES - HANDLER_AT, FRONT + HANDLER_AT);
    const uint64_t handler = tl_asm_here(&a);
    write_handler(w, &a);
    const uint64_t action_at = FRONT + STRUCTS_AT, timer_at = action_at + 32, path_at = action_at + 64;
    const uint64_t action[3] = {handler, (flags & (w->is_on_altstack ? UINT64_MAX : 4)) | (w->is_nested ? nested : 0), 0};
    const uint64_t timer[4] = {0, 1 + below(&w->r, 30), 0, 1 + below(&w->r, 30)};
    memcpy(w->front + STRUCTS_AT, action, sizeof action);
    memcpy(w->front + STRUCTS_AT + 32, timer, sizeof timer);
    memcpy(w->front + STRUCTS_AT + 64, "/program", 9);
    uint64_t threads_at[MAX_THREADS];
    for (uint32_t t = 1; t < w->n_threads; t++) {
        threads_at[t] = tl_asm_here(&a);
        enter_region(w, &a, t);
    }
    tl_assembler start;
    tl_asm_init(&start, w->front + START_AT, HANDLER_AT - START_AT, entry);
    call(&start, SYS_setitimer, 0, path_at + 16, 0, 0);      // zeros: a timer outlives execve
    call(&start, SYS_openat, (uint64_t)-100, path_at, 0, 0); // descriptor 3
    for (size_t i = 0; i < TL_COUNT_OF(signals); i++)
        call(&start, SYS_sigaction, signals[i], action_at, 0, 8);
    call(&start, SYS_memfd, path_at, 0, 0, 0); // descriptor 4
    call(&start, SYS_pwrite, 4, WILD, REGION_BYTES, 0);
    if (w->has_timer)
        call(&start, SYS_setitimer, 0, timer_at, 0, 0);
    for (uint32_t t = 1; t < w->n_threads; t++) {
        call(&start, SYS_clone, 0x10f00, stack_of(w, t), 0, 0); // VM FS FILES SIGHAND THREAD
        uint32_t is_parent = tl_asm_branch(&start, TL_ASM_NE, TL_A0, TL_X0);
        tl_asm_jump_to(&start, threads_at[t]);
        tl_asm_bind(&start, is_parent);
    }
    if (w->forks)
        call(&start, SYS_clone, 17, 0, 0, 0); // SIGCHLD
    enter_region(w, &start, 0);
    if (a.is_full || start.is_full)
        die("the start does not fit");
}

// Code is entered at few places, so that what changes there has been executed before and will be
// again.
static uint64_t spot_in(rng *r, uint64_t start, uint32_t n_bytes) { return start + (uint64_t)SPOT_BYTES * below(r, n_bytes / SPOT_BYTES); }

static void enter(wild *w, tl_assembler *a, uint64_t spot) {
    if (below(&w->r, 4) == 0)
        return;
    tl_asm_load_constant(a, TL_RA, spot);
    tl_asm_word(a, i_type(0x67, 0, below(&w->r, 2), TL_RA, 0));
}

// Copies code to a spot, by stores.
static void copy_code(wild *w, tl_assembler *a, uint64_t from, uint64_t to) {
    rng *r = &w->r;
    uint32_t log2 = 1 + below(r, 3), shift = 2 * below(r, 8), n = 1 + below(r, 4);
    tl_asm_load_constant(a, TL_T0, from);
    tl_asm_load_constant(a, TL_T1, to);
    for (uint32_t i = 0; i < n; i++) {
        tl_asm_word(a, i_type(0x03, log2 == 1 ? 5 : log2, TL_T2, TL_T0, shift + (i << log2)));
        tl_asm_word(a, s_type(log2, TL_T2, TL_T1, shift + (i << log2)));
    }
    if (below(r, 12))
        tl_asm_word(a, FENCE_I);
    enter(w, a, to);
}

// A few instructions that do what random ones hardly ever do.
static void write_gadget(wild *w, tl_assembler *a, uint32_t thread) {
    static const uint32_t protections[] = {1, 3, 5, 7, 7, 7, 0, 4};
    rng *r = &w->r;
    if (below(r, 16) == 0)
        thread = below(r, w->n_threads);
    uint64_t spot = spot_in(r, region_of(thread) + 4096 * (uint64_t)below(r, 2), 4 * SPOT_BYTES), page = spot & ~UINT64_C(4095);
    uint64_t other = ELSEWHERE + 4096 * (uint64_t)below(r, ELSEWHERE_PAGES), other_spot = spot_in(r, other, 4 * SPOT_BYTES);
    uint64_t offset = 4096 * (uint64_t)below(r, 2) + spot_in(r, 0, 4 * SPOT_BYTES);
    switch (below(r, 20)) {
    case 0: call(a, SYS_mprotect, page, 4096, protections[below(r, TL_COUNT_OF(protections))], 0); break;
    case 1: call(a, SYS_mprotect, other, 4096, protections[below(r, TL_COUNT_OF(protections))], 0); break;
    case 2: // stores that one system call makes good for all harts
        tl_asm_load_constant(a, TL_T0, spot);
        tl_asm_word(a, i_type(0x03, 2, TL_T1, TL_T0, 4 * below(r, 40)));
        tl_asm_word(a, s_type(2, TL_T1, TL_T0, 4 * below(r, 4)));
        call(a, SYS_flush_icache, 0, 0, below(r, 2), 0);
        enter(w, a, spot);
        break;
    case 3:
        tl_asm_load_constant(a, TL_A7, SYS_getpid);
        tl_asm_ecall(a);
        tl_asm_load_constant(a, TL_A1, 10);
        tl_asm_load_constant(a, TL_A7, SYS_kill);
        tl_asm_ecall(a);
        break;
    case 4: call(a, SYS_yield, 0, 0, 0, 0); break;
    case 5: call(a, SYS_munmap, other, 4096, 0, 0); break;
    case 6:
    case 7:
    case 8: { // the file, or nothing; private, or shared with whoever maps it, too
        bool is_file = below(r, 4) != 0;
        tl_asm_load_constant(a, TL_A4, is_file ? 3 + below(r, 2) : UINT64_MAX);
        tl_asm_load_constant(a, TL_A5, is_file ? 4096 * (uint64_t)below(r, 3) : 0);
        call(a, SYS_mmap, other, 4096, (const uint32_t[]){1, 5, 5, 7}[below(r, 4)],
             MAP_FIXED | (below(r, 2) ? MAP_PRIVATE : MAP_SHARED) | (is_file ? 0 : MAP_ANONYMOUS));
        enter(w, a, other_spot);
        break;
    }
    case 9: enter(w, a, below(r, 2) ? other_spot : ELSEWHERE + 4094); break; // across two pages
    case 10:
    case 11: // the kernel writes code, which it makes known
        call(a, SYS_pread, 3 + below(r, 2), spot + 4 * below(r, 8), 4 * (1 + below(r, 24)), FRONT_BYTES + offset + 4 * below(r, 60));
        enter(w, a, spot);
        break;
    case 12: // the same by a file that is mapped somewhere, perhaps
        call(a, SYS_pwrite, 4, spot + 4 * below(r, 8), 4 * (1 + below(r, 24)), offset + 4 * below(r, 8));
        enter(w, a, other_spot);
        break;
    case 13:
        if (below(r, 4) == 0)
            call(a, SYS_execve, PATH_AT, 0, 0, 0);
        break;
    case 14: call(a, SYS_madvise, below(r, 3) ? other : page, 4096, 4, 0); break; // MADV_DONTNEED
    case 15: copy_code(w, a, other_spot, spot); break;
    case 16: copy_code(w, a, spot, other_spot); break;
    default: copy_code(w, a, spot_in(r, region_of(thread), REGION_BYTES) + 2 * below(r, 100), spot);
    }
}

static void write_code(wild *w, uint8_t *code, uint32_t thread) {
    static const uint16_t csrs[] = {0x001, 0x002, 0x003, 0xc00, 0xc01, 0xc02, 0xc03};
    rng *r = &w->r;
    uint32_t at = 0;
    while (at + 128 <= REGION_BYTES) {
        uint32_t what = below(r, 100), words[32];
        tl_assembler a;
        tl_asm_init(&a, words, sizeof words, 0);
        if (what < 30) {
            uint32_t bits = random_compressed(r);
            memcpy(code + at, &bits, 2);
            at += 2;
            continue;
        }
        if (what < 84) {
            tl_asm_word(&a, random_word(r, csrs, TL_COUNT_OF(csrs), 20));
        } else if (what < 86) {
            tl_asm_word(&a, (uint32_t)next(r) | 3); // anything
        } else if (what < 88) {
            tl_asm_word(&a, s_type(below(r, 4), below(r, 32), below(r, 4) ? 9 : 8, (uint32_t)next(r)));
            if (below(r, 8))
                tl_asm_word(&a, FENCE_I);
        } else if (what < 89) {
            tl_asm_word(&a, FENCE_I);
        } else {
            write_gadget(w, &a, thread);
        }
        if (a.is_full)
            die("a gadget does not fit");
        memcpy(code + at, words, 4 * (size_t)a.n_words);
        at += 4 * a.n_words;
    }
    memset(code + at, 0, REGION_BYTES - at);
}

static void write_program(wild *w, const char *path) {
    uint32_t n_code = w->n_threads * REGION_BYTES;
    const struct {
        Elf64_Ehdr header;
        Elf64_Phdr segments[3];
    } front = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_EXEC,
                   .e_machine = EM_RISCV,
                   .e_version = EV_CURRENT,
                   .e_entry = FRONT + START_AT,
                   .e_phoff = sizeof(Elf64_Ehdr),
                   .e_flags = 5,
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 3},
        .segments = {{.p_type = PT_LOAD,
                      .p_flags = PF_R | PF_X,
                      .p_vaddr = FRONT,
                      .p_filesz = FRONT_BYTES,
                      .p_memsz = FRONT_BYTES,
                      .p_align = 4096},
                     {.p_type = PT_LOAD,
                      .p_flags = PF_R | PF_W | PF_X,
                      .p_offset = FRONT_BYTES,
                      .p_vaddr = WILD,
                      .p_filesz = n_code,
                      .p_memsz = n_code,
                      .p_align = 4096},
                     {.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = DATA, .p_memsz = DATA_BYTES, .p_align = 4096}},
    };
    memcpy(w->front, &front, sizeof front);
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (fd < 0 || write(fd, w->front, FRONT_BYTES) != FRONT_BYTES || write(fd, w->code, n_code) != (ssize_t)n_code || close(fd) != 0)
        die("the program cannot be written");
}

static void wild_init(wild *w, uint64_t seed) {
    static const uint32_t n_threads[] = {1, 1, 2, 4}, n_harts[] = {1, 2, 2, 4};
    memset(w, 0, sizeof *w);
    w->r.state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    w->n_threads = n_threads[below(&w->r, 4)];
    w->n_harts = w->n_threads == 1 ? 1 : n_harts[below(&w->r, 4)];
    w->machine = below(&w->r, 4);
    w->is_on_altstack = below(&w->r, 3) != 0;
    w->has_stack_in_code = below(&w->r, 4) == 0;
    w->forks = below(&w->r, 4) == 0;
    w->is_nested = below(&w->r, 2) != 0;
    w->has_timer = below(&w->r, 4) != 0;
    for (uint32_t t = 0; t < w->n_threads; t++)
        write_code(w, w->code + t * REGION_BYTES, t);
    write_front(w);
}

static tl_config config_of(const wild *w) {
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = RAM_BYTES;
    config.n_harts = w->n_harts;
    config.interleave_cycles = (const uint32_t[]){1000, 100, 17, 300}[w->machine];
    config.os.slice_cycles = 20000;
    if (w->machine == 1) {
        config.l1i = (tl_cache_config){.size_bytes = 512, .ways = 1, .line_bytes = 16};
        config.l1d = (tl_cache_config){.size_bytes = 512, .ways = 2, .line_bytes = 16, .replacement = TL_REPLACE_FIFO};
        config.l2 = (tl_cache_config){.size_bytes = 8192, .ways = 4, .line_bytes = 16, .replacement = TL_REPLACE_RANDOM};
        config.itlb = config.dtlb = (tl_tlb_config){.entries = 4, .ways = 4, .replacement = TL_REPLACE_PLRU};
    } else if (w->machine == 2) {
        config.l1i.line_bytes = config.l1d.line_bytes = config.l2.line_bytes = 128;
        config.l1d.prefetch = config.l1i.prefetch = TL_PREFETCH_NEXT_LINE;
        config.code_cache_bytes = TL_MIN_CODE_CACHE_BYTES;
    }
    return config;
}

// ---- Runs.

typedef struct side {
    tl_machine *machine;
    tl_os *os;
    tl_os_report report;
} side;

static const uint64_t MAX_CYCLES = 10000000;

static char root[200];
static int null_fd;

static void side_init(side *s, const wild *w, const fast_engine *engine) {
    static char *const argv[] = {"program", NULL}, *const no_env[] = {NULL};
    tl_config config = config_of(w);
    tl_error err = {0};
    tl_os_options options = {
        .program = "/program", .argv = argv, .envp = no_env, .sysroot = root, .root = root, .std_fd = {null_fd, null_fd, null_fd}};
    if (machine_with(engine, &config, &s->machine, &err) != TL_OK)
        die(err.text);
    if (tl_os_new(s->machine, &options, &s->os, &err) != TL_OK)
        die(err.text);
    s->report.stop = TL_OS_LIMIT;
}

static void side_done(side *s) {
    tl_os_free(s->os);
    tl_machine_free(s->machine);
}

static bool is_going(const side *s) { return s->report.stop == TL_OS_LIMIT && tl_os_now_cycles(s->os) < MAX_CYCLES; }

static void advance(side *s, uint64_t until_instret) {
    tl_error err = {0};
    tl_os_limits limits = {.until_cycle = MAX_CYCLES, .until_instret = until_instret, .break_pc = {TL_NO_LINE, TL_NO_LINE}};
    if (tl_os_run(s->os, &limits, &s->report, &err) != TL_OK)
        die(err.text);
    tl_machine_sync(s->machine);
}

// Number of instructions of the program that are specified.
static uint64_t count_specified(const wild *w, uint64_t seed) {
    side s = {0};
    side_init(&s, w, &watched_engine);
    if (!watch_start(s.machine, RAM_BYTES))
        die("no memory");
    for (uint64_t at = 500; at <= MAX_INSNS && watch.n_specified == UINT64_MAX && is_going(&s); at += 500)
        advance(&s, at);
    uint64_t n = watch.n_specified < MAX_INSNS ? watch.n_specified : MAX_INSNS;
    if (getenv("TL_WILD_VERBOSE"))
        printf("seed %" PRIu64 ": %u threads on %u harts, %" PRIu64 " of %" PRIu64 " instructions specified, %" PRIu64 " signals, %" PRIu64
               " faults; stop %d %s\n",
               seed, w->n_threads, w->n_harts, n, total_instret(), s.machine->harts[0]->tally[TL_S_OS_SIGNAL],
               s.machine->harts[0]->tally[TL_S_OS_PAGE_FAULT], s.report.stop, s.report.message);
    watch_end();
    side_done(&s);
    return n;
}

static const fast_engine wild_engines[] = {
    {"interp", &tl_engine_interp, 0, 0},
#ifdef TL_HAS_TRANSLATOR
    {"translate", &tl_engine_translate, 0, UINT32_MAX},
    {"translate_after_1", &tl_engine_translate, 1, UINT32_MAX},
    {"translate_after_64", &tl_engine_translate, 64, UINT32_MAX},
    {"dense_after_1", &tl_engine_translate, 1, 0},
    {"dense_after_64", &tl_engine_translate, 64, 0},
#endif
};
static const char *engine_name;

static int differs(uint64_t seed, uint64_t at, const char *what, uint64_t a, uint64_t b) {
    printf("seed %" PRIu64 ", instruction %" PRIu64 ": %s is %" PRIx64 " by %s, %" PRIx64 " by step\n", seed, at, what, a, engine_name, b);
    return 1;
}

static int compare(const side *fast, const side *slow, uint64_t seed, uint64_t at) {
    const tl_probe *probe = &fast->machine->probe;
    int n = 0;
    char name[160];
    if (fast->report.stop != slow->report.stop || strcmp(fast->report.message, slow->report.message) != 0) {
        printf("seed %" PRIu64 ": %s ends with %d '%s', step with %d '%s'\n", seed, engine_name, fast->report.stop, fast->report.message,
               slow->report.stop, slow->report.message);
        n++;
    }
    for (uint32_t i = 0; i < fast->machine->n_harts; i++) {
        const tl_hart *a = fast->machine->harts[i], *b = slow->machine->harts[i];
#define SAME_OF(a_has, b_has, what)                                                     \
    if ((a_has)->what != (b_has)->what) {                                               \
        snprintf(name, sizeof name, "%s of hart %u", #what, i);                         \
        n += differs(seed, at, name, (uint64_t)(a_has)->what, (uint64_t)(b_has)->what); \
    }
#define SAME(what) SAME_OF(a, b, what)
#define SAME_RV(what) SAME_OF(tl_rv(a), tl_rv(b), what)
        SAME(pc)
        SAME(now)
        SAME(instret)
        SAME(stamp)
        SAME_RV(fflags)
        SAME_RV(frm)
        SAME(context)
        SAME(reservation_paddr)
        for (int k = 0; k < 32; k++) {
            SAME_RV(x[k])
            SAME_RV(f[k])
        }
    }
    for (uint32_t cell = 0; cell < probe->n_cells; cell++)
        if (fast->machine->tally[cell] != slow->machine->tally[cell]) {
            const tl_unit *unit = tl_probe_unit_of(probe, cell);
            snprintf(name, sizeof name, "%s.%s", unit->path, unit->type->signals[cell - unit->first_cell].name);
            n += differs(seed, at, name, fast->machine->tally[cell], slow->machine->tally[cell]);
        }
    return n;
}

static int run_pair(const wild *w, uint64_t seed, const fast_engine *engine, uint64_t n_insns) {
    side fast = {0}, slow = {0};
    tl_error err = {0};
    rng cuts = {seed * 977 + 1};
    engine_name = engine->name;
    side_init(&fast, w, engine);
    side_init(&slow, w, &step_engine);
    uint32_t most = (const uint32_t[]){40, 700, 20000}[below(&cuts, 3)];
    int n_different = 0;
    for (uint64_t at = 0; at < n_insns && n_different == 0 && is_going(&slow);) {
        at += 1 + below(&cuts, most);
        at = at < n_insns ? at : n_insns;
        advance(&slow, at);
        advance(&fast, at);
        n_different = compare(&fast, &slow, seed, at);
    }
    if (n_different == 0 && tl_machine_check_identities(fast.machine, &err) != TL_OK) {
        printf("seed %" PRIu64 ", %s: %s\n", seed, engine->name, err.text);
        n_different = 1;
    }
    side_done(&fast);
    side_done(&slow);
    return n_different != 0;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: lockstep_wild FIRST_SEED N_SEEDS\n");
        return 2;
    }
    uint64_t first = strtoull(argv[1], NULL, 10), n_seeds = strtoull(argv[2], NULL, 10), n_insns = 0, n_failed = 0, n_cut = 0;
    const char *folder = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/lockstep-wild-XXXXXX", folder && strlen(folder) < 100 ? folder : "/tmp");
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null_fd < 0 || !mkdtemp(root))
        die("no folder for the programs");
    char path[240];
    snprintf(path, sizeof path, "%s/program", root);
    static wild w;
    for (uint64_t seed = first; seed < first + n_seeds; seed++) {
        wild_init(&w, seed);
        write_program(&w, path);
        uint64_t n = count_specified(&w, seed);
        n_insns += n;
        n_cut += n < MAX_INSNS;
        for (uint32_t e = 0; e < TL_COUNT_OF(wild_engines); e++)
            n_failed += (uint64_t)run_pair(&w, seed, &wild_engines[e], n);
    }
    (void)unlink(path);
    (void)rmdir(root);
    printf("%" PRIu64 " programs, %" PRIu64 " instructions, %" PRIu64 " programs up to the first that is not specified, %" PRIu64
           " disagreements\n",
           n_seeds, n_insns, n_cut, n_failed);
    return n_failed != 0 || n_insns < n_seeds * MAX_INSNS / 4;
}
