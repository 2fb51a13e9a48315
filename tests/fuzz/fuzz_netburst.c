// SPDX-License-Identifier: MIT
// Any MSR accesses, clocks, retirements and event texts on a Pentium 4 PMU whose debug store areas
// lie where the input says, in memory of which it takes pages away. Registers keep their widths. A
// refused access changes nothing. An assist writes one record below the maximum that it read, then
// its index, and nothing else. Counting equal clocks in two steps counts the same as in one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "input.h"
#include "pmu/netburst/catalogue.h"
#include "pmu/netburst/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_PAGES = 4, PAGE_BYTES = 256, MEMORY_BYTES = N_PAGES * PAGE_BYTES, MAX_ACTIONS = 2000, MAX_WRITES = 3, N_TWINS = 2 };
enum { WRITE, READ, READ_COUNTER, SET_LVT, COUNT, RETIRE, PUT_AREA, TAKE_PAGES, TEXT, RUN_COUNTER, SAMPLE, N_ACTIONS };

typedef struct twin { // both are told the same, and one of them counts clock by clock
    tl_netburst *n;
    uint8_t memory[MEMORY_BYTES];
    uint32_t n_interrupts[TL_NBX_MAX_THREADS];
    // Of the assist under way.
    uint32_t n_writes, n_reads;
    uint64_t written[MAX_WRITES], read[TL_NETBURST_RECORD_VALUES], write_bytes[MAX_WRITES];
    struct bench *bench;
} twin;

typedef struct bench {
    input in;
    tl_arena arena;
    tl_netburst_settings settings;
    uint32_t n_threads;
    uint64_t base;              // address of the memory
    uint32_t missing, readonly; // pages, bit by bit
    bool assists;
    uint8_t event; // that a counter was told to count last
    twin twins[N_TWINS];
} bench;

static void require(bool is_so) {
    if (!is_so)
        abort();
}

// ---- The surroundings.

static void interrupt(void *ctx, uint32_t thread, bool is_nmi) {
    twin *t = ctx;
    require(thread < TL_NETBURST_THREADS);
    t->n_interrupts[thread] += 1 + is_nmi;
}

static bool transfer(void *ctx, uint32_t thread, uint64_t vaddr, void *bytes, uint32_t n_bytes, bool is_write) {
    twin *t = ctx;
    const bench *b = t->bench;
    require(thread < b->n_threads && n_bytes > 0 && n_bytes <= 8 * TL_NETBURST_RECORD_VALUES);
    require(!is_write || (b->assists && t->n_writes < MAX_WRITES));
    for (uint32_t i = 0; i < n_bytes; i++) {
        const uint64_t at = vaddr + i - b->base;
        if (at >= MEMORY_BYTES || (b->missing >> at / PAGE_BYTES & 1) || (is_write && (b->readonly >> at / PAGE_BYTES & 1)))
            return false;
    }
    uint8_t *place = t->memory + (vaddr - b->base);
    if (is_write) {
        t->written[t->n_writes] = vaddr;
        t->write_bytes[t->n_writes++] = n_bytes;
        memcpy(place, bytes, n_bytes);
    } else {
        memcpy(bytes, place, n_bytes);
        if (t->n_reads < TL_NETBURST_RECORD_VALUES) {
            t->read[t->n_reads] = 0;
            memcpy(&t->read[t->n_reads++], place, n_bytes < 8 ? n_bytes : 8);
        }
    }
    return true;
}

// ---- Registers.

static uint32_t take_msr(bench *b) {
    static const uint32_t firsts[] = {TL_MSR_COUNTER,     TL_MSR_CCCR,      0x3a0,          0x3c0,
                                      TL_MSR_NBX_XESCR,   TL_MSR_NBX_XCCCR, 0x3cc,          0x370,
                                      TL_MSR_PEBS_ENABLE, TL_MSR_DS_AREA,   TL_MSR_DS_AREA, TL_MSR_NBX_CAP};
    const uint32_t kind = (uint32_t)take(&b->in, 1), first = firsts[kind % TL_COUNT_OF(firsts)];
    if (kind >= 0xf0)
        return (uint32_t)take(&b->in, 4);
    const bool is_exact = first == TL_MSR_DS_AREA || first == 0x370;
    return first + (is_exact ? 0 : (uint32_t)take(&b->in, 1) % 64);
}

