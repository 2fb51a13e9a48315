// SPDX-License-Identifier: MIT
// The machine as gem5's config.ini: a section for each object, by the names of gem5's classic
// memory system. Readers of such files, as converters for McPAT, look up sizes, ways, latencies and
// clocks. A key stands there if the machine has such a thing. Times are ticks of a picosecond.
#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "export/formats.h"

enum { CPU_BYTES = 32, PATH_BYTES = 64 };

typedef struct ini {
    const tl_profile *profile;
    FILE *stream;
    char missing[PATH_BYTES]; // the first key that the profile lacks or garbles, or ""
    uint64_t ticks;           // of a cycle
    bool is_detailed;
} ini;

static const char *text_of(const ini *to, const char *key) {
    char name[80];
    snprintf(name, sizeof name, "config.%s", key);
    return tl_profile_setting_of(to->profile, name);
}

static uint64_t number_of(ini *to, const char *key, tl_scale scale) {
    uint64_t value = 0;
    if (tl_parse_u64(text_of(to, key), scale, &value, NULL) != TL_OK && !*to->missing)
        snprintf(to->missing, sizeof to->missing, "%s", key);
    return value;
}

static uint64_t count_of(ini *to, const char *key) { return number_of(to, key, TL_SCALE_COUNT); }
static uint64_t bytes_of(ini *to, const char *key) { return number_of(to, key, TL_SCALE_BYTES); }

static bool is_user(const ini *to) { return !strcmp(tl_profile_setting_of(to->profile, "kind"), "user"); }

static void section(ini *to, const char *path, const char *end, const char *type) {
    fprintf(to->stream, "[%s%s]\n", path, end);
    if (*type)
        fprintf(to->stream, "type=%s\n", type);
}

static void put(ini *to, const char *key, uint64_t value) { fprintf(to->stream, "%s=%" PRIu64 "\n", key, value); }
static void put_text(ini *to, const char *key, const char *value) { fprintf(to->stream, "%s=%s\n", key, value); }
static void end_section(ini *to) { fputc('\n', to->stream); }

