// SPDX-License-Identifier: MIT
// See uop_lines.h. Lines of Kanata are in the order of time, and a dispatch says when its result
// will be there. Completions wait in a list until the trace has come to their cycle.
#include "report/uop_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

// The entries of tl_flow are fewer than MAX_FLIGHTS, so two instructions in flight differ.
enum { MAX_FLIGHTS = 1024, MAX_UOPS = 2, MAX_ROUNDS = 12, MAX_WAITING = 2 * MAX_FLIGHTS, TEXT_BYTES = 96 };

typedef struct uop {
    uint64_t id;
    uint64_t renamed, dispatched, done; // cycles; 0: not yet
    uint64_t round[MAX_ROUNDS];         // the first dispatches in vain
    uint8_t why[MAX_ROUNDS];
    uint32_t n_rounds;
    const char *stage; // the one that lasts; NULL: none
} uop;

typedef struct flight { // an instruction
    bool is_here;
    uint8_t n_uops, thread;
    uint32_t bits;
    uint64_t pc, number, fetched;
    uop uops[MAX_UOPS];
} flight;

typedef struct waiting { // a uop whose result will be there
    uint64_t cycle, id;
    uop *uop;
} waiting;

struct tl_uop_lines {
    tl_tap tap;
    tl_uop_lines_of of;
    tl_uop_trace_counts counts;
    uint64_t cycle; // that lines are of now
    bool has_begun;
    uint64_t n_retired;
    flight *flights; // MAX_FLIGHTS for each hart
    uint32_t n_waiting;
    waiting waiting[MAX_WAITING];
};

static const char whys[TL_N_UOP_VAINS] = {
    [TL_UOP_NO_OPERAND] = 'o', [TL_UOP_NO_LINE] = 'm', [TL_UOP_NO_TRANSLATION] = 't', [TL_UOP_SPLIT] = 'x', [TL_UOP_NO_STORE] = 's'};

// Tabs separate columns of Kanata, so none is in the text.
static void put_text(const tl_uop_lines *lines, uint32_t bits, uint64_t pc, char *text, size_t size) {
    snprintf(text, size, "(fetch faults)");
    if (bits)
        lines->of.disassemble(bits, pc, text, size);
    for (char *at = text; *at; at++)
        *at = *at == '\t' ? ' ' : *at;
}

// ---- Kanata.

static void begin_cycle(tl_uop_lines *lines, uint64_t cycle) {
    FILE *stream = lines->of.stream;
    if (!lines->has_begun)
        fprintf(stream, "Kanata\t0004\nC=\t%" PRIu64 "\n", cycle);
    else if (cycle > lines->cycle)
        fprintf(stream, "C\t%" PRIu64 "\n", cycle - lines->cycle);
    lines->cycle = lines->has_begun && cycle < lines->cycle ? lines->cycle : cycle;
    lines->has_begun = true;
}

static void end_stage(const tl_uop_lines *lines, uop *u) {
    if (u->stage)
        fprintf(lines->of.stream, "E\t%" PRIu64 "\t0\t%s\n", u->id, u->stage);
    u->stage = NULL;
}

static void begin_stage(const tl_uop_lines *lines, uop *u, const char *stage) {
    end_stage(lines, u);
    fprintf(lines->of.stream, "S\t%" PRIu64 "\t0\t%s\n", u->id, stage);
    u->stage = stage;
}

// Completions up to this cycle, the earliest first.
static void complete(tl_uop_lines *lines, uint64_t cycle) {
    while (lines->n_waiting > 0) {
        uint32_t first = 0;
        for (uint32_t i = 1; i < lines->n_waiting; i++)
            if (lines->waiting[i].cycle < lines->waiting[first].cycle)
                first = i;
        const waiting next = lines->waiting[first];
        if (next.cycle > cycle)
            return;
        lines->waiting[first] = lines->waiting[--lines->n_waiting];
        if (next.uop->id != next.id || !next.uop->stage) // it was taken back
            continue;
        begin_cycle(lines, next.cycle);
        begin_stage(lines, next.uop, "Cm");
    }
}

static void wait_for(tl_uop_lines *lines, uop *u) {
    for (uint32_t i = 0; i < lines->n_waiting; i++)
        if (lines->waiting[i].uop == u) { // of an instruction taken back
            lines->waiting[i] = (waiting){u->done, u->id, u};
            return;
        }
    lines->waiting[lines->n_waiting++] = (waiting){u->done, u->id, u};
}

