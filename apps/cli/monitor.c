// SPDX-License-Identifier: MIT
// tally monitor: a bare AArch64 program on a board, and commands of a debugger of one of its harts.
// --serve answers other processes instead, and a socket in place of the program is a board of one.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tally/debugger.h>

#include "options.h"
#include "output.h"

enum { SERVE_SECONDS = 3600, MOST_TRACED = 100000, MOST_ENTRIES = 4096 };
enum { MOST_ARGS = 8, N_REGISTERS = 34, MOST_STEPS = 1000000, MOST_BYTES = 4096 };
static const uint64_t WAIT_NS = 1000000000, FINISH_NS = UINT64_C(100000000000), SERVED_BUDGET_NS = 1000000000;

typedef struct desk {
    const cli_options *options;
    tl_debugger *monitor;
    const char *word; // the command under way
    tl_debugger_reply reply;
    uint64_t args[MOST_ARGS];
    uint32_t n_args;
    bool is_listening, is_remote;
    tl_debugger_entry *found; // of l1d, l1i and tlb, for --svg; NULL: no picture is wanted
    uint32_t n_found;
    tl_error err;
} desk;

static int report_problem(const desk *d, int status, const char *what) {
    fprintf(stderr, "tally: %s: %s\n", d->word, what);
    return status;
}

// The whole text is a number, without a sign, of 64 bits.
static bool read_number(const char *text, uint64_t *ret) {
    char *end;
    errno = 0;
    *ret = strtoull(text, &end, 0);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

// An address: 0x..., a decimal number, or a symbol, with +OFFSET behind it.
static bool read_where(desk *d, const char *text, size_t n, uint64_t *ret) {
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)n, text);
    char *plus = strchr(name, '+');
    uint64_t offset = 0;
    if (plus) {
        *plus = '\0';
        if (!read_number(plus + 1, &offset))
            return false;
    }
    if (!read_number(name, ret)) {
        if (tl_debugger_symbol(d->monitor, name, ret, &d->err) != TL_OK)
            return false;
    }
    *ret += offset;
    return true;
}

// WHERE:WHERE... false: one of them is none.
static bool read_args(desk *d, const char *value) {
    for (d->n_args = 0; value && *value && d->n_args < MOST_ARGS; d->n_args++) {
        const size_t n = strcspn(value, ":");
        if (!read_where(d, value, n, &d->args[d->n_args]))
            return false;
        value += n + (value[n] == ':');
    }
    return true;
}

static bool call(desk *d, tl_debugger_function function, const uint64_t *args, uint32_t n) {
    tl_debugger_call(d->monitor, function, args, n, &d->reply);
    return d->reply.code == TL_DEBUGGER_DONE || d->reply.code == TL_DEBUGGER_UNKNOWN_VERDICT;
}

static int refused(const desk *d) {
    char text[200];
    snprintf(text, sizeof text, "0x%02x in state %s. %s", d->reply.code, tl_debugger_state_name(d->reply.state),
             tl_debugger_code_text(d->reply.code));
    if (d->options->wants_json)
        printf("{\"command\":\"%s\",\"code\":%u,\"state\":\"%s\"}\n", d->word, d->reply.code, tl_debugger_state_name(d->reply.state));
    return report_problem(d, STATUS_FAILED, text);
}

static void put_place(const desk *d, uint64_t address) {
    uint64_t within = 0;
    const char *name = tl_debugger_symbol_at(d->monitor, address, &within);
    printf("%016" PRIx64, address);
    if (name)
        printf(" %s+0x%" PRIx64, name, within);
}

static int put_stop(const desk *d, uint64_t pc) {
    uint64_t within = 0;
    const char *name = tl_debugger_symbol_at(d->monitor, pc, &within);
    if (d->options->wants_json) {
        printf("{\"command\":\"%s\",\"pc\":%" PRIu64 ",\"function\":\"%s\",\"time_ns\":%" PRIu64 "}\n", d->word, pc, name ? name : "",
               tl_debugger_now_ns(d->monitor));
        return 0;
    }
    printf("halted at ");
    put_place(d, pc);
    printf(", %" PRIu64 " ns\n", tl_debugger_now_ns(d->monitor));
    return 0;
}

