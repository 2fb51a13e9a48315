// SPDX-License-Identifier: MIT
// A Linux program under the modeled kernel (src/linux).
#include "session/guest.h"

#include <stdio.h>
#include <stdlib.h>

#include "linux/os.h"

typedef struct user {
    tl_guest guest;
    tl_os *os;
    tl_symbols *symbols; // of the program, if names are needed
    uint64_t load_bias;
} user;

static tl_status load(const tl_guest_setup *setup, tl_guest **ret_guest, tl_error *err) {
    const tl_run_options *run = setup->options;
    tl_os_options options = {
        .program = run->program,
        .argv = (char *const *)(uintptr_t)run->argv, // not written to
        .envp = (char *const *)(uintptr_t)run->env,
        .sysroot = run->sysroot,
        .root = run->root,
        .allow_network = run->allow_network,
        .host_paths = run->host_paths,
        .std_fd = {run->std_fd[0], run->std_fd[1], run->std_fd[2]},
        .warn = setup->warn,
        .wants_stop = setup->wants_stop,
        .mapped_code = setup->mapped_code,
        .interrupted = setup->interrupted,
        .ctx = setup->ctx,
        .code_map = setup->code_map,
    };
    user *u = calloc(1, sizeof *u);
    if (!u)
        return tl_no_memory(err);
    u->guest.type = &tl_guest_user;
    tl_status status = tl_os_new(setup->machine, &options, &u->os, err);
    if (status != TL_OK) {
        free(u);
        return status;
    }
    if (run->host_symbols != TL_HOST_SYMBOLS_NONE)
        // A program without symbols has addresses.
        (void)!tl_os_symbols_new(u->os, &u->symbols, &u->load_bias, NULL);
    *ret_guest = &u->guest;
    return TL_OK;
}

static tl_status run(tl_guest *guest, const tl_guest_limits *limits, tl_guest_report *ret_report, tl_error *err) {
    const tl_os_limits os_limits = {.until_cycle = limits->until_cycle,
                                    .until_instret = limits->until_instret,
                                    .break_pc = {TL_NO_LINE, TL_NO_LINE},
                                    .breaks = limits->breaks};
    tl_os_report report = {0};
    tl_status status = tl_os_run(((user *)guest)->os, &os_limits, &report, err);
    if (status != TL_OK)
        return status;
    *ret_report = (tl_guest_report){.is_at_break = report.stop == TL_OS_BREAK, .break_hart = report.break_hart};
    switch (report.stop) {
    case TL_OS_LIMIT:
    case TL_OS_BREAK:
    case TL_OS_SWITCH: // of several contexts only
    case TL_OS_READ:
    case TL_OS_TRANSFER: return TL_OK; // not asked for
    case TL_OS_EXITED:
        ret_report->reason = TL_END_EXITED;
        ret_report->status = report.exit_status;
        break;
    case TL_OS_KILLED:
        ret_report->reason = TL_END_KILLED;
        ret_report->signal = report.signal;
        break;
    case TL_OS_DEADLOCK: ret_report->reason = TL_END_DEADLOCK; break;
    }
    snprintf(ret_report->message, sizeof ret_report->message, "%s", report.message);
    return TL_OK;
}

static tl_status symbol(const tl_guest *guest, const char *name, const tl_guest_search *how, uint64_t *ret_address, tl_error *err) {
    const tl_os_search os_how = {.with_prefixes = how->with_prefixes, .ret_waits = how->ret_waits};
    return tl_os_symbol(((const user *)guest)->os, name, &os_how, ret_address, err);
}

static uint64_t entry(const tl_guest *guest) { return tl_os_entry(((const user *)guest)->os); }

static const char *name_at(const tl_guest *guest, uint64_t address, uint64_t *ret_within) {
    const user *u = (const user *)guest;
    return u->symbols ? tl_symbols_at(u->symbols, address - u->load_bias, ret_within) : NULL;
}

static const char *host_path(const tl_guest *guest, uint32_t index) { return tl_os_host_path(((const user *)guest)->os, index); }

static uint64_t now_cycles(const tl_guest *guest) { return tl_os_now_cycles(((const user *)guest)->os); }

static bool has_written(const tl_guest *guest, int fd) { return tl_os_has_written(((const user *)guest)->os, fd); }

static uint64_t peak_bytes(const tl_guest *guest) { return tl_os_peak_bytes(((const user *)guest)->os); }

static void end_code_map(tl_guest *guest) { tl_os_end_code_map(((user *)guest)->os); }

static void free_user(tl_guest *guest) {
    tl_symbols_free(((user *)guest)->symbols);
    tl_os_free(((user *)guest)->os);
    free(guest);
}

const tl_guest_type tl_guest_user = {.load = load,
                                     .run = run,
                                     .symbol = symbol,
                                     .entry = entry,
                                     .name_at = name_at,
                                     .host_path = host_path,
                                     .now_cycles = now_cycles,
                                     .has_written = has_written,
                                     .peak_bytes = peak_bytes,
                                     .end_code_map = end_code_map,
                                     .free = free_user};
