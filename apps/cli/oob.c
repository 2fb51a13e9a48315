// SPDX-License-Identifier: MIT
// tally oob: commands of a chip's mailbox, one after the other over one connection.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tally/oob.h>

#include "options.h"

enum { MAX_TRIES = 200, PAUSE_NS = 5000000 };

typedef struct session {
    const cli_options *options;
    tl_oob *oob;
    const char *word; // the command under way
    tl_error err;
} session;

// Numbers of a command, such as vm and context of latch=2.0; false: `text` is none.
static bool read_numbers(const char *text, char gap, uint32_t *ret_numbers, unsigned n_least, unsigned n_most, unsigned *ret_n) {
    for (*ret_n = 0;; text++) {
        char *end;
        errno = 0;
        const unsigned long number = strtoul(text, &end, 0);
        if (*text < '0' || *text > '9' || errno != 0 || number > UINT32_MAX)
            return false;
        ret_numbers[(*ret_n)++] = (uint32_t)number;
        text = end;
        if (*text == '\0')
            return *ret_n >= n_least;
        if (*text != gap || *ret_n == n_most)
            return false;
    }
}

static int complain(const session *s, int status, const char *what) {
    fprintf(stderr, "tally: %s: %s\n", s->word, what);
    return status;
}

static int fail(const session *s) {
    fprintf(stderr, "tally: %s\n", s->err.text);
    return STATUS_FAILED;
}

static int refuse(const session *s, const tl_oob_answer *answer) {
    char text[200];
    const bool lacks_key = answer->status == TL_OOB_DENIED && !s->options->key;
    snprintf(text, sizeof text, "%s%s", tl_oob_status_name(answer->status),
             lacks_key                               ? "; this needs --key FILE, the key that the run was given"
             : answer->status == TL_OOB_STALE        ? "; nothing is latched, so write latch before read"
             : answer->status == TL_OOB_BAD_ARGUMENT ? "; the chip has no such block, metric or key"
                                                     : "");
    if (s->options->wants_json)
        printf("{\"command\":\"%s\",\"status\":\"%s\"}\n", s->word, tl_oob_status_name(answer->status));
    return complain(s, STATUS_FAILED, text);
}

static void wait_a_little(void) { nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL); }

static int run_id(session *s) {
    tl_oob_answer a = {.size = sizeof a};
    if (tl_oob_identify(s->oob, &a, &s->err) != TL_OK)
        return fail(s);
    if (a.status != TL_OOB_SUCCESS)
        return refuse(s, &a);
    const unsigned version = a.value & 0xffff, n_metrics = a.value >> 16 & 0xffff, n_blocks = (unsigned)(a.value >> 32);
    printf(s->options->wants_json ? "{\"command\":\"id\",\"status\":\"success\",\"version\":%u,\"metrics\":%u,\"blocks\":%u}\n"
                                  : "id: protocol %u, %u metrics, %u blocks\n",
           version, n_metrics, n_blocks);
    return 0;
}

static int run_state(session *s) {
    tl_oob_answer a = {.size = sizeof a};
    if (tl_oob_state(s->oob, &a, &s->err) != TL_OK)
        return fail(s);
    if (a.status != TL_OOB_SUCCESS)
        return refuse(s, &a);
    const unsigned n = a.value >> 8 & 0xff;
    if (s->options->wants_json)
        printf("{\"command\":\"state\",\"status\":\"success\",\"driver\":%s,\"lossy\":%s,\"overflow\":%s,\"partitions\":%u}\n",
               a.value & 1 ? "true" : "false", a.value & 2 ? "true" : "false", a.value & 4 ? "true" : "false", n);
    else
        printf("state: driver %s, %u partitions in use%s%s\n", a.value & 1 ? "loaded" : "not loaded", n, a.value & 2 ? ", lossy" : "",
               a.value & 4 ? ", overflow" : "");
    return 0;
}

static int run_idle(session *s) {
    tl_oob_answer a = {.size = sizeof a};
    if (tl_oob_idle(s->oob, &a, &s->err) != TL_OK)
        return fail(s);
    if (a.status != TL_OOB_SUCCESS)
        return refuse(s, &a);
    printf(s->options->wants_json ? "{\"command\":\"idle\",\"status\":\"success\",\"idle_cycles\":%" PRIu64 ",\"cycles\":%" PRIu64 "}\n"
                                  : "idle: %" PRIu64 " of %" PRIu64 " cycles since the last latch\n",
           a.value, a.total);
    return 0;
}

static int run_latch(session *s, const char *value) {
    tl_oob_answer a = {.size = sizeof a};
    uint32_t numbers[2] = {0};
    unsigned n = 0;
    if (value && !read_numbers(value, '.', numbers, 1, 2, &n))
        return complain(s, STATUS_USAGE, "write latch, latch=VM or latch=VM.CONTEXT, such as latch=2.0");
    const tl_oob_scope scope = n == 0 ? TL_OOB_DEVICE : n == 1 ? TL_OOB_VM : TL_OOB_CONTEXT;
    for (unsigned i = 0; i < MAX_TRIES; i++) {
        if (tl_oob_latch(s->oob, scope, numbers[0], numbers[1], &a, &s->err) != TL_OK)
            return fail(s);
        if (a.status != TL_OOB_BUSY)
            break;
        wait_a_little(); // a commit is under way
    }
    if (a.status != TL_OOB_SUCCESS)
        return refuse(s, &a);
    printf(s->options->wants_json ? "{\"command\":\"%s\",\"status\":\"success\",\"gen\":%" PRIu64 "}\n" : "%s: generation %" PRIu64 "\n",
           s->word, a.value & UINT32_MAX);
    return 0;
}

