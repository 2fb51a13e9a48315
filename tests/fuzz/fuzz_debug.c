// SPDX-License-Identifier: MIT
// Any accesses of the debug components of two AArch64 cores while both run: debug registers,
// cross-trigger interfaces, ROM table. Two machines do the same on engines `step` and `interp`, and
// agree on registers, debug state and tallies whenever they stop. Nothing may crash or hang, and no
// identity of counts may break. Input: commands of one byte plus operands.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "board/arm_debug.h"
#include "board/system_internal.h"
#include "input.h"
#include "isa/a64/block/interp.h"
#include "isa/a64/hart.h"
#include "isa/a64/step/step.h"
#include "model/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_HARTS = 2, MAX_COMMANDS = 300, MAX_CYCLES = 60000, VECTORS = 0x800, N_VECTORS = 16, VECTOR_BYTES = 0x80, IMAGE_BYTES = 0x1000 };

// A loop of loads, stores, exclusives, calls and exceptions at EL3.
static const uint32_t program[] = {
    0xd53800a1, //     mrs x1, mpidr_el1
    0x92400421, //     and x1, x1, #3
    0xd2b00014, //     mov x20, #0x80000000
    0x91440294, //     add x20, x20, #0x100, lsl #12
    0x8b013294, //     add x20, x20, x1, lsl #12
    0x10003f62, //     adr x2, vectors
    0xd51ec002, //     msr vbar_el3, x2
    0xd510109f, //     msr oslar_el1, xzr
    0xd2800013, //     mov x19, #0
    0x91000673, // 1:  add x19, x19, #1
    0xf9000293, //     str x19, [x20]
    0xf9400696, //     ldr x22, [x20, #8]
    0xa9416297, //     ldp x23, x24, [x20, #16]
    0xa9024e97, //     stp x23, x19, [x20, #32]
    0xc85f7e99, //     ldxr x25, [x20]
    0xc81a7e93, //     stxr w26, x19, [x20]
    0x3940069b, //     ldrb w27, [x20, #1]
    0xf240127f, //     tst x19, #31
    0x54000081, //     b.ne 2f
    0xd4000021, //     svc #1
    0xd4400040, //     hlt #2
    0xd5033fdf, //     isb
    0x94000006, // 2:  bl 4f
    0xb5000056, //     cbnz x22, 3f
    0x17fffff1, //     b 1b
    0xd503205f, // 3:  wfe
    0xf900069f, //     str xzr, [x20, #8]
    0x17ffffee, //     b 1b
    0xd65f03c0, // 4:  ret
};
// Goes on behind the instruction.
static const uint32_t vector[] = {
    0xd53e403c, // mrs x28, elr_el3
    0x9100139c, // add x28, x28, #4
    0xd51e403c, // msr elr_el3, x28
    0xd69f03e0, // eret
};

typedef struct world {
    tl_machine *machine;
    tl_system *system;
    uint64_t cycle;
    bool has_ended;
} world;

static void require(bool is_so, const char *what) {
    if (is_so)
        return;
    fprintf(stderr, "fuzz_debug: %s\n", what);
    abort();
}

static void start(world *w, const tl_engine_type *engine, const char *path) {
    tl_config config;
    tl_error err = {TL_OK, ""};
    tl_config_default(&config);
    config.isa = TL_ISA_AARCH64;
    config.n_harts = N_HARTS;
    config.ram_bytes = 64 << 20;
    const tl_system_options options = {.bios = path, .console_in = -1, .console_out = -1};
    *w = (world){0};
    require(tl_machine_new(&config, engine, &w->machine, &err) == TL_OK && tl_system_new(w->machine, &options, &w->system, &err) == TL_OK,
            err.text);
}

static void run(world *w, uint64_t cycles) {
    const tl_system_limits limits = {.until_cycle = w->cycle += cycles, .until_instret = UINT64_MAX, .break_pc = {TL_NO_LINE, TL_NO_LINE}};
    tl_system_report report;
    tl_error err = {TL_OK, ""};
    if (w->has_ended)
        return;
    require(tl_system_run(w->system, &limits, &report, &err) == TL_OK, err.text);
    w->has_ended = report.stop != TL_SYSTEM_LIMIT;
}

