// SPDX-License-Identifier: MIT
// Each step of a switch is left out, and each wrong design is built, in both profiles. An invariant
// must fail, or the table says why the step is redundant; then nothing may fail. docs/smpm.md shows
// the table.
#include "pmu/smpm/test_trial.h"

typedef struct row {
    const char *name;
    uint32_t mutation;
    bool is_redundant[3]; // by profile
    uint32_t n_shared, stall_percent;
} row;

static const row rows[] = {
    {"CS2", TL_SMPM_NO_CS2, {[TL_SMPM_LITERAL] = true}, 0, 15},           // CS4 lowers enable and waits for every final frame
    {"CS3", 3, {[TL_SMPM_SAFE] = true, [TL_SMPM_LITERAL] = true}, 0, 15}, // a pulse drains empty banks; CS11 sets the period anew
    {"CS4", 4, {0}, 0, 15},
    {"CS5", 5, {0}, 0, 15},
    {"CS5b", TL_SMPM_NO_CS5B, {[TL_SMPM_LITERAL] = true}, 6, 0}, // without FIXED routing shared values reach no tenant
    {"CS6", 6, {0}, 0, 15},
    {"CS7", 7, {0}, 0, 15},
    {"CS8", 8, {[TL_SMPM_SAFE] = true, [TL_SMPM_LITERAL] = true}, 0, 15}, // the host's state, not the monitor's
    {"CS9", 9, {[TL_SMPM_SAFE] = true, [TL_SMPM_LITERAL] = true}, 0, 15}, // final frames and the flush left nothing
    {"CS10", 10, {0}, 0, 15},
    {"CS11", 11, {0}, 0, 15},
    {"CS12", 12, {0}, 0, 15},
    {"CS13", 13, {[TL_SMPM_SAFE] = true, [TL_SMPM_LITERAL] = true}, 0, 15}, // the host resumes; the monitor has nothing to do
    {"CS7 and CS10 swapped", TL_SMPM_SWAP_CS7_CS10, {0}, 0, 15},
    {"M-ACC", TL_SMPM_M_ACC, {0}, 0, 15},
    {"M-ACK", TL_SMPM_M_ACK, {0}, 0, 15},
    {"M-BANK", TL_SMPM_M_BANK, {0}, 0, 0},
    {"M-RES", TL_SMPM_M_RES, {0}, 0, 15},
    {"M-RESET", TL_SMPM_M_RESET, {0}, 0, 15},
    {"M-BLIND", TL_SMPM_M_BLIND, {0}, 0, 15},
};

static void test_every_mutation_is_caught_or_argued_away(void **state) {
    (void)state;
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++)
        for (tl_smpm_profile profile = TL_SMPM_SAFE; profile <= TL_SMPM_LITERAL; profile++) {
            trial *t = calloc(1, sizeof *t);
            t->n_partitions = rows[i].n_shared ? 2 : 4;
            t->n_units = 2;
            t->n_shared = rows[i].n_shared;
            t->stall_percent = rows[i].stall_percent;
            trial_open(t, profile, 11, 1u << rows[i].mutation);
            trial_run(t, rows[i].n_shared ? 25 : 200);
            char found[200] = "";
            for (uint32_t k = 0; k < N_INVARIANTS; k++)
                if (t->fails[k])
                    snprintf(found + strlen(found), sizeof found - strlen(found), " %s", invariant_names[k]);
            print_message("%-8s %-22s%s\n", profile == TL_SMPM_SAFE ? "SAFE" : "LITERAL", rows[i].name, found);
            if ((n_fails(t) == 0) != rows[i].is_redundant[profile])
                fail_msg("%s in %s: the table says otherwise", rows[i].name, profile == TL_SMPM_SAFE ? "SAFE" : "LITERAL");
            rig_close(&t->r);
            free(t);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_mutation_is_caught_or_argued_away),
};
TL_TEST_MAIN(tests)
