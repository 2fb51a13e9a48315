// SPDX-License-Identifier: MIT
// The board: makes the devices, routes accesses to devices and serves requests of devices; see
// board.h. Each device returns the cycle of its next tick, and the board keeps the earliest cycle.
// No device acts between ticks. An access that changes the schedule ends the hart's run because the
// run loop must read the new schedule. An access happens at the time of the accessing hart. Timed
// actions of devices happen only in ticks, because another hart may be behind.
#include "board/board.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "dev/devices.h"
#include "mem/mem_signals.h"

static void settle_next_event(tl_board *board) {
    board->next_event = UINT64_MAX;
    for (uint32_t i = 0; i < board->n_devices; i++)
        board->next_event = board->next_tick[i] < board->next_event ? board->next_tick[i] : board->next_event;
}

// Ticks device i at now_cycles. The next tick is forced into the future, because time must advance
// whatever the device returns.
static void ask(tl_board *board, uint32_t i) {
    tl_device *device = board->devices[i];
    uint64_t next = device->type->tick ? device->type->tick(device) : UINT64_MAX;
    board->next_tick[i] = next > board->now_cycles ? next : board->now_cycles + 1;
}

static void ask_woken(tl_board *board) {
    if (board->next_event != 0)
        return;
    for (uint32_t i = 0; i < board->n_devices; i++)
        if (board->next_tick[i] == 0)
            ask(board, i);
    settle_next_event(board);
}

// -- Requests of devices.

static uint64_t now_cycles(void *ctx) { return ((tl_board *)ctx)->now_cycles; }

static uint64_t time_of_cycle(void *ctx, uint64_t cycle) {
    const tl_hart *h = ((tl_board *)ctx)->machine->harts[0];
    return tl_hart_time(h, cycle) - h->time_offset;
}

static uint64_t cycle_of_time(void *ctx, uint64_t time) {
    const tl_hart *h = ((tl_board *)ctx)->machine->harts[0];
    return tl_hart_cycle_of_time(h, time + h->time_offset);
}

static void set_time_offset(void *ctx, uint64_t offset) {
    tl_machine *machine = ((tl_board *)ctx)->machine;
    for (uint32_t i = 0; i < machine->n_harts; i++)
        machine->harts[i]->time_offset = offset;
}

static void set_irq(void *ctx, uint32_t source, bool level) {
    tl_board *board = ctx;
    const tl_board_kind *kind = board->kind;
    if (source == 0 || source > kind->n_sources)
        return;
    uint64_t bit = UINT64_C(1) << source % 64, *word = &board->sources[source / 64];
    bool is_bus_master = source >= kind->virtio_first_source && source < kind->virtio_first_source + TL_VIRTIO_SLOTS;
    if (board->interrupt_tally && is_bus_master && level && !(*word & bit))
        *board->interrupt_tally += 1;
    *word = level ? *word | bit : *word & ~bit;
    kind->set_source(board->interrupt_controller, source, level);
}

// A hart interrupts another hart, probably about data in shared memory.
static void note_sharing(const tl_board *board) {
    for (uint32_t i = 0; i < board->n_harts; i++)
        tl_hart_note_sharing(board->machine->harts[i], board->now_cycles);
}

// A hart in WFI continues at the time of the access or tick that raises its interrupt. The time at
// which the run loop next checks the hart does not matter.
static void set_hart_irq(void *ctx, uint32_t hart, uint32_t irq, bool level) {
    tl_board *board = ctx;
    tl_hart *h = board->machine->harts[hart];
    tl_hart_set_irq(h, (tl_irq)irq, level);
    if ((board->kind->message_irqs >> irq & 1) && level && board->n_harts > 1)
        note_sharing(board);
    if (!h->is_waiting || tl_hart_pending(h) == 0)
        return;
    tl_hart_idle_until(h, board->now_cycles);
    h->is_waiting = false;
    if (board->kind->woken)
        board->kind->woken(h);
    board->has_woken = true;
}

static uint8_t *dma(void *ctx, uint64_t paddr, uint64_t size_bytes, bool is_write) {
    static const tl_agent devices = {.kind = TL_AGENT_DEVICE};
    tl_board *board = ctx;
    if (size_bytes == 0 || !tl_memory_dma(board->machine->memory, &devices, paddr, size_bytes, is_write, board->now_cycles))
        return NULL;
    return tl_machine_ram(board->machine, paddr);
}

static void wake(void *ctx, tl_device *device) {
    tl_board *board = ctx;
    for (uint32_t i = 0; i < board->n_devices; i++)
        if (board->devices[i] == device)
            board->next_tick[i] = board->next_event = 0;
}

static void wait_for_answer(void *ctx) {
    tl_board *board = ctx;
    board->has_waited = board->machine->harts[board->requester]->waits_for_device = true;
    board->has_woken = true; // no other turn begins before the run loop has looked
}

static void finish(void *ctx, int32_t status) {
    tl_board *board = ctx;
    if (!board->has_finished)
        board->finish_status = status;
    board->has_finished = true;
}

static void reset(void *ctx) { ((tl_board *)ctx)->wants_reset = true; }

