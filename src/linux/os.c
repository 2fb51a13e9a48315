// SPDX-License-Identifier: MIT
// The run loop: it chooses the hart to run, reads why the hart stopped and acts as the kernel.
//
// Between two events a run depends on the state of the machine only. Limits must not change a run.
// A turn that a limit cut short stays in os->turn, and continues before any other hart's. The loop
// checks timers, slices and signals between fetch runs.
#include "linux/os.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/call/syscall.h"
#include "linux/file/host_wait.h"
#include "linux/file/virtual.h"
#include "linux/isa.h"
#include "linux/memory/frames.h"
#include "linux/memory/vm_space.h"
#include "linux/os_internal.h"
#include "linux/perf/perf_event.h"
#include "linux/process/exec.h"
#include "linux/process/futex.h"
#include "linux/process/symbol.h"
#include "model/attribution.h"

static const char WHY_STACK_OVERFLOW[] = "below the stack limit";

// ---- Time, randomness, messages.

// The machine's clock never reaches this cycle, and no later deadline falls due. Sums of a cycle
// and a cost stay below 2^64.
static const uint64_t END_OF_TIME_CYCLES = UINT64_C(1) << 62;

uint64_t tl_os_cycles_to_ns(const tl_os *os, uint64_t cycles) {
    unsigned __int128 ns = (unsigned __int128)cycles * 1000000000u / os->clock_hz;
    return ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

uint64_t tl_os_ns_to_cycles(const tl_os *os, uint64_t ns) {
    unsigned __int128 cycles = ((unsigned __int128)ns * os->clock_hz + 999999999u) / 1000000000u;
    return ns >= INT64_MAX || cycles >= END_OF_TIME_CYCLES ? UINT64_MAX : (uint64_t)cycles;
}

uint64_t tl_os_now_ns(const tl_os *os) { return tl_os_cycles_to_ns(os, os->now); }

static uint64_t saturated_ns(uint64_t seconds, uint64_t ns) {
    return seconds >= UINT64_MAX / 1000000000u - 1 ? UINT64_MAX : seconds * 1000000000u + ns;
}

uint64_t tl_os_deadline(const tl_os *os, uint64_t seconds, uint64_t ns) {
    uint64_t cycles = tl_os_ns_to_cycles(os, saturated_ns(seconds, ns));
    return cycles >= END_OF_TIME_CYCLES - os->now ? TL_NO_DEADLINE : os->now + cycles;
}

uint64_t tl_os_absolute_deadline(const tl_os *os, bool is_realtime, uint64_t seconds, uint64_t ns) {
    if (is_realtime) {
        if (seconds < TL_REALTIME_START_S)
            return os->now;
        seconds -= TL_REALTIME_START_S;
    }
    uint64_t cycle = tl_os_ns_to_cycles(os, saturated_ns(seconds, ns));
    return cycle < os->now ? os->now : cycle;
}

// xoshiro256** by David Blackman and Sebastiano Vigna, seeded by splitmix64.
static uint64_t next_random(uint64_t state[4]) {
    uint64_t result = state[1] * 5;
    result = (result << 7 | result >> 57) * 9;
    uint64_t shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = state[3] << 45 | state[3] >> 19;
    return result;
}

static void seed_random(uint64_t state[4], uint64_t seed) {
    for (int i = 0; i < 4; ++i) {
        uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        state[i] = z ^ z >> 31;
    }
}

void tl_os_random(tl_os *os, void *to, size_t n) {
    uint8_t *bytes = to;
    while (n > 0) {
        uint64_t value = next_random(os->random_state);
        size_t part = n < sizeof value ? n : sizeof value;
        memcpy(bytes, &value, part);
        bytes += part;
        n -= part;
    }
}

void tl_os_warn(tl_os *os, const char *format, ...) {
    char text[400];
    va_list args;
    if (!os->options.warn)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    os->options.warn(os->options.ctx, text);
}

// ---- The end of the first process.

void tl_os_compose_end(const tl_process *p, int32_t wait_status) {
    tl_os_report *end = &p->os->contexts[p->context].end;
    int signal = wait_status & 0x7f;
    if (signal == 0 || end->message[0])
        return;
    char *text = end->message;
    size_t room = sizeof end->message;
    const tl_fault_note *fault = &p->fault;
    int used = snprintf(text, room, "killed by %s", tl_signal_name(signal));
    if (fault->signal != signal)
        return;
    char place[160], addr[24] = "", pc[24];
    bool is_overflow = fault->why && strcmp(fault->why, WHY_STACK_OVERFLOW) == 0;
    if (fault->has_addr)
        snprintf(addr, sizeof addr, " 0x%" PRIx64, fault->addr);
    snprintf(pc, sizeof pc, "0x%" PRIx64, fault->pc);
    tl_symbol_describe(p, fault->pc, place, sizeof place);
    used += snprintf(text + used, room - (size_t)used, ": %s%s%s at pc %s%s%s%s", is_overflow ? "stack overflow: " : "", fault->what, addr,
                     pc, place, fault->why ? ", " : "", fault->why ? fault->why : "");
    if (is_overflow && (size_t)used < room)
        snprintf(text + used, room - (size_t)used, " of %" PRIu64 " MiB", p->vm->stack_limit_bytes >> 20);
}

void tl_os_out_of_memory(tl_thread *t) {
    tl_os *os = t->os;
    char text[200];
    snprintf(text, sizeof text,
             "out of memory: all %" PRIu64 " MiB of the machine's RAM are in use; give it more with ram in the machine file",
             tl_frames_total(os->frames) << TL_PAGE_LOG2 >> 20);
    tl_os_report *end = &os->contexts[t->process->context].end;
    if (tl_os_is_first(t->process))
        snprintf(end->message, sizeof end->message, "killed by SIGKILL: %s", text);
    else
        tl_os_warn(os, "process %d is killed: %s", t->process->pid, text);
    tl_process_end(t->process, SIGKILL);
}

// ---- Traps.

static void enter_kernel(tl_os *os, tl_hart *h) {
    os->in_kernel |= 1u << h->id;
    os->hart = h;
    h->pend = NULL;
    h->run_vline = TL_NO_LINE;
    h->reservation_paddr = TL_NO_LINE;
    tl_hart_notice(h, TL_NOTICE_TRAP_ENTRY);
    ++h->tally[TL_S_HART_FLUSH_OTHER];
    ++os->kernel_counts[h->id].flushes;
    tl_os_spend(os, TL_S_HART_CYC_TRAP, h->config->pipeline.trap_cycles);
    os->now = h->now;
}

TL_ALWAYS_INLINE void leave_kernel(tl_os *os, tl_hart *h) {
    if (os->in_kernel >> h->id & 1) {
        const tl_thread *t = h->client;
        ++h->tally[TL_S_HART_FLUSH_OTHER];
        ++os->kernel_counts[h->id].flushes;
        tl_hart_notice(h, TL_NOTICE_TRAP_RETURN);
        if (t->perf_events)
            tl_pev_resume(h->client);
    }
    os->in_kernel &= ~(1u << h->id);
}

static void take_exception(tl_os *os, tl_hart *h, enum tl_hart_cell stall_cell) {
    ++h->tally[TL_S_HART_EXCEPTION];
    ++h->tally[stall_cell];
    enter_kernel(os, h);
    // The trapping instruction overflowed an event: report it before the kernel acts.
    if (os->perf && tl_pev_is_due(os, h))
        tl_pev_overflow(h->client);
}

// The timer or another hart interrupts a thread that runs user code.
static void take_interrupt(tl_os *os, tl_hart *h) {
    if (os->in_kernel >> h->id & 1)
        return; // the thread is still in the kernel
    ++h->tally[TL_S_HART_INTERRUPT];
    enter_kernel(os, h);
}

static void handle_page_fault(tl_thread *t, tl_vm_access access) {
    tl_os *os = t->os;
    static const char *const verbs[] = {"load from", "store to", "jump to"};
    const char *what = verbs[access];
    uint64_t addr = t->hart->trap_value;
    tl_vm_fault_kind fault = tl_vm_fault(t->process->vm, addr, access);
    tl_os_count_fault(os, fault);
    tl_os_spend(os, TL_S_HART_CYC_TRAP, os->machine->config.os.page_fault_cycles);
    switch (fault) {
    case TL_VM_FAULT_NO_MEMORY: tl_os_out_of_memory(t); break;
    case TL_VM_FAULT_NO_AREA: tl_signal_force(t, SIGSEGV, SEGV_MAPERR, addr, what, NULL); break;
    case TL_VM_FAULT_STACK_LIMIT: tl_signal_force(t, SIGSEGV, SEGV_MAPERR, addr, what, WHY_STACK_OVERFLOW); break;
    case TL_VM_FAULT_DENIED: tl_signal_force(t, SIGSEGV, SEGV_ACCERR, addr, what, "which its mapping does not permit"); break;
    case TL_VM_FAULT_BEYOND_FILE: tl_signal_force(t, SIGBUS, BUS_ADRERR, addr, what, "beyond the end of the mapped file"); break;
    case TL_VM_FAULT_IO: tl_signal_force(t, SIGBUS, BUS_ADRERR, addr, what, "in a file that the host could not read"); break;
    default: ++t->process->minor_faults; break; // resolved
    }
}

// Only devices refuse what their page permits: accesses of a size or kind that they do not have.
static bool is_refused_by_device(const tl_thread *t) {
    const tl_vma *area = tl_vm_find(t->process->vm, t->hart->trap_value);
    return area && area->kind == TL_VMA_DEVICE;
}

static void handle_access_fault(tl_thread *t, tl_vm_access access) {
    if (is_refused_by_device(t))
        tl_signal_force(t, SIGSEGV, SEGV_ACCERR, t->hart->trap_value, access == TL_VM_READ ? "load from" : "store to",
                        "which the device does not answer");
    else
        handle_page_fault(t, access);
}

static void handle_illegal(tl_thread *t) {
    uint64_t pc = t->hart->pc;
    const char *why;
    const tl_os_isa *isa = tl_os_isa_of(t->os);
    uint32_t bits = isa->read_illegal(t, pc, &why);
    if (isa->emulate && isa->emulate(t->hart, bits)) {
        t->hart->pc += sizeof bits;
        return;
    }
    tl_signal_force(t, SIGILL, ILL_ILLOPC, pc, "illegal instruction", why);
    t->process->fault.addr = bits; // the report prints the instruction bits
}

static void handle_trap(tl_thread *t) {
    tl_os *os = t->os;
    tl_hart *h = t->hart;
    switch ((tl_trap_kind)h->isa->trap_kinds[h->trap_cause & (TL_MAX_CAUSES - 1)]) {
    case TL_TRAP_SYSTEM_CALL:
        tl_hart_notice(h, TL_NOTICE_ECALL);
        take_exception(os, h, TL_S_HART_EXC_ECALL);
        tl_os_spend(os, TL_S_HART_CYC_TRAP, os->machine->config.os.syscall_cycles);
        os->now = h->now;
        h->pc += tl_os_isa_of(os)->call_bytes;
        tl_syscall_enter(t);
        break;
    case TL_TRAP_FETCH:
        take_exception(os, h, TL_S_HART_EXC_FETCH_FAULT);
        handle_page_fault(t, TL_VM_EXEC);
        break;
    case TL_TRAP_LOAD_PAGE:
        take_exception(os, h, TL_S_HART_EXC_LOAD_FAULT);
        handle_page_fault(t, TL_VM_READ);
        break;
    case TL_TRAP_LOAD_ACCESS:
        take_exception(os, h, TL_S_HART_EXC_LOAD_FAULT);
        handle_access_fault(t, TL_VM_READ);
        break;
    case TL_TRAP_STORE_PAGE:
        take_exception(os, h, TL_S_HART_EXC_STORE_FAULT);
        handle_page_fault(t, TL_VM_WRITE);
        break;
    case TL_TRAP_STORE_ACCESS:
        take_exception(os, h, TL_S_HART_EXC_STORE_FAULT);
        handle_access_fault(t, TL_VM_WRITE);
        break;
    case TL_TRAP_BREAKPOINT:
        take_exception(os, h, TL_S_HART_EXC_BREAKPOINT);
        tl_signal_force(t, SIGTRAP, TRAP_BRKPT, h->pc, "breakpoint instruction", NULL);
        t->process->fault.has_addr = false;
        break;
    case TL_TRAP_MISALIGNED:
        take_exception(os, h, TL_S_HART_EXC_MISALIGNED);
        tl_signal_force(t, SIGBUS, BUS_ADRALN, h->trap_value,
                        h->trap_cause == h->isa->causes[TL_FAULT_MISALIGNED][TL_ACCESS_FETCH] ? "misaligned jump to"
                        : is_refused_by_device(t)                                             ? "misaligned access to a device at"
                                                                                              : "misaligned atomic access to",
                        NULL);
        break;
    case TL_TRAP_ILLEGAL:
        take_exception(os, h, TL_S_HART_EXC_ILLEGAL);
        handle_illegal(t);
        break;
    }
    enum { TRAPS_PER_LOOK = 16 };
    os->turn.hart = NULL;
    if (++os->n_traps % TRAPS_PER_LOOK == 0)
        (void)tl_os_wants_stop(os); // a call may have taken long
}

// ---- The loop.

static void free_dead(tl_os *os) {
    while (os->dead) {
        tl_thread *t = os->dead;
        os->dead = t->next_in_process;
        free(t);
    }
}

// Idle harts wait up to this time.
static void settle(tl_os *os, uint64_t cycle) { tl_machine_settle(os->machine, os->busy_harts, cycle); }

static void fire_timers(tl_os *os, uint64_t until) {
    while (os->n_timers > 0 && os->timers[1]->cycle <= until) {
        tl_timer *timer = os->timers[1];
        tl_timer_cancel(os, timer);
        if (timer->cycle > os->now)
            os->now = timer->cycle;
        os->hart = NULL;
        timer->fire(os, timer);
    }
}

static const char *describe_wait(const tl_thread *t, char *text, size_t n) {
    if (t->state == TL_THREAD_STOPPED)
        snprintf(text, n, "thread %d (%s) is stopped by %s", t->tid, t->comm, tl_signal_name(t->process->stop_signal));
    else if (t->futex.is_queued)
        snprintf(text, n, "thread %d (%s) waits for %s at 0x%" PRIx64, t->tid, t->comm, t->waits_for, t->syscall_args[0]);
    else
        snprintf(text, n, "thread %d (%s) waits for %s", t->tid, t->comm, t->waits_for ? t->waits_for : "something");
    return text;
}

static void report_deadlock(tl_os *os) {
    char *text = os->end.message;
    size_t room = sizeof os->end.message, used;
    unsigned n_named = 0, n_more = 0;
    used = (size_t)snprintf(text, room, "deadlock: every thread sleeps and nothing can wake one: ");
    for (const tl_process *p = os->processes; p; p = p->next)
        for (const tl_thread *t = p->threads; t; t = t->next_in_process) {
            char line[96];
            describe_wait(t, line, sizeof line);
            if (n_more > 0 || used + strlen(line) + 24 > room) {
                ++n_more;
                continue;
            }
            used += (size_t)snprintf(text + used, room - used, "%s%s", n_named++ ? "; " : "", line);
        }
    if (n_more)
        snprintf(text + used, room - used, "; and %u more", n_more);
    os->end.stop = TL_OS_DEADLOCK;
    os->has_ended = true;
}

bool tl_os_wants_stop(tl_os *os) { return tl_run_must_stop(&os->limits); }

// Every thread sleeps. false: the loop ends (a limit, or a deadlock that is now reported).
static bool pass_time(tl_os *os) {
    uint64_t until = os->limits.until_cycle;
    uint64_t next = os->n_timers > 0 ? os->timers[1]->cycle : UINT64_MAX;
    os->hart = NULL;
    // Simulated time passes as the host's does while the host works.
    if (tl_host_wait_is_needed(os)) {
        uint64_t limit = next == UINT64_MAX && tl_host_wait_is_still(os) ? UINT64_MAX : tl_lesser(next, until);
        if (tl_host_wait_sleep(os, limit)) {
            settle(os, os->now); // machine time advanced even if no thread woke
            (void)tl_os_wants_stop(os);
            return true;
        }
    } else if (next == UINT64_MAX) {
        report_deadlock(os);
        os->report = os->end;
        return false;
    }
    if (next >= until) {
        settle(os, until);
        os->report = (tl_os_report){.stop = TL_OS_LIMIT};
        return false;
    }
    fire_timers(os, next);
    return true;
}

// The context's quantum is over, or nothing of it can run: the harts stand still, and the caller
// switches.
static void stop_for_switch(tl_os *os, uint32_t next) {
    uint64_t cycle = tl_os_halt(os);
    os->report = (tl_os_report){.stop = TL_OS_SWITCH, .cycle = cycle, .next = next};
}

// Harts run ahead of one another. A switch takes nothing of the quantum from the harts behind.
static bool is_behind_quantum(const tl_os *os) {
    bool result = false;
    for (uint32_t i = 0; i < os->machine->n_harts; i++)
        result |= os->machine->harts[i]->client && os->machine->harts[i]->now < os->quantum_end;
    return result;
}

static void stop_for_transfer(tl_os *os) {
    const tl_transfer *done = &os->transfer;
    os->report = (tl_os_report){
        .stop = TL_OS_TRANSFER, .cycle = done->cycle, .break_hart = done->hart, .n_bytes = {done->n_bytes[0], done->n_bytes[1]}};
    os->transfer = (tl_transfer){0};
}

static bool has_due_timer(const tl_os *os, const tl_hart *h) { return os->n_timers > 0 && os->timers[1]->cycle <= h->now; }

static bool has_transfer(const tl_os *os) { return (os->transfer.n_bytes[0] | os->transfer.n_bytes[1]) != 0; }

// Before this cycle no event concerns the hart, whatever the other harts do.
TL_ALWAYS_INLINE uint64_t horizon_of(tl_os *os, const tl_hart *h) {
    const tl_thread *t = (const tl_thread *)h->client;
    uint64_t horizon = tl_lesser(t->slice_start + os->machine->config.os.slice_cycles, tl_machine_tick(os->machine, h->now));
    horizon = tl_lesser(horizon, os->quantum_end);
    if (os->n_timers > 0)
        horizon = tl_lesser(horizon, os->timers[1]->cycle);
    if (tl_host_wait_is_needed(os))
        horizon = tl_lesser(horizon, h->now + os->machine->config.os.slice_cycles);
    return tl_lesser(horizon, tl_run_horizon(&os->limits, os->machine, os->turns.running, h));
}

// Runs the turn of *h, and turns after it in which nobody has anything to do but to run. *h becomes
// the hart that stopped. A hart at the limit of cycles begins no turn there, because the run may
// have ended. This and what it calls is inlined, because tl_os_run pays for each call in each
// system call.
TL_ALWAYS_INLINE tl_stop run_turns(tl_os *os, tl_hart **ret_hart, uint32_t running) {
    tl_hart *h = *ret_hart;
    os->hart = h;
    leave_kernel(os, h);
    os->turns.running = running;
    os->turns.until[h->id] = horizon_of(os, h);
    os->turns.n_insns = os->limits.n_insns;
    os->turns.now = &os->now;
    bool is_steady = !os->perf && !tl_host_wait_is_needed(os) && h->now < os->limits.until_cycle;
    os->turns.attended |= 1u << h->id;
    os->turns.steady = is_steady ? os->turns.steady | 1u << h->id : os->turns.steady & ~(1u << h->id);
    tl_stop stop = tl_machine_run_turns(os->machine, &os->turns, &os->turn, ret_hart);
    h = *ret_hart;
    os->hart = h;
    os->now = h->now;
    if (tl_hart_is_watched(h))
        (void)tl_hart_poll(h);
    return stop;
}

// The kernel does the step for which a turn stopped.
TL_ALWAYS_INLINE void attend_stop(tl_os *os, tl_hart *h, tl_stop stop) {
    // The kernel sees the stores that the others did before.
    if (stop == TL_STOP_TRAP && h->now > os->turn.first_until) {
        os->deferred |= 1u << h->id;
        os->turns.steady &= ~(1u << h->id);
        os->turn.hart = NULL;
    } else if (stop == TL_STOP_TRAP) {
        os->turns.steady = 0;
        if (h->attribution) // cycles of other harts may have been taken back since
            tl_attribution_own_end(h);
        handle_trap((tl_thread *)h->client);
    } else if (stop == TL_STOP_BREAK) {
        os->report = (tl_os_report){.stop = TL_OS_BREAK, .break_hart = h->id};
        h->skip_break = true;
        os->is_at_break = true;
    }
}

// No future event happens before this time.
static uint64_t safe_time(const tl_os *os) {
    uint64_t time = os->n_timers > 0 ? os->timers[1]->cycle : UINT64_MAX;
    for (uint32_t i = 0; i < os->machine->n_harts; ++i)
        if (os->machine->harts[i]->client)
            time = tl_lesser(time, os->machine->harts[i]->now);
    return time;
}

// Handles everything due before the thread on this hart may run user code. true: an event was
// handled, so the loop chooses a hart again.
static bool attend(tl_os *os, tl_hart *h) {
    tl_thread *t = (tl_thread *)h->client;
    os->hart = h;
    os->now = h->now;
    if (t->in_syscall) {
        os->turn.hart = NULL;
        tl_syscall_retry(t);
        return true;
    }
    if (tl_signal_is_deliverable(t) || t->has_saved_blocked) {
        os->turn.hart = NULL;
        take_interrupt(os, h);
        tl_signal_deliver(t, 0);
        return true;
    }
    if (h->now - t->slice_start >= os->machine->config.os.slice_cycles) {
        take_interrupt(os, h);
        tl_sched_slice_end(t);
        return true;
    }
    return false;
}

static void place_breaks(tl_os *os, const tl_os_limits *limits) {
    for (int i = 0; i < 2; ++i)
        os->break_pc[i] = limits->break_pc[i];
    os->breaks = limits->breaks;
    for (uint32_t i = 0; i < os->machine->n_harts; ++i) {
        tl_hart *h = os->machine->harts[i];
        const tl_thread *t = (const tl_thread *)h->client;
        for (int k = 0; k < 2; ++k)
            h->break_pc[k] = t && t->process == os->first ? os->break_pc[k] : TL_NO_LINE;
        h->breaks = t && t->process == os->first ? os->breaks : NULL;
    }
    os->is_at_break = false;
}

static void choose_turn(tl_os *os) {
    if (!os->turn.hart || (os->turn.hart->now >= os->turn.end && os->turn.hart->run_vline == TL_NO_LINE))
        os->turn = tl_machine_next(os->machine, os->busy_harts);
}

// Whether the next step of tl_os_run is to run a hart. Nothing outside of this kernel and its
// machine is read or changed. False where it is not sure.
static bool has_only_to_run(tl_os *os) {
    if (os->has_ended || os->deferred != 0 || has_transfer(os) || tl_host_wait_is_needed(os))
        return false;
    choose_turn(os);
    tl_hart *h = os->turn.hart;
    if (!h || h->attribution || h->run_vline != TL_NO_LINE || os->quantum_end <= h->now || has_due_timer(os, h))
        return false;
    tl_thread *t = (tl_thread *)h->client;
    return !t->in_syscall && !tl_signal_is_deliverable(t) && !t->has_saved_blocked &&
           h->now - t->slice_start < os->machine->config.os.slice_cycles && !tl_run_has_ended(&os->limits, os->machine, os->busy_harts, h);
}

bool tl_os_begin_ahead(tl_os *os, const tl_os_limits *limits) {
    const bool has_breaks = limits->break_pc[0] != TL_NO_LINE || limits->break_pc[1] != TL_NO_LINE || limits->breaks;
    if (os->is_ahead || os->perf || os->options.interrupted || has_breaks)
        return false;
    place_breaks(os, limits);
    os->turns.steady = 0;
    tl_run_begin(&os->limits, limits->until_cycle, limits->until_instret);
    if (!has_only_to_run(os))
        return false;
    os->is_ahead = true;
    return true;
}

void tl_os_run_ahead(tl_os *os) {
    do {
        tl_hart *h = os->turn.hart;
        os->ahead_stop = run_turns(os, &h, os->busy_harts);
        os->ahead_hart = h;
    } while (os->ahead_stop != TL_STOP_TRAP && os->ahead_stop != TL_STOP_BREAK && has_only_to_run(os));
}

tl_status tl_os_run(tl_os *os, const tl_os_limits *limits, tl_os_report *ret_report, tl_error *err) {
    (void)err;
    place_breaks(os, limits);
    tl_run_begin(&os->limits, limits->until_cycle, limits->until_instret);
    if (os->is_ahead)
        attend_stop(os, os->ahead_hart, os->ahead_stop);
    else
        os->turns.steady = 0;
    os->is_ahead = false;
    for (;;) {
        uint32_t steady = os->turns.steady, attended = os->turns.attended;
        os->turns.steady = os->turns.attended = 0; // unless nothing is done but to run
        free_dead(os);
        bool must_stop = tl_run_notes_round(&os->limits);
        if (has_transfer(os)) {
            stop_for_transfer(os);
            break;
        }
        if (os->has_ended) {
            settle(os, tl_os_now_cycles(os));
            os->report = os->end;
            break;
        }
        if (must_stop) {
            settle(os, tl_os_now_cycles(os));
            os->report = (tl_os_report){.stop = TL_OS_LIMIT};
            break;
        }
        choose_turn(os);
        tl_hart *h = os->turn.hart;
        if (!h && tl_os_next_context(os) != os->context) {
            stop_for_switch(os, tl_os_next_context(os));
            break;
        }
        if (!h) {
            if (pass_time(os))
                continue;
            break;
        }
        if (h->attribution)
            tl_attribution_own_end(h);
        if (os->deferred >> h->id & 1) {
            os->deferred &= ~(1u << h->id);
            os->hart = h;
            os->now = h->now;
            handle_trap((tl_thread *)h->client);
            continue;
        }
        // An overflow within a fetch run interrupts before the next instruction.
        if (os->perf && tl_pev_is_due(os, h)) {
            os->turn.hart = NULL;
            os->now = h->now;
            take_interrupt(os, h);
            os->hart = h;
            tl_pev_overflow(h->client);
            continue;
        }
        if (os->options.interrupted && (tl_hart_pending(h) & ~(UINT64_C(1) << TL_IRQ_PERSONALITY)) != 0)
            os->options.interrupted(os->options.ctx, h);
        if (h->run_vline == TL_NO_LINE) { // between fetch runs
            if (has_due_timer(os, h)) {
                os->now = 0;
                os->turn.hart = NULL;
                fire_timers(os, h->now);
                continue;
            }
            if (os->quantum_end <= h->now) {
                uint32_t next = tl_os_next_context(os);
                if (next != os->context && is_behind_quantum(os)) {
                    os->turn.hart = NULL;
                    continue;
                }
                if (next != os->context) {
                    stop_for_switch(os, next);
                    break;
                }
                os->quantum_end = h->now + os->contexts[os->context].quantum_cycles; // nobody waits
            }
            tl_host_wait_poll(os, h->now);
            if (attend(os, h))
                continue;
        }
        const uint32_t running = os->busy_harts; // what the host delivered may have woken a thread
        if (tl_run_has_ended(&os->limits, os->machine, running, h)) {
            settle(os, tl_lesser(safe_time(os), os->limits.until_cycle));
            os->report = (tl_os_report){.stop = TL_OS_LIMIT};
            break;
        }
        if (tl_run_notes_insns(&os->limits))
            continue;
        os->turns.steady = steady;
        os->turns.attended = attended;
        const tl_stop stop = run_turns(os, &h, running);
        attend_stop(os, h, stop);
        if (os->is_at_break)
            break;
    }
    *ret_report = os->report;
    return TL_OK;
}

void tl_os_end_run_at(tl_os *os, uint64_t cycle) {
    if (cycle >= os->limits.until_cycle)
        return;
    os->limits.until_cycle = cycle;
    os->turns.steady = 0;
    for (uint32_t i = 0; i < os->machine->n_harts; ++i)
        tl_hart_stop_soon(os->machine->harts[i]);
}

void tl_os_set_window(tl_os *os, const tl_os_window *window) { os->window = *window; }

// ---- Life.

static char *copy_string(const char *text) { return text ? strdup(text) : NULL; }

// A program may map registers of some PMU.
static bool has_window(const tl_os *os) {
    tl_device_row rows[TL_MAX_DEVICES];
    uint32_t n = tl_device_list(os, TL_OS_NO_CONTEXT, rows);
    for (uint32_t i = 0; i < n; i++)
        if (rows[i].kind == TL_DEVICE_WINDOW)
            return true;
    return false;
}

tl_status tl_os_new(tl_machine *machine, const tl_os_options *options, tl_os **ret_os, tl_error *err) {
    const tl_os_isa *isa = tl_os_isa_for(machine->engine->isa);
    if (!isa)
        return tl_fail(err, TL_EINVAL,
                       "%s: Linux programs of this instruction set cannot run, because their system calls are unknown; run a kernel",
                       machine->engine->isa->name);
    tl_os *os = calloc(1, sizeof *os);
    if (!os)
        return tl_fail(err, TL_ENOMEM, "no memory for the Linux personality");
    os->machine = machine;
    os->isa = isa;
    os->options = *options;
    os->limits = (tl_run_limits){.wants_stop = options->wants_stop, .ctx = options->ctx};
    os->options.argv = os->options.envp = NULL; // used once, below
    os->options.program = copy_string(options->program);
    os->options.sysroot = copy_string(options->sysroot ? options->sysroot : tl_os_isa_of(os)->sysroot);
    os->has_named_sysroot = options->sysroot != NULL;
    os->options.root = copy_string(options->root);
    os->clock_hz = machine->config.clock_hz;
    if (os->options.ram_bytes == 0)
        os->options.ram_bytes = machine->config.ram_bytes - os->options.ram_offset_bytes;
    os->account.most_bytes = os->options.ram_bytes / TL_ACCOUNT_SHARE;
    os->quantum_end = UINT64_MAX;
    os->is_away = options->starts_away;
    os->next_pid = TL_FIRST_PID;
    os->break_pc[0] = os->break_pc[1] = TL_NO_LINE;
    seed_random(os->random_state, machine->config.seed);
    os->frames = tl_frames_new(machine->ram, os->options.ram_offset_bytes, os->options.ram_bytes);
    os->futexes = tl_futexes_new();
    tl_status status = TL_OK;
    if (!os->options.program || !os->options.sysroot || (options->root && !os->options.root) || !os->frames || !os->futexes)
        status = tl_fail(err, TL_ENOMEM, "no memory for the Linux personality");
    if (status == TL_OK)
        status = tl_file_system_new(os, err);
    if (status == TL_OK && has_window(os))
        tl_machine_set_bus(machine, tl_machine_own_bus(machine));
    if (status == TL_OK)
        status = tl_exec_first(os,
                               &(tl_os_program){.program = os->options.program,
                                                .argv = options->argv,
                                                .envp = options->envp,
                                                .std_fd = {options->std_fd[0], options->std_fd[1], options->std_fd[2]},
                                                .quantum_cycles = options->quantum_cycles},
                               err);
    if (status == TL_OK)
        *ret_os = os;
    else
        tl_os_free(os);
    return status;
}

void tl_os_free(tl_os *os) {
    if (!os)
        return;
    free_dead(os);
    tl_process_free_all(os);
    tl_machine_set_bus(os->machine, NULL);
    tl_host_waits_done(os);
    if (os->file_system)
        tl_file_system_done(os);
    tl_pev_done(os);
    while (os->free_entries) {
        tl_wait_entry *entry = os->free_entries;
        os->free_entries = entry->next_of_thread;
        free(entry);
    }
    tl_futexes_free(os->futexes);
    tl_frames_free(os->frames);
    free(os->timers);
    for (uint32_t i = 0; i < os->n_host_paths; ++i)
        free(os->host_paths[i]);
    free((char *)os->options.program);
    free((char *)os->options.sysroot);
    free((char *)os->options.root);
    free(os);
}

uint64_t tl_os_now_cycles(const tl_os *os) { return tl_machine_now_cycles(os->machine); }

uint64_t tl_os_resident_bytes(const tl_os *os) { return tl_frames_used(os->frames) << TL_PAGE_LOG2; }

bool tl_os_has_written(const tl_os *os, int fd) { return fd >= 0 && fd < 3 && os->has_written[fd]; }

uint64_t tl_os_peak_bytes(const tl_os *os) { return tl_frames_peak(os->frames) << TL_PAGE_LOG2; }

const tl_os_isa *tl_os_isa_of(const tl_os *os) { return os->isa; }

static const tl_os_isa *const isa_rows[] = {&tl_os_rv64, &tl_os_arm64};

const tl_os_isa *tl_os_isa_for(const tl_isa *isa) { return tl_os_isa_of_elf(isa->elf_machine); }

const tl_os_isa *tl_os_isa_of_elf(uint16_t elf_machine) {
    for (size_t i = 0; i < TL_COUNT_OF(isa_rows); i++)
        if (isa_rows[i]->isa->elf_machine == elf_machine)
            return isa_rows[i];
    return NULL;
}

const char *tl_os_default_machine(uint16_t elf_machine) {
    const tl_os_isa *isa = tl_os_isa_of_elf(elf_machine);
    return isa ? isa->default_machine : NULL;
}
