// SPDX-License-Identifier: MIT
// Bytes as a profile: refused, or a profile whose tables can be printed.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"
#include "report/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tl_profile *profile;
    if (tl_profile_read(data, size, "fuzz", &profile, NULL) != TL_OK)
        return 0;
    FILE *nowhere = fopen("/dev/null", "w");
    tl_profile_report_options report = {.size = sizeof report, .sort = "dso,symbol,srcline,insn,thread,process"};
    tl_profile_annotate_options annotate = {.size = sizeof annotate, .without_sources = true, .hot_percent = 10};
    if (nowhere) {
        (void)!tl_report_profile(profile, &report, nowhere, NULL);
        annotate.place = profile->n_functions > 0 ? profile->functions[0].name : "f";
        (void)!tl_report_profile_annotate(profile, &annotate, nowhere, NULL);
        annotate.place = profile->n_sources > 0 ? profile->sources[0].path : "f.c";
        (void)!tl_report_profile_annotate(profile, &annotate, nowhere, NULL);
        (void)!tl_report_profile_diff(profile, profile, &report, nowhere, NULL);
        fclose(nowhere);
    }
    tl_profile_release(profile);
    return 0;
}
