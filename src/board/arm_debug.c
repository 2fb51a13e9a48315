// SPDX-License-Identifier: MIT
// Debug components of the Arm board: arm_debug.h. A core reaches them as memory, and what they do
// to another core happens in the time of the access.
#include "board/arm_debug.h"

#include "isa/a64/debug.h"
#include "isa/a64/debug_external.h"

enum { FIRST_CTI_IRQ = 40 }; // that of core n is 40 + n

struct tl_arm_debug {
    tl_board *board;
    tl_cti_core core;
    tl_device *ctis[TL_MAX_HARTS];
};

typedef struct registers { // of one core
    tl_device device;
    tl_board *board;
    uint32_t core;
} registers;

static tl_hart *hart_of(const tl_board *board, uint32_t core) { return board->machine->harts[core]; }

// A hart that waits goes on when it is to halt.
static void wake(tl_board *board, tl_hart *h) {
    if (!h->is_waiting || tl_hart_pending(h) == 0)
        return;
    tl_hart_idle_until(h, board->now_cycles);
    h->is_waiting = false;
    board->kind->woken(h);
    board->has_woken = true;
}

// -- Debug registers. Instructions of EDITR may access devices, so the access under way is kept.

static bool registers_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    const registers *r = (const registers *)device;
    tl_board *board = r->board;
    const uint64_t now = board->now_cycles;
    const uint32_t requester = board->requester;
    uint32_t value = 0;
    if (size_bytes != 4)
        return false;
    const bool is_there = tl_a64_debug_read(hart_of(board, r->core), offset, now, &value);
    board->now_cycles = now;
    board->requester = requester;
    *ret_value = value;
    return is_there;
}

static bool registers_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    const registers *r = (const registers *)device;
    tl_board *board = r->board;
    const uint64_t now = board->now_cycles;
    const uint32_t requester = board->requester;
    if (size_bytes != 4)
        return false;
    const bool is_there = tl_a64_debug_write(hart_of(board, r->core), offset, now, (uint32_t)value);
    board->now_cycles = now;
    board->requester = requester;
    wake(board, hart_of(board, r->core));
    return is_there;
}

static const tl_device_type registers_type = {
    .name = "debug", .title = "external debug registers of a core", .read = registers_read, .write = registers_write};

// -- The ROM table. An entry names a component by its distance, and says whether it is there.

static bool has_device(const tl_board *board, uint64_t paddr) {
    for (uint32_t i = 0; i < board->n_devices; i++)
        if (board->devices[i]->base_paddr == paddr)
            return true;
    return false;
}

static bool rom_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    static const uint32_t distances[] = {TL_CORESIGHT_DEBUG, TL_CORESIGHT_CTI, TL_CORESIGHT_PMU, TL_CORESIGHT_ETM};
    enum { FORMAT_32 = 2, PRESENT = 1 };
    const registers *r = (const registers *)device;
    const tl_coresight rom = {.kind = &tl_coresight_a53_rom};
    const uint64_t entry = offset / 4, core = entry / TL_COUNT_OF(distances);
    if (size_bytes != 4)
        return false;
    *ret_value = tl_coresight_has(offset) ? tl_coresight_read(&rom, offset, 0) : 0;
    if (core >= r->board->n_harts)
        return true;
    const uint64_t distance = core * TL_CORESIGHT_STRIDE + distances[entry % TL_COUNT_OF(distances)];
    *ret_value = distance | FORMAT_32 | (has_device(r->board, TL_CORESIGHT_PADDR + distance) ? PRESENT : 0);
    return true;
}
static bool rom_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    return (void)device, (void)offset, (void)value, size_bytes == 4;
}
static const tl_device_type rom_type = {
    .name = "coresight_rom", .title = "ROM table of the debug components", .read = rom_read, .write = rom_write};

// -- Cores and triggers.

