// SPDX-License-Identifier: MIT
// The run loop of system software. It chooses the hart to run, takes interrupts, and bounds each
// run by the hart's next event.
//
// A run depends on the state of the machine only. Devices act, interrupts are taken and turns
// change between fetch runs. Limits and breakpoints cut a run anywhere and change nothing. The
// clock of a hart in WFI advances idle to the next event.
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "board/system_internal.h"
#include "model/isa.h"

// HTIF_EVERY_CYCLES is the time between two polls of tohost.
enum { MOST_TRAP_LOOPS = 1000, HTIF_EVERY_CYCLES = 20000 };

bool tl_system_has_written(const tl_system *system) { return system->has_board && system->board.has_written; }

uint64_t tl_system_now_cycles(const tl_system *system) { return tl_machine_now_cycles(system->machine); }

static void reset_harts(tl_system *system) {
    for (uint32_t i = 0; i < system->machine->n_harts; i++) {
        tl_hart *h = system->machine->harts[i];
        h->isa->power_on(h);
        system->board.kind->enter(&system->entry, h, i);
        // Harts begin with the same code, and soon share the data that tells them apart.
        tl_hart_note_sharing(h, system->board.n_harts > 1);
        // No device interrupts a hart that is not on the board.
        h->is_waiting = i >= system->board.n_harts;
        for (int k = 0; k < 2; k++)
            h->break_pc[k] = TL_NO_LINE;
    }
}

void tl_system_end(tl_system *system, tl_system_stop stop, int32_t status, const char *message) {
    system->has_ended = true;
    system->report = (tl_system_report){.stop = stop, .exit_status = status};
    snprintf(system->report.message, sizeof system->report.message, "%s", message);
}

static uint32_t running_harts(const tl_system *system) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < system->machine->n_harts; i++)
        mask |= (uint32_t)!system->machine->harts[i]->is_waiting << i;
    return mask;
}

// All harts stand at this cycle or behind it: those that wait, wait until then.
static void settle(tl_system *system, uint64_t cycle) { tl_machine_settle(system->machine, running_harts(system), cycle); }

// While every hart waits and the console may deliver input, time follows the host's clock until the
// guest's next event or a key.
static void wait_for_input(const tl_system *system, uint64_t cycles) {
    const uint64_t most_ns = 20000000; // bounds the delay of a request to stop
    double ns = (double)cycles * 1e9 / (double)system->machine->config.clock_hz;
    struct timespec rest = {.tv_nsec = ns < (double)most_ns ? (long)ns : (long)most_ns};
    struct pollfd input = {.fd = system->board.console_in, .events = POLLIN};
    (void)ppoll(&input, 1, &rest, NULL);
}

static void end_stuck(tl_system *system) {
    char text[128] = "every hart waits for an interrupt (WFI), and no device will ever send one";
    for (uint32_t i = 0; i < system->machine->n_harts; i++)
        if (system->machine->harts[i]->is_halted)
            snprintf(text, sizeof text, "hart%u is halted in Debug state, and no other hart runs that could restart it", i);
    tl_system_end(system, TL_SYSTEM_STUCK, 0, text);
}

// Every hart waits. false: the loop ends.
static bool pass_time(tl_system *system) {
    uint64_t next = system->board.next_event;
    const bool may_wait = system->options.has_debugger && system->limits.until_cycle != UINT64_MAX;
    if (next == UINT64_MAX && !may_wait) {
        end_stuck(system);
        return false;
    }
    if (next >= system->limits.until_cycle) {
        settle(system, system->limits.until_cycle);
        system->report = (tl_system_report){.stop = TL_SYSTEM_LIMIT};
        return false;
    }
    if (system->board.console_in >= 0) {
        uint64_t now = tl_system_now_cycles(system);
        if (tl_run_must_stop(&system->limits)) {
            system->report = (tl_system_report){.stop = TL_SYSTEM_LIMIT};
            return false;
        }
        wait_for_input(system, next > now ? next - now : 0);
    }
    tl_board_tick(&system->board, next);
    return true;
}