// O_NONBLOCK of the console's descriptors is left unchanged, because the user may share the
// descriptors with other programs.
static void flush_console(tl_board *board) {
    size_t done = 0;
    if (board->put_console && board->n_console > 0) {
        board->put_console(board->put_ctx, board->console, board->n_console);
        board->has_written = true;
        done = board->n_console;
    }
    while (board->console_out >= 0 && done < board->n_console) {
        ssize_t n = write(board->console_out, board->console + done, board->n_console - done);
        if (n >= 0) {
            board->has_written |= n > 0;
            done += (size_t)n;
        } else if (errno == EAGAIN) {
            struct pollfd ready = {.fd = board->console_out, .events = POLLOUT};
            if (poll(&ready, 1, -1) < 0 && errno != EINTR)
                board->console_out = -1;
        } else if (errno != EINTR) {
            board->console_out = -1; // the reader is gone; the guest sees no error
        }
    }
    board->n_console = 0;
}

static void put(void *ctx, const uint8_t *bytes, size_t n) {
    tl_board *board = ctx;
    for (size_t i = 0; i < n; i++) {
        if (board->n_console == sizeof board->console)
            flush_console(board);
        board->console[board->n_console++] = bytes[i];
        if (bytes[i] == '\n')
            flush_console(board);
    }
}

static size_t get(void *ctx, uint8_t *bytes, size_t n) {
    tl_board *board = ctx;
    flush_console(board); // print a prompt before the answer is read
    struct pollfd ready = {.fd = board->console_in, .events = POLLIN};
    if (board->console_in < 0 || n == 0 || poll(&ready, 1, 0) != 1)
        return 0;
    ssize_t got = read(board->console_in, bytes, n);
    if (got > 0)
        return (size_t)got;
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
        board->console_in = -1; // the end of the input
    return 0;
}

static bool has_input(void *ctx) { return ((tl_board *)ctx)->console_in >= 0; }

static tl_requester requester(void *ctx) {
    const tl_board *board = ctx;
    const tl_hart *h = board->machine->harts[board->requester];
    return (tl_requester){board->requester, board->kind->is_secure && board->kind->is_secure(h)};
}

// -- Accesses of harts.

static tl_device *device_at(tl_board *board, uint64_t paddr, uint32_t size_bytes) {
    tl_device *device = board->devices[board->last_device];
    for (uint32_t i = 0; paddr - device->base_paddr >= device->size_bytes; i++) {
        if (i == board->n_devices)
            return NULL;
        board->last_device = i;
        device = board->devices[i];
    }
    bool is_whole = size_bytes <= device->size_bytes - (paddr - device->base_paddr);
    return is_whole && (paddr & (size_bytes - 1)) == 0 ? device : NULL;
}

static void after_access(tl_board *board, tl_hart *h) {
    ask_woken(board);
    if (board->has_woken || board->next_event < h->horizon || board->has_finished || board->wants_reset)
        tl_hart_stop_soon(h);
}

void tl_board_wake_from(tl_board *board, tl_device *device, tl_hart *h) {
    board->now_cycles = h->now;
    wake(board, device);
    after_access(board, h);
}

static bool bus_read(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t *ret_value) {
    tl_board *board = ctx;
    tl_hart *h = board->machine->harts[agent->id]; // nobody else reaches devices
    tl_device *device = device_at(board, paddr, size_bytes);
    if (!device)
        return false;
    board->now_cycles = h->now;
    board->requester = h->id;
    bool is_there = device->type->read(device, paddr - device->base_paddr, size_bytes, ret_value);
    after_access(board, h);
    return is_there;
}

static bool bus_write(void *ctx, const tl_agent *agent, uint64_t paddr, uint32_t size_bytes, uint64_t value) {
    tl_board *board = ctx;
    tl_hart *h = board->machine->harts[agent->id]; // nobody else reaches devices
    tl_device *device = device_at(board, paddr, size_bytes);
    if (!device)
        return false;
    board->now_cycles = h->now;
    board->requester = h->id;
    bool is_there = device->type->write(device, paddr - device->base_paddr, size_bytes, value);
    after_access(board, h);
    return is_there;
}

bool tl_board_access(tl_board *board, uint64_t cycle, uint64_t paddr, bool is_write, uint32_t *value) {
    enum { WORD_BYTES = 4 };
    tl_device *device = device_at(board, paddr, WORD_BYTES);
    if (!device)
        return false;
    board->now_cycles = cycle;
    board->requester = 0;
    uint64_t wide = is_write ? *value : 0;
    const uint64_t offset = paddr - device->base_paddr;
    const bool is_there =
        is_write ? device->type->write(device, offset, WORD_BYTES, wide) : device->type->read(device, offset, WORD_BYTES, &wide);
    *value = (uint32_t)wide;
    ask_woken(board);
    return is_there;
}

void tl_board_tick(tl_board *board, uint64_t cycle) {
    board->now_cycles = cycle;
    for (uint32_t i = 0; i < board->n_devices; i++)
        if (board->next_tick[i] <= cycle)
            ask(board, i);
    settle_next_event(board);
    flush_console(board);
}