static int wait_for_hit(desk *d) {
    tl_debugger_event event = {.size = sizeof event};
    while (tl_debugger_wait(d->monitor, WAIT_NS, &event))
        if (event.kind == 1)
            return put_stop(d, event.pc);
    return report_problem(d, STATUS_FAILED, "the target has not come there within a second of its time");
}

static bool listen(desk *d) {
    d->is_listening = d->is_listening || call(d, TL_DEBUGGER_LISTEN_START, NULL, 0);
    return d->is_listening;
}

// A hit of before, which an exhausted stop budget has left behind, is none of what comes now.
static bool resume(desk *d) {
    tl_debugger_event event = {.size = sizeof event};
    while (tl_debugger_wait(d->monitor, 0, &event))
        ;
    return call(d, TL_DEBUGGER_RESUME, NULL, 0);
}

// The target may come there as soon as the breakpoint is set, and then it stays there.
static int run_hit(desk *d) {
    const uint64_t set[] = {1, 0, d->args[0], 0};
    if (d->n_args != 1)
        return report_problem(d, STATUS_USAGE, "write hit=WHERE, a function or an address");
    tl_debugger_call(d->monitor, TL_DEBUGGER_STATUS, NULL, 0, &d->reply);
    const bool is_halted = !strcmp(tl_debugger_state_name(d->reply.state), "halted");
    if (!call(d, TL_DEBUGGER_BP_CTL, set, 4) || !listen(d) || (is_halted && !resume(d)))
        return refused(d);
    return wait_for_hit(d);
}

static int run_halt(desk *d) {
    if (!listen(d) || !call(d, TL_DEBUGGER_HALT_REQ, NULL, 0))
        return refused(d);
    return put_stop(d, d->reply.values[1]);
}

static int run_go(desk *d) { return resume(d) ? wait_for_hit(d) : refused(d); }

static int run_stop(desk *d) {
    if (!call(d, TL_DEBUGGER_LISTEN_STOP, NULL, 0) || !call(d, TL_DEBUGGER_ROUND_RESET, NULL, 0))
        return refused(d);
    d->is_listening = false;
    if (d->options->wants_json)
        printf("{\"command\":\"stop\"}\n");
    return 0;
}

static bool read_registers(desk *d) {
    static const uint64_t all[] = {0, 0, N_REGISTERS};
    return call(d, TL_DEBUGGER_REG_XFER, all, 3);
}

static int run_regs(desk *d) {
    static const char *const special[] = {"sp", "pc", "pstate"};
    if (!read_registers(d))
        return refused(d);
    if (d->options->wants_json)
        printf("{\"command\":\"regs\"");
    for (uint32_t i = 0; i < N_REGISTERS; i++) {
        char name[8];
        snprintf(name, sizeof name, i < 31 ? "x%u" : "%u", i);
        if (d->options->wants_json)
            printf(",\"%s\":%" PRIu64, i < 31 ? name : special[i - 31], d->reply.values[i]);
        else
            printf("%-6s %016" PRIx64 "%s", i < 31 ? name : special[i - 31], d->reply.values[i],
                   i % 4 == 3 || i + 1 == N_REGISTERS ? "\n" : "  ");
    }
    if (d->options->wants_json)
        printf("}\n");
    return 0;
}

enum { TEXT_BYTES = 96 };
static void disassemble(uint32_t word, uint64_t pc, char text[TEXT_BYTES]) {
    tl_debugger_disassemble(word, pc, text, TEXT_BYTES);
    for (char *tab = strchr(text, '\t'); tab; tab = strchr(tab, '\t'))
        *tab = ' ';
}