static uint64_t take_value(bench *b) {
    switch (take(&b->in, 1) % 5) {
    case 0: return take(&b->in, 8);
    case 1: return b->base + take(&b->in, 2) % (2 * MEMORY_BYTES);
    case 2: return TL_NETBURST_VALUE - take(&b->in, 1);
    // Values that sample loads: of the counter, its ESCR, the tagging one, MSR_PEBS_ENABLE.
    case 3: {
        static const uint64_t samplers[] = {0x0403b000, 0x0803b000, 0x1000020f, 0x1200020f,
                                            0x0400040f, 0x03000001, 0x07000001, 0x0403b000 | TL_CCCR_FORCE_OVF};
        return samplers[take(&b->in, 1) % TL_COUNT_OF(samplers)];
    }
    default: return take(&b->in, 4);
    }
}

static void write_msr(bench *b, uint32_t thread, uint32_t msr, uint64_t value) {
    uint64_t before[N_TWINS] = {0}, after = 0;
    tl_status was[N_TWINS], status[N_TWINS];
    for (uint32_t i = 0; i < N_TWINS; i++) {
        was[i] = tl_netburst_rdmsr(b->twins[i].n, thread, msr, &before[i]);
        status[i] = tl_netburst_wrmsr(b->twins[i].n, thread, msr, value);
        require(was[i] == TL_OK || status[i] == TL_EINVAL); // there is no such MSR
        if (was[i] == TL_OK && status[i] != TL_OK) {
            require(tl_netburst_rdmsr(b->twins[i].n, thread, msr, &after) == TL_OK);
            require(after == before[i]);
        }
    }
    require(was[0] == was[1] && status[0] == status[1]);
}

static void write(bench *b) {
    const uint32_t thread = (uint32_t)take(&b->in, 1) % b->n_threads, msr = take_msr(b);
    write_msr(b, thread, msr, take_value(b));
}

// A counter near its wrap, with one of the events that its detector has.
static void run_counter(bench *b) {
    const uint32_t counter = (uint32_t)take(&b->in, 1) % TL_NETBURST_COUNTERS, select = (uint32_t)take(&b->in, 1) % 8;
    const tl_escr escr = tl_netburst_route(b->twins[0].n, counter, select);
    uint32_t event = 1 + (uint32_t)take(&b->in, 1) % (TL_NB_N_EVENTS - 1);
    for (uint32_t i = 0; i < TL_NB_N_EVENTS && tl_netburst_event_rows[event].pair != (escr & ~1u); i++)
        event = 1 + event % (TL_NB_N_EVENTS - 1);
    if (escr == TL_N_ESCRS)
        return;
    b->event = (uint8_t)event;
    write_msr(b, 0, tl_netburst_escr_msr(escr),
              (uint64_t)tl_netburst_event_rows[event].code << TL_ESCR_EVENT_LSB | take(&b->in, 2) << TL_ESCR_MASK_LSB |
                  take(&b->in, 1) % 32);
    write_msr(b, 0, TL_MSR_COUNTER + counter, TL_NETBURST_VALUE - take(&b->in, 1));
    write_msr(b, 0, TL_MSR_CCCR + counter,
              (take(&b->in, 4) & ~UINT64_C(0xf000)) | TL_CCCR_ENABLE | (uint64_t)select << TL_CCCR_SELECT_LSB | 3 << TL_CCCR_THREAD_LSB);
}

static void put(bench *b, uint64_t at, uint64_t value, uint32_t n_bytes) {
    for (uint32_t i = 0; i < N_TWINS && at + n_bytes <= MEMORY_BYTES; i++)
        memcpy(b->twins[i].memory + at, &value, n_bytes);
}

// Precise samples of a thread's loads, with an area that has room for some records, or nearly.
static void sample(bench *b) {
    const uint32_t thread = (uint32_t)take(&b->in, 1) % (b->n_threads < 2 ? 1 : 2), n_bytes = b->settings.ds64 ? 8 : 4;
    const uint64_t at = take(&b->in, 1) * 2, index = at + take(&b->in, 1) * 2, room = take(&b->in, 2) % 512, full = index + take(&b->in, 1);
    const uint64_t pointers[] = {b->base + index, b->base + index, b->base + index + room, b->base + full};
    for (uint32_t k = 0; k < TL_COUNT_OF(pointers); k++)
        put(b, at + (4 + k) * n_bytes, pointers[k], n_bytes);
    put(b, at + 8 * n_bytes, TL_NETBURST_VALUE - take(&b->in, 1) % 4, 8);
    write_msr(b, thread, TL_MSR_DS_AREA, b->base + at);
    write_msr(b, thread, 0x3cc + thread, 0x1200020f);
    write_msr(b, thread, TL_MSR_PEBS_ENABLE, TL_PEBS_MY_THREAD | TL_PEBS_UOP_TAG | 1);
    write_msr(b, thread, TL_MSR_COUNTER + TL_NETBURST_PEBS_T0 + thread, TL_NETBURST_VALUE - take(&b->in, 1) % 4);
    write_msr(b, thread, TL_MSR_CCCR + TL_NETBURST_PEBS_T0 + thread, thread == 0 ? 0x0403b000 : 0x0803b000);
}

