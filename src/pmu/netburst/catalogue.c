// SPDX-License-Identifier: MIT
// Rows of events.def and metrics.def, and the parser of event texts.
#include "pmu/netburst/catalogue.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/nearest.h"
#include "base/parse.h"

enum { FIRST = 1, SECOND = 2, BOTH = FIRST | SECOND, ALL = 0x7f, LATE = 1 << 3 | 1 << 4 | 1 << 6, TS = 0, TI = 1, no = 0, yes = 1 };

const tl_netburst_event_row tl_netburst_event_rows[TL_NB_N_EVENTS] = {
#define MASK(...)
#define EVENT(id, first, select, which, rule, on, precise, sentence) \
    [TL_NB_##id] = {.name = TITLE_##id,                              \
                    .pair = TL_##first,                              \
                    .code = select,                                  \
                    .escrs = which,                                  \
                    .is_ti = rule,                                   \
                    .models = on,                                    \
                    .can_sample = precise,                           \
                    .meaning = sentence},
#include "pmu/netburst/events.def"
#undef EVENT
#undef MASK
};

const tl_netburst_mask tl_netburst_masks[] = {
#define EVENT(...)
#define MASK(id, at, title, exactness, text, difference, sentence) \
    {.event = TL_NB_##id, .bit = at, .name = title, .fidelity = TL_##exactness, .sources = text, .note = difference, .meaning = sentence},
#include "pmu/netburst/events.def"
#undef EVENT
#undef MASK
};
const uint32_t tl_netburst_n_masks = TL_COUNT_OF(tl_netburst_masks);

const tl_netburst_metric tl_netburst_metrics[] = {
#define METRIC(title, other, id, bits, causes, vertical, first, first_bits, sentence) \
    {.name = title,                                                                   \
     .alias = other,                                                                  \
     .event = TL_NB_##id,                                                             \
     .mask = bits,                                                                    \
     .pebs_enable = (causes) != 0 ? (causes) | TL_PEBS_UOP_TAG : 0,                   \
     .matrix_vert = vertical,                                                         \
     .upstream = TL_NB_##first,                                                       \
     .upstream_mask = (uint16_t)(first_bits),                                         \
     .meaning = sentence},
#include "pmu/netburst/metrics.def"
#undef METRIC
};
const uint32_t tl_netburst_n_metrics = TL_COUNT_OF(tl_netburst_metrics);

static const struct {
    const char *name;
    uint32_t msr;
} escr_names[TL_N_ESCRS] = {
#define ESCR(id, address, block, parity, select) {"MSR_" #id, address},
#include "pmu/netburst/escrs.def"
#undef ESCR
};
uint32_t tl_netburst_escr_msr(tl_escr escr) { return escr_names[escr].msr; }
const char *tl_netburst_escr_name(tl_escr escr) { return escr_names[escr].name; }

const tl_netburst_mask *tl_netburst_mask_of(tl_netburst_event event, uint32_t bit) {
    for (uint32_t i = 0; i < tl_netburst_n_masks; i++)
        if (tl_netburst_masks[i].event == event && tl_netburst_masks[i].bit == bit)
            return &tl_netburst_masks[i];
    return NULL;
}

uint16_t tl_netburst_known_mask(tl_netburst_event event) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < tl_netburst_n_masks; i++)
        if (tl_netburst_masks[i].event == event)
            mask |= UINT32_C(1) << tl_netburst_masks[i].bit;
    return (uint16_t)mask;
}

// ---- Texts.

enum { MAX_PART_BYTES = 64 };

typedef struct reader {
    const char *text, *at; // at: NULL behind the last part
    char part[MAX_PART_BYTES];
    tl_netburst_request *request;
    uint32_t model;
    uint8_t threads, levels; // of t0, t1 and u, k: bit 0 and bit 1
    bool has_masks;
} reader;

static bool is_same(const char *a, const char *b) {
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b))
        a++, b++;
    return !*a && !*b;
}

// The next part up to a separator. false: none is left, or it is longer than any name.
static bool next_part(reader *r, char separator) {
    if (!r->at)
        return false;
    const char *end = strchr(r->at, separator);
    const size_t n_bytes = end ? (size_t)(end - r->at) : strlen(r->at);
    if (n_bytes >= sizeof r->part)
        return false;
    memcpy(r->part, r->at, n_bytes);
    r->part[n_bytes] = 0;
    r->at = end ? end + 1 : NULL;
    return true;
}

