// SPDX-License-Identifier: MIT
// A VM that is a board: firmware and a kernel, or a bare program (board/system.h); see
// tenants_guest.h.
//
// The partition unit watches which address space the hart's translation names. A space gets a
// context in the order of its first appearance. The last context takes all spaces that find none
// left. The kernel does not know of contexts, so a switch happens at the boundary behind the
// instruction that names the space, and nothing is saved or loaded for it.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/system.h"
#include "session/tenants_guest.h"

enum { LINE_BYTES = 512, PAGE_BYTES = 4096 };
// Regions of the window: blocks of the running context and of its VM, names of their counts,
// registers of the running context, audit entries of the VM.
enum { OWN, VM, LIST, REQUESTS, AUDIT, N_REGIONS };

typedef struct tl_board_vm {
    tl_system *system;
    uint64_t spaces[TL_MAX_CONTEXTS_OF_VM];
    uint32_t n_spaces; // that have a context of their own
    bool has_others;   // the last context has run
    uint32_t context;
    bool has_ended;
    tl_os_report end;
    tl_read_region regions[N_REGIONS];
    struct {
        uint32_t region;
        uint64_t offset, cycle, word;
        tl_priv priv; // of the hart; 0: a program
        bool is_store, is_known, is_refused;
    } access;              // the latest that had to wait
    char line[LINE_BYTES]; // of a console that is shared, begun and not yet printed
    size_t n_line;
} board_vm;

// ---- The console.

static void write_all(int fd, const char *bytes, size_t n) {
    while (n > 0) {
        const ssize_t written = write(fd, bytes, n);
        if (written <= 0)
            return; // nobody reads any more; the guest sees no error
        bytes += written;
        n -= (size_t)written;
    }
}

static void end_line(tl_tenants_vm *v) {
    board_vm *b = v->board;
    char text[LINE_BYTES + 80];
    const int n = snprintf(text, sizeof text, "[%.60s] %.*s\n", v->plan->name, (int)b->n_line, b->line);
    write_all(v->tenants->options.std_fd[1], text, (size_t)n);
    b->n_line = 0;
}

// Several boards share a descriptor, so each line says whose it is.
static void put_lines(void *ctx, const uint8_t *bytes, size_t n) {
    tl_tenants_vm *v = ctx;
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n' || v->board->n_line == LINE_BYTES)
            end_line(v);
        if (bytes[i] != '\n' && bytes[i] != '\r')
            v->board->line[v->board->n_line++] = (char)bytes[i];
    }
}

// ---- The read window.

static const uint64_t *words_of(const tl_tenants_vm *v, uint32_t region, uint32_t *ret_n_words) {
    const tl_tenants *t = v->tenants;
    const uint32_t number = (uint32_t)(v - t->vms) + 1;
    switch (region) {
    case OWN: return t->monitor_type->words(t->monitor, number, v->board->context, ret_n_words);
    case VM: return t->monitor_type->words(t->monitor, number, TL_MONITOR_NONE, ret_n_words);
    default: return t->monitor_type->list(t->monitor, ret_n_words);
    }
}

// A word is what memory holds in the cycle of the access. The monitor may not have come that far,
// so the hart waits until everybody has, and tries again.
static tl_window_answer ask(board_vm *b, bool is_store, uint32_t region, uint64_t offset, uint64_t cycle) {
    const bool is_known = b->access.is_known && b->access.is_store == is_store && b->access.region == region &&
                          b->access.offset == offset && b->access.cycle == cycle;
    b->access.is_known = false;
    if (is_known)
        return b->access.is_refused ? TL_WINDOW_REFUSED : TL_WINDOW_DONE;
    b->access.is_store = is_store;
    b->access.region = region;
    b->access.offset = offset;
    b->access.cycle = cycle;
    return TL_WINDOW_LATER;
}

static tl_window_answer read_word(void *ctx, uint32_t region, uint64_t offset, uint64_t cycle, uint64_t *ret_word) {
    board_vm *b = ((tl_tenants_vm *)ctx)->board;
    const tl_window_answer how = ask(b, false, region, offset, cycle);
    if (how == TL_WINDOW_DONE)
        *ret_word = b->access.word;
    return how;
}

static tl_window_answer write_word(void *ctx, uint32_t region, uint64_t offset, uint64_t cycle, uint64_t word) {
    board_vm *b = ((tl_tenants_vm *)ctx)->board;
    if (region != REQUESTS && region != AUDIT)
        return TL_WINDOW_REFUSED;
    const tl_window_answer how = ask(b, true, region, offset, cycle);
    if (how == TL_WINDOW_LATER)
        b->access.word = word;
    return how;
}