// One line for each instruction: its place, its text, and the registers that it changed.
static int run_step(desk *d) {
    static const uint64_t one[] = {0, 1};
    const uint64_t n = d->n_args == 1 ? d->args[0] : 1;
    uint64_t before[N_REGISTERS];
    if (n == 0 || n > MOST_STEPS || d->n_args > 1)
        return report_problem(d, STATUS_USAGE, "write step=N with N from 1 to 1000000");
    for (uint64_t i = 0; i < n; i++) {
        if (!read_registers(d))
            return refused(d);
        memcpy(before, d->reply.values, sizeof before);
        const uint64_t pc = before[32];
        uint32_t word;
        char text[TEXT_BYTES] = "?";
        if (tl_debugger_code(d->monitor, pc, &word))
            disassemble(word, pc, text);
        if (!call(d, TL_DEBUGGER_RESUME, one, 2))
            return refused(d);
        tl_debugger_event event = {.size = sizeof event};
        if (d->reply.n_values == 0 && !tl_debugger_wait(d->monitor, WAIT_NS, &event))
            return report_problem(d, STATUS_FAILED, "the instruction took an exception and has not come back within a second");
        if (!read_registers(d))
            return refused(d);
        if (d->options->wants_json)
            printf("{\"command\":\"step\",\"pc\":%" PRIu64 ",\"instruction\":\"%s\",\"changed\":{", pc, text);
        else {
            put_place(d, pc);
            printf("  %-40s", text);
        }
        bool is_first = true;
        for (uint32_t r = 0; r < 32; r++) {
            if (d->reply.values[r] == before[r])
                continue;
            char name[8];
            snprintf(name, sizeof name, r == 31 ? "sp" : "x%u", r);
            if (d->options->wants_json)
                printf("%s\"%s\":%" PRIu64, is_first ? "" : ",", name, d->reply.values[r]);
            else
                printf(" %s=%" PRIx64, name, d->reply.values[r]);
            is_first = false;
        }
        if (d->options->wants_json)
            printf("}}\n");
        else
            printf("\n");
    }
    return 0;
}

static int run_mem(desk *d) {
    if (d->n_args != 2 || d->args[1] == 0 || d->args[1] > MOST_BYTES)
        return report_problem(d, STATUS_USAGE, "write mem=WHERE:BYTES with 1 to 4096 bytes");
    const uint64_t request[] = {0, d->args[0], d->args[1], 2};
    if (!call(d, TL_DEBUGGER_MEM_XFER, request, 4))
        return refused(d);
    if (d->options->wants_json)
        printf("{\"command\":\"mem\",\"address\":%" PRIu64 ",\"bytes\":\"", d->args[0]);
    for (uint64_t i = 0; i < d->args[1]; i++) {
        if (!d->options->wants_json && i % 16 == 0)
            printf("%s%016" PRIx64 " ", i > 0 ? "\n" : "", d->args[0] + i);
        printf(d->options->wants_json ? "%02x" : " %02x", (unsigned)(d->reply.values[i / 8] >> 8 * (i % 8)) & 0xff);
    }
    printf(d->options->wants_json ? "\"}\n" : "\n");
    return 0;
}

static void put_entry(const desk *d, const tl_debugger_entry *e) {
    const bool is_line = e->kind == TL_DEBUGGER_L1D || e->kind == TL_DEBUGGER_L1I;
    if (d->options->wants_json)
        printf("{\"command\":\"%s\",\"kind\":\"%s\",\"index\":%u,\"way\":%u,\"state\":\"%c\",\"vaddr\":%" PRIu64 ",\"paddr\":%" PRIu64
               ",\"bytes\":%" PRIu64 ",\"asid\":%u,\"global\":%s}\n",
               d->word,
               e->kind == TL_DEBUGGER_WALK ? "walk"
               : is_line                   ? "line"
                                           : "page",
               e->index, e->way, e->state, e->vaddr, e->paddr, e->bytes, e->asid, e->is_global ? "true" : "false");
    else if (is_line)
        printf("set %3u way %u  %c  %010" PRIx64 "\n", e->index, e->way, e->state, e->paddr);
    else
        printf("%s %3u way %u  %016" PRIx64 " -> %010" PRIx64 "  %" PRIu64 " KiB  asid %u%s\n",
               e->kind == TL_DEBUGGER_WALK ? "walk" : "page", e->index, e->way, e->vaddr, e->paddr, e->bytes / 1024, e->asid,
               e->is_global ? " global" : "");
}

// Valid entries; the others are counted.
static int dump(desk *d, uint64_t mask) {
    const uint64_t request[] = {mask, 1, 200};
    tl_debugger_entry e = {.size = sizeof e};
    unsigned n_valid = 0, n_all = 0;
    const uint64_t before = tl_debugger_n_accesses(d->monitor);
    while (tl_debugger_next_entry(d->monitor, &e)) // of earlier commands
        ;
    if (!call(d, TL_DEBUGGER_UARCH_DUMP, request, 3))
        return refused(d);
    for (; tl_debugger_next_entry(d->monitor, &e); n_all++) {
        if (d->found && d->n_found < MOST_ENTRIES)
            d->found[d->n_found++] = e;
        if (e.state == 'I')
            continue;
        put_entry(d, &e);
        n_valid++;
    }
    if (!d->options->wants_json)
        printf("%u of %u entries are valid; %" PRIu64 " accesses of registers\n", n_valid, n_all,
               tl_debugger_n_accesses(d->monitor) - before);
    return 0;
}
static int run_l1d(desk *d) { return dump(d, 1); }
static int run_l1i(desk *d) { return dump(d, 2); }
static int run_tlb(desk *d) { return dump(d, 4); }