static tl_netburst_event event_named(const char *name) {
    for (uint32_t e = 1; e < TL_NB_N_EVENTS; e++)
        if (is_same(tl_netburst_event_rows[e].name, name))
            return (tl_netburst_event)e;
    return TL_NB_NO_EVENT;
}

static void take_metric(tl_netburst_request *request, const tl_netburst_metric *metric) {
    request->event = metric->event;
    request->pebs_enable = metric->pebs_enable;
    request->matrix_vert = metric->matrix_vert;
    request->upstream = metric->upstream;
    request->upstream_mask = metric->upstream_mask;
}

static const char SEE_LIST[] = "; tally list events -P netburst has all";

static tl_status unknown_event(const reader *r, tl_error *err) {
    tl_nearest nearest;
    char text[256];
    tl_nearest_init(&nearest, r->part);
    for (uint32_t e = 1; e < TL_NB_N_EVENTS; e++)
        tl_nearest_offer(&nearest, tl_netburst_event_rows[e].name);
    for (uint32_t i = 0; i < tl_netburst_n_metrics; i++)
        tl_nearest_offer(&nearest, tl_netburst_metrics[i].name);
    const char *near = tl_nearest_text(&nearest, text, sizeof text);
    return tl_fail(err, TL_EINVAL, "'%s': pmu netburst has no event '%s'%s", r->text, r->part, *near ? near : SEE_LIST);
}

static tl_status take_event(reader *r, tl_error *err) {
    tl_netburst_request *request = r->request;
    request->event = (uint8_t)event_named(r->part);
    for (uint32_t i = 0; i < tl_netburst_n_metrics && request->event == TL_NB_NO_EVENT; i++)
        if (is_same(tl_netburst_metrics[i].name, r->part)) {
            take_metric(request, &tl_netburst_metrics[i]);
            request->mask = tl_netburst_metrics[i].mask;
        }
    if (request->event == TL_NB_NO_EVENT)
        return unknown_event(r, err);
    if (!(tl_netburst_event_rows[request->event].models >> r->model & 1))
        return tl_fail(err, TL_EINVAL, "'%s': models 3, 4 and 6 have this event, and netburst.model is %u", r->text, r->model);
    request->escrs = tl_netburst_event_rows[request->event].escrs;
    return TL_OK;
}

static tl_status take_mask(reader *r, tl_error *err) {
    tl_netburst_request *request = r->request;
    for (uint32_t i = 0; i < tl_netburst_n_masks; i++)
        if (tl_netburst_masks[i].event == request->event && is_same(tl_netburst_masks[i].name, r->part)) {
            // A metric's own mask holds until one is named.
            request->mask = (uint16_t)((r->has_masks ? request->mask : 0) | 1u << tl_netburst_masks[i].bit);
            r->has_masks = true;
            return TL_OK;
        }
    for (uint32_t i = 0; i < tl_netburst_n_metrics; i++) {
        const tl_netburst_metric *metric = &tl_netburst_metrics[i];
        if (!metric->alias || metric->event != request->event || !is_same(metric->alias, r->part))
            continue;
        if (request->pebs_enable != 0)
            return tl_fail(err, TL_EINVAL, "'%s': uops have one replay tag: name one cause, and count others in other runs", r->text);
        take_metric(request, metric);
        request->mask = r->has_masks ? request->mask : metric->mask;
        return TL_OK;
    }
    tl_nearest nearest;
    char text[256];
    tl_nearest_init(&nearest, r->part);
    for (uint32_t i = 0; i < tl_netburst_n_masks; i++)
        if (tl_netburst_masks[i].event == request->event)
            tl_nearest_offer(&nearest, tl_netburst_masks[i].name);
    for (uint32_t i = 0; i < tl_netburst_n_metrics; i++)
        if (tl_netburst_metrics[i].alias && tl_netburst_metrics[i].event == request->event)
            tl_nearest_offer(&nearest, tl_netburst_metrics[i].alias);
    const char *near = tl_nearest_text(&nearest, text, sizeof text);
    return tl_fail(err, TL_EINVAL, "'%s': %s has no mask '%s', and there is no such option%s", r->text,
                   tl_netburst_event_rows[request->event].name, r->part, *near ? near : SEE_LIST);
}

