// SPDX-License-Identifier: MIT
// Which detectors and counters a set of events gets. An event needs a detector of its pair and a
// counter that this detector reaches. An event that tags needs a detector, and some counter of its
// block runs, else it has no power. Blocks are independent of one another, and each is searched
// through, since it has six counters at most.
#include "base/bits.h"
#include "base/text.h"
#include "pmu/netburst/catalogue.h"

#include <string.h>

#define BIT(i) (UINT32_C(1) << (i))

// Counters that a detector of this block and parity reaches.
static const uint32_t reached[TL_N_BLOCKS][2] = {
    [TL_BLOCK_BPU] = {BIT(0) | BIT(1), BIT(2) | BIT(3)},
    [TL_BLOCK_MS] = {BIT(4) | BIT(5), BIT(6) | BIT(7)},
    [TL_BLOCK_FLAME] = {BIT(8) | BIT(9), BIT(10) | BIT(11)},
    [TL_BLOCK_IQ] = {BIT(12) | BIT(13) | BIT(16), BIT(14) | BIT(15) | BIT(17)},
};
static const struct {
    uint8_t block, select;
} places[TL_N_ESCRS] = {
#define ESCR(id, msr, in_block, parity, number) {TL_BLOCK_##in_block, number},
#include "pmu/netburst/escrs.def"
#undef ESCR
};

// A need of a request: its own detector and counter, or the detector upstream.
typedef struct item {
    uint8_t pair, escrs;
    uint64_t value;    // of the ESCR
    uint64_t threads;  // of the XESCR; 0: those of `value`
    uint32_t counters; // that are allowed; 0: it counts nothing
    uint32_t request;
    bool is_upstream;
} item;

enum { MAX_ITEMS = 2 * TL_NETBURST_MAX_REQUESTS, FREE = 0xff };

typedef struct search {
    uint32_t n_items;
    item items[MAX_ITEMS];
    uint8_t escr[MAX_ITEMS], counter[MAX_ITEMS]; // FREE: none
    uint64_t value[TL_N_ESCRS];                  // 0: unused
    uint64_t threads[TL_N_ESCRS];
    uint32_t used; // counters
} search;

// ---- What requests need.

enum { USR_OS_T0 = TL_ESCR_T0_USR | TL_ESCR_T0_OS, USR_OS_T1 = TL_ESCR_T1_USR | TL_ESCR_T1_OS };

static uint8_t owners_of(const tl_netburst_request *request, uint8_t owners) {
    return request->owners || request->threads ? request->owners : owners;
}

static bool samples(const tl_netburst_request *request) { return request->is_precise || request->assists; }

static uint64_t escr_value(uint8_t event, uint32_t mask, uint32_t low) {
    return (uint64_t)tl_netburst_event_rows[event].code << TL_ESCR_EVENT_LSB | (uint64_t)mask << TL_ESCR_MASK_LSB | low;
}

static bool is_same_tag(const tl_netburst_request *a, const tl_netburst_request *b) {
    return a->upstream == b->upstream && a->upstream_mask == b->upstream_mask && a->owners == b->owners && a->threads == b->threads;
}

// The number of the execution tag: requests with one tag share it.
static uint32_t tag_of(const tl_netburst_request *requests, uint32_t at) {
    uint32_t tag = 0;
    for (uint32_t i = 0; i < at; i++) {
        if (requests[i].event != TL_NB_EXECUTION_EVENT)
            continue;
        if (is_same_tag(&requests[i], &requests[at]))
            return tag_of(requests, i);
        uint32_t first = 0;
        while (!(requests[first].event == TL_NB_EXECUTION_EVENT && is_same_tag(&requests[first], &requests[i])))
            first++;
        tag += first == i;
    }
    return tag;
}

static bool uses_tags(const tl_netburst_request *request) {
    return request->event == TL_NB_EXECUTION_EVENT && request->upstream != TL_NB_NO_EVENT;
}

