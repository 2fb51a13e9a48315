// SPDX-License-Identifier: MIT
// --host-profile: where the host's time went, as one JSON object. It is not a count, because it
// differs from run to run.
#include "options.h"

void cli_profile_add(const tl_run *run, tl_host_profile *sum) {
    tl_host_profile seen = {.size = sizeof seen};
    tl_run_host_profile(run, &seen);
    sum->n_samples += seen.n_samples;
    sum->translated += seen.translated;
    sum->models += seen.models;
    sum->translation += seen.translation;
    sum->stepping += seen.stepping;
    sum->interpreted += seen.interpreted;
    sum->system += seen.system;
}

void cli_profile_write(FILE *stream, const tl_host_profile *sum, uint64_t host_ns, uint64_t instructions) {
    const struct {
        const char *name;
        uint64_t n;
    } shares[] = {{"translated", sum->translated},   {"models", sum->models},     {"interpreted", sum->interpreted},
                  {"translation", sum->translation}, {"stepping", sum->stepping}, {"system", sum->system}};
    fprintf(stream, "{\"schema\": \"tally.host/1\", \"host_ns\": %llu, \"instructions\": %llu, \"samples\": %llu, \"shares\": {",
            (unsigned long long)host_ns, (unsigned long long)instructions, (unsigned long long)sum->n_samples);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        fprintf(stream, "%s\"%s\": %.4f", i > 0 ? ", " : "", shares[i].name,
                sum->n_samples > 0 ? (double)shares[i].n / (double)sum->n_samples : 0);
    fputs("}}\n", stream);
}