// The reason why the first instruction of a trap handler traps itself.
static const char *why_handler_traps(const tl_system *system, const tl_hart *h, const tl_trap_handler *handler) {
    uint64_t ram_bytes = system->machine->config.ram_bytes;
    bool is_physical = handler->is_physical, is_ram = is_physical && h->pc - TL_RAM_BASE_PADDR < ram_bytes;
    if (handler->vector == 0 && !is_ram)
        return "there is no handler, the register was not set";
    switch (h->isa->trap_kinds[h->trap_cause]) {
    case TL_TRAP_FETCH:
        if (h->trap_cause == h->isa->causes[TL_FAULT_PAGE][TL_ACCESS_FETCH])
            return "the page table has no page there, or none that supervisor mode may execute";
        if (is_ram)
            return "physical memory protection (PMP) does not permit to execute the handler";
        return is_physical ? "there is no handler, the register points to no memory"
                           : "the page there is no memory, or physical memory protection (PMP) does not permit to execute it";
    case TL_TRAP_ILLEGAL: return "there is no handler, what lies there is no instruction";
    default: return "the first instruction of the handler traps";
    }
}

// A trap at the very place where its handler stands leads there again, for ever. Another hart might
// yet mend that, so it must have gone on for a while.
static void look_for_trap_loop(tl_system *system, const tl_hart *h) {
    tl_trap_handler handler;
    h->isa->handler(h, &handler);
    if (!handler.is_own || h->pc != handler.pc || handler.return_pc != handler.pc) {
        system->n_trap_loops = 0;
        return;
    }
    // A front-end may have taken traps in between.
    const uint64_t n_exceptions = tl_machine_sum(system->machine, TL_S_HART_EXCEPTION);
    system->n_trap_loops = n_exceptions == system->n_exceptions + 1 ? system->n_trap_loops + 1 : 1;
    system->n_exceptions = n_exceptions;
    if (system->n_trap_loops < MOST_TRAP_LOOPS)
        return;
    char text[256];
    snprintf(text, sizeof text, "hart%u traps at its own trap handler, %s = 0x%" PRIx64 " (%s %" PRIu64 "): %s", h->id, handler.vector_name,
             handler.vector, handler.cause_name, handler.cause, why_handler_traps(system, h, &handler));
    tl_system_end(system, TL_SYSTEM_STUCK, 0, text);
}

// The engine stopped h at a breakpoint: its own debug logic takes it, or the host's, or it is one
// of the logic's that does not match now.
static void take_break(tl_system *system, tl_hart *h) {
    const tl_board_debug *debug = system->board.kind->debug;
    if (debug && debug->at_break(h))
        return;
    if (!debug || h->pc == h->break_pc[0] || h->pc == h->break_pc[1] || (system->breaks && tl_breaks_have(system->breaks, h->pc))) {
        system->report = (tl_system_report){.stop = TL_SYSTEM_BREAK, .break_hart = h->id};
        system->is_at_break = true;
    }
    h->skip_break = true;
}

// The debug logic of h acts before the next instruction. *ret_steps: that one runs alone.
static bool debug_acts(const tl_system *system, tl_hart *h, bool *ret_steps) {
    const tl_board_debug *debug = system->board.kind->debug;
    *ret_steps = debug && debug->steps(h);
    return (*ret_steps && debug->attend(h)) || (debug && h->skip_break && debug->at_break(h));
}

// Runs the turn of h, and turns after it in which nobody has anything to do but to run. With
// tohost, turns come one by one, because a word that the program writes there is read after the
// turn. Turns that begin at the limit come one by one, because each may be the last.
static void run_hart(tl_system *system, tl_hart *h) {
    tl_machine *machine = system->machine;
    tl_turns *turns = &system->turns;
    bool steps;
    if (debug_acts(system, h, &steps))
        return;
    bool is_steady = system->tohost == 0 && h->now < system->limits.until_cycle && !steps;
    turns->running = running_harts(system);
    turns->attended |= 1u << h->id;
    turns->steady = is_steady ? turns->steady | 1u << h->id : turns->steady & ~(1u << h->id);
    uint64_t until = tl_lesser(tl_machine_tick(machine, h->now), tl_run_horizon(&system->limits, machine, turns->running, h));
    if (system->has_new_space) // a limit stopped the hart before the boundary
        until = 0;
    if (system->tohost)
        until = tl_lesser(until, h->now + HTIF_EVERY_CYCLES);
    turns->until[h->id] = until;
    turns->n_insns = steps ? tl_lesser(system->limits.n_insns, 1) : system->limits.n_insns;
    tl_stop stop = tl_machine_run_turns(machine, turns, &system->turn, &h);
    if (stop == TL_STOP_TRAP) {
        look_for_trap_loop(system, h);
        h->isa->take_exception(h);
    } else if (stop == TL_STOP_BREAK) {
        take_break(system, h);
    }
    if (steps)
        (void)system->board.kind->debug->attend(h);
    if (system->board.has_waited)
        system->report = (tl_system_report){.stop = TL_SYSTEM_READ, .break_hart = h->id};
    if (h->n_pmus > 0)
        (void)tl_hart_poll(h);
}