static uint32_t allowed_counters(const tl_netburst_settings *settings, const tl_netburst_request *request, uint8_t owners) {
    if (request->is_precise)
        return owners_of(request, owners) & USR_OS_T0 ? BIT(TL_NETBURST_PEBS_T0) : BIT(TL_NETBURST_PEBS_T0 + 1);
    return settings->errata[TL_ERRATUM_CCCR1_ENABLE_BROKEN] == TL_NETBURST_ON ? ~BIT(1) : ~UINT32_C(0);
}

// An event of entries counts with its allocation in the other ESCR. Split loads tag in the second
// ESCR.
static item upstream_item(const tl_netburst_request *requests, uint32_t at, uint8_t owners) {
    const tl_netburst_request *request = &requests[at];
    const uint32_t tag = uses_tags(request) ? TL_ESCR_TAG_ENABLE | BIT(TL_ESCR_TAG_VALUE_LSB + tag_of(requests, at)) : 0;
    uint8_t event = request->upstream;
    uint32_t mask = request->upstream_mask;
    if (event == TL_NB_NO_EVENT) {
        event = request->event == TL_NB_IOQ_ACTIVE_ENTRIES ? TL_NB_IOQ_ALLOCATION : TL_NB_BSQ_ALLOCATION;
        mask = request->mask;
    }
    const bool is_entries = request->upstream == TL_NB_NO_EVENT;
    return (item){.pair = (uint8_t)tl_netburst_event_rows[event].pair,
                  .escrs = is_entries                        ? 1
                           : event == TL_NB_LOAD_PORT_REPLAY ? 2
                                                             : 3,
                  .value = escr_value(event, mask, tag | owners_of(request, owners)),
                  .threads = request->threads,
                  .request = at,
                  .is_upstream = true};
}

static bool has_upstream(const tl_netburst_request *request) {
    return request->upstream != TL_NB_NO_EVENT || request->event == TL_NB_IOQ_ACTIVE_ENTRIES || request->event == TL_NB_BSQ_ACTIVE_ENTRIES;
}

static void list_items(search *s, const tl_netburst_settings *settings, uint8_t owners, const tl_netburst_request *requests, uint32_t n) {
    *s = (search){.n_items = 0};
    memset(s->escr, FREE, sizeof s->escr);
    memset(s->counter, FREE, sizeof s->counter);
    for (uint32_t i = 0; i < n; i++) {
        const tl_netburst_request *request = &requests[i];
        const uint32_t mask = uses_tags(request) ? (uint32_t)request->mask << tag_of(requests, i) : request->mask;
        const uint32_t tag = request->is_tagging ? TL_ESCR_TAG_ENABLE | (uint32_t)request->tag_value << TL_ESCR_TAG_VALUE_LSB : 0;
        s->items[s->n_items++] = (item){.pair = (uint8_t)tl_netburst_event_rows[request->event].pair,
                                        .escrs = request->escrs,
                                        .value = escr_value(request->event, mask, tag | owners_of(request, owners)),
                                        .threads = request->threads,
                                        .counters = allowed_counters(settings, request, owners),
                                        .request = i};
        if (has_upstream(request))
            s->items[s->n_items++] = upstream_item(requests, i, owners);
    }
}

// ---- The search.

static bool place(search *s, uint32_t at, tl_netburst_block block) {
    while (at < s->n_items && places[s->items[at].pair].block != block)
        at++;
    if (at == s->n_items)
        return true;
    const item *it = &s->items[at];
    for (uint32_t parity = 0; parity < 2; parity++) {
        const uint32_t escr = it->pair + parity;
        const bool was_free = s->value[escr] == 0;
        if (!(it->escrs >> parity & 1) || !(was_free || (s->value[escr] == it->value && s->threads[escr] == it->threads)))
            continue;
        s->value[escr] = it->value;
        s->threads[escr] = it->threads;
        s->escr[at] = (uint8_t)escr;
        uint32_t left = it->counters & reached[block][parity] & ~s->used;
        if (it->counters == 0 && place(s, at + 1, block))
            return true;
        for (; left != 0; left &= left - 1) {
            s->counter[at] = (uint8_t)__builtin_ctz(left);
            s->used |= BIT(s->counter[at]);
            if (place(s, at + 1, block))
                return true;
            s->used &= ~BIT(s->counter[at]);
        }
        s->counter[at] = s->escr[at] = FREE;
        s->value[escr] = was_free ? 0 : s->value[escr];
    }
    return false;
}

