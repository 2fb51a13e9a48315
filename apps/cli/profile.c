// SPDX-License-Identifier: MIT
// --host-profile: where the host's time went, as one JSON object, and what can be done about it.
// It is not a count, because it differs from run to run.
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

enum { LEAST_SAMPLES = 20, LEAST_PERCENT = 10 }; // of a share that is worth a sentence

typedef struct profile_share {
    const char *name;
    uint64_t n;
    const char *place;  // what the host did
    const char *remedy; // NULL: nothing is to be gained
} profile_share;

enum { N_SHARES = 6 };

static void list_shares(const tl_host_profile *sum, tl_engine engine, profile_share ret_shares[N_SHARES]) {
    static const char only_part[] = "count a part of the program, by --region or --max-insns";
    static const char other_engine[] = "leave --engine out, because its default is the fastest that this host can run";
    const bool is_step = engine == TL_ENGINE_STEP, is_interp = engine == TL_ENGINE_INTERP;
    const profile_share shares[N_SHARES] = {
        {"translated", sum->translated, NULL, NULL},
        {"models", sum->models, is_interp ? "in the interpreter and its models" : "in models of misses and rare instructions",
         is_interp ? other_engine : only_part},
        {"interpreted", sum->interpreted, "in blocks that ran too rarely to be translated",
         "longer runs translate more of them; --translate-after with a smaller number translates sooner"},
        {"translation", sum->translation, "in decoding and translating",
         "--translate-after with a larger number translates less; --code-cache with a larger size forgets less"},
        {"stepping", sum->stepping, "in instructions stepped one by one",
         is_step ? other_engine : "use longer intervals and sampling periods, because the instructions before their ends are stepped"},
        {"system", sum->system, "in system calls, devices and reads of counters",
         "use longer intervals; in the program, fewer and larger reads and writes"},
    };
    for (int i = 0; i < N_SHARES; i++)
        ret_shares[i] = shares[i];
}

static double percent_of(const tl_host_profile *sum, const profile_share *share) {
    return sum->n_samples > 0 ? 100.0 * (double)share->n / (double)sum->n_samples : 0;
}

bool cli_profile_advice(const tl_host_profile *sum, tl_engine engine, uint32_t index, char *ret_sentence, size_t n) {
    profile_share shares[N_SHARES];
    list_shares(sum, engine, shares);
    for (int i = 0; i < N_SHARES && sum->n_samples >= LEAST_SAMPLES; i++) {
        const double percent = percent_of(sum, &shares[i]);
        if (!shares[i].remedy || percent < LEAST_PERCENT || index-- > 0)
            continue;
        snprintf(ret_sentence, n, "%.0f %% of the host's time was spent %s: %s", percent, shares[i].place, shares[i].remedy);
        return true;
    }
    return false;
}

void cli_profile_write(FILE *stream, const tl_host_profile *sum, tl_engine engine, uint64_t host_ns, uint64_t instructions) {
    profile_share shares[N_SHARES];
    list_shares(sum, engine, shares);
    fprintf(stream, "{\"schema\": \"tally.host/1\", \"host_ns\": %llu, \"instructions\": %llu, \"samples\": %llu, \"shares\": {",
            (unsigned long long)host_ns, (unsigned long long)instructions, (unsigned long long)sum->n_samples);
    for (int i = 0; i < N_SHARES; i++)
        fprintf(stream, "%s\"%s\": %.4f", i > 0 ? ", " : "", shares[i].name, percent_of(sum, &shares[i]) / 100);
    fputs("}, \"advice\": [", stream);
    char sentence[CLI_SENTENCE_BYTES]; // without quotes and backslashes
    for (uint32_t i = 0; cli_profile_advice(sum, engine, i, sentence, sizeof sentence); i++)
        fprintf(stream, "%s\"%s\"", i > 0 ? ", " : "", sentence);
    fputs("]}\n", stream);
}