static void put_label(const tl_uop_lines *lines, const flight *f, uint32_t k, const char *text) {
    const char *part = f->n_uops == 1 ? "" : k == 0 ? " (address)" : " (data)";
    const uint64_t id = f->uops[k].id;
    fprintf(lines->of.stream, "I\t%" PRIu64 "\t%" PRIu64 "\t%u\n", id, f->number, f->thread);
    fprintf(lines->of.stream, "L\t%" PRIu64 "\t0\t%" PRIx64 ": %s%s\n", id, f->pc, text, part);
}

// ---- Text.

static void put_head(const tl_uop_lines *lines) {
    fputs("# A line for each uop, when it ends. Columns but the last four are cycles of the machine.\n"
          "# replays: dispatches in vain, for want of an operand (o), of the line (m), of the translation (t), "
          "of an older store's data (s), or because a load crosses a line (x)\n"
          "#      fetch     rename   dispatch   complete        end  how     hart replays                  pc  instruction\n",
          lines->of.stream);
}

static void put_cycle(FILE *stream, uint64_t cycle) {
    if (cycle)
        fprintf(stream, " %10" PRIu64, cycle);
    else
        fprintf(stream, " %10s", "-");
}

static void put_line(const tl_uop_lines *lines, const flight *f, uint32_t k, uint64_t end, const char *how) {
    FILE *stream = lines->of.stream;
    const uop *u = &f->uops[k];
    char text[TEXT_BYTES], rounds[MAX_ROUNDS * 24] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < u->n_rounds && i < MAX_ROUNDS; i++)
        used += (size_t)snprintf(rounds + used, sizeof rounds - used, "%s%" PRIu64 "%c", i ? "," : "", u->round[i], whys[u->why[i]]);
    if (u->n_rounds > MAX_ROUNDS)
        snprintf(rounds + used, sizeof rounds - used, "+%u", u->n_rounds - MAX_ROUNDS);
    put_cycle(stream, f->fetched);
    put_cycle(stream, u->renamed);
    put_cycle(stream, u->dispatched);
    put_cycle(stream, u->done && u->done <= end ? u->done : 0);
    put_cycle(stream, end);
    put_text(lines, f->bits, f->pc, text, sizeof text);
    fprintf(stream, "  %-7s %3u %-16s %12" PRIx64 "  %s%s\n", how, f->thread, *rounds ? rounds : "-", f->pc, text,
            f->n_uops == 1 ? ""
            : k == 0       ? " (address)"
                           : " (data)");
}

// ---- Instructions.

static flight *flight_of(tl_uop_lines *lines, const tl_hart *h, uint64_t seq) {
    return &lines->flights[h->id * MAX_FLIGHTS + seq % MAX_FLIGHTS];
}

static bool begin(tl_uop_lines *lines, flight *f, const tl_cycle_record *record, const tl_uop_event *event, uint32_t n_uops) {
    char text[TEXT_BYTES];
    f->is_here = false;
    if (lines->counts.n_insns == lines->of.max_insns) {
        lines->counts.is_cut = true;
        return false;
    }
    *f = (flight){.is_here = true,
                  .n_uops = (uint8_t)n_uops,
                  .thread = (uint8_t)record->h->id,
                  .bits = event->bits,
                  .pc = event->pc,
                  .number = lines->counts.n_insns++,
                  .fetched = record->cycle};
    put_text(lines, event->bits, event->pc, text, sizeof text);
    for (uint32_t k = 0; k < n_uops; k++) {
        f->uops[k].id = lines->counts.n_uops++;
        if (lines->of.format == TL_UOP_TRACE_KANATA)
            put_label(lines, f, k, text);
    }
    return true;
}

static void end_all(tl_uop_lines *lines, flight *f, uint64_t cycle, bool has_retired, const char *how) {
    for (uint32_t k = 0; k < f->n_uops; k++) {
        uop *u = &f->uops[k];
        if (lines->of.format == TL_UOP_TRACE_TEXT) {
            put_line(lines, f, k, cycle, how);
            continue;
        }
        end_stage(lines, u);
        fprintf(lines->of.stream, "R\t%" PRIu64 "\t%" PRIu64 "\t%d\n", u->id, has_retired ? lines->n_retired : 0, !has_retired);
        lines->n_retired += has_retired;
    }
    f->is_here = false;
}

static void set_stage(tl_uop_lines *lines, flight *f, const char *stage) {
    for (uint32_t k = 0; k < f->n_uops && lines->of.format == TL_UOP_TRACE_KANATA; k++)
        begin_stage(lines, &f->uops[k], stage);
}