static void read(bench *b) {
    const uint32_t thread = (uint32_t)take(&b->in, 1) % (b->n_threads + 1), msr = take_msr(b);
    uint64_t value[N_TWINS] = {0};
    const tl_status status = tl_netburst_rdmsr(b->twins[0].n, thread, msr, &value[0]);
    require(tl_netburst_rdmsr(b->twins[1].n, thread, msr, &value[1]) == status);
    require(value[0] == value[1] && (thread < b->n_threads || status == TL_EINVAL));
}

static void read_counter(bench *b) {
    const uint32_t thread = (uint32_t)take(&b->in, 1) % b->n_threads, number = (uint32_t)take(&b->in, 1) % 20 | (uint32_t)take(&b->in, 1)
                                                                                                                    << 31;
    uint64_t value[N_TWINS] = {0};
    for (uint32_t i = 0; i < N_TWINS; i++) {
        const tl_status status = tl_netburst_rdpmc(b->twins[i].n, thread, number, &value[i]);
        require((status == TL_OK) == ((number & 31) < TL_NETBURST_COUNTERS));
        require(value[i] <= (number >> 31 ? UINT32_MAX : TL_NETBURST_VALUE));
    }
    require(value[0] == value[1]);
}

static void set_lvt(bench *b) {
    const uint32_t thread = (uint32_t)take(&b->in, 1) % b->n_threads, value = (uint32_t)take(&b->in, 4);
    for (uint32_t i = 0; i < N_TWINS; i++) {
        tl_netburst_set_lvt(b->twins[i].n, thread, value);
        const uint32_t lvt = tl_netburst_lvt(b->twins[i].n, thread);
        require((lvt & ~(uint32_t)(TL_LVT_MASKED | 7 << TL_LVT_MODE_LSB)) == 0);
    }
}

// ---- Clocks.

static tl_netburst_occurrence take_occurrence(bench *b) {
    const uint32_t owner = (uint32_t)take(&b->in, 1) % 5, event = 1 + (uint32_t)take(&b->in, 1);
    return (tl_netburst_occurrence){.event = event < TL_NB_N_EVENTS ? (uint8_t)event : b->event,
                                    .owner = (uint16_t)(owner == 4 ? 0 : 1u << owner),
                                    .weight = (uint16_t)(1 + take(&b->in, 1)),
                                    .mask = (uint16_t)take(&b->in, 2)};
}

static void count(bench *b) {
    static const uint8_t actives[] = {0, 4, 8, 1, 2, 5, 6, 9, 10};
    tl_netburst_occurrence list[8];
    const uint32_t n = (uint32_t)take(&b->in, 1) % (TL_COUNT_OF(list) + 1);
    uint64_t n_clocks = 1 + take(&b->in, 1) % 40;
    tl_netburst_clock clock = {.active = actives[take(&b->in, 1) % TL_COUNT_OF(actives)], .n_occurrences = n, .occurrences = list};
    if (b->n_threads == 1)
        clock.active &= TL_ESCR_T0_USR | TL_ESCR_T0_OS;
    for (uint32_t i = 0; i < n; i++)
        list[i] = take_occurrence(b);
    clock.n_clocks = n_clocks;
    tl_netburst_count(b->twins[0].n, &clock);
    for (clock.n_clocks = 1; n_clocks > 0; n_clocks--)
        tl_netburst_count(b->twins[1].n, &clock);
}

// ---- Retirement.