// The client by what the hardware knows: the context that runs, if a program makes the access, else
// the VM's system. Registers are those of the context that runs, and entries of the audit log are
// for the system, because the kernel decides who maps them.
static tl_monitor_client client_of(const tl_tenants_vm *v) {
    const board_vm *b = v->board;
    const bool is_program = b->access.region == REQUESTS || (b->access.region != AUDIT && b->access.priv == 0);
    return (tl_monitor_client){.role = is_program ? TL_MONITOR_CONTEXT : TL_MONITOR_SYSTEM,
                               .partition = v->plan->partition,
                               .vm = (uint32_t)(v - v->tenants->vms) + 1,
                               .context = is_program ? b->context : TL_MONITOR_NONE};
}

// Offset of a region in the monitor's window of clients.
static uint64_t place_of(const tl_tenants_vm *v) {
    const tl_chip_monitor_type *type = v->tenants->monitor_type;
    const tl_chip_monitor *monitor = v->tenants->monitor;
    const uint32_t number = (uint32_t)(v - v->tenants->vms) + 1;
    switch (v->board->access.region) {
    case OWN: return type->block_at(monitor, number, v->board->context);
    case VM: return type->block_at(monitor, number, TL_MONITOR_NONE);
    case AUDIT: return type->audit_at(monitor);
    default: return type->requests_at(monitor);
    }
}

// Words behind a block and behind the list are 0. The list is everybody's.
static void answer(tl_tenants_vm *v) {
    board_vm *b = v->board;
    const tl_tenants *t = v->tenants;
    const tl_monitor_client client = client_of(v);
    uint32_t n_words = 0;
    const uint64_t *words = b->access.region <= LIST ? words_of(v, b->access.region, &n_words) : NULL;
    const bool is_behind = words && b->access.offset / 8 >= n_words;
    // The block's first word has the same rights.
    const uint64_t at = place_of(v) + (is_behind ? 0 : b->access.offset);
    b->access.is_known = true;
    b->access.is_refused = false;
    if (b->access.region == LIST)
        b->access.word = is_behind ? 0 : words[b->access.offset / 8];
    else if (b->access.is_store)
        b->access.is_refused = !t->monitor_type->store(t->monitor, &client, at, sizeof(uint64_t), b->access.word);
    else
        b->access.is_refused = !t->monitor_type->load(t->monitor, &client, at, sizeof(uint64_t), &b->access.word);
    if (is_behind)
        b->access.word = 0;
}

static bool has_window(const tl_tenants *t) {
    return t->monitor && t->monitor_type->compatible && t->monitor_type->words && t->monitor_type->window_bytes;
}

