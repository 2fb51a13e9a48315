// SPDX-License-Identifier: MIT
// Writes the device tree of a default machine to a file: dump_tree ISA FILE HARTS RAM_MIB. The
// board has a disk and an initrd, and RISC-V a PMU of made-up rows, so that every part of the tree
// is there.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/board.h"
#include "isa/a64/step/step.h"
#include "model/engine.h"

int main(int argc, char **argv) {
    static const tl_pmu_tree_event events[] = {{0x1, 1}, {0x2, 2}};
    static const tl_pmu_tree_counters counters[] = {{0x1, 0x2, 0xfffffff8}};
    static const tl_pmu_tree_raw raw[] = {{0, UINT64_C(0xffffffffffff0000), 0xfffffff8}};
    static const tl_pmu_tree pmu = {
        .has_sscofpmf = true, .events = events, .counters = counters, .raw = raw, .n_events = 2, .n_counters = 1, .n_raw = 1};
    static uint8_t tree[65536];
    if (argc != 5)
        return 2;
    tl_config config;
    tl_config_default(&config);
    const bool is_arm = strcmp(argv[1], "aarch64") == 0;
    config.isa = is_arm ? TL_ISA_AARCH64 : TL_ISA_RISCV64;
    config.n_harts = (uint32_t)atoi(argv[3]);
    config.ram_bytes = (uint64_t)atoi(argv[4]) << 20;
    tl_machine *machine = NULL;
    tl_board board;
    tl_error err;
    tl_system_options options = {.disk = argv[0], .console_in = -1, .console_out = -1};
    tl_status status = tl_machine_new(&config, is_arm ? &tl_engine_a64_step : &tl_engine_step, &machine, &err);
    if (status == TL_OK)
        status = tl_board_init(&board, machine, &options, &err);
    if (status == TL_OK) {
        board.pmu = is_arm ? NULL : &pmu;
        status = tl_board_device_tree(&board, "console=ttyS0", (tl_initrd_range){0x84000000, 0x84100000}, tree, sizeof tree, &err);
        tl_board_done(&board);
    }
    tl_machine_free(machine);
    FILE *file = status == TL_OK ? fopen(argv[2], "wb") : NULL;
    if (status != TL_OK)
        fprintf(stderr, "%s\n", err.text);
    // The total size stands in the second word, big endian.
    size_t n = (size_t)tree[4] << 24 | (size_t)tree[5] << 16 | (size_t)tree[6] << 8 | tree[7];
    bool is_written = file && fwrite(tree, 1, n, file) == n;
    if (file && fclose(file) != 0)
        is_written = false;
    return is_written ? 0 : 1;
}