static tl_status take_number(const reader *r, const char *digits, uint64_t most, uint64_t *ret_value, tl_error *err) {
    tl_error why;
    if (tl_parse_u64(digits, TL_SCALE_COUNT, ret_value, &why) != TL_OK)
        return tl_fail(err, TL_EINVAL, "'%s': %s", r->text, why.text);
    if (*ret_value > most)
        return tl_fail(err, TL_EINVAL, "'%s': %s is larger than 0x%llx, the most that its field holds", r->text, digits,
                       (unsigned long long)most);
    return TL_OK;
}

static const char *value_of(const char *part, const char *key) {
    const size_t n_bytes = strlen(key);
    for (size_t i = 0; i < n_bytes; i++)
        if (tolower((unsigned char)part[i]) != key[i])
            return NULL;
    return part[n_bytes] == '=' ? part + n_bytes + 1 : NULL;
}

enum { THREAD_MODE = 3 << TL_CCCR_THREAD_LSB, FILTER = TL_CCCR_COMPARE | TL_CCCR_COMPLEMENT | 15 << TL_CCCR_THRESHOLD_LSB | TL_CCCR_EDGE };

enum { NO_BOUND = 0xff, MODE_BOTH = 2, MODE_ANY = 3 };
static uint64_t bounds_of(uint64_t least, uint64_t most) { return least | most << TL_NBX_MOST_LSB; }

// NBX: "LEAST..MOST" or "N". Bounds that are those of a mode have its number in the CCCR.
static tl_status take_bounds(const reader *r, const char *value, tl_error *err) {
    tl_netburst_request *request = r->request;
    const char *dots = strstr(value, "..");
    char least_text[MAX_PART_BYTES];
    uint64_t least = 0, most = 0;
    tl_error why;
    snprintf(least_text, sizeof least_text, "%.*s", dots ? (int)(dots - value) : (int)strlen(value), value);
    if (tl_parse_u64(least_text, TL_SCALE_COUNT, &least, &why) != TL_OK ||
        tl_parse_u64(dots ? dots + 2 : least_text, TL_SCALE_COUNT, &most, &why) != TL_OK || least > most || most >= NO_BOUND)
        return tl_fail(err, TL_EINVAL, "'%s': active threads are none, single, both, any or, with extension NBX, LEAST..MOST, not '%s'",
                       r->text, value);
    const uint32_t mode = least == most && least <= MODE_BOTH ? (uint32_t)least : MODE_ANY;
    request->filter = (request->filter & ~(uint32_t)THREAD_MODE) | mode << TL_CCCR_THREAD_LSB;
    request->bounds = (request->bounds & ~bounds_of(NO_BOUND, NO_BOUND)) | bounds_of(least, most);
    return TL_OK;
}

static tl_status take_mode(const reader *r, const char *mode, tl_error *err) {
    static const char *const modes[] = {"none", "single", "both", "any"};
    for (uint32_t i = 0; i < TL_COUNT_OF(modes); i++)
        if (is_same(modes[i], mode)) {
            r->request->filter = (r->request->filter & ~(uint32_t)THREAD_MODE) | i << TL_CCCR_THREAD_LSB;
            return TL_OK;
        }
    return take_bounds(r, mode, err);
}

// "TAG" or "TAG/MASK".
static tl_status take_context(const reader *r, const char *value, tl_error *err) {
    char tag[MAX_PART_BYTES];
    const char *slash = strchr(value, '/');
    snprintf(tag, sizeof tag, "%.*s", slash ? (int)(slash - value) : (int)strlen(value), value);
    r->request->context_mask = UINT64_MAX;
    tl_status status = take_number(r, tag, UINT64_MAX, &r->request->context, err);
    if (status == TL_OK && slash)
        status = take_number(r, slash + 1, UINT64_MAX, &r->request->context_mask, err);
    if (status == TL_OK && r->request->context_mask == 0)
        status = tl_fail(err, TL_EINVAL, "'%s': a mask of 0 compares no bit of a context; leave ctx out", r->text);
    return status;
}

static tl_status take_threads(const reader *r, const char *value, uint32_t lsb, tl_error *err) {
    uint64_t threads = 0;
    const tl_status status = take_number(r, value, UINT32_MAX, &threads, err);
    r->request->threads |= threads << lsb;
    return status;
}

