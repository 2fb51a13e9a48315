// SPDX-License-Identifier: MIT
// The Arm board, at the addresses of QEMU's `virt` with secure=on: GICv2 0x8000000 with the
// interfaces of harts at 0x8010000, PL011 0x9000000 (interrupt 33), PL031 0x9010000 (34), power
// control 0x90b0000, virtio-mmio slots 0xa000000 + 0x200 k (48 + k). The power controller of the
// cores (arm_power.h), the debug components (arm_debug.h) and a finisher are not QEMU's. The
// finisher at 0x100000 takes an exit status, as on the RISC-V board. RAM stands at 0x80000000,
// where QEMU has RAM when it is given 2 GiB. The generic timers are parts of the harts; a device
// without a window ticks them and drives their interrupts 27, 29 and 30. Interrupt 23 is that of
// the performance monitors.
#include "base/bits.h"
#include "board/arm_debug.h"
#include "board/arm_power.h"
#include "board/tree.h"
#include "dev/devices.h"
#include "isa/a64/hart.h"
#include "isa/a64/sysop.h"
#include "isa/a64/timer.h"

static const uint64_t GIC_PADDR = 0x8000000, PL011_PADDR = 0x9000000, PL031_PADDR = 0x9010000, POWER_PADDR = 0x90b0000,
                      VIRTIO_PADDR = 0xa000000, VIRTIO_STRIDE = 0x200;
enum { FIRST_SPI = 32, INTID_PL011 = FIRST_SPI + 1, INTID_PL031 = FIRST_SPI + 2, INTID_VIRTIO = FIRST_SPI + 16 };

typedef struct timers {
    tl_device device;
    tl_board *board;
    tl_a64_host host;
    tl_arm_debug *debug;
    tl_arm_power *power;
    uint32_t lines[TL_MAX_HARTS]; // as the interrupt controller has them
} timers;

static bool no_register(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    return (void)device, (void)offset, (void)size_bytes, (void)ret_value, false;
}
static bool no_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    return (void)device, (void)offset, (void)size_bytes, (void)value, false;
}

// A hart in WFE goes on with the event, at the time of who sends it.
static void give_event(tl_board *board, tl_hart *h) {
    tl_a64_system *sys = &tl_a64(h)->sys;
    tl_a64_get_event(h);
    if (!h->is_waiting || !sys->waits_for_event)
        return;
    tl_hart_idle_until(h, board->now_cycles);
    h->is_waiting = sys->waits_for_event = sys->has_event = false;
    board->has_woken = true;
}

static uint64_t tick(tl_device *device) {
    timers *t = (timers *)device;
    const uint64_t now = t->board->now_cycles;
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < t->board->n_harts; i++) {
        tl_hart *h = t->board->machine->harts[i];
        uint32_t lines;
        next = tl_lesser(next, tl_a64_timers_tick(h, now, &lines));
        for (uint32_t k = 0; k < TL_A64_N_TIMERS; k++)
            if ((lines ^ t->lines[i]) >> k & 1)
                tl_gic_set_private(t->board->interrupt_controller, i, tl_a64_timer_intids[k], lines >> k & 1);
        t->lines[i] = lines;
        if (!h->is_waiting || !tl_a64(h)->sys.waits_for_event)
            continue;
        if (tl_a64(h)->sys.next_event <= now)
            give_event(t->board, h);
        else
            next = tl_lesser(next, tl_a64(h)->sys.next_event);
    }
    return next;
}

static const tl_device_type timers_type = {
    .name = "timers", .title = "generic timers of the harts", .read = no_register, .write = no_write, .tick = tick};

static void timer_changed(void *ctx, tl_hart *h) {
    timers *t = ctx;
    tl_board_wake_from(t->board, &t->device, h);
}

static void send_event(void *ctx, tl_hart *h) {
    timers *t = ctx;
    t->board->now_cycles = h->now;
    for (uint32_t i = 0; i < t->board->n_harts; i++)
        give_event(t->board, t->board->machine->harts[i]);
    tl_hart_stop_soon(h);
}

static void halted(void *ctx, tl_hart *h) {
    timers *t = ctx;
    t->board->now_cycles = h->now;
    tl_arm_debug_halted(t->debug, h);
}
static void attend(void *ctx, tl_hart *h) { tl_arm_debug_attend(((timers *)ctx)->debug, h); }
static void waits(void *ctx, tl_hart *h) { tl_arm_power_waits(((timers *)ctx)->power, h); }
static void power_requested(void *ctx) { tl_arm_power_requested(((timers *)ctx)->power); }
static void reset(void *ctx, tl_hart *h) { tl_arm_power_reset(((timers *)ctx)->power, h); }
static void pmu_interrupt(void *ctx, tl_hart *h, bool level) {
    timers *t = ctx;
    tl_gic_set_private(t->board->interrupt_controller, h->id, TL_A64_INTID_PMU, level);
    tl_arm_debug_pmu_overflow(t->debug, h, level);
}