static void dispatch(tl_uop_lines *lines, flight *f, uint64_t cycle, const tl_uop_event *event) {
    uop *u = &f->uops[event->uop % MAX_UOPS];
    const bool is_kanata = lines->of.format == TL_UOP_TRACE_KANATA;
    if (event->vain == TL_UOP_EFFECTIVE) {
        u->dispatched = cycle;
        u->done = (event->done_half_cycles + 1) / 2;
        if (is_kanata) {
            begin_stage(lines, u, "Ex");
            wait_for(lines, u);
        }
        return;
    }
    if (u->n_rounds < MAX_ROUNDS) {
        u->round[u->n_rounds] = cycle;
        u->why[u->n_rounds] = event->vain;
    }
    u->n_rounds += 1;
    if (!is_kanata)
        return;
    begin_stage(lines, u, "Rp");
    fprintf(lines->of.stream, "L\t%" PRIu64 "\t1\t%" PRIu64 "%c \n", u->id, cycle, whys[event->vain]);
}

static void follow(tl_uop_lines *lines, const tl_cycle_record *record, const tl_uop_event *event) {
    flight *f = flight_of(lines, record->h, event->seq);
    const bool is_store = event->cls == TL_CLASS_STORE || event->cls == TL_CLASS_FP_STORE;
    switch ((tl_uop_step)event->step) {
    case TL_UOP_FETCH:
        if (begin(lines, f, record, event, is_store ? 2 : 1))
            set_stage(lines, f, "F");
        return;
    case TL_UOP_ALONE: {
        flight single;
        if (!begin(lines, &single, record, event, 1))
            return;
        set_stage(lines, &single, "Al");
        single.uops[0].dispatched = record->cycle;
        if (lines->of.format == TL_UOP_TRACE_KANATA)
            begin_cycle(lines, record->cycle + record->n_cycles);
        end_all(lines, &single, record->cycle + record->n_cycles, event->has_retired, event->has_retired ? "alone" : "trap");
        return;
    }
    default: break;
    }
    if (!f->is_here)
        return;
    switch ((tl_uop_step)event->step) {
    case TL_UOP_RENAME:
        for (uint32_t k = 0; k < f->n_uops; k++)
            f->uops[k].renamed = record->cycle;
        set_stage(lines, f, "Rn");
        break;
    case TL_UOP_DISPATCH: dispatch(lines, f, record->cycle, event); break;
    case TL_UOP_RETIRE: end_all(lines, f, record->cycle, true, "retire"); break;
    case TL_UOP_TAKE_BACK: end_all(lines, f, record->cycle, false, "squash"); break;
    default: break;
    }
}

static void take(tl_tap *tap, const tl_cycle_record *record) {
    tl_uop_lines *lines = (tl_uop_lines *)(void *)tap;
    lines->counts.n_cycles += record->n_cycles;
    if (record->n_events == 0)
        return;
    if (lines->of.format == TL_UOP_TRACE_KANATA) {
        complete(lines, record->cycle);
        begin_cycle(lines, record->cycle);
    }
    for (uint32_t i = 0; i < record->n_events; i++)
        follow(lines, record, &record->events[i]);
}

// ---- Life.

tl_status tl_uop_lines_new(const tl_uop_lines_of *of, tl_uop_lines **ret_lines, tl_error *err) {
    tl_uop_lines *lines = calloc(1, sizeof *lines);
    flight *flights = calloc((size_t)of->n_harts * MAX_FLIGHTS, sizeof *flights);
    if (!lines || !flights) {
        free(lines);
        free(flights);
        return tl_no_memory(err);
    }
    lines->tap.record = take;
    lines->of = *of;
    lines->flights = flights;
    if (of->format == TL_UOP_TRACE_TEXT)
        put_head(lines);
    *ret_lines = lines;
    return TL_OK;
}

tl_tap *tl_uop_lines_tap(tl_uop_lines *lines) { return &lines->tap; }

tl_status tl_uop_lines_end(tl_uop_lines *lines, tl_uop_trace_counts *ret_counts, tl_error *err) {
    if (lines->of.format == TL_UOP_TRACE_KANATA) {
        complete(lines, UINT64_MAX - 1);
        if (!lines->has_begun)
            begin_cycle(lines, 0);
    }
    lines->counts.size = ret_counts->size;
    memcpy(ret_counts, &lines->counts, tl_lesser(ret_counts->size, sizeof lines->counts));
    if (fflush(lines->of.stream) != 0 || ferror(lines->of.stream))
        return tl_fail(err, TL_EIO, "the trace could not be written in full");
    return TL_OK;
}

void tl_uop_lines_free(tl_uop_lines *lines) {
    if (!lines)
        return;
    free(lines->flights);
    free(lines);
}