// Threads that must be active. A register without bounds of their number would allow none.
static tl_status take_active(const reader *r, const char *value, tl_error *err) {
    tl_netburst_request *request = r->request;
    uint64_t threads = 0;
    const tl_status status = take_number(r, value, UINT32_MAX, &threads, err);
    if (!(request->bounds & bounds_of(NO_BOUND, NO_BOUND)))
        request->bounds |= bounds_of(0, NO_BOUND);
    request->bounds |= threads << TL_NBX_ACTIVE_LSB;
    return status;
}

static tl_status take_idle(const reader *r, const char *value, tl_error *err) {
    uint64_t threads = 0;
    const tl_status status = take_number(r, value, UINT32_MAX, &threads, err);
    r->request->idle = (uint32_t)threads;
    return status;
}

static tl_status take_vary(const reader *r, const char *value, tl_error *err) {
    uint64_t n_bits = 0;
    const tl_status status = take_number(r, value, 32, &n_bits, err);
    r->request->vary_bits = (uint8_t)n_bits;
    return status;
}

// false: the part is no option of extension NBX.
static bool take_nbx(const reader *r, tl_status *ret_status, tl_error *err) {
    const char *value;
    *ret_status = TL_OK;
    if (is_same("banks", r->part))
        r->request->is_banked = true;
    else if (is_same("assist", r->part))
        r->request->assists = true;
    else if ((value = value_of(r->part, "ctx")))
        *ret_status = take_context(r, value, err);
    else if ((value = value_of(r->part, "usr")))
        *ret_status = take_threads(r, value, 0, err);
    else if ((value = value_of(r->part, "os")))
        *ret_status = take_threads(r, value, TL_NBX_OS_LSB, err);
    else if ((value = value_of(r->part, "with")))
        *ret_status = take_active(r, value, err);
    else if ((value = value_of(r->part, "without")))
        *ret_status = take_idle(r, value, err);
    else if ((value = value_of(r->part, "vary")))
        *ret_status = take_vary(r, value, err);
    else
        return false;
    return true;
}

const char *tl_netburst_nbx_option(const tl_netburst_request *request) {
    return request->context_mask ? "ctx"
           : request->threads    ? "a mask of threads"
           : request->bounds     ? "a bound of active threads"
           : request->idle       ? "without"
           : request->is_banked  ? "banks"
           : request->assists    ? "assist"
           : request->vary_bits  ? "vary"
                                 : NULL;
}

// false: the part is no option.
static bool take_option(reader *r, tl_status *ret_status, tl_error *err) {
    static const struct {
        const char *name;
        uint32_t filter;
        uint8_t threads, levels, owner;
    } options[] = {
        {"edge", TL_CCCR_COMPARE | TL_CCCR_EDGE, 0, 0, 0},
        {"inv", TL_CCCR_COMPARE | TL_CCCR_COMPLEMENT, 0, 0, 0},
        {"force", TL_CCCR_FORCE_OVF, 0, 0, 0},
        {"t0", 0, 1, 0, 0},
        {"t1", 0, 2, 0, 0},
        {"u", 0, 0, 1, 0},
        {"k", 0, 0, 2, 0},
        {"t0u", 0, 0, 0, TL_ESCR_T0_USR},
        {"t0k", 0, 0, 0, TL_ESCR_T0_OS},
        {"t1u", 0, 0, 0, TL_ESCR_T1_USR},
        {"t1k", 0, 0, 0, TL_ESCR_T1_OS},
    };
    *ret_status = TL_OK;
    for (uint32_t i = 0; i < TL_COUNT_OF(options); i++)
        if (is_same(options[i].name, r->part)) {
            r->request->filter |= options[i].filter;
            r->threads |= options[i].threads;
            r->levels |= options[i].levels;
            r->request->owners |= options[i].owner;
            return true;
        }
    // perf's modifiers mean the same here, because PEBS has no skid to choose.
    static const char *const precise[] = {"precise", "p", "pp", "ppp"};
    for (uint32_t i = 0; i < TL_COUNT_OF(precise); i++)
        if (is_same(precise[i], r->part)) {
            r->request->is_precise = true;
            return true;
        }
    const char *value = value_of(r->part, "thr");
    if (value) {
        uint64_t threshold = 0;
        *ret_status = take_number(r, value, 15, &threshold, err);
        r->request->filter |= TL_CCCR_COMPARE | (uint32_t)threshold << TL_CCCR_THRESHOLD_LSB;
        return true;
    }
    value = value_of(r->part, "active");
    if (value)
        *ret_status = take_mode(r, value, err);
    return value != NULL;
}