static void compare_harts(tl_hart *a, tl_hart *b) {
    require(memcmp(tl_a64(a)->x, tl_a64(b)->x, sizeof tl_a64(a)->x) == 0, "general registers differ");
    require(memcmp(tl_a64(a)->sys.reg, tl_a64(b)->sys.reg, sizeof tl_a64(a)->sys.reg) == 0, "system registers differ");
    require(a->pc == b->pc && a->priv == b->priv && a->now == b->now && a->instret == b->instret, "pc, level or clock differ");
    require(a->is_halted == b->is_halted && tl_a64(a)->debug.edscr == tl_a64(b)->debug.edscr, "Debug states differ");
    require(tl_a64(a)->debug.status == tl_a64(b)->debug.status && tl_a64(a)->debug.dlr == tl_a64(b)->debug.dlr, "causes differ");
    require(memcmp(a->tally, b->tally, TL_S_N_CELLS * sizeof *a->tally) == 0, "tallies differ");
}

static void compare(world *a, world *b) {
    tl_error err = {TL_OK, ""};
    require(a->has_ended == b->has_ended, "one machine has ended");
    tl_machine_sync(a->machine);
    tl_machine_sync(b->machine);
    for (uint32_t i = 0; i < N_HARTS; i++)
        compare_harts(a->machine->harts[i], b->machine->harts[i]);
    require(tl_machine_check_identities(a->machine, &err) == TL_OK, err.text);
}

// -- Commands.

static uint64_t address_of(uint32_t page, uint32_t offset) {
    static const uint64_t pages[] = {TL_CORESIGHT_DEBUG, TL_CORESIGHT_CTI, TL_CORESIGHT_STRIDE + TL_CORESIGHT_DEBUG,
                                     TL_CORESIGHT_STRIDE + TL_CORESIGHT_CTI, 0};
    return TL_CORESIGHT_PADDR + pages[page % TL_COUNT_OF(pages)] + (offset & 0xffc);
}

static void write_both(world w[2], uint64_t paddr, uint32_t value) {
    const tl_agent hart = {.kind = TL_AGENT_HART_DATA};
    bool is_done[2];
    for (uint32_t i = 0; i < 2; i++)
        is_done[i] = w[i].system->board.bus.write(&w[i].system->board, &hart, paddr, 4, value);
    require(is_done[0] == is_done[1], "one write is an error");
}
static void read_both(world w[2], uint64_t paddr) {
    const tl_agent hart = {.kind = TL_AGENT_HART_DATA};
    uint64_t value[2] = {0, 0};
    bool is_done[2];
    for (uint32_t i = 0; i < 2; i++)
        is_done[i] = w[i].system->board.bus.read(&w[i].system->board, &hart, paddr, 4, &value[i]);
    require(is_done[0] == is_done[1] && value[0] == value[1], "what is read differs");
}

// Everything that a debugger does first.
static void open(world w[2], uint32_t core) {
    const uint32_t debug = core * 2, cti = debug + 1;
    write_both(w, address_of(debug, 0xfb0), 0xc5acce55);
    write_both(w, address_of(cti, 0xfb0), 0xc5acce55);
    write_both(w, address_of(debug, 0x300), 0);
    write_both(w, address_of(debug, 0x088), 1 << 14);
    write_both(w, address_of(cti, 0x000), 1);
    write_both(w, address_of(cti, 0x140), 0);
    write_both(w, address_of(cti, 0x0a0), 1);
    write_both(w, address_of(cti, 0x0a4), 2);
}