// -- Trace: what each instruction did, and what it changed.

static const char *place_name(const tl_debugger_entry *e) {
    static const char *const names[] = {[TL_DEBUGGER_L1D] = "l1d",
                                        [TL_DEBUGGER_L1I] = "l1i",
                                        [TL_DEBUGGER_TLB] = "tlb",
                                        [TL_DEBUGGER_WALK] = "walk",
                                        [TL_DEBUGGER_IPA] = "ipa"};
    return names[e->kind];
}

static void put_flags(uint64_t pstate, char text[5]) {
    for (unsigned i = 0; i < 4; i++)
        text[i] = pstate >> (31 - i) & 1 ? "NZCV"[i] : '-';
    text[4] = '\0';
}

static const char *register_name(unsigned n, char name[8]) {
    static const char *const special[] = {"sp", "pc", "pstate"};
    if (n < 31)
        snprintf(name, 8, "x%u", n);
    else
        snprintf(name, 8, "%s", special[n - 31]);
    return name;
}

static void put_change_json(const tl_debugger_change *c, bool is_first) {
    const tl_debugger_entry *e = c->after.state == 'I' ? &c->before : &c->after;
    printf("%s{\"in\":\"%s\",\"index\":%u,\"way\":%u,\"before\":\"%c\",\"after\":\"%c\",\"vaddr\":%" PRIu64 ",\"paddr\":%" PRIu64
           ",\"was\":%" PRIu64 "}",
           is_first ? "" : ",", place_name(e), e->index, e->way, c->before.state, c->after.state, e->vaddr, e->paddr, c->before.paddr);
}

static void put_step_json(const tl_debugger_step *s, uint64_t pc, const char *text) {
    const uint64_t flags = UINT64_C(0xf0000000);
    bool is_first = true;
    char name[8];
    printf("{\"command\":\"trace\",\"pc\":%" PRIu64 ",\"word\":%u,\"instruction\":\"%s\",\"registers\":{", pc, s->word, text);
    for (unsigned n = 0; n < 32; n++)
        if (s->after[n] != s->before[n]) {
            printf("%s\"%s\":%" PRIu64, is_first ? "" : ",", register_name(n, name), s->after[n]);
            is_first = false;
        }
    printf("},\"nzcv\":%" PRIu64 ",\"next\":%" PRIu64 ",\"excepted\":%s", (s->after[33] & flags) >> 28, s->after[32],
           s->has_excepted ? "true" : "false");
    if (s->n_bytes > 0) {
        printf(",\"%s\":{\"address\":%" PRIu64 ",\"bytes\":%u,\"values\":[", s->is_store ? "store" : "load", s->address, s->n_bytes);
        for (unsigned i = 0; i < s->n_values; i++)
            printf("%s%" PRIu64, i > 0 ? "," : "", s->values[i]);
        printf("]}");
    }
    printf(",\"counts\":{\"CPU_CYCLES\":%" PRIu64, s->counts[0]);
    for (unsigned i = 0; i < TL_DEBUGGER_COUNTS; i++)
        printf(",\"%s\":%" PRIu64, tl_debugger_count_name(i), s->counts[i + 1]);
    printf("},\"changes\":[");
    for (unsigned i = 0; i < s->n_changes && i < TL_DEBUGGER_CHANGES; i++)
        put_change_json(&s->changes[i], i == 0);
    printf("],\"n_changes\":%u}\n", s->n_changes);
}

