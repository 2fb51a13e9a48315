// SPDX-License-Identifier: MIT
// A VM of programs under the modeled kernel (linux/os.h); see tenants_guest.h.
#include <string.h>

#include "session/tenants_guest.h"

static tl_status open_std(tl_tenants *t, const tl_context_plan *c, int ret_fds[3], tl_error *err) {
    static const char *const names[] = {"stdin", "stdout", "stderr"};
    tl_status status = TL_OK;
    for (int i = 0; i < 3 && status == TL_OK; i++) {
        const char *path = c->std[i] ? c->std[i] : "/dev/null";
        if (path == TL_STD_INHERITED)
            ret_fds[i] = t->options.std_fd[i];
        else
            status = tl_tenants_open_fd(t, path, i, c->line, names[i], c->name, &ret_fds[i], err);
    }
    return status;
}

static tl_status load_context(tl_tenants *t, tl_tenants_vm *v, uint32_t index, tl_os_options *options, tl_error *err) {
    const tl_context_plan *c = &v->plan->contexts[index];
    tl_os_program program = {.program = c->program,
                             .argv = (char *const *)(uintptr_t)c->argv, // not written to
                             .envp = (char *const *)(uintptr_t)c->env,
                             .quantum_cycles = c->quantum_cycles};
    tl_error why = {0};
    tl_status status = open_std(t, c, program.std_fd, err);
    if (status != TL_OK)
        return status;
    if (index == 0) {
        options->program = program.program;
        options->argv = program.argv;
        options->envp = program.envp;
        options->quantum_cycles = program.quantum_cycles;
        memcpy(options->std_fd, program.std_fd, sizeof options->std_fd);
        status = tl_os_new(t->parts[v->plan->partition].machine, options, &v->os, &why);
    } else {
        uint32_t context;
        status = tl_os_add(v->os, &program, &context, &why);
    }
    return status == TL_OK ? TL_OK : tl_tenants_fail_on(t, c->line, status, &why, err);
}

static tl_status load(tl_tenants *t, tl_tenants_vm *v, tl_error *err) {
    tl_tenants_part *p = &t->parts[v->plan->partition];
    uint64_t share_bytes = t->config.ram_bytes / p->n_vms & ~((UINT64_C(1) << 20) - 1);
    uint32_t place = 0;
    while (p->vms[place] != v)
        place++;
    tl_os_options options = {.sysroot = v->plan->sysroot,
                             .root = v->plan->root,
                             .allow_network = v->plan->allow_network,
                             .warn = tl_tenants_warn,
                             .wants_stop = tl_tenants_wants_stop,
                             .ctx = v,
                             .ram_offset_bytes = share_bytes * place,
                             .ram_bytes = share_bytes,
                             .starts_away = place != 0,
                             .reports_transfers = true};
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < v->plan->n_contexts && status == TL_OK; i++)
        status = load_context(t, v, i, &options, err);
    return status;
}

static tl_os_limits limits_of(uint64_t until_cycle) {
    return (tl_os_limits){.until_cycle = until_cycle, .until_instret = UINT64_MAX, .break_pc = {TL_NO_LINE, TL_NO_LINE}};
}

static bool begin_ahead(tl_tenants_vm *v, uint64_t until_cycle) {
    const tl_os_limits limits = limits_of(until_cycle);
    return tl_os_begin_ahead(v->os, &limits);
}

static tl_status run(tl_tenants_vm *v, uint64_t until_cycle, tl_os_report *ret_report, tl_error *err) {
    const tl_os_limits limits = limits_of(until_cycle);
    return tl_os_run(v->os, &limits, ret_report, err);
}

static uint64_t halt(tl_tenants_vm *v) { return tl_os_halt(v->os); }
static void leave(tl_tenants_vm *v) { tl_os_leave(v->os); }
static uint64_t enter(tl_tenants_vm *v, uint32_t context, uint64_t cycle) { return tl_os_enter(v->os, context, cycle); }
static void wait_until(tl_tenants_vm *v, uint32_t hart, uint64_t cycle) { tl_os_wait(v->os, hart, cycle); }
static uint32_t context_of(const tl_tenants_vm *v) { return tl_os_context(v->os); }

static bool has_ended(const tl_tenants_vm *v, uint32_t context, tl_os_report *ret_report) {
    return tl_os_context_has_ended(v->os, context, ret_report);
}

static const char *program(const tl_tenants_vm *v, uint32_t context, tl_arena *arena) {
    return tl_arena_strdup(arena, v->plan->contexts[context].program);
}

static void free_programs(tl_tenants_vm *v) { tl_os_free(v->os); }

const tl_tenants_guest_type tl_tenants_programs = {.load = load,
                                                   .run = run,
                                                   .begin_ahead = begin_ahead,
                                                   .halt = halt,
                                                   .leave = leave,
                                                   .enter = enter,
                                                   .wait = wait_until,
                                                   .context = context_of,
                                                   .has_ended = has_ended,
                                                   .program = program,
                                                   .free = free_programs};