static int put_count(session *s, uint32_t metric, const tl_oob_answer *a) {
    tl_oob_answer named = {.size = sizeof named};
    char name[TL_OOB_NAME_BYTES] = "";
    if (tl_oob_name(s->oob, metric, name, &named, &s->err) != TL_OK)
        return fail(s);
    for (char *c = name; *c; c++) // a chip may send anything
        *c = *c > ' ' && *c < 0x7f && *c != '"' && *c != '\\' ? *c : '?';
    if (s->options->wants_json)
        printf("{\"command\":\"read\",\"status\":\"success\",\"metric\":%u,\"name\":\"%s\",\"count\":%" PRIu64
               ",\"lossy\":%s,\"inexact\":%s}\n",
               metric, name, a->value, a->is_lossy ? "true" : "false", a->is_inexact ? "true" : "false");
    else
        printf("  metric %3u  %-36s  %20" PRIu64 "%s%s\n", metric, name, a->value, a->is_lossy ? "  lossy" : "",
               a->is_inexact ? "  inexact" : "");
    return 0;
}

static int run_read(session *s, const char *value) {
    tl_oob_answer a = {.size = sizeof a};
    uint32_t metric = 0;
    unsigned n, n_zero = 0, n_missing = 0;
    if (value && !read_numbers(value, '.', &metric, 1, 1, &n))
        return complain(s, STATUS_USAGE, "write read, or read=INDEX with the number of a metric");
    for (;; metric++) {
        if (tl_oob_read(s->oob, metric, &a, &s->err) != TL_OK)
            return fail(s);
        if (!value && metric > 0 && a.status == TL_OOB_BAD_ARGUMENT)
            break; // beyond the last one
        if (!value && a.status == TL_OOB_UNAVAILABLE) {
            n_missing++;
            continue;
        }
        if (a.status != TL_OOB_SUCCESS)
            return refuse(s, &a);
        n_zero += a.value == 0;
        const int status = value || a.value != 0 || s->options->with_equal ? put_count(s, metric, &a) : 0;
        if (value || status != 0)
            return status;
    }
    if (!s->options->wants_json)
        printf("read: %u metrics, %u of them 0 and not shown, %u that nothing counts\n", metric, n_zero, n_missing);
    return 0;
}

static int run_config(session *s, const char *value) {
    tl_oob_answer a = {.size = sizeof a};
    uint32_t numbers[2];
    unsigned n;
    if (!value || !read_numbers(value, ':', numbers, 2, 2, &n))
        return complain(s, STATUS_USAGE, "write config=KEY:VALUE, such as config=0:1");
    if (tl_oob_configure(s->oob, numbers[0], numbers[1], &a, &s->err) != TL_OK)
        return fail(s);
    if (a.status != TL_OOB_SUCCESS)
        return refuse(s, &a);
    printf(s->options->wants_json ? "{\"command\":\"%s\",\"status\":\"success\"}\n" : "%s: done\n", s->word);
    return 0;
}

static int run_end(session *s) {
    tl_oob_answer a = {.size = sizeof a};
    if (tl_oob_end_session(s->oob, &a, &s->err) != TL_OK)
        return fail(s);
    printf(s->options->wants_json ? "{\"command\":\"end\",\"status\":\"success\"}\n" : "end: the session is over\n");
    return 0;
}

static int run_command(session *s) {
    const char *equals = strchr(s->word, '='), *value = equals ? equals + 1 : NULL;
    const size_t n = equals ? (size_t)(equals - s->word) : strlen(s->word);
    static const struct {
        const char *name;
        int (*plain)(session *s);
        int (*with_value)(session *s, const char *value);
    } rows[] = {{"id", run_id, NULL},       {"state", run_state, NULL}, {"idle", run_idle, NULL},    {"end", run_end, NULL},
                {"latch", NULL, run_latch}, {"read", NULL, run_read},   {"config", NULL, run_config}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strlen(rows[i].name) != n || strncmp(rows[i].name, s->word, n) != 0)
            continue;
        if (rows[i].with_value)
            return rows[i].with_value(s, value);
        return value ? complain(s, STATUS_USAGE, "this command takes no value") : rows[i].plain(s);
    }
    return complain(s, STATUS_USAGE, "no such command; commands are id, state, idle, latch, read, config and end");
}

static int authenticate(session *s) {
    tl_oob_answer a = {.size = sizeof a};
    s->word = "--key";
    if (!s->options->key)
        return 0;
    if (tl_oob_authenticate(s->oob, s->options->key, &a, &s->err) != TL_OK)
        return fail(s);
    if (a.status == TL_OOB_BUSY)
        return complain(s, STATUS_FAILED, "the mailbox is locked after wrong keys; try again later");
    return a.status == TL_OOB_SUCCESS ? 0 : complain(s, STATUS_FAILED, "the chip refuses this key; give the one of tally tenants --key");
}

int cli_oob(const cli_options *options) {
    session s = {.options = options};
    const tl_status opened = tl_oob_open(options->oob, &s.oob, &s.err);
    if (opened != TL_OK) {
        (void)fail(&s);
        return opened == TL_ENOENT ? STATUS_NOT_FOUND : opened == TL_EINVAL ? STATUS_USAGE : STATUS_FAILED;
    }
    int status = authenticate(&s);
    for (size_t i = 0; i < options->n_workloads && status == 0; i++) {
        s.word = options->workloads[i];
        status = run_command(&s);
        fflush(stdout);
    }
    tl_oob_close(s.oob);
    return status;
}