// A profile may come from anywhere: a name keeps within its line.
static void put_name(ini *to, const char *key, const char *name) {
    fprintf(to->stream, "%s=", key);
    for (; *name; name++)
        fputc((unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name, to->stream);
    fputc('\n', to->stream);
}

static void put_clock(ini *to, const char *path) {
    section(to, path, "", "SrcClockDomain");
    put(to, "clock", to->ticks);
    end_section(to);
}

static const char *policy_of(const char *name) {
    static const char *const types[][2] = {{"lru", "LRURP"}, {"plru", "TreePLRURP"}, {"fifo", "FIFORP"}, {"random", "RandomRP"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!strcmp(name, types[i][0]))
            return types[i][1];
    }
    return "";
}

typedef struct cache {
    const char *path, *name; // of gem5, and of the machine's keys: "system.l2", "l2"
    uint64_t latency_cycles, mshrs;
} cache;

static void put_cache(ini *to, const cache *of) {
    char key[PATH_BYTES];
#define KEY(part) (snprintf(key, sizeof key, "%s.%s", of->name, part), key)
    const uint64_t size_bytes = bytes_of(to, KEY("size")), ways = count_of(to, KEY("ways")), line_bytes = bytes_of(to, KEY("line"));
    const char *const policy = policy_of(text_of(to, KEY("replacement")));
    const bool has_prefetcher = strcmp(text_of(to, KEY("prefetch")), "none") != 0;
#undef KEY
    section(to, of->path, "", "Cache");
    put_text(to, "children", has_prefetcher ? "prefetcher replacement_policy tags" : "replacement_policy tags");
    put(to, "assoc", ways);
    put_text(to, "clk_domain", "system.cpu_clk_domain");
    put(to, "data_latency", of->latency_cycles);
    put(to, "hit_latency", of->latency_cycles); // by its name of before 2017
    put(to, "mshrs", of->mshrs);
    fprintf(to->stream, "prefetcher=%s%s\n", has_prefetcher ? of->path : "Null", has_prefetcher ? ".prefetcher" : "");
    fprintf(to->stream, "replacement_policy=%s.replacement_policy\n", of->path);
    put(to, "response_latency", 0); // a miss waits for the next level and no longer
    put(to, "size", size_bytes);
    put(to, "tag_latency", of->latency_cycles);
    fprintf(to->stream, "tags=%s.tags\n", of->path);
    end_section(to);
    if (has_prefetcher) {
        section(to, of->path, ".prefetcher", "TaggedPrefetcher");
        put(to, "degree", 1);
        end_section(to);
    }
    section(to, of->path, ".replacement_policy", policy);
    end_section(to);
    section(to, of->path, ".tags", "BaseSetAssoc");
    put(to, "assoc", ways);
    put(to, "block_size", line_bytes);
    fprintf(to->stream, "replacement_policy=%s.replacement_policy\n", of->path);
    put(to, "size", size_bytes);
    end_section(to);
}

static bool is_arm(const ini *to) { return !strcmp(text_of(to, "isa"), "aarch64"); }

static void put_tlb(ini *to, const char *cpu, const char *end, const char *key) {
    section(to, cpu, end, is_arm(to) ? "ArmTLB" : "RiscvTLB");
    put(to, "size", count_of(to, key));
    end_section(to);
}

// TLBs stand below the cpu in gem5 before 21.1, and below its mmu since.
static void put_tlbs(ini *to, const char *cpu) {
    put_tlb(to, cpu, ".dtb", "dtlb.entries");
    put_tlb(to, cpu, ".itb", "itlb.entries");
    section(to, cpu, ".mmu", is_arm(to) ? "ArmMMU" : "RiscvMMU");
    put_text(to, "children", count_of(to, "l2tlb.entries") > 0 ? "dtb itb l2_shared" : "dtb itb");
    end_section(to);
    put_tlb(to, cpu, ".mmu.dtb", "dtlb.entries");
    put_tlb(to, cpu, ".mmu.itb", "itlb.entries");
    if (count_of(to, "l2tlb.entries") > 0)
        put_tlb(to, cpu, ".mmu.l2_shared", "l2tlb.entries");
}

static void put_predictor(ini *to, const char *cpu) {
    const char *const kind = text_of(to, "bp.kind");
    const bool is_bht = !strcmp(kind, "bht"), is_gshare = !strcmp(kind, "gshare");
    section(to, cpu, ".branchPred", is_bht ? "LocalBP" : is_gshare ? "GshareBP" : !strcmp(kind, "tage") ? "TAGE" : "");
    put(to, "BTBEntries", count_of(to, "bp.btb_entries"));
    put(to, "RASSize", count_of(to, "bp.ras_entries"));
    if (is_bht || is_gshare) {
        put(to, is_bht ? "localCtrBits" : "globalCtrBits", 2);
        put(to, is_bht ? "localPredictorSize" : "globalPredictorSize", count_of(to, "bp.counters"));
    }
    end_section(to);
}

// Sizes of an out-of-order core, by the names of gem5's.
static void put_core(ini *to) {
    static const char *const keys[][2] = {{"LQEntries", "core.loads"},   {"SQEntries", "core.stores"}, {"commitWidth", "core.retire"},
                                          {"fetchWidth", "core.fetch"},  {"issueWidth", "core.issue"}, {"numROBEntries", "core.rob"},
                                          {"renameWidth", "core.rename"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        put(to, keys[i][0], count_of(to, keys[i][1]));
    put(to, "numIQEntries", count_of(to, "core.memory_queue") + count_of(to, "core.general_queue"));
}

static void put_cpu(ini *to, const char *cpu, uint64_t number, uint64_t n_threads) {
    char path[PATH_BYTES];
    const bool has_program = number == 0 && is_user(to);
    section(to, cpu, "", to->is_detailed ? "DerivO3CPU" : "MinorCPU");
    fprintf(to->stream, "children=branchPred dcache dtb icache isa itb mmu%s\n", has_program ? " workload" : "");
    fprintf(to->stream, "branchPred=%s.branchPred\n", cpu);
    put_text(to, "clk_domain", "system.cpu_clk_domain");
    put(to, "cpu_id", number);
    put(to, "numThreads", n_threads);
    if (to->is_detailed)
        put_core(to);
    end_section(to);
    put_predictor(to, cpu);
    snprintf(path, sizeof path, "%s.dcache", cpu);
    put_cache(to, &(cache){.path = path,
                           .name = "l1d",
                           .latency_cycles = count_of(to, "pipeline.load_use"),
                           .mshrs = to->is_detailed ? count_of(to, "core.misses") : 1});
    snprintf(path, sizeof path, "%s.icache", cpu);
    put_cache(to, &(cache){.path = path, .name = "l1i", .latency_cycles = 1, .mshrs = 1});
    section(to, cpu, ".isa", is_arm(to) ? "ArmISA" : "RiscvISA");
    end_section(to);
    put_tlbs(to, cpu);
    if (has_program) {
        section(to, cpu, ".workload", "Process");
        put_name(to, "cmd", tl_profile_setting_of(to->profile, "program"));
        put_name(to, "executable", tl_profile_setting_of(to->profile, "program"));
        end_section(to);
    }
}

// An open row costs row_hit, a closed one tRCD more, and one that must be closed first tRP more.
static void put_memory(ini *to, uint64_t n_channels) {
    const uint64_t hit = count_of(to, "mem.row_hit"), miss = count_of(to, "mem.row_miss"), conflict = count_of(to, "mem.row_conflict");
    for (uint64_t i = 0; i < n_channels; i++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, n_channels > 1 ? "system.mem_ctrls%" PRIu64 : "system.mem_ctrls", i);
        section(to, path, "", "MemCtrl");
        put_text(to, "children", "dram");
        fprintf(to->stream, "dram=%s.dram\n", path);
        end_section(to);
        section(to, path, ".dram", "DRAMInterface");
        put(to, "banks_per_rank", count_of(to, "mem.banks"));
        put(to, "device_rowbuffer_size", bytes_of(to, "mem.row_bytes"));
        put_text(to, "page_policy", "open");
        put(to, "ranks_per_channel", 1);
        put(to, "tBURST", count_of(to, "mem.busy") * to->ticks);
        put(to, "tCL", hit * to->ticks);
        put(to, "tRCD", miss > hit ? (miss - hit) * to->ticks : 0);
        put(to, "tRP", conflict > miss ? (conflict - miss) * to->ticks : 0);
        end_section(to);
    }
}

static void put_numbers(FILE *stream, const char *name, uint64_t n) {
    for (uint64_t i = 0; n > 1 && i < n; i++)
        fprintf(stream, " %s%" PRIu64, name, i);
    if (n <= 1)
        fprintf(stream, " %s", name);
}

static void put_system(ini *to, uint64_t n_cpus, uint64_t n_channels) {
    section(to, "root", "", "Root");
    put_text(to, "children", "system");
    put_text(to, "full_system", is_user(to) ? "false" : "true");
    end_section(to);
    section(to, "system", "", "System");
    fputs("children=clk_domain", to->stream);
    put_numbers(to->stream, "cpu", n_cpus);
    fputs(" cpu_clk_domain l2", to->stream);
    put_numbers(to->stream, "mem_ctrls", n_channels);
    fputc('\n', to->stream);
    put(to, "cache_line_size", bytes_of(to, "l1d.line"));
    put_text(to, "clk_domain", "system.clk_domain");
    put_text(to, "mem_mode", "timing");
    fprintf(to->stream, "mem_ranges=0:%" PRIu64 "\n", bytes_of(to, "ram"));
    end_section(to);
    put_clock(to, "system.clk_domain");
    put_clock(to, "system.cpu_clk_domain");
}

tl_status tl_export_gem5_config(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err) {
    (void)measures;
    ini to = {.profile = profile, .stream = stream};
    const uint64_t hz = number_of(&to, "clock", TL_SCALE_HZ), n_harts = count_of(&to, "harts"), n_channels = count_of(&to, "mem.channels");
    to.is_detailed = !strcmp(text_of(&to, "core.kind"), "out_of_order");
    const uint64_t n_threads = to.is_detailed ? count_of(&to, "core.threads") : 1;
    enum { MOST = 64 };
    if (*to.missing || hz == 0 || n_threads == 0 || n_harts > MOST || n_channels > MOST)
        return tl_fail(err, TL_EFORMAT, "the profile does not describe its machine; record it again with this version");
    to.ticks = (UINT64_C(1000000000000) + hz / 2) / hz;
    const uint64_t n_cpus = (n_harts + n_threads - 1) / n_threads;
    put_system(&to, n_cpus, n_channels);
    for (uint64_t i = 0; i < n_cpus; i++) {
        char cpu[CPU_BYTES];
        snprintf(cpu, sizeof cpu, n_cpus > 1 ? "system.cpu%" PRIu64 : "system.cpu", i);
        put_cpu(&to, cpu, i, n_threads);
    }
    put_cache(&to, &(cache){.path = "system.l2",
                            .name = "l2",
                            .latency_cycles = count_of(&to, "mem.l2_hit"),
                            .mshrs = to.is_detailed ? count_of(&to, "core.misses") : n_harts});
    put_memory(&to, n_channels);
    if (*to.missing)
        return tl_fail(err, TL_EFORMAT, "the profile does not say %s of its machine; record it again with this version", to.missing);
    return TL_OK;
}