// The listing: the instruction, and below it what it did.
static void put_step_text(const desk *d, const tl_debugger_step *s, uint64_t pc, const char *text) {
    char before[5], after[5], name[8];
    put_place(d, pc);
    printf("  %08x  %-36s", s->word, text);
    for (unsigned n = 0; n < 32; n++)
        if (s->after[n] != s->before[n])
            printf(" %s=%" PRIx64, register_name(n, name), s->after[n]);
    put_flags(s->before[33], before);
    put_flags(s->after[33], after);
    if (strcmp(before, after) != 0)
        printf(" %s", after);
    printf("\n");
    if (s->n_bytes > 0) {
        printf("    %s of %u bytes at %" PRIx64, s->is_store ? "store" : "load", s->n_bytes, s->address);
        for (unsigned i = 0; i < s->n_values; i++)
            printf("%s%" PRIx64, i == 0 ? ": " : ", ", s->values[i]);
        printf("\n");
    }
    for (unsigned i = 0; i < s->n_changes && i < TL_DEBUGGER_CHANGES; i++) {
        const tl_debugger_change *c = &s->changes[i];
        const tl_debugger_entry *e = c->after.state == 'I' ? &c->before : &c->after;
        printf("    %s %u way %u: %c -> %c  %" PRIx64, place_name(e), e->index, e->way, c->before.state, c->after.state,
               e->kind >= TL_DEBUGGER_TLB ? e->vaddr : e->paddr);
        if (c->before.state != 'I' && c->after.state != 'I' && c->before.paddr != c->after.paddr)
            printf(", instead of %" PRIx64, e->kind >= TL_DEBUGGER_TLB ? c->before.vaddr : c->before.paddr);
        printf("\n");
    }
    bool has_counts = false;
    for (unsigned i = 1; i < TL_DEBUGGER_COUNTS; i++) // instructions are always 1
        if (s->counts[i + 1] != 0) {
            printf("%s%s %" PRIu64, has_counts ? ", " : "    ", tl_debugger_count_name(i), s->counts[i + 1]);
            has_counts = true;
        }
    printf("%s%" PRIu64 " cycles%s\n", has_counts ? ", " : "    ", s->counts[0], s->has_excepted ? ", took an exception" : "");
}

static int refused_with(desk *d, uint8_t code) {
    d->reply.code = code;
    return refused(d);
}

// trace=N instructions, or trace=FROM:TO, which first runs to FROM.
static int run_trace(desk *d) {
    uint64_t n = d->n_args == 1 ? d->args[0] : MOST_TRACED, end = 0;
    if (d->n_args == 0 || d->n_args > 2 || (d->n_args == 1 && (n == 0 || n > MOST_TRACED)))
        return report_problem(d, STATUS_USAGE, "write trace=N with N from 1 to 100000, or trace=FROM:TO");
    if (d->n_args == 2) {
        end = d->args[1];
        d->n_args = 1;
        const int status = run_hit(d);
        if (status != 0)
            return status;
    }
    tl_debugger_step *step = calloc(1, sizeof *step);
    uint8_t code = step ? tl_debugger_trace_begin(d->monitor) : TL_DEBUGGER_INTERNAL;
    uint64_t pc = 0;
    if (code == TL_DEBUGGER_DONE && read_registers(d))
        pc = d->reply.values[32];
    for (uint64_t i = 0; i < n && code == TL_DEBUGGER_DONE && (i == 0 || pc != end); i++) {
        uint32_t word = 0;
        char text[TEXT_BYTES];
        *step = (tl_debugger_step){.size = sizeof *step};
        if (!tl_debugger_code(d->monitor, pc, &word)) {
            code = TL_DEBUGGER_INTERNAL;
            break;
        }
        code = tl_debugger_trace_step(d->monitor, word, step);
        if (code != TL_DEBUGGER_DONE)
            break;
        disassemble(word, pc, text);
        if (d->options->wants_json)
            put_step_json(step, pc, text);
        else
            put_step_text(d, step, pc, text);
        pc = step->after[32];
    }
    free(step);
    return code == TL_DEBUGGER_DONE ? 0 : refused_with(d, code);
}

static bool read_code(desk *d, uint64_t address, uint64_t *ret_word) {
    uint32_t word = 0;
    if (!tl_debugger_code(d->monitor, address, &word)) {
        d->reply.code = TL_DEBUGGER_EXCEPTION;
        return false;
    }
    *ret_word = word;
    return true;
}

