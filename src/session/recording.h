// SPDX-License-Identifier: MIT
// Records where a run's counts come from: attaches an attribution and a code map before the run,
// and makes a profile of them after it.
#ifndef TL_SESSION_RECORDING_H
#define TL_SESSION_RECORDING_H

#include "profile/profile.h"
#include "session/run.h"

typedef struct tl_recording tl_recording;

// Between tl_session_new and tl_session_load. TL_EINVAL: this machine or these options do not book
// counts by instruction; the error says why. with_calls: the profile has calling contexts.
TL_MUST_CHECK tl_status tl_recording_new(tl_session *session, bool with_calls, tl_recording **ret_recording, tl_error *err);
// After the last tl_session_advance. Checks that the counts by instruction sum up to the totals.
// with_sources: the profile holds the text of source files that this host has.
TL_MUST_CHECK tl_status tl_recording_end(tl_recording *recording, bool with_sources, tl_profile **ret_profile, tl_error *err);
void tl_recording_free(tl_recording *recording); // before the session's; NULL is fine

#endif
