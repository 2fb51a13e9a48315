// SPDX-License-Identifier: MIT
// The tables of verbs and options. Help, man page, completion and parser read them; nothing about
// an option is written elsewhere but what it does (options.c).
#include "ids.h"
#include "options.h"

const cli_verb_row cli_verbs[N_VERBS] = {
    [VERB_STAT] =
        {
            .name = "stat",
            .usage = "[OPTION...] [--] PROGRAM [ARGUMENT...]",
            .summary = "run a program and print every count of the run",
            .description =
                "Runs PROGRAM, a RISC-V or AArch64 Linux executable, on a simulated machine and counts every microarchitectural event "
                "exactly. "
                "Counts go to standard error; the program's own input, output and exit status stay what they are. A PROGRAM without "
                "a slash is looked up in PATH. The same program, arguments, machine and seed give the same counts to the last digit "
                "on any host, in any folder, for any user; nothing of the host's time, paths or environment reaches the program "
                "unless asked for.",
        },
    [VERB_BOOT] =
        {
            .name = "boot",
            .usage = "[OPTION...] [--bios FILE] --kernel IMAGE | --bios FILE",
            .summary = "boot firmware and a kernel; the terminal is the machine's serial port",
            .description =
                "Starts firmware and the kernel IMAGE on a simulated board: a RISC-V or Arm virt board with a serial port, "
                "a disk if --disk names one, and the machine's harts. Nothing is emulated for the guest: firmware and kernel run instruction "
                "by instruction, and everything is counted. With --bios and no kernel, firmware such as U-Boot finds what to run by itself. On a terminal, Ctrl-A x ends the run and Ctrl-A h helps; all else is the "
                "guest's. Counts are printed when asked for, by --stat or any option that says what or how to print; otherwise one line "
                "says what the run took.",
        },
    [VERB_RECORD] =
        {
            .name = "record",
            .usage = "[OPTION...] [--] PROGRAM [ARGUMENT...] | [OPTION...] --kernel IMAGE",
            .summary = "record where counts come from: a profile by instruction, or the pipeline",
            .description =
                "Runs PROGRAM as tally stat does, and writes the profile of the run into tally.profile: exact counts of every event by instruction "
                "and thread, with functions, source lines and inlined calls. Nothing is sampled, so sums of a profile are the counts of tally stat. "
                "tally report and tally annotate read it, and so does SQLite (docs/record.md). "
                "With --pipeline, on a machine with a detailed core, writes instead what became of each uop: when it was fetched, renamed, "
                "dispatched, replayed, complete, and retired or taken back. The file is for Konata, a viewer of pipelines, or text with a line for each "
                "uop. Instructions of wrong paths are among them. With --roi only what is fetched during visits of one region is recorded. The program's "
                "own input, output and exit status stay what they are, and so do its clocks.",
        },
    [VERB_REPORT] =
        {
            .name = "report",
            .usage = "[OPTION...] [PROFILE]",
            .summary = "print a profile as a table: by object, function, line, instruction or thread",
            .description =
                "PROFILE is a file of tally record; default: tally.profile. Rows are what --sort names, columns are events, metrics or formulas. "
                "A row has what its own instructions caused. The share is that of the first column.",
        },
    [VERB_ANNOTATE] =
        {
            .name = "annotate",
            .usage = "[OPTION...] FUNCTION|FILE",
            .summary = "print source and disassembly with the counts of each line",
            .description =
                "Reads tally.profile, or what -i names. A FUNCTION is printed by address, with source lines above their instructions, where "
                "cycles went, and labels where jumps lead. A source FILE, named by the end of its path, is printed by line. Hot places begin with >. "
                "Source text comes from the profile (tally record --with-sources) or from this host.",
        },
    [VERB_EXPORT] =
        {
            .name = "export",
            .usage = "[OPTION...] FORMAT [PROFILE]",
            .summary = "write a profile in another tool's format, for its viewer",
            .description =
                "PROFILE is a file of tally record; default: tally.profile. Text goes to standard output unless -o names a file. Counts stay exact: "
                "sums of an export are those of tally stat. With a call graph (tally record -g), stacks are calling contexts; without one, a "
                "stack is a function and the calls that were inlined around the instruction.",
        },
    [VERB_LIST] =
        {
            .name = "list",
            .usage = "[OPTION...] [signals|events|metrics|groups|machines|keys|pmus] [GLOB]",
            .summary = "name everything that can be counted, with one sentence each",
            .description =
                "Without a kind, lists events and metrics, or whatever GLOB matches. Signals are what the units of the machine "
                "count; events are names for signals or sums of them, perf's names among them; metrics are formulas over "
                "both, and come in groups; keys are what --set can override; machines are the descriptions that --machine can name; pmus are the designs of performance-monitoring units, a row for each "
                "preset. With -P, events are those that a PMU can count.",
        },
    [VERB_DESCRIBE] =
        {
            .name = "describe",
            .usage = "[OPTION...] machine [NAME|FILE] | pmu [NAME[:PRESET]] | pmu NAME --cost",
            .summary = "print one machine or one PMU in full",
            .description = "A machine is printed with every key of its description and its value, overrides applied; as text it is what "
                           "--machine reads back. A PMU is printed with its presets, its registers (address, fields, access, reset value, "
                           "meaning, source) and its events (selector, fidelity, what they count); without NAME, every PMU.",
        },
    [VERB_DIFF] =
        {
            .name = "diff",
            .usage = "[OPTION...] BEFORE AFTER",
            .summary = "compare two reports or two profiles; fail when a gate is crossed",
            .description =
                "BEFORE and AFTER are files written by tally stat --json, or by tally record: then rows of --sort are compared, matched by "
                "name, by the first event of -e. Counts repeat to the last digit, so a gate needs no "
                "margin for noise. The exit status is 1 when a gate of --fail-on was crossed and 0 otherwise.",
        },
    [VERB_COMPARE] =
        {
            .name = "compare",
            .usage = "[OPTION...] [--] PROGRAM [ARGUMENT...]",
            .summary = "watch a program with three designs of counters, and compare what each saw and cost",
            .description =
                "Runs PROGRAM without a reader, then once for each way to watch it, with a reader made of RISC-V instructions that the machine "
                "executes: two programmable counters of the core, shared out in turns; a block of counters on the bus; counters in every unit behind "
                "three registers. --list-events names these designs. Prints what each counted beside the truth, what a look cost and disturbed, who could read, "
                "what a hostile device learned, and what the hardware needs; then sweeps. The program runs many times: its input is empty, its output "
                "discarded. The same command prints the same bytes.",
        },
    [VERB_SWEEP] =
        {
            .name = "sweep",
            .usage = "[OPTION...] --vary KEY=VALUE,VALUE... [--] PROGRAM [ARGUMENT...]",
            .summary = "run a program on variants of a machine, and print one table",
            .description =
                "Runs PROGRAM once for each combination of the values of --vary, several at a time, and prints a row for each: what varies, then "
                "events and metrics. Default: cycles, instructions and cpi. Its input is empty, its output discarded. A combination that is no machine, or "
                "whose run fails, keeps its row and says why; the exit status is then 1. With --cells DIR each result is kept, and the same command "
                "runs what is missing. The table has the same bytes however many run at a time, on this host or by Slurm.",
        },
    [VERB_SUITE] =
        {
            .name = "suite",
            .usage = "[OPTION...] PMU [WORKLOAD...] | xcm [quick|normal|full] | l1miss [quick|normal|full] [WORD...]",
            .summary =
                "run the bench programs and read the distributed counters once, as their paper did; judge the cross-core monitor; or sample misses precisely",
            .description =
                "Runs each bench program for the same number of instructions, then lets hart 0 execute a reader of the distributed counters: "
                "RISC-V instructions that ask every core and every L2 slice through hpcc, hpcm and hpcr. Prints reads, misses, writes and "
                "write-backs of each cache as they were read, checks them against the machine's own counts and against each other (reads of L2 are the "
                "misses of L1), and says what the reading took. bench/workloads/build.sh bench/out builds the programs; without them the "
                "kernels in build/guest are taken, as far as they go. xcm asks 100, 1000 or 10,000 questions of each of the five algorithms by which the "
                "cross-core monitor infers what predictors, micro-TLBs and L2 hold, and prints confusion matrices of corrected and published forms beside "
                "the machine's own contents: with the events of the Cortex-A53 and with all, without noise, with noise, and with prefetchers. The exit "
                "status is 125 when verdicts are wrong, with noise more than one of 1000. l1miss repeats the experiment by which B. Sprunt showed precise "
                "samples on a Pentium 4: a loop of 128 loads, of which one misses the first-level cache. It counts the misses, samples 800 of them "
                "precisely and 800 by interrupts, and prints where the samples point, in instructions behind the load that misses. Words choose the "
                "method (count, pebs, iebs), the variant (a: cells name themselves, b: each names the next one) and the loop (flat, nested); without "
                "them all are run. quick has one sample in 104 misses, normal in 1000, full in 100,000 as the paper. The exit status is 125 when "
                "a precise sample is wrong.",
        },
    [VERB_OPEN_RECORDS] =
        {
            .name = "open-records",
            .usage = "--key FILE [OPTION...] RECORDS",
            .summary = "open sealed records of counters, and say which are damaged",
            .description =
                "RECORDS holds counter values that a device encrypted for one virtual machine (AES-256-GCM), one record after the other. Opens "
                "them with the session key in FILE and prints the values with their flags. Records that were forged, cut, replayed, reordered or "
                "made for another machine or session are named, and nothing of them is shown; records that are missing are counted. The exit "
                "status is 1 when a record is damaged or missing.",
        },
    [VERB_TENANTS] =
        {
            .name = "tenants",
            .usage = "[OPTION...] FILE.yaml",
            .summary = "run several tenants on one chip and count each of their programs",
            .description =
                "FILE names a chip, the VMs on its partitions, and the contexts of each VM: programs that take turns on the harts of their "
                "partition. All run at once in simulated time. Prints the counts of the whole device, of each VM and of each context, exactly: "
                "every event belongs to one context, to switching, or to nobody. Counts go to standard error unless --output says otherwise. The "
                "same file and programs print the same bytes.",
        },
    [VERB_OOB] =
        {
            .name = "oob",
            .usage = "[OPTION...] SOCKET COMMAND...",
            .summary = "read the monitor of a chip out of band, without its harts",
            .description =
                "SOCKET is that of a run of tally tenants --oob. Harts may run or stand still; no guest takes part. Commands: id; state; idle, "
                "cycles without a VM since the last latch; latch, which copies the device's block, latch=VM, latch=VM.CONTEXT; read, all counts of "
                "the latch that are not 0, read=INDEX; config=KEY:VALUE; end, of the session. Latches of VMs and config need --key. A refused "
                "command ends the verb with status 125.",
        },
    [VERB_MONITOR] =
        {
            .name = "monitor",
            .usage = "[OPTION...] PROGRAM.elf|SOCKET COMMAND...",
            .summary = "halt a hart of a running chip, look into it, and let it go on",
            .description =
                "PROGRAM.elf is a bare program for AArch64 on two harts. A debugger works on hart 1 through its external debug registers. Commands: "
                "hit=WHERE runs until that address; halt; go, to the next hit; step, step=N; regs; mem=WHERE:BYTES; l1d, l1i and tlb, valid "
                "entries of both caches and of the main TLB; calibrate=LOAD:DATA; btb=BRANCH:TARGET, rsb=RETURN:TARGET, itlb=WHERE, "
                "dtlb=DATA:LOAD and l2=DATA:LOAD, which infer from counters whether the entry is there; trace=N or trace=FROM:TO, which stops at every "
                "instruction and prints what it did to registers, memory, L1D, L1I, TLB and counters; status; stop. WHERE is an address or "
                "SYMBOL+OFFSET. SOCKET is that of a run of tally monitor --serve. At the end the program is let go and runs to its end. A stop lasts 50 ms of simulated time at most. A refused "
                "command ends the verb with status 125.",
        },
    [VERB_HELP] =
        {
            .name = "help",
            .usage = "[VERB|man|markdown|completion|completion-zsh|completion-fish]",
            .summary = "explain a verb; print the man page or a shell's completion",
            .description =
                "tally help man prints the manual page (groff source), tally help markdown the same as a page of documentation, tally help "
                "completion a script for bash, tally help completion-zsh and completion-fish those for zsh and fish.",
        },
    [VERB_VERSION] =
        {
            .name = "version",
            .usage = "",
            .summary = "print the version",
            .description = "Prints the version of the program and nothing else.",
        },
};