static tl_read_window window_of(tl_tenants_vm *v) {
    static const char *const names[N_REGIONS] = {"own", "vm", "list", "requests", "audit"};
    for (uint32_t i = 0; i < N_REGIONS; i++) {
        uint32_t n_words = 1; // a page
        if (i <= LIST)
            (void)words_of(v, i, &n_words);
        v->board->regions[i] = (tl_read_region){names[i], (n_words * sizeof(uint64_t) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES};
    }
    return (tl_read_window){.compatible = v->tenants->monitor_type->compatible,
                            .regions = v->board->regions,
                            .n_regions = N_REGIONS,
                            .ctx = v,
                            .read = read_word,
                            .write = write_word};
}

// ---- Loading.

static tl_status load(tl_tenants *t, tl_tenants_vm *v, tl_error *err) {
    const tl_board_plan *plan = v->plan->board;
    tl_machine *machine = t->parts[v->plan->partition].machine;
    v->board = tl_arena_alloc(&t->arena, sizeof *v->board);
    if (!v->board)
        return tl_tenants_no_memory(err);
    v->board->n_spaces = 1; // no translation
    const tl_read_window window = has_window(t) ? window_of(v) : (tl_read_window){0};
    tl_system_options options = {.program = plan->program,
                                 .bios = plan->firmware,
                                 .kernel = plan->kernel,
                                 .initrd = plan->initrd,
                                 .append = plan->append,
                                 .console_in = -1,
                                 .console_out = -1,
                                 .n_harts = plan->n_harts,
                                 .reports_spaces = v->plan->n_contexts > 1,
                                 .names_spaces = v->plan->n_contexts > 1,
                                 .window = has_window(t) ? &window : NULL,
                                 .warn = tl_tenants_warn,
                                 .wants_stop = tl_tenants_wants_stop,
                                 .ctx = v};
    if (plan->console == TL_STD_INHERITED) {
        options.put_console = put_lines;
    } else if (plan->console) {
        tl_status status = tl_tenants_open_fd(t, plan->console, 1, plan->line, "console", v->plan->name, &options.console_out, err);
        if (status != TL_OK)
            return status;
    }
    tl_error why = {0};
    tl_status status = tl_system_new(machine, &options, &v->board->system, &why);
    return status == TL_OK ? TL_OK : tl_tenants_fail_on(t, plan->line, status, &why, err);
}

static void free_board(tl_tenants_vm *v) {
    if (!v->board)
        return;
    tl_system_free(v->board->system);
    if (v->board->n_line > 0)
        end_line(v);
}

// ---- Running.

static uint32_t context_of_space(tl_tenants_vm *v, uint64_t space) {
    board_vm *b = v->board;
    for (uint32_t i = 0; i < b->n_spaces; i++)
        if (b->spaces[i] == space)
            return i;
    if (b->n_spaces + 1 >= v->plan->n_contexts) {
        b->has_others = true;
        return v->plan->n_contexts - 1;
    }
    b->spaces[b->n_spaces] = space;
    return b->n_spaces++;
}

static void note_end(tl_tenants_vm *v, const tl_system_report *report, tl_os_report *ret_report) {
    board_vm *b = v->board;
    ret_report->stop = report->stop == TL_SYSTEM_STUCK ? TL_OS_DEADLOCK : TL_OS_EXITED;
    ret_report->exit_status = report->stop == TL_SYSTEM_RESET ? 1 : report->exit_status;
    snprintf(ret_report->message, sizeof ret_report->message, "%s", report->message);
    b->has_ended = true;
    b->end = *ret_report;
}

static tl_status run(tl_tenants_vm *v, uint64_t until_cycle, tl_os_report *ret_report, tl_error *err) {
    board_vm *b = v->board;
    const tl_system_limits limits = {.until_cycle = until_cycle, .until_instret = UINT64_MAX, .break_pc = {TL_NO_LINE, TL_NO_LINE}};
    *ret_report = (tl_os_report){.stop = TL_OS_LIMIT};
    for (;;) {
        tl_system_report report = {0};
        tl_status status = tl_system_run(b->system, &limits, &report, err);
        if (status != TL_OK)
            return status;
        switch (report.stop) {
        case TL_SYSTEM_LIMIT: return TL_OK;
        case TL_SYSTEM_BREAK: break;
        case TL_SYSTEM_SPACE: {
            const uint32_t next = context_of_space(v, tl_system_space(b->system, report.break_hart));
            if (next == b->context)
                break;
            ret_report->stop = TL_OS_SWITCH;
            ret_report->next = next;
            ret_report->cycle = tl_system_halt(b->system);
            return TL_OK;
        }
        case TL_SYSTEM_READ:
            ret_report->stop = TL_OS_READ;
            ret_report->break_hart = report.break_hart;
            b->access.priv = v->tenants->parts[v->plan->partition].machine->harts[report.break_hart]->priv;
            ret_report->cycle = b->access.cycle;
            return TL_OK;
        case TL_SYSTEM_EXITED:
        case TL_SYSTEM_RESET:
        case TL_SYSTEM_STUCK: note_end(v, &report, ret_report); return TL_OK;
        }
    }
}

static uint64_t halt(tl_tenants_vm *v) { return tl_system_halt(v->board->system); }
static void leave(tl_tenants_vm *v) { (void)v; }

static uint64_t enter(tl_tenants_vm *v, uint32_t context, uint64_t cycle) {
    v->board->context = context;
    tl_system_resume(v->board->system, cycle);
    return tl_system_now_cycles(v->board->system);
}

// Devices of a board are its own, so no hart waits for a shared unit.
static void wait_until(tl_tenants_vm *v, uint32_t hart, uint64_t cycle) { (void)v, (void)hart, (void)cycle; }

static uint32_t context_of(const tl_tenants_vm *v) { return v->board->context; }

static bool has_appeared(const tl_tenants_vm *v, uint32_t context) {
    const board_vm *b = v->board;
    return context < b->n_spaces || (b->has_others && context == v->plan->n_contexts - 1);
}

// Nobody tells when a kernel gives up an address space. All contexts end with the board, and the
// first one tells how.
static bool has_ended(const tl_tenants_vm *v, uint32_t context, tl_os_report *ret_report) {
    const board_vm *b = v->board;
    if (!b->has_ended || (context == 0 && b->end.stop == TL_OS_DEADLOCK))
        return false;
    *ret_report = context == 0 ? b->end : (tl_os_report){.stop = TL_OS_EXITED};
    return true;
}

static const char *program(const tl_tenants_vm *v, uint32_t context, tl_arena *arena) {
    const board_vm *b = v->board;
    if (context < b->n_spaces)
        return tl_arena_printf(arena, "space 0x%" PRIx64, b->spaces[context]);
    return tl_arena_strdup(arena, has_appeared(v, context) ? "other spaces" : "no space yet");
}

const tl_tenants_guest_type tl_tenants_board = {.load = load,
                                                .run = run,
                                                .answer = answer,
                                                .halt = halt,
                                                .leave = leave,
                                                .enter = enter,
                                                .wait = wait_until,
                                                .context = context_of,
                                                .has_ended = has_ended,
                                                .program = program,
                                                .free = free_board};
