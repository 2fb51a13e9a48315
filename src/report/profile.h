// SPDX-License-Identifier: MIT
// Reports about profiles: tables, annotated source, differences.
#ifndef TL_REPORT_PROFILE_H
#define TL_REPORT_PROFILE_H

#include <tally/profile.h>

#include "profile/profile.h"

TL_MUST_CHECK tl_status tl_report_profile(const tl_profile *profile, const tl_profile_report_options *options, FILE *stream, tl_error *err);
// tl_profile_report_options.against_truth.
TL_MUST_CHECK tl_status tl_report_profile_truth(const tl_profile *profile, const tl_profile_report_options *options, FILE *stream,
                                                tl_error *err);
TL_MUST_CHECK tl_status tl_report_profile_annotate(const tl_profile *profile, const tl_profile_annotate_options *options, FILE *stream,
                                                   tl_error *err);
TL_MUST_CHECK tl_status tl_report_profile_page(const tl_profile *profile, const tl_profile_page_options *options, FILE *stream,
                                               tl_error *err);
TL_MUST_CHECK tl_status tl_report_profile_diff(const tl_profile *before, const tl_profile *after, const tl_profile_report_options *options,
                                               FILE *stream, tl_error *err);

#endif
