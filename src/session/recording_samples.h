// SPDX-License-Identifier: MIT
// Samples of a PMU in a recording: numbers of samples by row of the attribution.
#ifndef TL_SESSION_RECORDING_SAMPLES_H
#define TL_SESSION_RECORDING_SAMPLES_H

#include "profile/profile.h"
#include "session/run.h"

typedef struct tl_recorded_samples {
    const struct tl_source *source; // NULL: nothing is sampled
    const struct tl_attribution *attribution;
    uint64_t period;
    uint64_t *lost;      // by event
    uint64_t *counts;    // [n_rows][n_events]
    uint64_t *distances; // [n_events][TL_PROFILE_DISTANCES]
    uint32_t n_rows, room;
    bool lacks_memory;
} tl_recorded_samples;

// Between tl_session_new and tl_session_load.
TL_MUST_CHECK tl_status tl_recorded_samples_begin(tl_session *session, const struct tl_attribution *attribution, uint64_t period,
                                                  tl_recorded_samples *samples, tl_error *err);
// Adds them to the profile, whose instructions and threads of rows are those.
TL_MUST_CHECK tl_status tl_recorded_samples_end(const tl_recorded_samples *samples, const struct tl_outline *outline, tl_profile *p,
                                                const uint32_t *insn_of_row, const uint32_t *thread_of_row, tl_error *err);
void tl_recorded_samples_done(tl_recorded_samples *samples);

#endif
