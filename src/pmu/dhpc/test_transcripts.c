// SPDX-License-Identifier: MIT
// Replays transcripts/*.txt.
#include "model/test_transcript.h"
#include "pmu/dhpc/dhpc.h"

static void test_transcripts_replay(void **state) {
    (void)state;
    assert_true(replay_folder(&tl_pmu_dhpc, "src/pmu/dhpc/transcripts") >= 8);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_transcripts_replay)};
TL_TEST_MAIN(tests)
