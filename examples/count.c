// SPDX-License-Identifier: MIT
// Counts the instructions and cycles of a RISC-V program: cc count.c $(pkg-config --cflags --libs tally) -o count
#include <stdio.h>

#include <tally/run.h>

static int fail(const tl_error *err) {
    fprintf(stderr, "count: %s\n", err->text);
    return 1;
}

int main(int argc, char **argv) {
    tl_run_options options;
    tl_run *run = NULL;
    tl_result *result = NULL;
    tl_run_state state = TL_RUN_GOING;
    tl_error err = {0};
    tl_run_options_init(&options);
    options.program = argc > 1 ? argv[1] : "./prog";
    if (tl_run_new(&options, &run, &err) != TL_OK || tl_run_load(run, &err) != TL_OK)
        return fail(&err);
    while (state != TL_RUN_ENDED) {
        if (tl_run_advance(run, 1000000, &state, &err) != TL_OK)
            return fail(&err);
    }
    if (tl_run_result(run, &result, &err) != TL_OK)
        return fail(&err);
    uint64_t instructions, cycles;
    if (tl_result_find(result, "instructions", NULL, &instructions) == TL_OK && tl_result_find(result, "cycles", NULL, &cycles) == TL_OK)
        printf("%llu instructions, %llu cycles\n", (unsigned long long)instructions, (unsigned long long)cycles);
    tl_result_free(result);
    tl_run_free(run);
    return 0;
}