static void take_interrupts(tl_hart *h) {
    tl_irq irq;
    if ((h->run_vline == TL_NO_LINE || h->is_interrupted) && h->isa->next_interrupt(h, &irq))
        h->isa->take_interrupt(h, irq);
    h->is_interrupted = false;
}

// A machine's watcher. The hart stops at the end of the fetch run under way.
static void note_space(void *ctx, tl_hart *h) {
    tl_system *system = ctx;
    if (h->context == system->spaces[h->id])
        return;
    system->spaces[h->id] = h->context;
    system->has_new_space = true;
    system->space_hart = h->id;
    tl_hart_stop_soon(h);
}

// The hart that has a new space stands at a boundary: the loop ends.
static bool reports_space(tl_system *system) {
    if (!system->has_new_space || system->machine->harts[system->space_hart]->run_vline != TL_NO_LINE)
        return false;
    system->has_new_space = false;
    system->report = (tl_system_report){.stop = TL_SYSTEM_SPACE, .break_hart = system->space_hart};
    return true;
}

uint64_t tl_system_space(const tl_system *system, uint32_t hart) { return system->machine->harts[hart]->context; }

bool tl_system_access(tl_system *system, uint64_t cycle, uint64_t paddr, bool is_write, uint32_t *value) {
    const bool is_there = tl_board_access(&system->board, cycle, paddr, is_write, value);
    // Harts may have come to life, or to a stand.
    system->board.has_woken = true;
    return is_there;
}

uint64_t tl_system_halt(tl_system *system) {
    const uint64_t cycle = tl_machine_now_cycles(system->machine);
    system->turn.hart = NULL;
    tl_machine_settle(system->machine, 0, cycle);
    return cycle;
}

void tl_system_resume(tl_system *system, uint64_t cycle) {
    system->turn.hart = NULL;
    tl_machine_settle(system->machine, 0, cycle);
}

// One step: time passes, a device acts, or a hart runs. false: the loop ends.
static bool go_on(tl_system *system) {
    tl_run_limits *limits = &system->limits;
    tl_hart *h = system->turn.hart;
    if (!h || h->is_waiting || (h->run_vline == TL_NO_LINE && (h->now >= system->turn.end || system->board.has_woken))) {
        system->board.has_woken = false;
        system->turns.steady &= ~system->board.unsteady;
        system->board.unsteady = 0;
        system->turn = tl_machine_next(system->machine, running_harts(system));
        h = system->turn.hart;
    }
    if (!h)
        return pass_time(system);
    if (h->run_vline == TL_NO_LINE && system->board.next_event <= h->now) {
        tl_board_tick(&system->board, h->now);
        return true;
    }
    if (tl_run_has_ended(limits, system->machine, running_harts(system), h)) {
        settle(system, tl_lesser(h->now, limits->until_cycle));
        system->report = (tl_system_report){.stop = TL_SYSTEM_LIMIT};
        return false;
    }
    if (tl_run_notes_insns(limits)) {
        system->report = (tl_system_report){.stop = TL_SYSTEM_LIMIT};
        return false;
    }
    take_interrupts(h);
    if (!h->is_halted)
        run_hart(system, h);
    return true;
}

