// SPDX-License-Identifier: MIT
// A machine with the Linux personality, without a session's additions.
#include "compare/environment.h"

tl_status tl_environment_open(const tl_compare_setup *setup, tl_environment *ret_environment, tl_error *err) {
    const tl_run_options *run = &setup->run;
    const tl_os_options options = {
        .program = run->program,
        .argv = (char *const *)(uintptr_t)run->argv, // not written to
        .envp = (char *const *)(uintptr_t)run->env,
        .sysroot = run->sysroot,
        .root = run->root,
        .allow_network = run->allow_network,
        .std_fd = {run->std_fd[0], run->std_fd[1], run->std_fd[2]},
        .warn = run->warn,
        .wants_stop = run->wants_stop,
        .ctx = run->ctx,
    };
    tl_environment environment = {.setup = setup};
    tl_status status = tl_machine_new(&setup->config, setup->engine, &environment.machine, err);
    if (status == TL_OK)
        status = tl_os_new(environment.machine, &options, &environment.os, err);
    if (status != TL_OK) {
        tl_environment_close(&environment);
        return status;
    }
    *ret_environment = environment;
    return TL_OK;
}

uint64_t tl_environment_program_insns(const tl_environment *environment) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < environment->machine->n_harts; i++)
        sum += environment->machine->harts[i]->instret;
    return sum - environment->reader_insns;
}

uint64_t tl_environment_cycles(const tl_environment *environment) { return tl_os_now_cycles(environment->os); }

tl_status tl_environment_run(tl_environment *environment, uint64_t cycle, uint64_t insns, tl_error *err) {
    uint64_t bound = environment->setup->max_insns;
    if (environment->has_ended)
        return TL_OK;
    insns = insns < bound ? insns : bound;
    const tl_os_limits limits = {
        .until_cycle = cycle, .until_instret = insns + environment->reader_insns, .break_pc = {TL_NO_LINE, TL_NO_LINE}};
    tl_status status = tl_os_run(environment->os, &limits, &environment->report, err);
    if (status != TL_OK)
        return status;
    environment->is_bounded = environment->report.stop == TL_OS_LIMIT && tl_environment_program_insns(environment) >= bound;
    environment->has_ended = environment->report.stop != TL_OS_LIMIT || environment->is_bounded;
    if (!environment->has_ended && environment->setup->run.wants_stop && environment->setup->run.wants_stop(environment->setup->run.ctx))
        return tl_fail(err, TL_EIO, "the comparison was interrupted");
    return TL_OK;
}

void tl_environment_close(tl_environment *environment) {
    tl_os_free(environment->os);
    tl_machine_free(environment->machine);
    *environment = (tl_environment){0};
}