static tl_status timers_new(tl_board *board, tl_device **ret_device, tl_error *err) {
    const tl_device_place nowhere = tl_board_place(board, UINT64_MAX, 0);
    timers *t = tl_device_new(&nowhere, &timers_type, 0, sizeof *t, err);
    if (!t)
        return TL_ENOMEM;
    t->board = board;
    t->host = (tl_a64_host){.ctx = t,
                            .timer_changed = timer_changed,
                            .send_event = send_event,
                            .pmu_interrupt = pmu_interrupt,
                            .halted = halted,
                            .attend = attend,
                            .waits = waits,
                            .power_requested = power_requested,
                            .reset = reset,
                            .rom_paddr = TL_CORESIGHT_PADDR};
    for (uint32_t i = 0; i < board->n_harts; i++)
        tl_a64(board->machine->harts[i])->sys.host = &t->host;
    *ret_device = &t->device;
    return TL_OK;
}

static tl_status make_devices(tl_board *board, tl_error *err) {
    const tl_device_place gic = tl_board_place(board, GIC_PADDR, 0);
    const tl_device_place uart = tl_board_place(board, PL011_PADDR, INTID_PL011);
    const tl_device_place rtc = tl_board_place(board, PL031_PADDR, INTID_PL031);
    const tl_device_place power = tl_board_place(board, POWER_PADDR, 0);
    const tl_device_place finisher = tl_board_place(board, TL_FINISHER_PADDR, 0);
    enum { TIMERS = 2 };
    tl_arm_power *cores = NULL;
    tl_status status;
    if (!tl_board_has_added(board, status = tl_gic_new(&gic, board->n_harts, tl_board_next_device(board), err)) ||
        (status = tl_arm_power_new(board, &cores, err)) != TL_OK ||
        !tl_board_has_added(board, status = timers_new(board, tl_board_next_device(board), err)) ||
        !tl_board_has_added(board, status = tl_pl011_new(&uart, tl_board_next_device(board), err)) ||
        !tl_board_has_added(board, status = tl_pl031_new(&rtc, TL_POWER_ON_S, tl_board_next_device(board), err)) ||
        !tl_board_has_added(board, status = tl_pl061_new(&power, tl_board_next_device(board), err)) ||
        !tl_board_has_added(board, status = tl_finisher_new(&finisher, tl_board_next_device(board), err)))
        return status;
    timers *t = (timers *)board->devices[TIMERS];
    t->power = cores;
    tl_arm_power_set_timers(cores, &t->device);
    return tl_arm_debug_new(board, &t->debug, err);
}

static bool is_secure(const tl_hart *h) { return h->priv == TL_A64_EL3 || !(tl_a64(h)->sys.reg[TL_A64_R_SCR_EL3] & TL_A64_SCR_NS); }

// x0 is the device tree and x1 the kernel. MPIDR_EL1 tells harts apart.
static void enter(const tl_system_entry *entry, tl_hart *h, uint32_t index) {
    (void)index;
    h->pc = entry->pc;
    tl_a64(h)->x[0] = entry->device_tree;
    tl_a64(h)->x[1] = entry->kernel;
    tl_a64(h)->x[2] = tl_a64(h)->x[3] = 0;
}

static const tl_firmware_word firmware[] = {
#define WORD(offset, bits, instruction) {offset, bits},
#include "board/arm_firmware.def"
#undef WORD
};

static void woken(tl_hart *h) {
    tl_a64(h)->sys.waits_for_event = false;
    if (tl_a64(h)->debug.is_off)
        tl_arm_power_woken(((timers *)tl_a64(h)->sys.host->ctx)->power, h);
}

const tl_board_kind tl_board_arm = {
    .isa = &tl_isa_a64,
    .isa_name = "AArch64",
    .make_devices = make_devices,
    .set_source = tl_gic_set_shared,
    .n_sources = FIRST_SPI + TL_GIC_SPIS - 1,
    .virtio_paddr = VIRTIO_PADDR,
    .virtio_stride = VIRTIO_STRIDE,
    .virtio_first_source = INTID_VIRTIO,
    .message_irqs = 1 << TL_A64_IRQ | 1 << TL_A64_FIQ,
    .is_secure = is_secure,
    .firmware = firmware,
    .n_firmware_words = TL_COUNT_OF(firmware),
    .enters_anywhere = true,
    .kernel = {"ARM\x64", "arm64"},
    .tree = {.compatible = "linux,dummy-virt",
             .console = "/pl011@9000000",
             .interrupt_parent = TL_ARM_PHANDLE_GIC,
             .describe = tl_tree_arm},
    .enter = enter,
    .woken = woken,
    .debug = &tl_board_arm_debug,
};