tl_status tl_system_run(tl_system *system, const tl_system_limits *limits, tl_system_report *ret_report, tl_error *err) {
    (void)err;
    for (uint32_t i = 0; i < system->machine->n_harts; i++) {
        tl_hart *h = system->machine->harts[i];
        for (int k = 0; k < 2; k++)
            h->break_pc[k] = limits->break_pc[k];
        const tl_board_debug *debug = system->board.kind->debug;
        // With tohost, somebody looks there after each trap.
        h->takes_traps = !debug && system->tohost == 0;
        h->breaks = debug ? debug->breaks(h, limits->breaks) : limits->breaks;
    }
    system->breaks = limits->breaks;
    system->is_at_break = system->board.has_waited = false;
    system->turns.steady = 0;
    tl_run_begin(&system->limits, limits->until_cycle, limits->until_instret);
    while (!system->has_ended && !system->is_at_break) {
        if (tl_run_notes_round(&system->limits)) {
            system->report = (tl_system_report){.stop = TL_SYSTEM_LIMIT};
            break;
        }
        if (!go_on(system))
            break;
        if (system->tohost)
            tl_htif_look(system);
        if (system->board.has_finished)
            tl_system_end(system, TL_SYSTEM_EXITED, system->board.finish_status, "");
        else if (system->board.wants_reset)
            tl_system_end(system, TL_SYSTEM_RESET, 0, "the guest asked for a restart");
        else if (system->board.has_waited || reports_space(system))
            break;
    }
    if (system->has_ended)
        settle(system, tl_system_now_cycles(system));
    *ret_report = system->report;
    return TL_OK;
}

tl_status tl_system_new(tl_machine *machine, const tl_system_options *options, tl_system **ret_system, tl_error *err) {
    tl_system *system = calloc(1, sizeof *system);
    if (!system)
        return tl_fail(err, TL_ENOMEM, "no memory for the board");
    system->machine = machine;
    system->options = *options;
    tl_status status = tl_board_init(&system->board, machine, &system->options, err);
    if (status == TL_OK) {
        system->has_board = true;
        status = tl_system_load(system, err);
    }
    if (status != TL_OK) {
        tl_system_free(system);
        return status;
    }
    system->board.entry = &system->entry;
    system->limits = (tl_run_limits){.wants_stop = options->wants_stop, .ctx = options->ctx};
    system->turns =
        (tl_turns){.now = &system->board.now_cycles, .next_event = &system->board.next_event, .has_changed = &system->board.has_woken};
    reset_harts(system);
    for (uint32_t i = 0; options->names_spaces && system->board.kind->name_spaces && i < machine->n_harts; i++)
        system->board.kind->name_spaces(machine->harts[i]);
    if (options->reports_spaces)
        tl_machine_watch_contexts(machine, note_space, system);
    tl_board_tick(&system->board, 0);
    *ret_system = system;
    return TL_OK;
}

void tl_system_free(tl_system *system) {
    if (!system)
        return;
    for (uint32_t i = 0; i < system->n_symbols; i++)
        tl_symbols_free(system->symbols[i]);
    if (system->options.reports_spaces)
        tl_machine_watch_contexts(system->machine, NULL, NULL);
    if (system->has_board)
        tl_board_done(&system->board);
    free(system);
}

const char *tl_system_symbol_at(const tl_system *system, uint64_t address, uint64_t *ret_within) {
    const char *name = NULL;
    for (uint32_t i = 0; i < system->n_symbols && !name; i++)
        name = tl_symbols_at(system->symbols[i], address, ret_within);
    return name;
}

tl_status tl_system_symbol(const tl_system *system, const char *name, bool with_prefixes, uint64_t *ret_address, tl_error *err) {
    tl_status status = tl_fail(err, TL_ENOENT, "no function '%s': neither kernel nor firmware has symbols", name);
    for (uint32_t i = 0; i < system->n_symbols; i++) {
        status = tl_symbols_search(system->symbols[i], name, with_prefixes, ret_address, NULL, 0, i == 0 ? err : NULL);
        if (status == TL_OK || status == TL_EINVAL)
            return status;
    }
    if (!system->options.program && !system->options.kernel && system->n_symbols == 0)
        status =
            tl_fail(err, TL_ENOENT, "no function '%s': firmware %s has no symbols; give an ELF file, or the function's address (0x...)",
                    name, system->options.bios);
    else if (!system->options.program && system->options.kernel && !system->has_kernel_symbols)
        status =
            tl_fail(err, TL_ENOENT, "kernel %s has no symbol table, so no function '%s'; give an ELF kernel, or use the address: 0x...",
                    system->options.kernel, name);
    return status;
}
