// SPDX-License-Identifier: MIT
// The power controller: arm_power.h. A core loses or gets power when the controller ticks, and then
// the core stands between two instructions.
#include "board/arm_power.h"

#include "isa/a64/debug.h"
#include "isa/a64/exception.h"
#include "model/bpred_reset.h"
#include "model/mem.h"

enum { OFF = 0x0, OFF_WAKE = 0x4, ON = 0x8, STATUS = 0xc, WINDOW_BYTES = 0x1000 };

struct tl_arm_power {
    tl_device device;
    tl_board *board;
    tl_device *timers;
    bool wants_on[TL_MAX_HARTS];   // ON was written since the last tick
    bool is_leaving[TL_MAX_HARTS]; // the core waits, and the next tick takes its power
};

void tl_arm_power_set_timers(tl_arm_power *power, tl_device *timers) { power->timers = timers; }

static tl_hart *hart_of(const tl_arm_power *power, uint32_t core) { return power->board->machine->harts[core]; }

// The first level is lost. Its changed lines are written back, because memory always has the bytes.
static void empty_caches(tl_hart *h) {
    tl_memory_flush_l1d(h);
    h->port->drop_code(h);
    h->port->flush_translation(h, 0, true);
    tl_bpred_reset(&h->bp);
}

static void reset_pmus(const tl_machine *machine, uint32_t core) {
    for (uint32_t i = 0; i < machine->n_pmus; i++) {
        tl_pmu *pmu = machine->pmus[i].of_hart[core];
        if (machine->pmus[i].type->scope == TL_PMU_OF_HART && pmu)
            machine->pmus[i].type->reset(pmu);
    }
}

// The core begins where every core begins. Devices still drive its interrupts.
static void reset(tl_arm_power *power, tl_hart *h, bool is_cold) {
    tl_board *board = power->board;
    const uint64_t lines = h->irq_lines & ~(UINT64_C(1) << TL_A64_HALT);
    if (!is_cold)
        empty_caches(h);
    if (is_cold)
        tl_a64_power_on(h);
    else
        tl_a64_warm_reset(h);
    h->irq_lines |= lines;
    tl_hart_pmu_state_changed(h);
    reset_pmus(board->machine, h->id);
    board->host.wake(board, power->timers);
    board->kind->enter(board->entry, h, h->id);
    power->is_leaving[h->id] = false;
    board->has_woken = true;
    board->unsteady |= 1u << h->id;
    tl_hart_stop_soon(h);
}

// The timers have been told that the core is off.
void tl_arm_power_woken(tl_arm_power *power, tl_hart *h) { reset(power, h, true); }
void tl_arm_power_reset(tl_arm_power *power, tl_hart *h) { reset(power, h, false); }

static void wake_up(tl_arm_power *power, tl_hart *h, bool is_cold) {
    tl_hart_idle_until(h, power->board->now_cycles);
    reset(power, h, is_cold);
}

// A core that gives up its power waits, and no debugger holds it.
static bool is_idle(const tl_hart *h) { return tl_a64(h)->debug.leaves != TL_A64_STAYS && h->is_waiting && !h->is_halted; }

// true: the controller must tick again.
static bool settle(tl_arm_power *power, tl_hart *h) {
    tl_a64_debug *d = &tl_a64(h)->debug;
    bool *wants_on = &power->wants_on[h->id], *is_leaving = &power->is_leaving[h->id];
    const bool is_emulated = *wants_on && is_idle(h) && !d->is_off;
    if (*wants_on)
        d->leaves = TL_A64_STAYS;
    if (d->is_off) {
        if (*wants_on || d->wants_power)
            wake_up(power, h, true);
        *wants_on = false;
        return false;
    }
    *wants_on = false;
    if (d->wants_reset && h->is_halted && d->is_executing)
        return true;
    // A core that runs takes the request as an interrupt.
    if ((d->wants_reset && h->is_halted) || is_emulated) {
        wake_up(power, h, false);
        return false;
    }
    if (!is_idle(h) || tl_a64_keeps_power(h)) {
        *is_leaving = false;
        return false;
    }
    if (!*is_leaving) // its instruction is still under way
        return *is_leaving = true;
    *is_leaving = false;
    empty_caches(h);
    tl_a64_power_off(h, d->leaves == TL_A64_LEAVES_UNTIL_INTERRUPT);
    power->board->host.wake(power->board, power->timers);
    return false;
}

static uint64_t tick(tl_device *device) {
    tl_arm_power *power = (tl_arm_power *)device;
    bool is_unsettled = false;
    for (uint32_t i = 0; i < power->board->n_harts; i++)
        is_unsettled |= settle(power, hart_of(power, i));
    return is_unsettled ? power->board->now_cycles + 1 : UINT64_MAX;
}

void tl_arm_power_waits(tl_arm_power *power, tl_hart *h) { tl_board_wake_from(power->board, &power->device, h); }
void tl_arm_power_requested(tl_arm_power *power) { power->board->host.wake(power->board, &power->device); }

static bool power_read(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t *ret_value) {
    const tl_arm_power *power = (const tl_arm_power *)device;
    if (size_bytes != 4)
        return false;
    *ret_value = 0;
    if (offset != STATUS || !device->host->requester(device->host->ctx).is_secure)
        return true;
    for (uint32_t i = 0; i < power->board->n_harts; i++)
        *ret_value |= (uint64_t)!tl_a64(hart_of(power, i))->debug.is_off << i;
    return true;
}

static bool power_write(tl_device *device, uint64_t offset, uint32_t size_bytes, uint64_t value) {
    tl_arm_power *power = (tl_arm_power *)device;
    if (size_bytes != 4)
        return false;
    if (value >= power->board->n_harts || offset > ON || !device->host->requester(device->host->ctx).is_secure)
        return true;
    tl_a64_debug *d = &tl_a64(hart_of(power, (uint32_t)value))->debug;
    if (offset == ON)
        power->wants_on[value] = true;
    else
        d->leaves = offset == OFF ? TL_A64_LEAVES : TL_A64_LEAVES_UNTIL_INTERRUPT;
    device->host->wake(device->host->ctx, device);
    return true;
}

static const tl_device_type power_type = {
    .name = "power", .title = "power controller of the cores", .read = power_read, .write = power_write, .tick = tick};

tl_status tl_arm_power_new(tl_board *board, tl_arm_power **ret_power, tl_error *err) {
    const tl_device_place place = tl_board_place(board, TL_ARM_POWER_PADDR, 0);
    tl_arm_power *power = tl_device_new(&place, &power_type, WINDOW_BYTES, sizeof *power, err);
    if (!power)
        return TL_ENOMEM;
    power->board = board;
    *tl_board_next_device(board) = &power->device;
    (void)tl_board_has_added(board, TL_OK);
    *ret_power = power;
    return TL_OK;
}