static void output(void *ctx, uint32_t core, uint32_t trigger, bool level) {
    tl_arm_debug *debug = ctx;
    tl_board *board = debug->board;
    tl_hart *h = hart_of(board, core);
    if (trigger == TL_CTI_HALT)
        tl_a64_request_halt(h, level);
    else if (trigger == TL_CTI_RESTART)
        tl_a64_restart(h, board->now_cycles);
    else if (trigger == TL_CTI_INTERRUPT)
        board->host.set_irq(board, FIRST_CTI_IRQ + core, level);
    wake(board, h);
}
static uint32_t authentication(void *ctx, uint32_t core) { return tl_a64_authentication(hart_of(((tl_arm_debug *)ctx)->board, core)); }
static uint64_t affinity(void *ctx, uint32_t core) { return (void)ctx, UINT64_C(0x80000000) | core; }

// A pulse. The hart may halt in its own turn, or in an access of another one.
void tl_arm_debug_halted(tl_arm_debug *debug, tl_hart *h) {
    debug->board->has_woken = true;
    if (h->id >= debug->board->n_harts)
        return;
    tl_cti_set_input(debug->ctis[h->id], TL_CTI_CROSS_HALT, true);
    tl_cti_set_input(debug->ctis[h->id], TL_CTI_CROSS_HALT, false);
}

// The line moves in a turn of h, or in an access of another hart, whichever is later.
void tl_arm_debug_pmu_overflow(tl_arm_debug *debug, const tl_hart *h, bool level) {
    tl_board *board = debug->board;
    const uint64_t now = board->now_cycles;
    if (h->id >= board->n_harts)
        return;
    board->now_cycles = h->now > now ? h->now : now;
    tl_cti_set_input(debug->ctis[h->id], TL_CTI_PMU_OVERFLOW, level);
    board->now_cycles = now;
}

void tl_arm_debug_attend(tl_arm_debug *debug, tl_hart *h) {
    debug->board->has_woken = true;
    debug->board->unsteady |= 1u << h->id;
}

const tl_board_debug tl_board_arm_debug = {
    .breaks = tl_a64_breaks, .at_break = tl_a64_at_break, .steps = tl_a64_steps, .attend = tl_a64_attend};

// -- Assembly.

static tl_status add(tl_board *board, uint64_t paddr, const tl_device_type *type, uint32_t core, tl_error *err) {
    const tl_device_place place = tl_board_place(board, paddr, 0);
    registers *r = tl_device_new(&place, type, TL_CORESIGHT_BYTES, sizeof *r, err);
    if (!r)
        return TL_ENOMEM;
    r->board = board;
    r->core = core;
    *tl_board_next_device(board) = &r->device;
    (void)tl_board_has_added(board, TL_OK);
    return TL_OK;
}

tl_status tl_arm_debug_new(tl_board *board, tl_arm_debug **ret_debug, tl_error *err) {
    tl_arm_debug *debug = tl_arena_alloc(board->arena, sizeof *debug);
    if (!debug)
        return tl_fail(err, TL_ENOMEM, "no memory for the debug components");
    debug->board = board;
    debug->core = (tl_cti_core){.ctx = debug, .output = output, .authentication = authentication, .affinity = affinity};
    tl_status status = add(board, TL_CORESIGHT_PADDR, &rom_type, 0, err);
    for (uint32_t i = 0; i < board->n_harts && status == TL_OK; i++) {
        const uint64_t area = TL_CORESIGHT_PADDR + i * TL_CORESIGHT_STRIDE;
        const tl_device_place place = tl_board_place(board, area + TL_CORESIGHT_CTI, FIRST_CTI_IRQ + i);
        status = add(board, area + TL_CORESIGHT_DEBUG, &registers_type, i, err);
        if (status == TL_OK)
            status = tl_cti_new(&place, &debug->core, i, i == 0 ? NULL : debug->ctis[0], &debug->ctis[i], err);
        if (status == TL_OK) {
            *tl_board_next_device(board) = debug->ctis[i];
            (void)tl_board_has_added(board, TL_OK);
        }
    }
    *ret_debug = debug;
    return status;
}
