// SPDX-License-Identifier: MIT
// System software on a board (src/board): firmware and a kernel, or one bare-metal program.
#include "session/guest.h"

#include <stdio.h>
#include <stdlib.h>

#include "board/system.h"

typedef struct software {
    tl_guest guest;
    tl_system *system;
    void (*changed_space)(void *ctx); // NULL: nobody asks
    void *ctx;
} software;

static tl_status load(const tl_guest_setup *setup, tl_guest **ret_guest, tl_error *err) {
    const tl_run_options *run = setup->options;
    bool is_bare = run->kind == TL_RUN_BARE;
    const tl_system_options options = {
        .program = is_bare ? run->program : NULL,
        .bios = is_bare ? NULL : run->bios,
        .kernel = is_bare ? NULL : run->kernel,
        .initrd = is_bare ? NULL : run->initrd,
        .append = run->append,
        .disk = run->disk,
        .is_disk_writable = run->is_disk_writable,
        .console_in = run->std_fd[0],
        .console_out = run->std_fd[1],
        .reports_spaces = setup->changed_space != NULL,
        .warn = setup->warn,
        .wants_stop = setup->wants_stop,
        .ctx = setup->ctx,
    };
    software *s = calloc(1, sizeof *s);
    if (!s)
        return tl_no_memory(err);
    s->guest.type = &tl_guest_system;
    s->changed_space = setup->changed_space;
    s->ctx = setup->ctx;
    tl_status status = tl_system_new(setup->machine, &options, &s->system, err);
    if (status != TL_OK) {
        free(s);
        return status;
    }
    *ret_guest = &s->guest;
    return TL_OK;
}

static tl_status run(tl_guest *guest, const tl_guest_limits *limits, tl_guest_report *ret_report, tl_error *err) {
    const tl_system_limits system_limits = {.until_cycle = limits->until_cycle,
                                            .until_instret = limits->until_instret,
                                            .break_pc = {TL_NO_LINE, TL_NO_LINE},
                                            .breaks = limits->breaks};
    tl_system_report report = {0};
    tl_status status = tl_system_run(((software *)guest)->system, &system_limits, &report, err);
    if (status != TL_OK)
        return status;
    *ret_report = (tl_guest_report){.is_at_break = report.stop == TL_SYSTEM_BREAK, .break_hart = report.break_hart};
    switch (report.stop) {
    case TL_SYSTEM_SPACE: ((software *)guest)->changed_space(((software *)guest)->ctx); return TL_OK;
    case TL_SYSTEM_LIMIT:
    case TL_SYSTEM_BREAK:
    case TL_SYSTEM_READ: return TL_OK; // not asked for
    case TL_SYSTEM_EXITED:
        ret_report->reason = TL_END_EXITED;
        ret_report->status = report.exit_status;
        break;
    case TL_SYSTEM_RESET: ret_report->reason = TL_END_RESET; break;
    case TL_SYSTEM_STUCK: ret_report->reason = TL_END_STUCK; break;
    }
    snprintf(ret_report->message, sizeof ret_report->message, "%s", report.message);
    return TL_OK;
}

static tl_status symbol(const tl_guest *guest, const char *name, const tl_guest_search *how, uint64_t *ret_address, tl_error *err) {
    if (how->ret_waits)
        *how->ret_waits = false;
    return tl_system_symbol(((const software *)guest)->system, name, how->with_prefixes, ret_address, err);
}

static const char *name_at(const tl_guest *guest, uint64_t address, uint64_t *ret_within) {
    return tl_system_symbol_at(((const software *)guest)->system, address, ret_within);
}

static uint64_t now_cycles(const tl_guest *guest) { return tl_system_now_cycles(((const software *)guest)->system); }

static bool has_written(const tl_guest *guest, int fd) { return fd == 1 && tl_system_has_written(((const software *)guest)->system); }

static void free_system(tl_guest *guest) {
    tl_system_free(((software *)guest)->system);
    free(guest);
}

const tl_guest_type tl_guest_system = {.load = load,
                                       .run = run,
                                       .symbol = symbol,
                                       .name_at = name_at,
                                       .now_cycles = now_cycles,
                                       .has_written = has_written,
                                       .free = free_system};