static int run_calibrate(desk *d) {
    uint64_t word;
    if (d->n_args != 2)
        return report_problem(d, STATUS_USAGE, "write calibrate=LOAD:DATA, a load that runs and an address that it may load from");
    if (!read_code(d, d->args[0], &word))
        return refused(d);
    const uint64_t request[] = {d->args[0], word, d->args[1]};
    if (!call(d, TL_DEBUGGER_CALIBRATE, request, 3))
        return refused(d);
    const uint64_t *v = d->reply.values;
    printf(d->options->wants_json ? "{\"command\":\"calibrate\",\"residue\":%" PRIu64 ",\"most_hit\":%" PRIu64 ",\"least_miss\":%" PRIu64
                                    ",\"threshold\":%" PRIu64 "}\n"
                                  : "residue %" PRIu64 " cycles, hits up to %" PRIu64 ", misses from %" PRIu64 ", threshold %" PRIu64 "\n",
           v[0], v[1], v[2], v[3]);
    return 0;
}

static int probe(desk *d, uint64_t algorithm, uint32_t n_needed, const char *usage) {
    static const char *const verdicts[] = {"no", "yes", "unknown"};
    uint64_t word = 0;
    if (d->n_args != n_needed)
        return report_problem(d, STATUS_USAGE, usage);
    if (algorithm != 3 && !read_code(d, algorithm < 3 ? d->args[0] : d->args[1], &word))
        return refused(d);
    const uint64_t request[] = {algorithm, d->args[0], n_needed > 1 ? d->args[1] : 0, word};
    if (!call(d, TL_DEBUGGER_PROBE, request, algorithm == 3 ? 3 : 4))
        return refused(d);
    const uint64_t *v = d->reply.values;
    printf(d->options->wants_json ? "{\"command\":\"%s\",\"verdict\":\"%s\",\"reason\":%" PRIu64 ",\"cycles\":%" PRIu64 "}\n"
                                  : "%s: %s, reason 0x%" PRIx64 ", %" PRIu64 " cycles\n",
           d->word, verdicts[v[0] % 3], v[1], v[8] - (v[9] < v[8] ? v[9] : v[8]));
    return 0;
}
static int run_btb(desk *d) { return probe(d, 1, 2, "write btb=BRANCH:TARGET"); }
static int run_rsb(desk *d) { return probe(d, 2, 2, "write rsb=RETURN:TARGET"); }
static int run_itlb(desk *d) { return probe(d, 3, 1, "write itlb=WHERE, an instruction that is no branch and no access"); }
static int run_dtlb(desk *d) { return probe(d, 4, 2, "write dtlb=DATA:LOAD"); }
static int run_l2(desk *d) { return probe(d, 5, 2, "write l2=DATA:LOAD"); }

static int run_status(desk *d) {
    static const char *const names[] = {"edscr", "sticky", "state", "pc",     "last_stop_ns", "most_stop_ns",
                                        "hits",  "steps",  "drops", "ledger", "capabilities"};
    if (!call(d, TL_DEBUGGER_STATUS, NULL, 0))
        return refused(d);
    printf(d->options->wants_json ? "{\"command\":\"status\"" : "");
    for (uint32_t i = 0; i < d->reply.n_values && i < sizeof names / sizeof names[0]; i++)
        printf(d->options->wants_json ? ",\"%s\":%" PRIu64 : "%-14s %" PRIu64 "\n", names[i], d->reply.values[i]);
    printf(d->options->wants_json ? "}\n" : "");
    return 0;
}

static int run_word(desk *d) {
    static const struct {
        const char *name;
        bool has_value;
        int (*run)(desk *d);
    } rows[] = {{"hit", true, run_hit},        {"halt", false, run_halt}, {"go", false, run_go},  {"stop", false, run_stop},
                {"regs", false, run_regs},     {"step", true, run_step},  {"mem", true, run_mem}, {"l1d", false, run_l1d},
                {"l1i", false, run_l1i},       {"tlb", false, run_tlb},   {"btb", true, run_btb}, {"rsb", true, run_rsb},
                {"itlb", true, run_itlb},      {"dtlb", true, run_dtlb},  {"l2", true, run_l2},   {"calibrate", true, run_calibrate},
                {"status", false, run_status}, {"trace", true, run_trace}};
    const char *text = d->word;
    const size_t n = strcspn(text, "=");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strlen(rows[i].name) != n || strncmp(rows[i].name, text, n) != 0)
            continue;
        if (text[n] == '=' && !rows[i].has_value)
            return report_problem(d, STATUS_USAGE, "this command takes no value");
        if (!read_args(d, text[n] == '=' ? text + n + 1 : NULL))
            return report_problem(d, STATUS_USAGE, "not an address, nor a symbol of the program; write 0x... or NAME+OFFSET");
        d->word = rows[i].name;
        return rows[i].run(d);
    }
    return report_problem(
        d, STATUS_USAGE,
        "no such command; commands are hit, halt, go, step, regs, mem, l1d, l1i, tlb, calibrate, btb, rsb, itlb, dtlb, l2, status, "
        "trace, stop");
}