// Detectors that only tag need a counter of the block that runs.
static bool power(search *s, const tl_netburst_settings *settings) {
    const uint32_t broken = settings->errata[TL_ERRATUM_CCCR1_ENABLE_BROKEN] == TL_NETBURST_ON ? BIT(1) : 0;
    for (uint32_t at = 0; at < s->n_items; at++) {
        const item *it = &s->items[at];
        const uint32_t block = places[it->pair].block, all = reached[block][0] | reached[block][1];
        if (it->counters != 0 || (s->used & all))
            continue;
        const uint32_t left = reached[block][s->escr[at] - it->pair] & ~s->used & ~broken;
        s->counter[at] = (uint8_t)__builtin_ctz(left);
        s->used |= BIT(s->counter[at]);
    }
    return true;
}

static uint32_t n_counting(const search *s, tl_netburst_block block) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_items; i++)
        n += places[s->items[i].pair].block == block && s->items[i].counters != 0;
    return n;
}

static bool find_places(search *s, const tl_netburst_settings *settings) {
    for (tl_netburst_block block = 0; block < TL_N_BLOCKS; block++)
        if (n_counting(s, block) > (uint32_t)__builtin_popcount(reached[block][0] | reached[block][1]) || !place(s, 0, block))
            return false;
    return power(s, settings);
}

// ---- Tags.

static bool is_replay(const tl_netburst_request *r) { return r->event == TL_NB_REPLAY_EVENT && r->pebs_enable != 0; }
static bool is_front_end(const tl_netburst_request *r) { return r->event == TL_NB_FRONT_END_EVENT && r->upstream != TL_NB_NO_EVENT; }

static bool is_of_other_threads(const tl_netburst_request *a, const tl_netburst_request *b) {
    return a->owners != 0 && b->owners != 0 && (a->owners & b->owners) == 0;
}

// Uops have one replay tag and one front-end tag: two meanings of it cannot be told apart.
static const char *tag_conflict(const tl_netburst_request *a, const tl_netburst_request *b) {
    if (is_replay(a) && is_replay(b) && (a->pebs_enable != b->pebs_enable || a->matrix_vert != b->matrix_vert))
        return "replay tag";
    return is_front_end(a) && is_front_end(b) && !is_same_tag(a, b) && !is_of_other_threads(a, b) ? "front-end tag" : NULL;
}

static bool fits(const tl_netburst_settings *settings, uint8_t owners, const tl_netburst_request *requests, uint32_t n, search *s) {
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (tag_conflict(&requests[i], &requests[k]))
                return false;
    list_items(s, settings, owners, requests, n);
    return find_places(s, settings);
}

// ---- Why not.

static const char *const block_names[TL_N_BLOCKS] = {"BPU", "MS", "FLAME", "IQ"};

// The events that fit together, in the order in which they were asked for.
static void say_fitting(tl_text *text, const tl_netburst_settings *settings, uint8_t owners, const tl_netburst_request *requests,
                        uint32_t n) {
    tl_netburst_request kept[TL_NETBURST_MAX_REQUESTS];
    uint32_t n_kept = 0;
    search s;
    for (uint32_t i = 0; i < n; i++) {
        kept[n_kept] = requests[i];
        if (!fits(settings, owners, kept, n_kept + 1, &s))
            continue;
        // An event of two threads is said once.
        if (n_kept == 0 || strcmp(kept[n_kept - 1].name, requests[i].name) != 0)
            tl_text_addf(text, "%s%s", n_kept ? ", " : "", requests[i].name);
        n_kept += 1;
    }
}

