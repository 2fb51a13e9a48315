// SPDX-License-Identifier: MIT
// Runs one program on the default machine. Prints nothing but the program's output, and exits as it
// does: 128 + N after signal N, 125 when it could not be run. Serves tests of the personality that
// need no command line.
//
//   run_guest [-n HARTS] [-e block|step|translate] [-m MIB] [-q SLICE] [-i INSNS] [-r ROOT]
//             [-s] [-v] PROGRAM [ARGUMENT...]
//
//   -i  stop and continue every so many instructions, which must change nothing
//   -s  print the sum of all tallies at the end
//   -v  print the reason of the end, and check the conservation identities
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux/os.h"

static void warn(void *ctx, const char *sentence) {
    (void)ctx;
    fprintf(stderr, "run_guest: %s\n", sentence);
}

static int failed(const tl_error *err) {
    fprintf(stderr, "run_guest: %s\n", err->text);
    return 125;
}

int main(int argc, char **argv) {
    tl_config config;
    tl_error err = {.status = TL_OK};
    const tl_engine_type *core = &tl_engine_interp;
    tl_machine *machine = NULL;
    tl_os *os = NULL;
    tl_os_report report;
    uint64_t step = UINT64_MAX;
    bool is_verbose = false, wants_sum = false;
    char *const no_env[] = {NULL};
    tl_os_options options = {.envp = no_env, .std_fd = {0, 1, 2}, .warn = warn};
    int option;
    tl_config_default(&config);
    while ((option = getopt(argc, argv, "+n:e:m:q:i:r:sv")) != -1) {
        switch (option) {
        case 'n': config.n_harts = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'e': core = optarg[0] == 's' ? &tl_engine_step : optarg[0] == 't' ? &tl_engine_translate : &tl_engine_interp; break;
        case 'm': config.ram_bytes = strtoull(optarg, NULL, 10) << 20; break;
        case 'q': config.os.slice_cycles = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'i': step = strtoull(optarg, NULL, 10); break;
        case 'r': options.root = optarg; break;
        case 's': wants_sum = true; break;
        case 'v': is_verbose = true; break;
        default: return 125;
        }
    }
    if (optind >= argc) {
        fprintf(stderr, "run_guest: which program?\n");
        return 125;
    }
    options.program = argv[optind];
    options.argv = argv + optind;
    if (tl_machine_new(&config, core, &machine, &err) != TL_OK)
        return failed(&err);
    if (tl_os_new(machine, &options, &os, &err) != TL_OK) {
        tl_machine_free(machine);
        int status = err.status == TL_ENOENT ? 127 : err.status == TL_EACCESS || err.status == TL_EFORMAT ? 126 : 125;
        failed(&err);
        return status;
    }
    tl_os_limits limits = {.until_cycle = UINT64_MAX, .until_instret = step, .break_pc = {UINT64_MAX, UINT64_MAX}};
    do {
        if (tl_os_run(os, &limits, &report, &err) != TL_OK)
            return failed(&err);
        limits.until_instret += step;
    } while (report.stop == TL_OS_LIMIT);

    tl_machine_sync(machine);
    if (is_verbose || report.stop == TL_OS_DEADLOCK)
        fprintf(stderr, "run_guest: %s%s%" PRIu64 " cycles, %" PRIu64 " instructions, %" PRIu64 " KiB\n", report.message,
                report.message[0] ? "; " : "", tl_os_now_cycles(os), tl_machine_sum(machine, TL_S_HART_INSTRET),
                tl_os_resident_bytes(os) >> 10);
    if (is_verbose && tl_machine_check_identities(machine, &err) != TL_OK)
        failed(&err);
    if (wants_sum) {
        uint64_t sum = 0;
        for (uint32_t cell = 0; cell < machine->probe.n_cells; ++cell)
            sum = (sum ^ machine->tally[cell]) * UINT64_C(0x9e3779b97f4a7c15) + 1;
        fprintf(stderr, "run_guest: tallies %016" PRIx64 "\n", sum);
    }
    int status = report.stop == TL_OS_EXITED ? report.exit_status : report.stop == TL_OS_KILLED ? 128 + report.signal : 125;
    tl_os_free(os);
    tl_machine_free(machine);
    return status;
}