static void check_assist(const bench *b, const twin *t) {
    const uint64_t record_bytes = b->settings.ds64 ? 8 * TL_NETBURST_RECORD_VALUES : 40,
                   address_mask = b->settings.ds64 ? UINT64_MAX : UINT32_MAX;
    require(t->n_writes <= 2);
    if (t->n_writes == 0)
        return;
    // base, index, maximum, threshold were read first.
    const uint64_t index = t->read[1] & address_mask, maximum = t->read[2] & address_mask;
    require(t->n_reads == 5 && t->written[0] == index && t->write_bytes[0] == record_bytes);
    require(index <= maximum && maximum - index >= record_bytes);
    require(t->n_writes < 2 || t->write_bytes[1] == (b->settings.ds64 ? 8u : 4u));
}

static void retire_one(bench *b) {
    const uint32_t thread = (uint32_t)take(&b->in, 1) % (b->n_threads < 2 ? 1 : 2);
    const uint8_t active = (uint8_t)(thread == 0 ? TL_ESCR_T0_USR : TL_ESCR_T1_USR);
    static const uint8_t events[] = {TL_NB_REPLAY_EVENT, TL_NB_EXECUTION_EVENT, TL_NB_FRONT_END_EVENT, TL_NB_REPLAY_EVENT};
    tl_netburst_occurrence uops[3];
    const uint32_t n = 1 + (uint32_t)take(&b->in, 1) % TL_COUNT_OF(uops);
    for (uint32_t i = 0; i < n; i++)
        uops[i] = (tl_netburst_occurrence){events[take(&b->in, 1) % TL_COUNT_OF(events)], active, 1, 1};
    uint64_t values[TL_NETBURST_RECORD_VALUES];
    memset(values, 0x5a, sizeof values);
    bool retires[N_TWINS];
    for (uint32_t i = 0; i < N_TWINS; i++) {
        twin *t = &b->twins[i];
        const tl_netburst_samples_stored was = tl_netburst_samples_of(t->n, thread);
        retires[i] = tl_netburst_retires(t->n, thread, uops, n, active);
        if (retires[i])
            continue;
        t->n_writes = t->n_reads = 0;
        b->assists = true;
        tl_netburst_assist(t->n, thread, values);
        b->assists = false;
        check_assist(b, t);
        const tl_netburst_samples_stored is = tl_netburst_samples_of(t->n, thread);
        require(is.n_stored + is.n_lost + is.n_faults == was.n_stored + was.n_lost + was.n_faults + 1);
        require((is.n_stored > was.n_stored) == (t->n_writes == 2));
    }
    require(retires[0] == retires[1] && !memcmp(b->twins[0].memory, b->twins[1].memory, MEMORY_BYTES));
}

static void retire(bench *b) {
    for (uint64_t n = 1 + take(&b->in, 1) % 8, i = 0; i < n; i++)
        retire_one(b);
}

static void put_area(bench *b) {
    const uint32_t at = (uint32_t)take(&b->in, 2) % MEMORY_BYTES, n_bytes = b->settings.ds64 ? 8 : 4;
    for (uint32_t k = 0; k < 10; k++) {
        // The pointers of precise samples, with room for some records; then the reset value.
        const uint64_t near = b->base + take(&b->in, 2) % (MEMORY_BYTES + 8);
        const uint64_t value = k == 8 ? TL_NETBURST_VALUE - take(&b->in, 1) % 4 : take(&b->in, 1) % 4 == 0 ? take_value(b) : near;
        put(b, at + (uint64_t)k * n_bytes, value, n_bytes);
    }
}

// ---- Texts.

static void use_text(bench *b) {
    static const char *const options[] = {"precise", "pp",         "t0", "t1u",   "thr=3",  "inv",
                                          "edge",    "active=any", "k",  "force", "NBOGUS", "MMNP"};
    char text[200];
    const size_t left = (size_t)(b->in.end - b->in.at), n = tl_lesser(left, take(&b->in, 1) % 120);
    const uint32_t kind = (uint32_t)take(&b->in, 1) % 3, k = (uint32_t)take(&b->in, 1);
    tl_netburst_request request;
    tl_netburst_plan plan;
    tl_error err;
    for (size_t i = 0; i < n; i++)
        text[i] = (char)take(&b->in, 1);
    text[n] = 0;
    if (kind == 1)
        snprintf(text, sizeof text, "%s:%s", tl_netburst_metrics[k % tl_netburst_n_metrics].name, options[n % TL_COUNT_OF(options)]);
    if (kind == 2)
        snprintf(text, sizeof text, "%s:%s:%s", tl_netburst_event_rows[tl_netburst_masks[k % tl_netburst_n_masks].event].name,
                 tl_netburst_masks[k % tl_netburst_n_masks].name, options[n % TL_COUNT_OF(options)]);
    if (tl_netburst_parse(text, b->settings.model, &request, &err) != TL_OK) {
        require(*err.text != 0);
        return;
    }
    if (tl_netburst_allocate(&b->settings, TL_ESCR_T0_USR | TL_ESCR_T0_OS, &request, 1, &plan, &err) != TL_OK)
        return;
    for (uint32_t write = 0; write < plan.n_writes; write++)
        for (uint32_t i = 0; i < N_TWINS; i++)
            (void)!tl_netburst_wrmsr(b->twins[i].n, 0, plan.writes[write].msr, plan.writes[write].value);
}