// Threads and levels are said apart, or together as t0u.
static uint8_t owners_of(uint32_t threads, uint32_t levels) {
    const uint32_t thread_bits = (threads & 1 ? TL_ESCR_T0_USR | TL_ESCR_T0_OS : 0u) | (threads & 2 ? TL_ESCR_T1_USR | TL_ESCR_T1_OS : 0u);
    const uint32_t level_bits = (levels & 1 ? TL_ESCR_T0_USR | TL_ESCR_T1_USR : 0u) | (levels & 2 ? TL_ESCR_T0_OS | TL_ESCR_T1_OS : 0u);
    return (uint8_t)((threads ? thread_bits : 15u) & (levels ? level_bits : 15u));
}

// Bits of the first two threads are those of the ESCR.
static tl_status take_mask_of_threads(const reader *r, tl_error *err) {
    const uint64_t usr = r->request->threads, os = usr >> TL_NBX_OS_LSB;
    if (r->request->owners)
        return tl_fail(err, TL_EINVAL, "'%s': name threads by masks (usr=, os=) or by t0, t1, u and k, not by both", r->text);
    r->request->owners = (uint8_t)((usr & 1 ? TL_ESCR_T0_USR : 0) | (usr & 2 ? TL_ESCR_T1_USR : 0) | (os & 1 ? TL_ESCR_T0_OS : 0) |
                                   (os & 2 ? TL_ESCR_T1_OS : 0));
    return TL_OK;
}

// A precise sample needs a tagged event, a counter of one thread, and no filter.
static tl_status check(const reader *r, tl_error *err) {
    const tl_netburst_request *request = r->request;
    const char *name = tl_netburst_event_rows[request->event].name;
    if (request->mask == 0)
        return tl_fail(err, TL_EINVAL, "'%s': name at least one mask of %s, as in %s:%s", r->text, name, name,
                       tl_netburst_mask_of((tl_netburst_event)request->event,
                                           (uint32_t)__builtin_ctz(tl_netburst_known_mask((tl_netburst_event)request->event)))
                           ->name);
    if (request->is_precise && !tl_netburst_event_rows[request->event].can_sample)
        return tl_fail(
            err, TL_EINVAL,
            "'%s': precise samples come from front_end_event, execution_event and replay_event alone; option assist of extension NBX samples other events",
            r->text);
    if (request->is_precise && (request->filter & FILTER))
        return tl_fail(err, TL_EINVAL, "'%s': precise samples go with no threshold and no edge", r->text);
    if (request->is_precise && request->assists)
        return tl_fail(err, TL_EINVAL, "'%s': write assist (any counter) or pp (counters 16 and 17), not both", r->text);
    if (request->vary_bits && !request->is_precise && !request->assists)
        return tl_fail(err, TL_EINVAL, "'%s': periods vary with samples by assists: add pp or assist", r->text);
    return TL_OK;
}

static tl_status check_tags(const reader *r, tl_error *err) {
    const tl_netburst_request *request = r->request;
    if (request->event == TL_NB_REPLAY_EVENT && request->pebs_enable == 0)
        return tl_fail(err, TL_EINVAL, "'%s': nothing gives replay tags: name the cause, as in replay_event:l1_load_miss", r->text);
    if (request->event == TL_NB_FRONT_END_EVENT && request->upstream == TL_NB_NO_EVENT)
        return tl_fail(err, TL_EINVAL, "'%s': nothing gives front-end tags: use memory_loads or memory_stores", r->text);
    if (request->event == TL_NB_EXECUTION_EVENT && request->upstream == TL_NB_NO_EVENT)
        return tl_fail(err, TL_EINVAL, "'%s': nothing gives execution tags: use a metric, as scalar_DP_retired", r->text);
    return TL_OK;
}