static uint32_t offset_of(input *in) {
    static const uint16_t offsets[] = {0x020, 0x024, 0x080, 0x084, 0x088, 0x08c, 0x090, 0x098, 0x0a0, 0x300, 0x310, 0x314, 0x400, 0x408,
                                       0x440, 0x448, 0x800, 0x808, 0x818, 0x000, 0x010, 0x014, 0x018, 0x01c, 0x0a4, 0x140, 0xfb0, 0xfa0};
    const uint32_t choice = take32(in, 1);
    return choice < 0xe0 ? offsets[choice % TL_COUNT_OF(offsets)] : take32(in, 2);
}

// Instructions of debuggers, with any register; else any word.
static uint32_t instruction_of(input *in) {
    static const uint32_t words[] = {0xd5130400, 0xd5330400, 0xd53b4520, 0xd51b4520, 0xd53b4500, 0xd51b4500, 0xd4a00001, 0xd4a00003,
                                     0xd6bf03e0, 0xb8404401, 0xb8004401, 0xd2b00000, 0xd5033fdf, 0xd508751f, 0xd5087640, 0x910003e0};
    const uint32_t choice = take32(in, 1);
    return choice < 0xc0 ? words[choice % TL_COUNT_OF(words)] | (choice >> 4 & 1) : take32(in, 4);
}

// Values that breakpoints and watchpoints of the program can have.
static uint32_t value_of(input *in) {
    const uint32_t choice = take32(in, 1);
    if (choice < 0x40)
        return 0x80000000 + 4 * choice;
    if (choice < 0x60)
        return 0x80100000 + 4 * (choice & 31);
    static const uint32_t controls[] = {0x21e7, 0x0021e5, 0x003001e1, 0x1421e7, 0x3ff7, 0x7, 0, UINT32_MAX, 0xc5acce55, 1 << 14, 1 << 20};
    return choice < 0xc0 ? controls[choice % TL_COUNT_OF(controls)] : take32(in, 4);
}

enum { WRITE, READ, RUN, OPEN, HALT, RESTART, EXECUTE, WRITE_VALUE };

static void obey(world w[2], input *in) {
    const uint32_t command = take32(in, 1), core = command >> 3 & 1, page = command >> 3 & 7;
    const uint64_t cti = 2 * core + 1;
    switch (command & 7) {
    case WRITE: write_both(w, address_of(page, offset_of(in)), take32(in, 4)); break;
    case WRITE_VALUE: write_both(w, address_of(page, offset_of(in)), value_of(in)); break;
    case READ: read_both(w, address_of(page, offset_of(in))); break;
    case OPEN: open(w, core); break;
    case HALT: write_both(w, address_of((uint32_t)cti, 0x1c), 1); break;
    case RESTART:
        write_both(w, address_of((uint32_t)cti, 0x10), 1);
        write_both(w, address_of((uint32_t)cti, 0x1c), 2);
        break;
    case EXECUTE: write_both(w, address_of(2 * core, 0x84), instruction_of(in)); break;
    default: {
        const uint64_t cycles = 16 * (1 + (uint64_t)take32(in, 1));
        run(&w[0], cycles);
        run(&w[1], cycles);
        compare(&w[0], &w[1]);
    }
    }
}

static int image(void) {
    uint8_t bytes[IMAGE_BYTES] = {0};
    memcpy(bytes, program, sizeof program);
    for (uint32_t k = 0; k < N_VECTORS; k++)
        memcpy(bytes + VECTORS + k * VECTOR_BYTES, vector, sizeof vector);
    const int fd = memfd_create("program", 0);
    require(fd >= 0 && write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes, "no memory for the program");
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, data + size};
    world w[2];
    const int fd = image();
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    start(&w[0], &tl_engine_a64_interp, path);
    start(&w[1], &tl_engine_a64_step, path);
    for (uint32_t n = 0; n < MAX_COMMANDS && in.at < in.end && !w[0].has_ended && w[0].cycle < MAX_CYCLES; n++)
        obey(w, &in);
    run(&w[0], 3000);
    run(&w[1], 3000);
    compare(&w[0], &w[1]);
    for (uint32_t i = 0; i < 2; i++) {
        tl_system_free(w[i].system);
        tl_machine_free(w[i].machine);
    }
    close(fd);
    return 0;
}