// ---- The run.

static void check(bench *b) {
    for (uint32_t i = 0; i < TL_NETBURST_COUNTERS; i++) {
        uint64_t value[N_TWINS][2] = {{0}};
        for (uint32_t k = 0; k < N_TWINS; k++) {
            require(tl_netburst_rdmsr(b->twins[k].n, 0, TL_MSR_COUNTER + i, &value[k][0]) == TL_OK && value[k][0] <= TL_NETBURST_VALUE);
            require(tl_netburst_rdmsr(b->twins[k].n, 0, TL_MSR_CCCR + i, &value[k][1]) == TL_OK && value[k][1] <= UINT32_MAX);
        }
        require(!memcmp(value[0], value[1], sizeof value[0]));
    }
    require(!memcmp(b->twins[0].n_interrupts, b->twins[1].n_interrupts, sizeof b->twins[0].n_interrupts));
}

static bool begin(bench *b) {
    tl_netburst_settings *s = &b->settings;
    tl_error err;
    *s = tl_netburst_default_settings;
    const uint64_t bits = take(&b->in, 4);
    s->model = bits & 7;
    s->stepping = bits >> 3 & 15;
    s->ssu_escr1 = bits >> 7 & 1;
    s->strict = bits >> 8 & 1;
    s->any_needs_active = bits >> 9 & 1;
    s->power_gate = bits >> 10 & 1;
    s->ds64 = bits >> 11 & 1;
    s->nbx = bits >> 12 & 1;
    s->errata_are_none = bits >> 13 & 1;
    for (uint32_t e = 0; e < TL_N_ERRATA; e++)
        s->errata[e] = (uint32_t)(bits >> (14 + e) & 1) * TL_NETBURST_ON;
    b->n_threads = 1 + (uint32_t)take(&b->in, 1) % (s->nbx ? TL_NBX_MAX_THREADS : TL_NETBURST_THREADS);
    static const uint64_t bases[] = {0x10000, UINT32_MAX - MEMORY_BYTES / 2, UINT64_MAX - MEMORY_BYTES / 2, UINT64_C(0xffffffd800000000)};
    b->base = bases[take(&b->in, 1) % TL_COUNT_OF(bases)];
    for (uint32_t i = 0; i < N_TWINS; i++) {
        const tl_netburst_host host = {.ctx = &b->twins[i], .interrupt = interrupt, .transfer = transfer};
        b->twins[i].bench = b;
        if (tl_netburst_new(s, b->n_threads, &host, &b->arena, &b->twins[i].n, &err) != TL_OK) {
            require(s->model > 6); // the one thing that is refused
            return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bench b;
    b = (bench){.in = {data, data + size}};
    const bool has_begun = begin(&b);
    for (uint32_t i = 0; i < MAX_ACTIONS && has_begun && b.in.at < b.in.end; i++) {
        switch (take(&b.in, 1) % N_ACTIONS) {
        case WRITE: write(&b); break;
        case READ: read(&b); break;
        case READ_COUNTER: read_counter(&b); break;
        case SET_LVT: set_lvt(&b); break;
        case COUNT: count(&b); break;
        case RETIRE: retire(&b); break;
        case PUT_AREA: put_area(&b); break;
        case TAKE_PAGES:
            b.missing = (uint32_t)take(&b.in, 1) & (uint32_t)take(&b.in, 1);
            b.readonly = (uint32_t)take(&b.in, 1) & (uint32_t)take(&b.in, 1);
            break;
        case RUN_COUNTER: run_counter(&b); break;
        case SAMPLE: sample(&b); break;
        default: use_text(&b); break;
        }
        check(&b);
    }
    tl_arena_done(&b.arena);
    return 0;
}
