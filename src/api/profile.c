// SPDX-License-Identifier: MIT
// tally/profile.h over session/recording.h, profile/profile.h and report/profile.h.
#include <tally/profile.h>

#include <string.h>

#include "profile/profile.h"
#include "report/profile.h"
#include "session/recording.h"

// Both are inner types by their public names.
static tl_recording *recording_of(tl_recorder *recorder) { return (tl_recording *)recorder; }
static const tl_profile *profile_of(const tl_profile_view *view) { return (const tl_profile *)view; }

TL_API tl_status tl_recorder_new(tl_run *run, bool with_calls, tl_recorder **ret_recorder, tl_error *err) {
    tl_recording *recording;
    tl_status status = tl_recording_new((tl_session *)run, with_calls, &recording, err);
    if (status == TL_OK)
        *ret_recorder = (tl_recorder *)recording;
    return status;
}

TL_API tl_status tl_recorder_write(tl_recorder *recorder, bool with_sources, FILE *stream, const char *name, tl_error *err) {
    tl_profile *profile;
    tl_status status = tl_recording_end(recording_of(recorder), with_sources, &profile, err);
    if (status != TL_OK)
        return status;
    status = tl_profile_write(profile, stream, name, err);
    tl_profile_release(profile);
    return status;
}

TL_API void tl_recorder_free(tl_recorder *recorder) { tl_recording_free(recording_of(recorder)); }

TL_API tl_status tl_profile_view_open(const char *path, tl_profile_view **ret_view, tl_error *err) {
    tl_profile *profile;
    tl_status status = tl_profile_open(path, &profile, err);
    if (status == TL_OK)
        *ret_view = (tl_profile_view *)profile;
    return status;
}

TL_API void tl_profile_view_close(tl_profile_view *view) { tl_profile_release((tl_profile *)view); }

// Members that the caller's header does not have are 0.
#define TAKE(Type, options) \
    Type taken = {0};       \
    memcpy(&taken, options, (options)->size < sizeof taken ? (options)->size : sizeof taken)

TL_API tl_status tl_profile_report(const tl_profile_view *view, const tl_profile_report_options *options, FILE *stream, tl_error *err) {
    TAKE(tl_profile_report_options, options);
    if ((taken.callers != NULL) + (taken.callees != NULL) + taken.with_children > 1)
        return tl_fail(err, TL_EINVAL, "--children, --callers and --callees are three tables; give one");
    return tl_report_profile(profile_of(view), &taken, stream, err);
}

TL_API tl_status tl_profile_annotate(const tl_profile_view *view, const tl_profile_annotate_options *options, FILE *stream, tl_error *err) {
    TAKE(tl_profile_annotate_options, options);
    if (!taken.place)
        return tl_fail(err, TL_EINVAL, "no function and no file is named");
    return tl_report_profile_annotate(profile_of(view), &taken, stream, err);
}

TL_API tl_status tl_profile_page(const tl_profile_view *view, const tl_profile_page_options *options, FILE *stream, tl_error *err) {
    TAKE(tl_profile_page_options, options);
    return tl_report_profile_page(profile_of(view), &taken, stream, err);
}

TL_API tl_status tl_profile_compare(const tl_profile_view *before, const tl_profile_view *after, const tl_profile_report_options *options,
                                    FILE *stream, tl_error *err) {
    TAKE(tl_profile_report_options, options);
    return tl_report_profile_diff(profile_of(before), profile_of(after), &taken, stream, err);
}