// -- Assembly.

const tl_board_kind *const tl_board_kinds[TL_N_ISAS] = {[TL_ISA_RISCV64] = &tl_board_riscv, [TL_ISA_AARCH64] = &tl_board_arm};
const char *tl_system_packaged_bios(tl_isa_number isa) { return tl_board_kinds[isa]->packaged_bios; }

static uint64_t *interrupt_tally_of(const tl_machine *machine) {
    for (uint32_t i = 0; i < machine->probe.n_units; i++)
        if (strcmp(machine->probe.units[i].path, "dma") == 0)
            return &machine->probe.units[i].tally[TL_DMA_INTERRUPT];
    return NULL;
}

// `status` is the result of the constructor of *tl_board_next_device.
bool tl_board_has_added(tl_board *board, tl_status status) {
    if (status == TL_OK)
        board->next_tick[board->n_devices++] = 0;
    return status == TL_OK;
}

static tl_status make_virtio(tl_board *board, const tl_system_options *options, tl_error *err) {
    tl_status status = TL_OK;
    for (uint32_t k = 0; k < TL_VIRTIO_SLOTS; k++) {
        tl_device_place place =
            tl_board_place(board, board->kind->virtio_paddr + k * board->kind->virtio_stride, board->kind->virtio_first_source + k);
        place.virtio_version = board->machine->config.virtio_version;
        place.virtio_bytes = board->kind->virtio_stride;
        if (k == 0 && options->disk)
            status = tl_virtio_block_new(&place, options->disk, options->is_disk_writable ? TL_DISK_WRITABLE : TL_DISK_COPY,
                                         tl_board_next_device(board), err);
        else
            status = tl_virtio_empty_new(&place, tl_board_next_device(board), err);
        if (!tl_board_has_added(board, status))
            break;
    }
    return status;
}

static tl_status make_devices(tl_board *board, const tl_system_options *options, tl_error *err) {
    tl_status status = board->kind->make_devices(board, err);
    if (status != TL_OK)
        return status;
    board->interrupt_controller = board->devices[0];
    for (uint32_t i = 0; i < board->machine->n_pmus; i++)
        for (uint32_t k = 0; k < board->n_harts; k++) {
            uint64_t paddr = 0;
            tl_pmu *pmu = tl_machine_pmu_window(board->machine, board->machine->pmus[i].type, k, &paddr);
            const tl_device_place window = tl_board_place(board, paddr, 0);
            if (pmu && !tl_board_has_added(board, status = tl_pmu_window_new(&window, pmu, tl_board_next_device(board), err)))
                return status;
        }
    if (options->window && board->kind->window_paddr != 0) {
        tl_device_place place = tl_board_place(board, board->kind->window_paddr, 0);
        if (!tl_board_has_added(board, status = tl_read_window_new(&place, options->window, tl_board_next_device(board), err)))
            return status;
    }
    return make_virtio(board, options, err);
}

tl_status tl_board_init(tl_board *board, tl_machine *machine, const tl_system_options *options, tl_error *err) {
    *board = (tl_board){.machine = machine,
                        .n_harts = options->n_harts != 0 ? options->n_harts : machine->n_harts,
                        .arena = &machine->arena,
                        .console_in = options->console_in,
                        .console_out = options->console_out,
                        .put_console = options->put_console,
                        .put_ctx = options->ctx};
    if (board->n_harts > machine->n_harts)
        return tl_fail(err, TL_EINVAL, "the board is to have %u harts, but the machine has %u; give it no more than these", board->n_harts,
                       machine->n_harts);
    board->host = (tl_device_host){.ctx = board,
                                   .clock_hz = machine->config.clock_hz ? machine->config.clock_hz : 1,
                                   .now_cycles = now_cycles,
                                   .time_of_cycle = time_of_cycle,
                                   .cycle_of_time = cycle_of_time,
                                   .set_time_offset = set_time_offset,
                                   .set_irq = set_irq,
                                   .set_hart_irq = set_hart_irq,
                                   .dma = dma,
                                   .wake = wake,
                                   .wait = wait_for_answer,
                                   .finish = finish,
                                   .reset = reset,
                                   .put = put,
                                   .get = get,
                                   .has_input = has_input,
                                   .requester = requester};
    board->kind = tl_board_kinds[machine->config.isa];
    board->has_firmware = options->program == NULL;
    board->pmu = tl_machine_pmu_tree(machine);
    board->interrupt_tally = interrupt_tally_of(machine);
    tl_status status = make_devices(board, options, err);
    if (status != TL_OK) {
        tl_board_done(board);
        return status;
    }
    board->bus = (tl_bus){.ctx = board, .read = bus_read, .write = bus_write};
    tl_machine_set_bus(machine, &board->bus);
    return TL_OK;
}

void tl_board_done(tl_board *board) {
    flush_console(board);
    for (uint32_t i = 0; i < board->n_devices; i++)
        if (board->devices[i]->type->done)
            board->devices[i]->type->done(board->devices[i]);
    board->n_devices = 0;
    if (board->bus.ctx)
        tl_machine_set_bus(board->machine, NULL);
}