enum {
    S = 1u << VERB_STAT,
    B = 1u << VERB_BOOT,
    R = S | B,
    A = 1u << VERB_RECORD,
    N = 1u << VERB_REPORT,
    X = 1u << VERB_ANNOTATE,
    E = 1u << VERB_EXPORT,
    L = 1u << VERB_LIST,
    C = 1u << VERB_DESCRIBE,
    D = 1u << VERB_DIFF,
    U = 1u << VERB_SUITE,
    P = 1u << VERB_COMPARE,
    O = 1u << VERB_OPEN_RECORDS,
    T = 1u << VERB_TENANTS,
    Q = 1u << VERB_OOB,
    M = 1u << VERB_MONITOR,
    W = 1u << VERB_SWEEP,
    ALL = (1u << N_VERBS) - 1
};

#define WHAT "What to print"
#define HOW "How to print it"
#define MACHINE "The machine"
#define PROGRAM "The program and its world"
#define BOARD "What boots"
#define LIMITS "Limits"
#define OTHER "Other"

const cli_option cli_option_rows[] = {
    {B, OPT_REPORT, 0, "stat", NULL, WHAT, "Print the counts of the run at its end, as tally stat does.", NULL},
    {W, OPT_VARY, 0, "vary", "KEY=VALUES", WHAT,
     "A key of machine descriptions, machine, or pmu with designs as for -P, and its values, separated by commas, or by semicolons if a value has commas: "
     "l1d.size=8KiB,16KiB; 'l1d=32K,8,64;16K,4,64'. May be repeated; the last one varies fastest.",
     "@keys"},
    {R | W, OPT_EVENTS, 'e', "event", "LIST", WHAT,
     "Events, signals or globs, separated by commas: perf's names (cycles, L1-dcache-load-misses), signals of the machine "
     "(l1d.load_miss, hart0.l1d.load_miss), patterns (l2.*). May be repeated.",
     "@events"},
    {S | W, OPT_PMU, 'P', "pmu", "NAME[:PRESET]", WHAT,
     "Print what Linux perf would report from this PMU of the machine, multiplexed if there are more events than counters, beside the truth "
     "and with its error. Events are then perf's names, those of tally list events -P NAME, and rHEX. NAME,NAME counts with several PMUs "
     "side by side in one run; events are then portable ones, which each counts that can, or NAME/EVENT/.",
     "@pmus"},
    {R | W, OPT_METRICS, 'M', "metrics", "LIST", WHAT, "Metrics, metric groups or globs, separated by commas. May be repeated.",
     "@metrics @groups"},
    {R, OPT_TOPDOWN, 0, "topdown", NULL, NULL, "The same as -M topdown, by perf's name; of a detailed core also level 2, slots and stalls.",
     NULL},
    {R, OPT_PER_HART, 'A', "per-hart", NULL, WHAT, "One count for each hart besides the sum.", NULL},
    {R, OPT_PER_HART, 0, "no-aggr", NULL, NULL, "The same, by perf's name.", NULL},
    {R, OPT_PER_HART, 0, "per-core", NULL, NULL, "The same, by perf's name.", NULL},
    {R, OPT_ALL_CPUS, 'a', "all-cpus", NULL, NULL, "Taken for perf's sake: the whole machine is always counted.", NULL},
    {R, OPT_PER_UNIT, 0, "per-unit", NULL, WHAT, "One count for each unit of the machine (cache, slice, channel) besides the sum.", NULL},
    {R, OPT_INTERVAL, 'I', "interval", "LENGTH", WHAT,
     "Print counts at regular distances: 10ms, 500us or 1s of simulated time; 1M or 1Mi instructions; 500kc cycles. A bare number "
     "is milliseconds of simulated time.",
     NULL},
    {R, OPT_INTERVAL, 0, "interval-print", "LENGTH", NULL, "The same, by perf's name.", NULL},
    {A, OPT_EVENTS, 'e', "event", "LIST", WHAT,
     "Events that reports show unless they are asked for others: names or globs, separated by commas. Every event is recorded. May be repeated.",
     "@events"},
    {A, OPT_PMU, 'P', "pmu", "NAME[:PRESET]", WHAT,
     "Sample -e with this PMU of the machine, too, as Linux perf would: its counters interrupt after -c events. The samples stand in the "
     "profile beside the exact counts, and tally report --against-truth shows their error. Events are then perf's names, those of tally "
     "list events -P NAME, and rHEX; default: cycles.",
     "@pmus"},
    {A, OPT_PERIOD, 'c', "count", "PERIOD", WHAT, "With -P: events from one sample to the next.", NULL},
    {A, OPT_INTERVAL, 'I', "interval", "LENGTH", WHAT,
     "Keep the course of the run, too: counts at regular distances, threads on harts, visits of regions; tally export trace draws it. LENGTH "
     "is as for tally stat: 10ms of simulated time, 1M instructions, 500kc cycles.",
     NULL},
    {A, OPT_CALL_GRAPH, 'g', "call-graph", NULL, WHAT,
     "Count events of -e by calling context, too: exact calls, without frame pointers. tally report --children and exports show them.",
     NULL},
    {A, OPT_WITH_SOURCES, 0, "with-sources", NULL, WHAT,
     "Put the text of source files that this host has into the profile, so that it can be annotated anywhere.", NULL},
    {A, OPT_PIPELINE, 0, "pipeline", NULL, WHAT, "Instead of a profile: the pipeline, a record for each uop.", NULL},
    {A, OPT_ROI, 0, "roi", "START[..STOP]", WHAT,
     "Record only what happens between reaching function START and reaching STOP; without STOP, from entering START until "
     "that call returns. With -I: record the whole run, and mark such visits on its course. Names are those of tally stat --roi.",
     NULL},
    {A, OPT_MARKERS, 0, "markers", NULL, WHAT, "The same of the regions that the program marks itself with tally/roi.h.", NULL},
    {A, OPT_TRACE, 'o', "output", "FILE", HOW, "The file to write. Default: tally.profile; --pipeline needs one.", "@files"},
    {A, OPT_TRACE_FORMAT, 0, "format", "kanata|text", HOW,
     "kanata (the default) is the log format 0004 of Kanata, which Konata opens; text has a line for each uop.", "kanata text"},
    {A, OPT_TRACE_LIMIT, 0, "limit", "N", LIMITS,
     "Record at most N instructions, those of wrong paths included; the program runs on. Default: 100k, which are some 30 MB.", NULL},
    {N | D, OPT_SORT, 's', "sort", "KEYS", WHAT,
     "Keys of rows, separated by commas: dso, symbol, srcline, insn, thread, process. Default: dso,symbol.",
     "dso symbol srcline insn thread process"},
    {N | X, OPT_COLUMNS, 'e', "event", "LIST", WHAT,
     "Columns: events, metrics or formulas of the profile, separated by commas. Default: those of tally record.", "@events @metrics"},
    {N, OPT_ORDER, 0, "order", "COLUMN", WHAT,
     "The column, event, metric or formula that sorts rows, the largest first. Default: the first column.", NULL},
    {N, OPT_AGAINST_TRUTH, 0, "against-truth", NULL, WHAT,
     "What the PMU of tally record -P sampled, beside the truth, and the error of the sampled profile by row, function and instruction.",
     NULL},
    {N, OPT_CHILDREN, 0, "children", NULL, WHAT,
     "Counts of a function have those of all that it called; column self has its own. Needs a profile of tally record -g.", NULL},
    {N, OPT_CALLERS, 0, "callers", "FUNCTION", WHAT,
     "Who calls FUNCTION, how often, and what these calls caused. Needs a profile of tally record -g.", NULL},
    {N, OPT_CALLEES, 0, "callees", "FUNCTION", WHAT,
     "Whom FUNCTION calls, how often, and what these calls caused. Needs a profile of tally record -g.", NULL},
    {N | D, OPT_PERCENT_LIMIT, 0, "percent-limit", "PERCENT", WHAT, "Leave out rows with a smaller share.", NULL},
    {E, OPT_COLUMNS, 'e', "event", "LIST", WHAT,
     "Events to export, separated by commas, or globs; they must add up over instructions. Default: the recorded ones. Format folded writes the first.",
     "@events"},
    {E, OPT_OUTPUT, 'o', "output", "FILE", HOW,
     "Write to FILE; - is standard output. In a folder the file has its default name, and gem5 writes config.ini beside stats.txt.",
     "@files"},
    {N | X | E, OPT_INPUT, 'i', "input", "FILE", WHAT, "The profile.", "@files"},
    {N, OPT_HTML, 0, "html", "FILE", HOW,
     "One page for a browser, which needs no network: flame graph (with tally record -g), functions, their source and instructions. - is standard output.",
     "@files"},
    {N | X, OPT_SOURCE_ROOT, 0, "source", "DIR", WHAT,
     "Look up source files below DIR, too, by ever shorter ends of their paths. In tally report it goes with --html.", "@files"},
    {N | X, OPT_NO_SOURCE, 0, "no-source", NULL, WHAT,
     "Read no source files of this host; only the profile's. In tally report it goes with --html.", NULL},
    {X, OPT_HOT, 0, "hot", "PERCENT", HOW, "Mark places with this share of the first column, or more. Default: 10.", NULL},
    {N, OPT_JSON, 'j', "json", NULL, HOW, "One JSON object a line, schema tally.profile-report/1.", NULL},
    {N, OPT_PROFILE_CSV, 0, "csv", NULL, HOW, "Comma-separated values with a header line.", NULL},
    {N | X, OPT_COLOR, 0, "color", "auto|always|never", HOW, "Colors. Default: on a terminal, unless the environment has NO_COLOR.",
     "auto always never"},
    {N, OPT_WIDTH, 0, "width", "N", HOW, "Columns of text. Default: those of the terminal; no limit elsewhere.", NULL},
    {N | X, OPT_NO_PAGER, 0, "no-pager", NULL, HOW, "Do not send long output on a terminal through $PAGER.", NULL},
    {R, OPT_ROI, 0, "roi", "START[..STOP]", WHAT,
     "Count only between reaching function START and reaching STOP; without STOP, from entering START until that call returns. "
     "All visits are summed. Names are symbols, C++ and Rust names such as 'ns::f(int)', their beginnings, or 0x addresses. "
     "Given more than once: a report for each.",
     NULL},
    {R, OPT_MARKERS, 0, "markers", NULL, WHAT, "Count the regions that the program marks itself with tally/roi.h, a report for each.",
     NULL},
    {R, OPT_ROI_REQUIRED, 0, "roi-required", NULL, WHAT, "A region that is never reached is an error: exit status 123.", NULL},
    {S | A, OPT_FAST_FORWARD, 0, "fast-forward", "N|FUNCTION|marker", WHAT,
     "On a detailed core: the fast engine executes the first N instructions, or all up to a function, an address (0x...) or the program's first start "
     "marker, and keeps caches, TLBs and predictors warm. Counting begins there.",
     NULL},
    {S, OPT_SAMPLE, 0, "sample", "N/M[/W]", WHAT,
     "On a detailed core: by turns, M instructions in the fast engine, W in detail to warm up (default: 2000), and a window of N in detail. Prints "
     "cycles per instruction with its 95 % confidence interval; what takes time is extrapolated and marked as an estimate.",
     NULL},
    {R, OPT_REPEAT, 'r', "repeat", "N", WHAT, "Run N times. The counts must be identical, and are then printed once.", NULL},
    {R, OPT_NULL, 'n', "null", NULL, WHAT, "Print no counts, only what the run took.", NULL},
    {R, OPT_DETAIL, 'd', "detailed", NULL, WHAT, "Print more: every unit once; -dd: every single count.", NULL},
    {R, OPT_VERBOSE, 'v', "verbose", NULL, WHAT, "Print every single count, as -dd.", NULL},

    {R, OPT_JSON, 'j', "json", NULL, HOW, "One JSON object a line, schema tally.stat/1.", NULL},
    {R, OPT_JSON, 0, "json-output", NULL, NULL, "The same, by perf's name.", NULL},
    {R, OPT_CSV, 0, "csv", NULL, HOW, "Comma-separated values with a header line.", NULL},
    {R, OPT_SEPARATOR, 'x', "field-separator", "SEP", HOW,
     "The lines of perf stat -x: value, unit, event, run time, percent, metric, unit; no header.", NULL},
    {R, OPT_PERF_COMPAT, 0, "perf-compat", NULL, HOW, "The same as -x, ; with --json, the keys of perf stat -j.", NULL},
    {R, OPT_OUTPUT, 'o', "output", "FILE", HOW, "Write to FILE instead of standard error.", "@files"},
    {R, OPT_LOG_FD, 0, "log-fd", "N", HOW, "Write to descriptor N, which the shell has opened: --log-fd 3 3>counts.json.", NULL},
    {S, OPT_APPEND, 0, "append", NULL, HOW, "With --output: add to the end of FILE.", NULL},
    {R, OPT_HOST_INFO, 0, "host-info", NULL, HOW,
     "Put host time and memory into JSON and CSV, too. They differ from run to run; the text report always shows them.", NULL},
    {R, OPT_HOST_PROFILE, 0, "host-profile", "FILE", HOW,
     "Write to FILE where the host's time went, one JSON object of schema tally.host/1: shares of translated code, of the models that it calls, of "
     "translation, of instructions stepped one by one, and of system calls and devices. Sampled; the counts stay the same.",
     "@files"},
    {R, OPT_HOST_SYMBOLS, 0, "perf", "map|jitdump", HOW,
     "Let Linux perf name translated code when it profiles tally itself: map writes /tmp/perf-PID.map; jitdump writes jit-PID.dump into the "
     "current folder, for perf record -k mono and perf inject --jit, with guest addresses as line numbers.",
     "map jitdump"},
    {R | A, OPT_QUIET, 'q', "quiet", NULL, HOW, "Print the counts without heading, closing lines, progress or remarks.", NULL},
    {R | U | P | A | W, OPT_NO_PROGRESS, 0, "no-progress", NULL, HOW, "No progress line on a terminal during long runs.", NULL},

    {P, OPT_DESIGNS, 'P', "pmu", "LIST", WHAT, "Designs, separated by commas, as --list-events heads its columns. Default: all.",
     "@designs"},
    {P, OPT_WATCHED, 'e', "event", "LIST", WHAT,
     "Events to watch, of --list-events, separated by commas: cycle, branch_direction_misprediction, l2_read. May be repeated. Default: those marked there.",
     "@compared"},
    {P, OPT_N_WATCHED, 0, "events", "N", WHAT, "Instead of -e: the first N of them, the marked ones before the others.", NULL},
    {P, OPT_LIST_WATCHED, 0, "list-events", NULL, WHAT,
     "Name all events that can be watched, and the designs that count them; run nothing.", NULL},
    {P, OPT_LOOKS, 'I', "interval", "CYCLES", WHAT,
     "Machine time from one look of the reader to the next. Default: 100k, less for short programs. It grows where a look takes more than half.",
     NULL},
    {P, OPT_PHASES, 0, "phases", "K", WHAT,
     "Runs of a design that shares counters out, each of which begins its turns at another event, spread over all of them. Their errors are a distribution. Default: 8.",
     NULL},
    {P, OPT_NO_SWEEPS, 0, "no-sweeps", NULL, WHAT, "Leave out the sweeps, over fabrics and over the number of events, which take longest.",
     NULL},

    {P, OPT_JSON, 'j', "json", NULL, HOW, "One JSON object a line, schema tally.compare/1.", NULL},
    {P, OPT_CSV, 0, "csv", NULL, HOW, "Comma-separated values with a header line: a line for each number.", NULL},
    {P, OPT_OUTPUT, 'o', "output", "FILE", HOW, "Write to FILE instead of standard output.", "@files"},
    {W, OPT_JSON, 0, "json", NULL, HOW, "One JSON object a line, schema tally.sweep/1.", NULL},
    {W, OPT_CSV, 0, "csv", NULL, HOW, "Comma-separated values with a header line: a line for each cell.", NULL},
    {W, OPT_DIFF_MARKDOWN, 0, "md", NULL, HOW, "A Markdown table.", NULL},
    {W, OPT_OUTPUT, 'o', "output", "FILE", HOW, "Write to FILE instead of standard output.", "@files"},
    {W, OPT_PLOT, 0, "plot", "FILE", HOW,
     "Also draw into FILE, as SVG: a panel for each column, the first key along x, a line for each combination of the others.", "@files"},
    {W, OPT_JOBS, 'j', "jobs", "N", HOW,
     "Run N cells at a time; with --slurm, at most N tasks. Default: as many as this host has processors.", NULL},
    {W, OPT_CELLS, 0, "cells", "DIR", HOW,
     "Keep each cell's report and messages in DIR, and take results that are there. The folder is made. A result is taken if machine, program, arguments, "
     "events and version are the same; files that the program reads are not looked at.",
     "@files"},
    {W, OPT_SLURM, 0, "slurm", NULL, HOW,
     "Submit the cells to Slurm as an array of jobs and wait for it. Needs --cells DIR in a folder that the nodes share, as the program's must be.",
     NULL},
    {W, OPT_ONLY, 0, "only", "K[/N]", HOW,
     "Run cell K, or cells K, K+N, K+2N..., into --cells DIR, and print nothing: for schedulers other than Slurm. Cells count from 0.",
     NULL},

    {P, OPT_PLOT, 0, "plot", "FILE", HOW,
     "Also draw into FILE, as SVG: error against the number of events, cycles of a read against the fabric.", "@files"},

    {T, OPT_JOBS, 0, "jobs", "N", HOW,
     "Run partitions on N processors of the host. Results do not depend on N. Default: 1. A run with a monitor uses one.", NULL},
    {T, OPT_INTERVAL, 'I', "interval", "LENGTH", WHAT,
     "Print counts at regular distances, too: 10ms, 500us or 1s of simulated time, or 500kc cycles.", NULL},
    {T, OPT_MONITOR, 0, "monitor", "NAME|none", WHAT,
     "Hardware that counts by VM and context, instead of the file's: its blocks are printed beside the truth. none: truth only.", NULL},
    {T, OPT_OOB, 0, "oob", "SOCKET", WHAT,
     "Answer out-of-band clients at this Unix socket, mode 0600, while the run goes on: tally oob SOCKET COMMAND.", "@files"},
    {T, OPT_OOB_HOLD, 0, "oob-hold", NULL, WHAT,
     "Keep the chip at the end of the run and answer --oob until an interrupt (Ctrl-C), then print the counts.", NULL},
    {T, OPT_RECORDS, 0, "records", "FOLDER", WHAT,
     "Write the sealed records of confidential VMs to this folder: vmN.records, and vmN.key, with which tally open-records opens them.",
     "@files"},
    {T, OPT_COST, 0, "cost", NULL, WHAT,
     "Print what the monitor's hardware cost in this run, too: activity and energy beside six other ways to count, and the break-even curve "
     "with the run's point. The run takes more host time.",
     NULL},
    {T | Q, OPT_KEY, 'k', "key", "FILE", WHAT,
     "The key of the out-of-band operator, 64 hexadecimal digits: latches of VMs and configuration need it.", "@files"},
    {Q | M, OPT_JSON, 'j', "json", NULL, HOW, "One JSON object a line for each command.", NULL},
    {T, OPT_JSON, 'j', "json", NULL, HOW, "One JSON object a line with every signal of every view, schema tally.tenants/1.", NULL},
    {T, OPT_CSV, 0, "csv", NULL, HOW, "Comma-separated values with a header line: a line for each view.", NULL},
    {T, OPT_FORMAT, 0, "format", "text|md|json|svg", HOW,
     "With --cost: behind the counts as text (the default) or JSON, or alone as a page of Markdown or the picture of the curve.",
     "text md json svg"},
    {T, OPT_OUTPUT, 'o', "output", "FILE", HOW, "Write the counts to FILE instead of standard error.", "@files"},

    {R | L | C | U | P | T | A | M | W, OPT_MACHINE, 'm', "machine", "NAME|FILE", MACHINE,
     "A machine of tally list machines, or a description. Default: rocket, for AArch64 programs a53, of record --pipeline ooo, of suite and compare lowrisc2, of monitor a53x4, of tenants what the file says.",
     "@machines"},
    {R | L | C | U | P | A | W, OPT_HARTS, 0, "harts", "N", MACHINE, "Number of harts.", NULL},
    {R | L | C | U | P | A | W, OPT_I1, 0, "I1", "SIZE,WAYS,LINE", MACHINE,
     "Geometry of the L1 instruction cache of each hart, in bytes: 32K,8,64.", NULL},
    {R | L | C | U | P | A | W, OPT_D1, 0, "D1", "SIZE,WAYS,LINE", MACHINE, "Geometry of the L1 data cache of each hart.", NULL},
    {R | L | C | U | P | A | W, OPT_L2, 0, "L2", "SIZE,WAYS,LINE", MACHINE, "Geometry of the shared L2 cache, all slices together.", NULL},
    {R | L | C | U | P | A | W, OPT_L2, 0, "LL", "SIZE,WAYS,LINE", NULL, "The same, by cachegrind's name.", NULL},
    {R | L | C | U | P | T | A | M | W, OPT_SET, 0, "set", "KEY=VALUE", MACHINE,
     "Override any key of the description: l1d.replacement=fifo. May be repeated. tally list keys names them.", "@keys"},
    {R | U | P | T | A | W, OPT_ENGINE, 0, "engine", "translate|interp|step", MACHINE,
     "Front-end: translate makes host code (the default where it can), interp interprets decoded code, step executes one instruction at a "
     "time. Their counts are the same.",
     "translate interp step"},
    {R | U | W, OPT_CODE_CACHE, 0, "code-cache", "SIZE", MACHINE,
     "Memory of the host for decoded code, and as much for translated code, of each hart: from 192KiB to 1GiB, default 24MiB. When it is full, "
     "all is made anew; counts are the same.",
     NULL},
    {R | U | W, OPT_TRANSLATE_AFTER, 0, "translate-after", "RUNS", MACHINE,
     "How often a block of code is interpreted before it is translated: default 64; 0 translates everything at once. Counts are the same.",
     NULL},
    {R, OPT_REPEAT_PART, 0, "repeat-part", "PART", MACHINE,
     "Translated code does PART of its work twice, so that the time a run takes more is what PART costs on this host: data-lookup, line-use or "
     "page-use of a load or store; fetch-lookup or fetch-use of a block; prediction of a branch; hit-path, all of these. Counts are the same.",
     "data-lookup line-use page-use fetch-lookup fetch-use prediction hit-path"},
    {R | U | P | A | W, OPT_SEED, 0, "seed", "N", MACHINE, "Seed of random replacement and of the randomness the program gets. Default: 1.",
     NULL},

    {S | P | A | W, OPT_SYSROOT, 0, "sysroot", "DIR", PROGRAM, "Where the dynamic loader and shared libraries are looked up first.",
     "@files"},
    {S | P | A | W, OPT_ROOT, 0, "root", "DIR", PROGRAM,
     "Let the program see only what is under DIR, as its root folder. PROGRAM is a path below it, too.", "@files"},
    {S | P | A | W, OPT_ENV, 0, "env", "NAME[=VALUE]", PROGRAM,
     "Put a variable into the program's environment, which is empty otherwise; without VALUE, with the value it has here. May be "
     "repeated.",
     NULL},
    {S | P | A | W, OPT_NETWORK, 0, "network", NULL, PROGRAM, "Let the program use internet sockets.", NULL},
    {S | A | W, OPT_HOST_PATHS, 0, "host-paths", NULL, PROGRAM,
     "Show the program where it lies and where it was started; else it sees fixed names.", NULL},
    {S | W, OPT_GRANT, 0, "grant", "LIST", PROGRAM,
     "Let the program use counters of the machine that the kernel keeps to itself otherwise: names, separated by commas, of designs that "
     "the machine must have; tally stat --help lists them. They belong to what the program forks and executes, too. NAME is short for "
     "--set os.NAME=granted. May be repeated.",
     "@grants"},
    {S | P | A | W, OPT_ARGV0, 0, "argv0", "NAME", PROGRAM,
     "What the program sees as its own name. Default: as typed, its folder replaced by a dot, so that counts do not depend on folders.",
     NULL},
    {P, OPT_PROGRAM_OUTPUT, 0, "program-output", "FILE", PROGRAM,
     "Put into FILE what the program writes to its output and error, of all its runs one after another.", "@files"},

    {S | A | W, OPT_BARE, 0, "bare", NULL, PROGRAM,
     "PROGRAM is a bare-metal ELF file: entered in machine mode on every hart, hart number in a0, device tree in a1. The serial port is "
     "standard input and output; the exit status is what the program writes to the board's finisher or to tohost.",
     NULL},

    {B | A, OPT_KERNEL, 0, "kernel", "FILE", BOARD, "The kernel: an Image or an ELF file, put at RAM + 2 MiB.", "@files"},
    {B | A, OPT_BIOS, 0, "bios", "FILE", BOARD,
     "The firmware: an ELF file, or raw bytes put at the start of RAM. Default: fw_jump of OpenSBI, as Debian's package opensbi installs it; on an AArch64 machine the board's own firmware.",
     "@files"},
    {A, OPT_KERNEL_SYMBOLS, 0, "vmlinux", "FILE", BOARD,
     "Symbols of the kernel, if --kernel is an Image: the ELF file that it was made of, or text as /proc/kallsyms and System.map have it.",
     "@files"},
    {A, OPT_KERNEL_SYMBOLS, 0, "kallsyms", "FILE", NULL, "The same, by perf's name.", "@files"},
    {B | A, OPT_INITRD, 0, "initrd", "FILE", BOARD, "The initial file system, given to the kernel.", "@files"},
    {B | A, OPT_COMMAND_LINE, 0, "append", "STRING", BOARD, "Command line of the kernel.", NULL},
    {S | B | A, OPT_DISK, 0, "disk", "FILE", BOARD,
     "A raw disk image behind a virtio block device, in tally boot and under --bare. What the guest writes is forgotten at the end.",
     "@files"},
    {S | B | A, OPT_DISK_WRITABLE, 0, "disk-writable", NULL, BOARD, "Let the guest change the file of --disk.", NULL},

    {R | A | W, OPT_TIMEOUT, 0, "timeout", "TIME", LIMITS, "Stop after TIME on the host: 10, 10s, 500ms, 2m. Exit status 124.", NULL},
    {R | A | W, OPT_MAX_INSNS, 0, "max-insns", "N", LIMITS, "Stop after exactly N instructions over all harts. Exit status 0.", NULL},
    {P, OPT_BOUND, 0, "insns", "N", LIMITS, "End each run after N instructions of the program. Default: 200M.", NULL},

    {L, OPT_LIST_JSON, 'j', "json", NULL, HOW, "One JSON object a line, schema tally.list/1.", NULL},
    {L, OPT_LIST_MARKDOWN, 0, "md", NULL, HOW, "A Markdown table.", NULL},
    {L, OPT_LIST_VERBOSE, 'v', "verbose", NULL, HOW, "Definitions, too: formulas, the units a signal belongs to, the shape of a machine.",
     NULL},

    {L, OPT_PMU, 'P', "pmu", "NAME[:PRESET]", WHAT, "With events: what this PMU can count.", "@pmus"},
    {L, OPT_LIST_PORTABLE, 0, "portable", NULL, WHAT,
     "With events: names that mean the same on every machine, and how each PMU counts them (docs/portable-events.md).", NULL},

    {C, OPT_COST, 0, "cost", NULL, WHAT,
     "With pmu NAME, one of those below tally describe --help: what it costs in hardware on the machine of --machine: state bits and wires of each part, beside counters in the core "
     "and counters on the bus that reach the same events; then for chips of other sizes.",
     NULL},
    {C, OPT_UNITS, 0, "units", "UNITSxCOUNTERS", WHAT, "With --cost: for one chip of so many units with so many counters each: 8x32.",
     NULL},
    {C, OPT_FORMAT, 0, "format", "text|md|json|svg", HOW,
     "Text (the default), a page of Markdown, JSON, schema tally.describe/1, or with --cost the picture of a curve.", "text md json svg"},

    {D, OPT_FAIL_ON, 0, "fail-on", "GATE", WHAT,
     "A condition that must not become true: NAME OP LIMIT, such as cycles>+1%, l1d.load_miss>+0, instructions>1000000, ipc<-2%, "
     "hart0:cycles>+1%. OP is > >= < <=; a sign means change, % means relative. May be repeated.",
     NULL},
    {D, OPT_WATCHED, 'e', "event", "LIST", WHAT,
     "Show these events and metrics, equal or not: names or patterns, separated by commas. May be repeated.", "@events"},
    {T, OPT_ALL, 'a', "all", NULL, WHAT, "Show every event of the monitor's blocks, those that are 0 or not counted, too.", NULL},
    {Q, OPT_ALL, 'a', "all", NULL, WHAT, "Show counts that are 0, too.", NULL},
    {D, OPT_ALL, 'a', "all", NULL, WHAT, "Show equal rows, too.", NULL},
    {O, OPT_KEY, 'k', "key", "FILE", WHAT,
     "The session key: lines of device, vm, epoch, values, key and iv, each with its value behind a colon.", "@files"},
    {O, OPT_JSON, 'j', "json", NULL, HOW, "One JSON object a line, schema tally.records/1.", NULL},
    {D, OPT_DIFF_JSON, 'j', "json", NULL, HOW, "One JSON object a line, schema tally.diff/1.", NULL},
    {D, OPT_DIFF_MARKDOWN, 0, "md", NULL, HOW, "A Markdown table.", NULL},

    {U, OPT_JSON, 'j', "json", NULL, HOW,
     "One JSON object a line, one for each program, schema tally.suite/1; of xcm one for each set of trials, schema tally.xcm/1; of "
     "l1miss one for each run, schema tally.l1miss/1.",
     NULL},
    {U, OPT_CSV, 0, "csv", NULL, HOW, "Comma-separated values with a header line: a line for each counter.", NULL},
    {U, OPT_SVG, 0, "svg", "FILE", HOW, "With xcm: also draw the matrices into FILE, as SVG. With l1miss: the histograms.", "@files"},
    {M, OPT_SERVE, 0, "serve", "SOCKET", WHAT,
     "Take no commands; answer clients at this Unix socket, mode 0600, until an interrupt (Ctrl-C), or DRV_UNLOAD.", "@files"},
    {M, OPT_SVG, 0, "svg", "FILE", HOW, "Also draw into FILE, as SVG, the sets and ways that l1d, l1i and tlb found, in color by state.",
     "@files"},
    {U, OPT_BENCH, 0, "bench", "DIR", PROGRAM, "Where bench/workloads/build.sh put the programs. Default: bench/out.", "@files"},
    {U, OPT_INSNS, 0, "insns", "N", LIMITS, "Instructions of each program: up to 10G. Default: 1G.", NULL},

    {ALL, OPT_HELP, 'h', "help", NULL, OTHER, "Explain this verb.", NULL},
};

const size_t cli_n_option_rows = sizeof cli_option_rows / sizeof cli_option_rows[0];
