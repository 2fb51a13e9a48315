// SPDX-License-Identifier: MIT
// Totals as gem5's stats.txt: a banner, "name value # description (Unit)" in columns, a banner. The
// measures have their own names. Behind them stand statistics of gem5 that count the same, by the
// names of its classic caches and of one processor, so that existing parsers find them: the names
// of today, and those of gem5 before version 21.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/formats.h"
#include "export/measures.h"

static const struct {
    const char *name, *old, *unit, *meaning;
    const char *more, *less; // sums of signals
} statistics[] = {
    {"simInsts", "sim_insts", "Count", "Instructions that retired.", "hart.instret", ""},
    {"system.cpu.numCycles", "", "Cycle", "Cycles in which a hart had something to run, summed over the harts.", "hart.cycle", ""},
    {"system.cpu.branchPred.condPredicted", "", "Count", "Conditional branches that were predicted.", "bp.cond", ""},
    {"system.cpu.branchPred.condIncorrect", "", "Count", "Conditional branches with a wrong direction.", "bp.cond_miss", ""},
    {"system.cpu.icache.overallHits::total", "system.cpu.icache.overall_hits::total", "Count", "Fetches of lines that hit.", "l1i.access",
     "l1i.miss"},
    {"system.cpu.icache.overallMisses::total", "system.cpu.icache.overall_misses::total", "Count", "Fetches of lines that missed.",
     "l1i.miss", ""},
    {"system.cpu.icache.overallAccesses::total", "system.cpu.icache.overall_accesses::total", "Count", "Fetches of lines.", "l1i.access",
     ""},
    {"system.cpu.dcache.ReadReq.misses::total", "system.cpu.dcache.ReadReq_misses::total", "Count", "Loads that missed.", "l1d.load_miss",
     ""},
    {"system.cpu.dcache.ReadReq.accesses::total", "system.cpu.dcache.ReadReq_accesses::total", "Count", "Loads.", "l1d.load", ""},
    {"system.cpu.dcache.WriteReq.misses::total", "system.cpu.dcache.WriteReq_misses::total", "Count", "Stores that missed.",
     "l1d.store_miss", ""},
    {"system.cpu.dcache.WriteReq.accesses::total", "system.cpu.dcache.WriteReq_accesses::total", "Count", "Stores.", "l1d.store", ""},
    {"system.cpu.dcache.overallHits::total", "system.cpu.dcache.overall_hits::total", "Count", "Loads and stores that hit.",
     "l1d.load l1d.store", "l1d.load_miss l1d.store_miss"},
    {"system.cpu.dcache.overallMisses::total", "system.cpu.dcache.overall_misses::total", "Count", "Loads and stores that missed.",
     "l1d.load_miss l1d.store_miss", ""},
    {"system.cpu.dcache.overallAccesses::total", "system.cpu.dcache.overall_accesses::total", "Count", "Loads and stores.",
     "l1d.load l1d.store", ""},
    {"system.l2.overallHits::total", "system.l2.overall_hits::total", "Count", "Requests of lines that hit the L2.", "l2.read",
     "l2.readmiss"},
    {"system.l2.overallMisses::total", "system.l2.overall_misses::total", "Count", "Requests of lines that missed the L2.", "l2.readmiss",
     ""},
    {"system.l2.overallAccesses::total", "system.l2.overall_accesses::total", "Count", "Requests of lines.", "l2.read", ""},
};

// false: the profile lacks a signal.
static bool sum_of(const tl_profile *profile, const char *names, uint64_t *ret_sum) {
    char name[64];
    for (*ret_sum = 0; *names != '\0'; names += *names == ' ') {
        const size_t n = strcspn(names, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        const uint32_t event = tl_profile_find_event(profile, name);
        if (event == TL_PROFILE_NONE)
            return false;
        *ret_sum += profile->events[event].total;
        names += n;
    }
    return true;
}

static void print(FILE *stream, const char *name, uint64_t value, const char *meaning, const char *unit) {
    fprintf(stream, "%-40s %12" PRIu64 "                       # %s (%s)\n", name, value, meaning, unit);
}

static void print_statistics(const tl_profile *profile, bool is_old, FILE *stream) {
    for (size_t i = 0; i < sizeof statistics / sizeof *statistics; i++) {
        const char *const name = is_old ? statistics[i].old : statistics[i].name;
        uint64_t more, less;
        if (*name && sum_of(profile, statistics[i].more, &more) && sum_of(profile, statistics[i].less, &less) && more >= less)
            print(stream, name, more - less, statistics[i].meaning, statistics[i].unit);
    }
}

// One hart's cycles are the time of the run. A tick of gem5 is a picosecond.
static void print_time(const tl_profile *profile, bool is_old, FILE *stream) {
    enum { TICKS_PER_NS = 1000 };
    const double clock_hz = strtod(tl_profile_setting_of(profile, "clock_hz"), NULL);
    uint64_t cycles;
    if (strcmp(tl_profile_setting_of(profile, "harts"), "1") != 0 || clock_hz <= 0 || !sum_of(profile, "hart.cycle", &cycles))
        return;
    const double seconds = (double)cycles / clock_hz;
    fprintf(stream, "%-40s %12.9f                       # Time that was simulated. (Second)\n", is_old ? "sim_seconds" : "simSeconds",
            seconds);
    print(stream, is_old ? "sim_ticks" : "simTicks", (uint64_t)(seconds * 1e9 * TICKS_PER_NS + 0.5), "Ticks that were simulated.", "Tick");
    print(stream, is_old ? "sim_freq" : "simFreq", UINT64_C(1000000000) * TICKS_PER_NS, "Ticks of a second.", "Tick/Second");
}

tl_status tl_export_gem5(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err) {
    (void)err;
    fputs("\n---------- Begin Simulation Statistics ----------\n", stream);
    for (uint32_t i = 0; i < measures->n_items; i++) {
        const tl_export_measure *measure = &measures->items[i];
        print(stream, measure->name, measure->total, measure->meaning, measure->unit[0] ? measure->unit : "Count");
    }
    for (int is_old = 0; is_old < 2; is_old++) {
        print_time(profile, is_old, stream);
        print_statistics(profile, is_old, stream);
    }
    fputs("\n---------- End Simulation Statistics   ----------\n", stream);
    return TL_OK;
}
