// SPDX-License-Identifier: MIT
// One run from options to result: machine, program, region of interest, intervals, limits.
// tally/run.h documents the functions, and src/api exports them.
#ifndef TL_SESSION_RUN_H
#define TL_SESSION_RUN_H

#include <tally/reading.h>
#include <tally/run.h>

#include "base/status.h"
#include "model/engine.h"
#include "model/tap.h"

typedef struct tl_session tl_session;
struct tl_code_map;     // model/code_map.h
struct tl_sample_taker; // session/source.h
struct tl_source;

// The engine that executes machines of this instruction set. NULL: there is none on this host.
const tl_engine_type *tl_session_engine(tl_engine engine, tl_isa_number isa);
// Fails with the sentence that tells why tl_session_engine returned NULL.
TL_MUST_CHECK tl_status tl_session_no_engine(const tl_config *config, tl_error *err);
void tl_session_options_init(tl_run_options *ret_options);
TL_MUST_CHECK tl_status tl_session_new(const tl_run_options *options, tl_session **ret_session, tl_error *err);
TL_MUST_CHECK tl_status tl_session_load(tl_session *session, tl_error *err);
TL_MUST_CHECK tl_status tl_session_advance(tl_session *session, uint64_t max_instructions, tl_run_state *ret_state, tl_error *err);
void tl_session_stop(tl_session *session, tl_end_reason reason, int signal);
TL_MUST_CHECK tl_status tl_session_result(tl_session *session, tl_result **ret_result, tl_error *err);
TL_MUST_CHECK tl_status tl_session_interval(tl_session *session, tl_result **ret_result, tl_error *err);
TL_MUST_CHECK tl_status tl_session_read_pmu(tl_session *session, const char *pmu, tl_reading **ret_reading, tl_error *err);
// Whether cycle records can be had: the number of harts, and the disassembler of their ISA.
// TL_EINVAL: no detailed core, or several regions of interest.
TL_MUST_CHECK tl_status tl_session_can_tap(const tl_session *session, uint32_t *ret_n_harts,
                                           void (**ret_disassemble)(uint32_t bits, uint64_t pc, char *buffer, size_t size), tl_error *err);
// Attaches a tap to every hart, with a region of interest during its visits. NULL: detaches.
TL_MUST_CHECK tl_status tl_session_tap(tl_session *session, tl_tap *tap, tl_error *err);
bool tl_session_has_written(const tl_session *session, int fd);
const char *tl_session_host_path(const tl_session *session, uint32_t index); // tl_run_host_path
void tl_session_progress(const tl_session *session, tl_progress *ret_progress);
void tl_session_host_profile(const tl_session *session, tl_host_profile *ret_profile);
// Parts that a recording reads (recording.h). They live as long as the session.
typedef struct tl_session_parts {
    struct tl_machine *machine;
    struct tl_guest *guest; // NULL: not loaded
    const struct tl_outline *outline;
    const tl_run_options *options;
    bool has_events; // the user named some
    bool is_partial; // counts are of windows, or follow a fast-forward
    bool has_regions;
    uint64_t now_cycles;
    tl_end_reason reason;
    int status, signal;
} tl_session_parts;
tl_session_parts tl_session_parts_of(tl_session *session);
// Before tl_session_load, with options.sample_period: the pmu of the options samples into
// `sampling`. Returns its events. TL_EINVAL: it does not interrupt.
TL_MUST_CHECK tl_status tl_session_sample(tl_session *session, const struct tl_sample_taker *sampling, const struct tl_source **ret_source,
                                          tl_error *err);
// Losses up to now are told to the taker.
void tl_session_tell_losses(tl_session *session);
// `interval` is called at the end of each interval but the last, when tallies are synced, and
// `visit` (tl_region_visit_fn) at borders of regions. NULL: nothing is.
void tl_session_watch_course(tl_session *session, void (*interval)(void *ctx, uint64_t now_cycles),
                             void (*visit)(void *ctx, uint32_t region, const char *name, bool is_begin, uint64_t cycle), void *ctx);
// Before tl_session_load. NULL: none.
void tl_session_set_code_map(tl_session *session, struct tl_code_map *map);
void tl_session_free(tl_session *session); // NULL is fine
const char *tl_session_version(void);

#endif