static tl_status conflict(const tl_netburst_settings *settings, uint8_t owners, const tl_netburst_request *requests, uint32_t n,
                          tl_error *err) {
    char fitting[512] = "";
    tl_text text = {.buffer = fitting, .size_bytes = sizeof fitting};
    search s;
    say_fitting(&text, settings, owners, requests, n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++) {
            const tl_netburst_request two[2] = {requests[k], requests[i]};
            if (fits(settings, owners, two, 2, &s))
                continue;
            const char *tag = tag_conflict(&two[0], &two[1]);
            if (tag)
                return tl_fail(err, TL_EINVAL, "%s and %s need the one %s of a uop for different causes; these fit together: %s",
                               two[0].name, two[1].name, tag, fitting);
            return tl_fail(err, TL_EINVAL, "%s and %s need the same detector or counter of block %s; these fit together: %s", two[0].name,
                           two[1].name, block_names[places[tl_netburst_event_rows[two[0].event].pair].block], fitting);
        }
    // The first one that does not fit with all before it shares a block with some of them.
    uint32_t last = 1;
    while (last < n && fits(settings, owners, requests, last, &s))
        last++;
    const uint32_t block = places[tl_netburst_event_rows[requests[last - 1].event].pair].block;
    uint32_t other = last - 1;
    while (other-- > 0)
        if (places[tl_netburst_event_rows[requests[other].event].pair].block == block)
            break;
    return tl_fail(err, TL_EINVAL, "%s and %s need detectors and counters of block %s, and all of them are taken; these fit together: %s",
                   requests[other < last ? other : 0].name, requests[last - 1].name, block_names[block], fitting);
}

// ---- The plan.

static void add_write(tl_netburst_plan *plan, uint32_t msr, uint64_t value) {
    plan->writes[plan->n_writes++] = (tl_netburst_write){msr, value};
}

static uint64_t cccr_of(const search *s, uint32_t i, const tl_netburst_request *request, uint8_t owners) {
    const uint64_t running = TL_CCCR_ENABLE | (uint64_t)places[s->escr[i]].select << TL_CCCR_SELECT_LSB;
    if (s->items[i].is_upstream)
        return running | 3 << TL_CCCR_THREAD_LSB;
    const uint32_t interrupt = owners_of(request, owners) & USR_OS_T0 ? TL_CCCR_OVF_PMI_T0 : TL_CCCR_OVF_PMI_T1;
    return running | request->filter | (samples(request) || request->interrupts ? interrupt : 0);
}

// Before the CCCRs, so that nothing counts without its filter.
static void write_nbx(const search *s, const tl_netburst_request *requests, tl_netburst_plan *plan) {
    uint64_t sample = 0, banked = 0;
    bool by_root = false;
    for (uint32_t i = 0; i < s->n_items; i++) {
        const tl_netburst_request *request = &requests[s->items[i].request];
        const uint32_t counter = s->counter[i];
        if (s->items[i].is_upstream)
            continue;
        by_root |= request->context_mask != 0 || request->is_banked;
        sample |= request->assists ? BIT(counter) : 0;
        if (request->is_banked)
            banked |= BIT(counter) | (request->owners & USR_OS_T0 ? 0 : UINT64_C(1) << (counter + TL_NBX_OS_LSB));
        // A CCCR whose mode is that of the bounds keeps them.
        if (request->bounds != 0)
            add_write(plan, TL_MSR_NBX_XCCCR + counter, request->bounds);
        if (request->idle != 0)
            add_write(plan, TL_MSR_NBX_IDLE + counter, request->idle);
        if (request->context_mask == 0)
            continue;
        add_write(plan, TL_MSR_NBX_FILTER + counter, request->context);
        add_write(plan, TL_MSR_NBX_FILTER_MASK + counter, request->context_mask);
    }
    if (by_root || sample)
        add_write(plan, TL_MSR_NBX_CONTROL, (by_root ? TL_NBX_BY_ROOT : 0) | (sample ? TL_NBX_EXTENDED : 0));
    if (sample)
        add_write(plan, TL_MSR_NBX_SAMPLE, sample);
    if (banked)
        add_write(plan, TL_MSR_NBX_BANKED, banked);
}