// raw:MSR:value[:cccr=bits]
static tl_status take_raw(reader *r, tl_error *err) {
    tl_netburst_request *request = r->request;
    uint64_t msr = 0, value = 0, filter = 0;
    if (!next_part(r, ':') || take_number(r, r->part, UINT32_MAX, &msr, err) != TL_OK)
        return tl_fail(err, TL_EINVAL, "'%s': write raw:MSR:VALUE, the number of an ESCR and its value, as raw:0x3b8:0x0400060c", r->text);
    if (!next_part(r, ':') || take_number(r, r->part, UINT32_MAX, &value, err) != TL_OK)
        return tl_fail(err, TL_EINVAL, "'%s': write raw:MSR:VALUE, where the value of an ESCR has 32 bits", r->text);
    for (uint32_t e = 1; e < TL_NB_N_EVENTS; e++) {
        const tl_netburst_event_row *row = &tl_netburst_event_rows[e];
        for (uint32_t parity = 0; parity < 2; parity++)
            if (escr_names[row->pair + parity].msr == msr && row->code == value >> TL_ESCR_EVENT_LSB && (row->escrs >> parity & 1) &&
                (row->models >> r->model & 1)) {
                request->event = (uint8_t)e;
                request->escrs = (uint8_t)(1u << parity);
            }
    }
    if (request->event == TL_NB_NO_EVENT)
        return tl_fail(err, TL_EINVAL, "'%s': the ESCR at MSR 0x%llx has no event 0x%llx: see tally list events --pmu netburst", r->text,
                       (unsigned long long)msr, (unsigned long long)value >> TL_ESCR_EVENT_LSB);
    request->mask = (uint16_t)(value >> TL_ESCR_MASK_LSB);
    request->owners = (uint8_t)(value & 15);
    request->is_tagging = value & TL_ESCR_TAG_ENABLE;
    request->tag_value = (uint8_t)(value >> TL_ESCR_TAG_VALUE_LSB & 15);
    while (next_part(r, ':')) {
        const char *bits = value_of(r->part, "cccr");
        if (!bits)
            return tl_fail(err, TL_EINVAL, "'%s': behind a raw value stands cccr=BITS alone, not '%s'", r->text, r->part);
        if (take_number(r, bits, FILTER | THREAD_MODE | TL_CCCR_FORCE_OVF, &filter, err) != TL_OK)
            return TL_EINVAL;
        request->filter = (uint32_t)filter & (FILTER | THREAD_MODE | TL_CCCR_FORCE_OVF);
    }
    return r->at ? tl_fail(err, TL_EINVAL, "'%s': a part is too long", r->text) : TL_OK;
}

static tl_status take_masks(reader *r, tl_error *err) {
    const char *const rest = r->at;
    char list[MAX_PART_BYTES];
    memcpy(list, r->part, sizeof list);
    tl_status status = TL_OK;
    r->at = list;
    while (status == TL_OK && next_part(r, '+'))
        status = take_mask(r, err);
    r->at = rest;
    return status;
}

static tl_status read_all(reader *r, tl_error *err) {
    if (!next_part(r, ':'))
        return tl_fail(err, TL_EINVAL, "event '%.40s...' is too long for a name", r->text);
    if (is_same("raw", r->part))
        return take_raw(r, err);
    tl_status status = take_event(r, err);
    while (status == TL_OK && next_part(r, ':'))
        if (!take_option(r, &status, err) && !take_nbx(r, &status, err))
            status = take_masks(r, err);
    if (status == TL_OK && r->at)
        status = tl_fail(err, TL_EINVAL, "'%.80s': a part is too long", r->text);
    if (status == TL_OK && (r->threads | r->levels))
        r->request->owners |= owners_of(r->threads, r->levels);
    if (status == TL_OK && r->request->threads)
        status = take_mask_of_threads(r, err);
    if (status == TL_OK)
        status = check(r, err);
    return status == TL_OK ? check_tags(r, err) : status;
}

tl_status tl_netburst_parse(const char *text, uint32_t model, tl_netburst_request *ret_request, tl_error *err) {
    tl_netburst_request request = {.filter = THREAD_MODE};
    reader r = {.text = text, .at = text, .request = &request, .model = model};
    snprintf(request.name, sizeof request.name, "%s", text);
    const tl_status status = read_all(&r, err);
    if (status == TL_OK)
        *ret_request = request;
    return status;
}
