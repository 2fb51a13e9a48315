// SPDX-License-Identifier: MIT
// tally/run.h over session/run.h.
#include <tally/run.h>

#include "session/run.h"

// A tl_run is a session by its public name; neither type is ever complete outside session/run.c.
static tl_session *session_of(tl_run *run) { return (tl_session *)run; }

TL_API const char *tl_version(void) { return tl_session_version(); }

TL_API void tl_run_options_init(tl_run_options *ret_options) { tl_session_options_init(ret_options); }

TL_API tl_status tl_run_new(const tl_run_options *options, tl_run **ret_run, tl_error *err) {
    tl_session *session;
    tl_status status = tl_session_new(options, &session, err);
    if (status == TL_OK)
        *ret_run = (tl_run *)session;
    return status;
}

TL_API tl_status tl_run_load(tl_run *run, tl_error *err) { return tl_session_load(session_of(run), err); }

TL_API tl_status tl_run_advance(tl_run *run, uint64_t max_instructions, tl_run_state *ret_state, tl_error *err) {
    return tl_session_advance(session_of(run), max_instructions, ret_state, err);
}

TL_API void tl_run_stop(tl_run *run, tl_end_reason reason, int signal) { tl_session_stop(session_of(run), reason, signal); }

TL_API tl_status tl_run_result(tl_run *run, tl_result **ret_result, tl_error *err) {
    return tl_session_result(session_of(run), ret_result, err);
}

TL_API tl_status tl_run_interval(tl_run *run, tl_result **ret_result, tl_error *err) {
    return tl_session_interval(session_of(run), ret_result, err);
}

TL_API bool tl_run_has_written(const tl_run *run, int fd) { return tl_session_has_written((const tl_session *)run, fd); }
TL_API const char *tl_run_host_path(const tl_run *run, uint32_t index) { return tl_session_host_path((const tl_session *)run, index); }

TL_API void tl_run_progress(const tl_run *run, tl_progress *ret_progress) { tl_session_progress((const tl_session *)run, ret_progress); }

TL_API void tl_run_host_profile(const tl_run *run, tl_host_profile *ret_profile) {
    tl_session_host_profile((const tl_session *)run, ret_profile);
}

TL_API void tl_run_free(tl_run *run) { tl_session_free(session_of(run)); }