// The program is let go and runs to its end.
static int finish(desk *d) {
    int32_t status = -1;
    d->word = "end";
    if (d->is_listening && !call(d, TL_DEBUGGER_LISTEN_STOP, NULL, 0))
        return refused(d);
    if (d->is_remote)
        return 0;
    if (!tl_debugger_finish(d->monitor, FINISH_NS, &status))
        return report_problem(d, STATUS_FAILED, "the program has not ended within 100 seconds of its time");
    if (d->options->wants_json)
        printf("{\"command\":\"end\",\"status\":%d,\"time_ns\":%" PRIu64 ",\"accesses\":%" PRIu64 "}\n", status,
               tl_debugger_now_ns(d->monitor), tl_debugger_n_accesses(d->monitor));
    else
        printf("the program ended with status %d\n", status);
    return 0;
}

static volatile sig_atomic_t has_signal;
static void note_signal(int number) {
    (void)number;
    has_signal = 1;
}
static bool wants_stop(void *ctx) {
    (void)ctx;
    return has_signal;
}

static int serve(desk *d) {
    const struct sigaction stop = {.sa_handler = note_signal};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    fprintf(stderr, "tally: answers clients at %s, at most for an hour; tally monitor %s COMMAND is one\n", d->options->oob,
            d->options->oob);
    tl_debugger_serve(d->monitor, SERVE_SECONDS, wants_stop, NULL);
    return 0;
}

static bool is_socket(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISSOCK(about.st_mode);
}

static tl_status open_monitor(desk *d) {
    const cli_options *options = d->options;
    tl_debugger_options given;
    d->is_remote = is_socket(options->run.program);
    if (d->is_remote)
        return tl_debugger_connect(options->run.program, &d->monitor, &d->err);
    tl_debugger_options_init(&given);
    given.machine = options->run.machine;
    given.overrides = options->run.overrides;
    given.program = options->run.program;
    given.console_fd = STDOUT_FILENO;
    given.n_harts = 2;
    given.target = 1;
    given.socket = options->oob;
    if (given.socket)
        given.budget_ns = SERVED_BUDGET_NS;
    return tl_debugger_new(&given, &d->monitor, &d->err);
}

static int run_words(desk *d) {
    int status = 0;
    for (size_t i = 0; i < d->options->n_workloads && status == 0; i++) {
        d->word = d->options->workloads[i];
        status = run_word(d);
        fflush(stdout);
    }
    return status != 0 ? status : finish(d);
}

static int draw(desk *d, cli_output *picture) {
    if (tl_debugger_write_map(d->found, d->n_found, picture->stream, &d->err) == TL_OK)
        return 0;
    fprintf(stderr, "tally: %s\n", d->err.text);
    return STATUS_FAILED;
}

int cli_monitor(const cli_options *options) {
    desk d = {.options = options, .word = "monitor"};
    cli_output picture = {0};
    d.reply.size = sizeof d.reply;
    if (options->plot && !cli_output_open(&picture, "svg", options->plot, false))
        return STATUS_FAILED;
    const tl_status opened = open_monitor(&d);
    int status = 0;
    if (opened != TL_OK) {
        fprintf(stderr, "tally: %s\n", d.err.text);
        status = opened == TL_ENOENT ? STATUS_NOT_FOUND : opened == TL_EINVAL ? STATUS_USAGE : STATUS_FAILED;
    } else if (options->plot && !(d.found = calloc(MOST_ENTRIES, sizeof *d.found))) {
        status = report_problem(&d, STATUS_FAILED, "the host has no memory left");
    } else {
        status = options->oob ? serve(&d) : run_words(&d);
    }
    if (status == 0 && d.found)
        status = draw(&d, &picture);
    if (!cli_output_close(&picture, status == 0) && status == 0)
        status = STATUS_FAILED;
    tl_debugger_free(d.monitor);
    free(d.found);
    return status;
}
