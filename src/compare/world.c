// SPDX-License-Identifier: MIT
// A machine and the Linux personality on it, without what a session adds.
#include "compare/world.h"

tl_status tl_world_open(const tl_compare_setup *setup, tl_world *ret_world, tl_error *err) {
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
    tl_world world = {.setup = setup};
    tl_status status = tl_machine_new(&setup->config, setup->engine, &world.machine, err);
    if (status == TL_OK)
        status = tl_os_new(world.machine, &options, &world.os, err);
    if (status != TL_OK) {
        tl_world_close(&world);
        return status;
    }
    *ret_world = world;
    return TL_OK;
}

uint64_t tl_world_program_insns(const tl_world *world) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < world->machine->n_harts; i++)
        sum += world->machine->harts[i]->instret;
    return sum - world->reader_insns;
}

uint64_t tl_world_cycles(const tl_world *world) { return tl_os_now_cycles(world->os); }

tl_status tl_world_run(tl_world *world, uint64_t cycle, uint64_t insns, tl_error *err) {
    uint64_t bound = world->setup->max_insns;
    if (world->has_ended)
        return TL_OK;
    insns = insns < bound ? insns : bound;
    const tl_os_limits limits = {.until_cycle = cycle, .until_instret = insns + world->reader_insns, .break_pc = {TL_NO_LINE, TL_NO_LINE}};
    tl_status status = tl_os_run(world->os, &limits, &world->report, err);
    if (status != TL_OK)
        return status;
    world->is_bounded = world->report.stop == TL_OS_LIMIT && tl_world_program_insns(world) >= bound;
    world->has_ended = world->report.stop != TL_OS_LIMIT || world->is_bounded;
    if (!world->has_ended && world->setup->run.wants_stop && world->setup->run.wants_stop(world->setup->run.ctx))
        return tl_fail(err, TL_EIO, "the comparison was interrupted");
    return TL_OK;
}

void tl_world_close(tl_world *world) {
    tl_os_free(world->os);
    tl_machine_free(world->machine);
    *world = (tl_world){0};
}
