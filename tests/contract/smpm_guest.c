// SPDX-License-Identifier: MIT
// A Linux program runs on a machine with hierarchical counters. Blocks of device, VM and context
// must hold the machine's own counts. The machine must count the same numbers without them. Usage:
// smpm_guest MACHINE PROFILE PROGRAM. Exit status: 0 they agree, 1 they do not, 2 usage.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "engines.h"
#include "linux/os.h"
#include "machine/keys.h"
#include "session/description.h"
#include "smpm_views.h"

enum { MIN_EVENTS = 30, AFTER_CYCLES = 2000000, STEP_CYCLES = 500 };

static void die(const char *what) {
    fprintf(stderr, "smpm_guest: %s\n", what);
    exit(1);
}

static tl_machine *run(const char *name, tl_smpm_profile profile, char *program, int null_fd) {
    static char *const no_env[] = {NULL};
    char *const argv[] = {program, NULL};
    const tl_os_options options = {.program = program, .argv = argv, .envp = no_env, .std_fd = {null_fd, null_fd, null_fd}};
    const tl_os_limits limits = {.until_cycle = UINT64_MAX, .until_instret = UINT64_MAX, .break_pc = {TL_NO_LINE, TL_NO_LINE}};
    const fast_engine *engine = engine_named("mixed") ? engine_named("mixed") : engine_named("interp");
    tl_config config;
    tl_machine *machine = NULL;
    tl_os *os = NULL;
    tl_os_report report = {0};
    tl_error err = {0};
    if (tl_description_open(name, &config, &err) != TL_OK)
        die(err.text);
    tl_keys_set(&config, "smpm.profile", profile);
    if (machine_with(engine, &config, &machine, &err) != TL_OK || tl_os_new(machine, &options, &os, &err) != TL_OK ||
        tl_os_run(os, &limits, &report, &err) != TL_OK)
        die(err.text);
    if (report.stop != TL_OS_EXITED || report.exit_status != 0)
        die("the program did not end well");
    tl_machine_sync(machine);
    tl_os_free(os);
    return machine;
}

static uint64_t end_of(const tl_machine *machine) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < machine->n_harts; i++)
        end = machine->harts[i]->now > end ? machine->harts[i]->now : end;
    return end;
}

// Idle time goes on after the end.
static bool is_idle_time(const tl_event *event) { return strcmp(event->name, "hart.idle_cycle") == 0; }

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    const tl_smpm_profile profile = strcmp(argv[2], "safe") == 0 ? TL_SMPM_SAFE : TL_SMPM_LITERAL;
    tl_machine *machine = run(argv[1], profile, argv[3], null_fd), *plain = run(argv[1], TL_SMPM_NONE, argv[3], null_fd);
    if (machine->probe.n_cells != plain->probe.n_cells ||
        memcmp(machine->tally, plain->tally, plain->probe.n_cells * sizeof *plain->tally) != 0)
        die("the machine counts otherwise with the counters attached");
    uint64_t now = end_of(machine) + AFTER_CYCLES; // taps tell what is left, channels commit
    (void)tl_machine_tick(machine, now);
    while (smpm_is_committing(machine))
        (void)tl_machine_tick(machine, now += STEP_CYCLES);
    const uint32_t n = smpm_compare(machine, is_idle_time);
    printf("%u events that are not 0 agree in %d views\n", n, SMPM_N_BLOCKS);
    tl_machine_free(machine);
    tl_machine_free(plain);
    close(null_fd);
    return n >= MIN_EVENTS ? 0 : 1;
}
