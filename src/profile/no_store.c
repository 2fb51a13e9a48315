// SPDX-License-Identifier: MIT
// The file of a profile in a build without SQLite: there is none.
#include "profile/profile.h"

static tl_status no_store(tl_error *err) {
    return tl_fail(err, TL_ENOENT, "this build of tally has no SQLite, so no profiles; build it with libsqlite3-dev");
}

tl_status tl_profile_write(const tl_profile *profile, FILE *stream, const char *name, tl_error *err) {
    (void)profile, (void)stream, (void)name;
    return no_store(err);
}

tl_status tl_profile_open(const char *path, tl_profile **ret_profile, tl_error *err) {
    (void)path, (void)ret_profile;
    return no_store(err);
}

tl_status tl_profile_read(const void *bytes, size_t n_bytes, const char *name, tl_profile **ret_profile, tl_error *err) {
    (void)bytes, (void)n_bytes, (void)name, (void)ret_profile;
    return no_store(err);
}
