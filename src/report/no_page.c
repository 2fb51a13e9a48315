// SPDX-License-Identifier: MIT
// Stands in for profile_page.c where the page's packages were not there when this was built.
#include "report/profile.h"

tl_status tl_report_profile_page(const tl_profile *profile, const tl_profile_page_options *options, FILE *stream, tl_error *err) {
    (void)profile, (void)options, (void)stream;
    return tl_fail(err, TL_ENOENT,
                   "--html: this build has no page, because the npm packages of src/report/page were missing; "
                   "run tools/install-deps build, and build again");
}