static void write_plan(const search *s, const tl_netburst_request *requests, uint32_t n, uint8_t owners, tl_netburst_plan *plan) {
    uint32_t pebs_enable = 0, matrix_vert = 0;
    *plan = (tl_netburst_plan){.n_writes = 0};
    for (uint32_t i = 0; i < n; i++) {
        pebs_enable |= requests[i].pebs_enable;
        matrix_vert |= requests[i].matrix_vert;
        if (samples(&requests[i]))
            pebs_enable |= owners_of(&requests[i], owners) & USR_OS_T0 ? TL_PEBS_MY_THREAD : TL_PEBS_OTHER_THREAD;
    }
    add_write(plan, TL_MSR_PEBS_MATRIX_VERT, matrix_vert);
    add_write(plan, TL_MSR_PEBS_ENABLE, pebs_enable);
    for (tl_escr escr = 0; escr < TL_N_ESCRS; escr++)
        if (s->value[escr] != 0)
            add_write(plan, tl_netburst_escr_msr(escr), s->value[escr]);
    for (tl_escr escr = 0; escr < TL_N_ESCRS; escr++)
        if (s->value[escr] != 0 && s->threads[escr] != 0)
            add_write(plan, TL_MSR_NBX_XESCR + escr, s->threads[escr]);
    write_nbx(s, requests, plan);
    for (uint32_t i = 0; i < s->n_items; i++) {
        const item *it = &s->items[i];
        tl_netburst_place *where = &plan->places[it->request];
        if (it->is_upstream) {
            where->upstream = s->escr[i];
        } else {
            *where = (tl_netburst_place){.counter = s->counter[i], .escr = s->escr[i], .upstream = TL_N_ESCRS};
        }
        if (s->counter[i] != FREE)
            add_write(plan, TL_MSR_CCCR + s->counter[i], cccr_of(s, i, &requests[it->request], owners));
    }
}

static tl_status check_request(const tl_netburst_request *request, uint8_t owners, tl_error *err) {
    const uint8_t all = owners_of(request, owners);
    if (all == 0 && request->threads == 0)
        return tl_fail(err, TL_EINVAL, "%s: no thread is chosen, so it would count nothing", request->name);
    if (samples(request) && (all & USR_OS_T0) && (all & USR_OS_T1))
        return tl_fail(err, TL_EINVAL, "%s: precise samples belong to one thread: add :t0 or :t1", request->name);
    if (request->is_banked && (all & USR_OS_T0) && (all & USR_OS_T1))
        return tl_fail(err, TL_EINVAL, "%s: banks follow the context of one thread: add :t0 or :t1", request->name);
    return TL_OK;
}

tl_status tl_netburst_allocate(const tl_netburst_settings *settings, uint8_t owners, const tl_netburst_request *requests,
                               uint32_t n_requests, tl_netburst_plan *ret_plan, tl_error *err) {
    search s;
    if (n_requests > TL_NETBURST_MAX_REQUESTS)
        return tl_fail(err, TL_EINVAL, "%u events: the PMU has %u counters", n_requests, (unsigned)TL_NETBURST_COUNTERS);
    for (uint32_t i = 0; i < n_requests; i++)
        if (check_request(&requests[i], owners, err) != TL_OK)
            return TL_EINVAL;
    if (!fits(settings, owners, requests, n_requests, &s))
        return conflict(settings, owners, requests, n_requests, err);
    write_plan(&s, requests, n_requests, owners, ret_plan);
    return TL_OK;
}
