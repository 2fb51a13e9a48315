// SPDX-License-Identifier: MIT
// xcmctl: the cross-core monitor from a command line. Commands run one after the other on one
// client, because a client that ends gives the target back.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "monitor/client/xcm_client.h"

enum { MOST_WORDS = 32, WAIT_MS = 5000, EXIT_REFUSED = 3, EXIT_USAGE = 2, NO_HALT_WAIT_MS = 100 };

static const char usage[] =
    "usage: xcmctl [--target N | --socket PATH] [--symbols FILE] [--json] COMMAND... [-- PROGRAM ARGUMENT...]\n"
    "\n"
    "Each COMMAND is one word of the shell: xcmctl attach 'break work' wait regs 'mem sp 64' resume detach -- ./prog\n"
    "`-` reads commands from standard input, one a line. PROGRAM runs on the target core without address\n"
    "randomization; it starts when the monitor listens. With --socket, `tally monitor --serve PATH PROGRAM` runs it.\n"
    "ADDRESS is a number, a symbol of PROGRAM or FILE, pc, sp or xN, + and - a number.\n"
    "\n"
    "  load FILE [NAME=VALUE...]     loads xcm.ko, with target= and debugger=\n"
    "  unload                        unloads it\n"
    "  attach                        the monitor listens; the target runs\n"
    "  detach                        the target runs, and nothing of the monitor is left on it\n"
    "  reset                         after detach: a new round\n"
    "  break ADDRESS [INDEX]         a breakpoint at EL0; index 0 unless given\n"
    "  clear INDEX                   removes it\n"
    "  follow ENTRY ADDRESS...       step mode from ENTRY: a hit at each address, the last one ends the round\n"
    "  halt                          halts the target wherever it is in a program\n"
    "  wait [MS]                     waits for a hit or another event, 5000 ms unless given\n"
    "  resume [ADDRESS]              the target goes on\n"
    "  step [N]                      N instructions, one unless given\n"
    "  regs                          x0 to x30, sp, pc, pstate\n"
    "  reg xN|sp|pc|pstate|0xENC [VALUE]   reads or writes one; ENC: op0, op1, CRn, CRm, op2 of a system register\n"
    "  mem ADDRESS BYTES             at most 512 bytes\n"
    "  write ADDRESS BYTES VALUE     1 to 8 bytes\n"
    "  exec WORD                     one instruction in Debug state\n"
    "  dump l1d|l1i|tlb|all [tags]   the valid lines and entries\n"
    "  calibrate LOAD ADDRESS        null windows and thresholds; LOAD is a load instruction of PROGRAM\n"
    "  probe btb|rsb V TV            is TV what the branch or return at V is predicted to?\n"
    "  probe itlb V | dtlb V LOAD | l2 V LOAD\n"
    "  count EVENT...                counts up to six events at EL0 from now on; the numbers are Arm's\n"
    "  counts                        reads them\n"
    "  flush l1d|l1i|both            the target does it, in normal state\n"
    "  status                        state, stops, steps, what was disturbed\n"
    "  transcript FILE               what the module has recorded\n";

static struct {
    xcm_client *client;
    unsigned target;
    const char *socket; // NULL: the kernel module
    bool is_json;
    const char *program;
    const uint8_t *image; // of the program, or of --symbols
    size_t image_bytes;
    pid_t child;
    int start_fd; // closed when the program may start
    xcm_client_reply reply;
    int worst;
} ctl = {.start_fd = -1};

// -- Output: a line for people, or one JSON object.

static void complain(const char *sentence) {
    fflush(stdout);
    fprintf(stderr, "xcmctl: %s\n", sentence);
}

static bool refused(const char *command) {
    char text[256];
    if (ctl.reply.code == XCM_DONE || ctl.reply.code == XCM_UNKNOWN_VERDICT)
        return false;
    (void)xcm_client_explain(ctl.client, ctl.reply.code, text, sizeof text);
    if (ctl.is_json)
        printf("{\"command\":\"%s\",\"code\":%u,\"state\":\"%s\",\"refused\":\"%s\"}\n", command, ctl.reply.code,
               xcm_state_name((uint8_t)ctl.reply.state), text);
    fflush(stdout);
    fprintf(stderr, "xcmctl: %s: %s (0x%02x, state %s)\n", command, text, ctl.reply.code, xcm_state_name((uint8_t)ctl.reply.state));
    ctl.worst = EXIT_REFUSED;
    return true;
}

// false: refused, or no reply; the sentence has been told.
static bool call(const char *command, xcm_function function, const uint64_t *args, uint32_t n) {
    const int error = xcm_client_call(ctl.client, function, args, n, &ctl.reply);
    if (error < 0) {
        fflush(stdout);
        fprintf(stderr, "xcmctl: %s: %s\n", command, error == -EPERM ? "needs CAP_NET_ADMIN and CAP_SYS_ADMIN" : strerror(-error));
        ctl.worst = 1;
        return false;
    }
    return !refused(command);
}
#define CALL(command, function, ...)                                                \
    ({                                                                              \
        const uint64_t args_[] = {__VA_ARGS__};                                     \
        call(command, function, args_, (uint32_t)(sizeof args_ / sizeof args_[0])); \
    })

static void say(const char *command) {
    if (ctl.is_json)
        printf("{\"command\":\"%s\",\"code\":%u,\"state\":\"%s\"}\n", command, ctl.reply.code, xcm_state_name((uint8_t)ctl.reply.state));
    else
        printf("%s: %s\n", command, xcm_state_name((uint8_t)ctl.reply.state));
}

// -- The program: its file gives symbols and words of code.

static bool has_bytes(uint64_t offset, uint64_t n) { return offset <= ctl.image_bytes && n <= ctl.image_bytes - offset; }

static bool is_image(void) {
    const Elf64_Ehdr *head = (const void *)ctl.image;
    return has_bytes(0, sizeof *head) && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64;
}

static bool find_symbol(const char *name, uint64_t *ret) {
    if (!is_image())
        return false;
    const Elf64_Ehdr *head = (const void *)ctl.image;
    for (uint32_t i = 0; i < head->e_shnum; i++) {
        Elf64_Shdr table, strings;
        if (!has_bytes(head->e_shoff + i * sizeof table, sizeof table))
            return false;
        memcpy(&table, ctl.image + head->e_shoff + i * sizeof table, sizeof table);
        if (table.sh_type != SHT_SYMTAB || !has_bytes(table.sh_offset, table.sh_size) || table.sh_link >= head->e_shnum ||
            !has_bytes(head->e_shoff + table.sh_link * sizeof strings, sizeof strings))
            continue;
        memcpy(&strings, ctl.image + head->e_shoff + table.sh_link * sizeof strings, sizeof strings);
        if (!has_bytes(strings.sh_offset, strings.sh_size))
            continue;
        for (uint64_t k = 0; k < table.sh_size / sizeof(Elf64_Sym); k++) {
            Elf64_Sym symbol;
            memcpy(&symbol, ctl.image + table.sh_offset + k * sizeof symbol, sizeof symbol);
            const size_t length = strlen(name);
            if (symbol.st_shndx != SHN_UNDEF && symbol.st_name < strings.sh_size && strings.sh_size - symbol.st_name > length &&
                memcmp(ctl.image + strings.sh_offset + symbol.st_name, name, length + 1) == 0) {
                *ret = symbol.st_value;
                return true;
            }
        }
    }
    return false;
}

// 0: the file has no such code.
static uint32_t word_of_code(uint64_t address) {
    if (!is_image())
        return 0;
    const Elf64_Ehdr *head = (const void *)ctl.image;
    for (uint32_t i = 0; i < head->e_phnum; i++) {
        Elf64_Phdr part;
        uint32_t word;
        if (!has_bytes(head->e_phoff + i * sizeof part, sizeof part))
            return 0;
        memcpy(&part, ctl.image + head->e_phoff + i * sizeof part, sizeof part);
        if (part.p_type != PT_LOAD || address < part.p_vaddr || address - part.p_vaddr + 4 > part.p_filesz ||
            !has_bytes(part.p_offset + (address - part.p_vaddr), 4))
            continue;
        memcpy(&word, ctl.image + part.p_offset + (address - part.p_vaddr), 4);
        return word;
    }
    return 0;
}

static void stay_off(cpu_set_t *set) { // the cores of the monitor
    char text[16];
    CPU_CLR(ctl.target, set);
    FILE *file = fopen("/sys/module/xcm/parameters/debugger", "re");
    if (file && fgets(text, sizeof text, file))
        CPU_CLR((size_t)atoi(text), set);
    if (file)
        fclose(file);
}

static int load_image(const char *path) {
    struct stat info = {0};
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const bool is_open = file >= 0 && fstat(file, &info) == 0;
    void *image = is_open && info.st_size > 0 ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (image == MAP_FAILED)
        fprintf(stderr, "xcmctl: %s: %s\n", path, is_open && info.st_size == 0 ? "the file is empty" : strerror(errno));
    if (file >= 0)
        close(file);
    if (image == MAP_FAILED)
        return -1;
    ctl.image = image;
    ctl.image_bytes = (size_t)info.st_size;
    return 0;
}

static int load_program(char **words) {
    int ends[2];
    ctl.program = words[0];
    if (!ctl.image && load_image(words[0]) < 0)
        return -1;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        fprintf(stderr, "xcmctl: %s: %s\n", words[0], strerror(errno));
        return -1;
    }
    fflush(NULL);
    ctl.child = fork();
    if (ctl.child == 0) {
        char byte;
        cpu_set_t set;
        close(ends[1]);
        while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
            ;
        CPU_ZERO(&set);
        CPU_SET(ctl.target, &set);
        (void)personality(ADDR_NO_RANDOMIZE);
        if (sched_setaffinity(0, sizeof set, &set) < 0) {
            fprintf(stderr, "xcmctl: core %u: %s\n", ctl.target, strerror(errno));
            _exit(127);
        }
        execvp(words[0], words);
        fprintf(stderr, "xcmctl: %s: %s\n", words[0], strerror(errno));
        _exit(127);
    }
    close(ends[0]);
    ctl.start_fd = ends[1];
    return ctl.child < 0 ? -1 : 0;
}

static void start_program(void) {
    if (ctl.start_fd >= 0)
        close(ctl.start_fd);
    ctl.start_fd = -1;
}

// -- Words of commands.

static bool parse_number(const char *text, uint64_t *ret) {
    char *end = NULL;
    errno = 0;
    *ret = strtoull(text, &end, 0);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

static int register_of(const char *name) {
    uint64_t n = 0;
    if (strcmp(name, "sp") == 0)
        return 31;
    if (strcmp(name, "pc") == 0)
        return 32;
    if (strcmp(name, "pstate") == 0)
        return 33;
    if (name[0] == 'x' && parse_number(name + 1, &n) && n <= 30)
        return (int)n;
    return parse_number(name, &n) && n <= 0xffff ? (int)(0x10000 | n) : -1;
}

static bool term(const char *text, uint64_t *ret) {
    if (parse_number(text, ret) || find_symbol(text, ret))
        return true;
    const int n = register_of(text);
    if (n < 0 || n > 32)
        return false;
    if (!CALL("reg", XCM_REG_XFER, 0, (uint64_t)n, 1))
        return false;
    *ret = ctl.reply.values[0];
    return true;
}

static bool address(const char *text, uint64_t *ret) {
    char left[128];
    uint64_t distance = 0;
    const size_t at = strcspn(text, "+-");
    if (at >= sizeof left)
        return false;
    memcpy(left, text, at);
    left[at] = '\0';
    if (!term(left, ret) || (text[at] != '\0' && !parse_number(text + at + 1, &distance))) {
        fflush(stdout);
        fprintf(stderr, "xcmctl: %s: no address; give a number, a register, or a symbol of the program\n", text);
        ctl.worst = EXIT_USAGE;
        return false;
    }
    *ret += text[at] == '-' ? -distance : distance;
    return true;
}

// -- Commands. Each has its words, with its name first.

typedef void command_fn(char **words, uint32_t n);

static void do_attach(char **words, uint32_t n) {
    (void)n;
    if (call(words[0], XCM_LISTEN_START, NULL, 0)) {
        say(words[0]);
        start_program();
    }
}
static void do_detach(char **words, uint32_t n) {
    (void)n;
    if (call(words[0], XCM_LISTEN_STOP, NULL, 0))
        say(words[0]);
}
static void do_reset(char **words, uint32_t n) {
    (void)n;
    if (call(words[0], XCM_ROUND_RESET, NULL, 0))
        say(words[0]);
}

static void do_break(char **words, uint32_t n) {
    uint64_t at = 0, index = 0;
    if (!address(words[1], &at) || (n > 2 && !parse_number(words[2], &index)))
        return;
    if (CALL(words[0], XCM_BP_CTL, 1, index, at, 0)) {
        if (ctl.is_json)
            printf("{\"command\":\"break\",\"index\":%" PRIu64 ",\"address\":%" PRIu64 "}\n", index, at);
        else
            printf("breakpoint %" PRIu64 " at 0x%" PRIx64 "\n", index, at);
    }
}
static void do_clear(char **words, uint32_t n) {
    uint64_t index = 0;
    (void)n;
    if (parse_number(words[1], &index) && CALL(words[0], XCM_BP_CTL, 0, index))
        say(words[0]);
}

static void do_follow(char **words, uint32_t n) {
    uint64_t args[MOST_WORDS] = {1};
    for (uint32_t i = 1; i < n; i++)
        if (!address(words[i], &args[i]))
            return;
    if (call(words[0], XCM_LIST_LOAD, args, n))
        say(words[0]);
}

static void print_place(const char *command, const char *what, uint64_t pc, uint64_t detail) {
    if (ctl.is_json)
        printf("{\"command\":\"%s\",\"event\":\"%s\",\"pc\":%" PRIu64 ",\"detail\":%" PRIu64 "}\n", command, what, pc, detail);
    else
        printf("%s: %s at 0x%" PRIx64 " (%" PRIu64 ")\n", command, what, pc, detail);
}

static void do_halt(char **words, uint32_t n) {
    (void)n;
    if (call(words[0], XCM_HALT_REQ, NULL, 0))
        print_place(words[0], "halted", ctl.reply.values[1], ctl.reply.values[0]);
}

static bool wait_for_event(const char *command, int ms) {
    static const char *const names[] = {[XCM_EVENT_HIT] = "hit",
                                        [XCM_EVENT_HALTED] = "other halt",
                                        [XCM_EVENT_BUDGET] = "stop budget over",
                                        [XCM_EVENT_LOST] = "target lost",
                                        [XCM_EVENT_ENDED] = "ended",
                                        [XCM_EVENT_NO_HALT] = "no halt",
                                        [XCM_EVENT_FOREIGN] = "left alone",
                                        [XCM_EVENT_SKIPPED] = "inside an exclusive sequence, skipped"};
    xcm_client_event event;
    const int got = xcm_client_wait(ctl.client, ms, &event);
    if (got > 0 && event.kind <= XCM_EVENT_SKIPPED && event.kind >= XCM_EVENT_HIT) {
        print_place(command, names[event.kind], event.pc, event.detail);
        return true;
    }
    fflush(stdout);
    fprintf(stderr, "xcmctl: %s: %s\n", command, got < 0 ? strerror(-got) : "nothing has happened in this time");
    ctl.worst = ctl.worst ? ctl.worst : 1;
    return false;
}
static void do_wait(char **words, uint32_t n) {
    uint64_t ms = WAIT_MS;
    if (n < 2 || parse_number(words[1], &ms))
        (void)wait_for_event(words[0], (int)ms);
}

static void do_resume(char **words, uint32_t n) {
    uint64_t to = 0;
    if (n > 1 && !address(words[1], &to))
        return;
    if (call(words[0], XCM_RESUME, &to, n > 1))
        say(words[0]);
}

static void do_step(char **words, uint32_t n) {
    uint64_t times = 1;
    if (n > 1 && !parse_number(words[1], &times))
        return;
    for (uint64_t i = 0; i < times; i++) {
        if (!CALL(words[0], XCM_RESUME, 0, 1))
            return;
        if (ctl.reply.n_values > 0)
            print_place(words[0], "stepped", ctl.reply.values[0], word_of_code(ctl.reply.values[0]));
        else if (!wait_for_event(words[0], WAIT_MS)) // an exception: it returns to a breakpoint
            return;
    }
}

static void do_regs(char **words, uint32_t n) {
    (void)n;
    if (!CALL(words[0], XCM_REG_XFER, 0, 0, 34))
        return;
    const uint64_t *x = ctl.reply.values;
    if (ctl.is_json) {
        printf("{\"command\":\"regs\",\"x\":[");
        for (uint32_t i = 0; i < 31; i++)
            printf("%s%" PRIu64, i ? "," : "", x[i]);
        printf("],\"sp\":%" PRIu64 ",\"pc\":%" PRIu64 ",\"pstate\":%" PRIu64 "}\n", x[31], x[32], x[33]);
        return;
    }
    for (uint32_t i = 0; i < 31; i++)
        printf("x%-2" PRIu32 " %016" PRIx64 "%s", i, x[i], i % 4 == 3 ? "\n" : "  ");
    printf("\nsp  %016" PRIx64 "  pc  %016" PRIx64 "  pstate %08" PRIx64 " %c%c%c%c EL%u\n", x[31], x[32], x[33],
           x[33] >> 31 & 1 ? 'N' : '-', x[33] >> 30 & 1 ? 'Z' : '-', x[33] >> 29 & 1 ? 'C' : '-', x[33] >> 28 & 1 ? 'V' : '-',
           (unsigned)(x[33] >> 2 & 3));
}

static void do_reg(char **words, uint32_t n) {
    const int number = register_of(words[1]);
    uint64_t value = 0;
    if (number < 0) {
        complain("reg: no such register; give x0 to x30, sp, pc, pstate, or the encoding of a system register");
        ctl.worst = EXIT_USAGE;
        return;
    }
    if (n > 2 && !address(words[2], &value))
        return;
    if (n > 2 ? !CALL(words[0], XCM_REG_XFER, 1, (uint64_t)number, value) : !CALL(words[0], XCM_REG_XFER, 0, (uint64_t)number, 1))
        return;
    value = n > 2 ? value : ctl.reply.values[0];
    if (ctl.is_json)
        printf("{\"command\":\"reg\",\"name\":\"%s\",\"value\":%" PRIu64 "}\n", words[1], value);
    else
        printf("%s = 0x%" PRIx64 "\n", words[1], value);
}

static void do_mem(char **words, uint32_t n) {
    enum { MOST = 512, ALL_INLINE = 2 };
    uint64_t at = 0, bytes = 0;
    (void)n;
    if (!address(words[1], &at) || !parse_number(words[2], &bytes))
        return;
    if (bytes == 0 || bytes > MOST) {
        complain("mem: 1 to 512 bytes");
        ctl.worst = EXIT_USAGE;
        return;
    }
    if (!CALL(words[0], XCM_MEM_XFER, 0, at, bytes, ALL_INLINE))
        return;
    const uint8_t *b = (const uint8_t *)ctl.reply.values;
    if (ctl.is_json)
        printf("{\"command\":\"mem\",\"address\":%" PRIu64 ",\"bytes\":\"", at);
    for (uint64_t i = 0; i < bytes; i++) {
        if (!ctl.is_json && i % 16 == 0)
            printf("%s%012" PRIx64 " ", i ? "\n" : "", at + i);
        printf(ctl.is_json ? "%02x" : " %02x", b[i]);
    }
    printf(ctl.is_json ? "\"}\n" : "\n");
}

static void do_write(char **words, uint32_t n) {
    uint64_t at = 0, bytes = 0, value = 0;
    (void)n;
    if (address(words[1], &at) && parse_number(words[2], &bytes) && address(words[3], &value) && bytes >= 1 && bytes <= 8 &&
        CALL(words[0], XCM_MEM_XFER, 1, at, bytes, 0, value))
        say(words[0]);
}

static void do_exec(char **words, uint32_t n) {
    uint64_t word = 0;
    (void)n;
    if (parse_number(words[1], &word) && CALL(words[0], XCM_EXEC, word))
        say(words[0]);
}

// -- Direct reads.

static const xcm_geometry A53 = {128, 4, 256, 2, 64};

static void print_entry(const xcm_record *r, const uint64_t *words, uint32_t n_valid[12]) {
    const uint32_t way = (uint32_t)(words[0] >> 32), index = (uint32_t)words[0];
    const uint32_t dr[4] = {(uint32_t)words[1], (uint32_t)(words[1] >> 32), (uint32_t)words[2], (uint32_t)(words[2] >> 32)};
    if (r->type == XCM_RECORD_L1D_TAG || r->type == XCM_RECORD_L1I_TAG) {
        const bool is_fetch = r->type == XCM_RECORD_L1I_TAG;
        const xcm_line line = is_fetch ? xcm_decode_l1i_tag(&A53, index, dr) : xcm_decode_l1d_tag(&A53, index, dr);
        if (line.state == 'I')
            return;
        n_valid[r->type] += 1;
        printf(ctl.is_json ? "{\"kind\":\"%s\",\"set\":%u,\"way\":%u,\"state\":\"%c\",\"paddr\":%" PRIu64 "}\n"
                           : "%s set %3u way %u %c  paddr %010" PRIx64 "\n",
               is_fetch ? "l1i" : "l1d", index, way, line.state, line.paddr);
    } else if (r->type == XCM_RECORD_TLB) {
        const xcm_tlb_entry e = xcm_decode_tlb(index, dr);
        if (!e.is_valid)
            return;
        n_valid[r->type] += 1;
        printf(ctl.is_json ? "{\"kind\":\"%s\",\"index\":%u,\"way\":%u,\"vaddr\":%" PRIu64 ",\"paddr\":%" PRIu64 ",\"bytes\":%" PRIu64
                             ",\"asid\":%u,\"global\":%d}\n"
                           : "%s index %3u way %u  vaddr %012" PRIx64 "  paddr %010" PRIx64 "  %" PRIu64 " bytes  asid %u  global %d\n",
               e.is_walk ? "walk" : "tlb", index, way, e.vaddr, e.paddr, e.bytes, e.asid, !e.is_non_global);
    } else if (r->type == XCM_RECORD_L1D_DATA || r->type == XCM_RECORD_L1I_DATA) {
        const bool is_fetch = r->type == XCM_RECORD_L1I_DATA;
        n_valid[r->type] += 1;
        printf(ctl.is_json ? "{\"kind\":\"%s\",\"set\":%u,\"way\":%u,\"data\":\"" : "%s set %3u way %u ",
               is_fetch ? "l1i_data" : "l1d_data", index, way);
        for (uint32_t i = 0; i < (is_fetch ? 16 : 8); i++) {
            const uint32_t halves[4] = {(uint32_t)words[1 + i], (uint32_t)(words[1 + i] >> 32), 0, 0};
            uint32_t word = 0;
            if (is_fetch && xcm_decode_l1i_word(halves, &word))
                printf(" %08x", word);
            else if (is_fetch)
                printf(" ????????"); // another core's own code
            else
                printf(" %016" PRIx64, words[1 + i]);
        }
        printf(ctl.is_json ? "\"}\n" : "\n");
    }
}

static void do_dump(char **words, uint32_t n) {
    static const char *const names[] = {"l1d", "l1i", "tlb"};
    enum { DUMP_MS = 1000, ALL = 7 };
    uint32_t n_valid[12] = {0};
    uint64_t mask = strcmp(words[1], "all") == 0 ? ALL : 0, payload[64];
    xcm_record r;
    for (uint32_t i = 0; i < 3; i++)
        if (strcmp(words[1], names[i]) == 0)
            mask = 1u << i;
    if (mask == 0) {
        complain("dump: l1d, l1i, tlb or all");
        ctl.worst = EXIT_USAGE;
        return;
    }
    while (xcm_client_take(ctl.client, &r, (uint8_t *)payload, sizeof payload)) // older records
        ;
    if (!CALL(words[0], XCM_UARCH_DUMP, mask, n > 2 && strcmp(words[2], "tags") == 0, DUMP_MS))
        return;
    while (memset(payload, 0, sizeof payload), xcm_client_take(ctl.client, &r, (uint8_t *)payload, sizeof payload))
        print_entry(&r, payload, n_valid);
    if (!ctl.is_json)
        printf("dump: %u lines of L1D, %u of L1I, %u entries of the TLB are valid\n", n_valid[XCM_RECORD_L1D_TAG],
               n_valid[XCM_RECORD_L1I_TAG], n_valid[XCM_RECORD_TLB]);
}

// -- Inference.

static void do_calibrate(char **words, uint32_t n) {
    uint64_t load = 0, page = 0;
    (void)n;
    if (!address(words[1], &load) || !address(words[2], &page) || !CALL(words[0], XCM_CALIBRATE, load, word_of_code(load), page))
        return;
    const uint64_t *v = ctl.reply.values;
    printf(ctl.is_json ? "{\"command\":\"calibrate\",\"residue\":%" PRIu64 ",\"most_hit\":%" PRIu64 ",\"least_miss\":%" PRIu64
                         ",\"limit\":%" PRIu64 ",\"counts_micro\":%" PRIu64 ",\"unusable\":%" PRIu64 "}\n"
                       : "calibrate: residue %" PRIu64 " cycles, hits at most %" PRIu64 ", misses at least %" PRIu64 ", limit %" PRIu64
                         ", refills of micro-TLBs count %" PRIu64 ", unusable events %" PRIx64 "\n",
           v[0], v[1], v[2], v[3], v[4], v[5]);
}

static void print_reasons(uint64_t why) {
    static const char *const reasons[] = {"window",      "not retired",    "extra retired", "exception", "wrong class",
                                          "speculation", "event absent",   "conflict",      "cycles",    "dirty line",
                                          "page walk",   "not calibrated", "not predicted"};
    bool is_first = true;
    for (uint32_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (why >> i & 1) {
            printf("%s%s", is_first ? "" : ", ", reasons[i]);
            is_first = false;
        }
}

static void do_probe(char **words, uint32_t n) {
    static const char *const names[] = {"", "btb", "rsb", "itlb", "dtlb", "l2"}, *const verdicts[] = {"NO", "YES", "UNKNOWN"};
    uint64_t args[4] = {0, 0, 0, 0};
    for (uint32_t i = XCM_BTB; i <= XCM_L2; i++)
        if (strcmp(words[1], names[i]) == 0)
            args[0] = i;
    if (args[0] == 0 || n < (args[0] == XCM_ITLB ? 3 : 4)) {
        complain("probe: btb V TV, rsb V TV, itlb V, dtlb V LOAD, or l2 V LOAD");
        ctl.worst = EXIT_USAGE;
        return;
    }
    if (!address(words[2], &args[1]) || (n > 3 && !address(words[3], &args[2])))
        return;
    args[3] = word_of_code(args[0] >= XCM_DTLB ? args[2] : args[1]);
    if (!call(words[0], XCM_PROBE, args, 4))
        return;
    const uint64_t *v = ctl.reply.values;
    const char *verdict = v[0] <= XCM_UNKNOWN ? verdicts[v[0]] : "?";
    printf(ctl.is_json ? "{\"command\":\"probe\",\"structure\":\"%s\",\"verdict\":\"%s\",\"cycles\":%" PRIu64 ",\"deltas\":[%" PRIu64
                         ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "],\"why\":\""
                       : "probe %s: %s, %" PRIu64 " cycles, deltas %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                         "; ",
           words[1], verdict, v[8], v[2], v[3], v[4], v[5], v[6], v[7]);
    print_reasons(v[1]);
    printf(ctl.is_json ? "\"}\n" : "\n");
}

// -- Counters, caches, state.

static void do_count(char **words, uint32_t n) {
    enum { OFF, ON, PROGRAM, ZERO };
    const uint64_t user_only = 0x80000000, cycles = 0x80000000;
    uint64_t event = 0;
    for (uint32_t i = 1; i < n && i <= XCM_COUNTERS; i++)
        if (!parse_number(words[i], &event) || !CALL(words[0], XCM_PMU_CTL, PROGRAM, i - 1, user_only | event))
            return;
    if (CALL(words[0], XCM_PMU_CTL, ZERO) && CALL(words[0], XCM_PMU_CTL, ON, cycles | ((1u << (n - 1)) - 1)))
        say(words[0]);
}
static void do_counts(char **words, uint32_t n) {
    (void)n;
    if (!CALL(words[0], XCM_PMU_READ, 0x80000000 | ((1u << XCM_COUNTERS) - 1)))
        return;
    printf(ctl.is_json ? "{\"command\":\"counts\",\"cycles\":%" PRIu64 ",\"counters\":[" : "counts: %" PRIu64 " cycles,",
           ctl.reply.values[0]);
    for (uint32_t i = 1; i < ctl.reply.n_values; i++)
        printf("%s%" PRIu64, ctl.is_json ? (i > 1 ? "," : "") : " ", ctl.reply.values[i]);
    printf(ctl.is_json ? "]}\n" : "\n");
}

static void do_flush(char **words, uint32_t n) {
    static const char *const names[] = {"", "l1d", "l1i", "both"};
    (void)n;
    for (uint64_t i = XCM_FLUSH_L1D; i <= XCM_FLUSH_BOTH; i++)
        if (strcmp(words[1], names[i]) == 0 && CALL(words[0], XCM_CACHE_FLUSH, i))
            say(words[0]);
}

static void do_status(char **words, uint32_t n) {
    (void)n;
    if (!call(words[0], XCM_STATUS, NULL, 0))
        return;
    const uint64_t *v = ctl.reply.values;
    printf(ctl.is_json ? "{\"command\":\"status\",\"state\":\"%s\",\"pc\":%" PRIu64 ",\"last_stop_ns\":%" PRIu64
                         ",\"most_stop_ns\":%" PRIu64 ",\"hits\":%" PRIu64 ",\"steps\":%" PRIu64 ",\"dropped\":%" PRIu64
                         ",\"ledger\":%" PRIu64 ",\"capabilities\":%" PRIu64 "}\n"
                       : "status: %s, pc 0x%" PRIx64 ", last stop %" PRIu64 " ns, longest %" PRIu64 " ns, %" PRIu64 " hits, %" PRIu64
                         " steps, %" PRIu64 " records dropped, ledger %" PRIx64 ", capabilities %" PRIx64 "\n",
           xcm_state_name((uint8_t)v[2]), v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10]);
}

static void do_transcript(char **words, uint32_t n) {
    (void)n;
    const int to = open(words[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const int error = to < 0 ? -errno : xcm_client_transcript(ctl.client, to);
    if (to >= 0)
        close(to);
    if (error < 0) {
        fprintf(stderr, "xcmctl: transcript: %s: %s\n", words[1], strerror(-error));
        ctl.worst = 1;
    }
}

static const struct {
    const char *name;
    command_fn *run;
    uint32_t least, most; // words, with the name
} commands[] = {
    {"attach", do_attach, 1, 1},
    {"detach", do_detach, 1, 1},
    {"reset", do_reset, 1, 1},
    {"break", do_break, 2, 3},
    {"clear", do_clear, 2, 2},
    {"follow", do_follow, 3, MOST_WORDS},
    {"halt", do_halt, 1, 1},
    {"wait", do_wait, 1, 2},
    {"resume", do_resume, 1, 2},
    {"step", do_step, 1, 2},
    {"regs", do_regs, 1, 1},
    {"reg", do_reg, 2, 3},
    {"mem", do_mem, 3, 3},
    {"write", do_write, 4, 4},
    {"exec", do_exec, 2, 2},
    {"dump", do_dump, 2, 3},
    {"calibrate", do_calibrate, 3, 3},
    {"probe", do_probe, 3, 4},
    {"count", do_count, 2, 7},
    {"counts", do_counts, 1, 1},
    {"flush", do_flush, 2, 2},
    {"status", do_status, 1, 1},
    {"transcript", do_transcript, 2, 2},
};

static bool open_client(void) {
    char why[512] = "";
    cpu_set_t set;
    if (ctl.client)
        return true;
    if (ctl.socket) {
        if (xcm_client_open_socket(ctl.socket, &ctl.client, why, sizeof why) == 0)
            return true;
        complain(why);
        ctl.worst = 1;
        return false;
    }
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        stay_off(&set);
        (void)sched_setaffinity(0, sizeof set, &set); // a machine of two cores has no other
    }
    if (xcm_client_open_netlink(ctl.target, &ctl.client, why, sizeof why) == 0)
        return true;
    complain(why);
    ctl.worst = 1;
    return false;
}

static void load_module(char **words, uint32_t n) {
    char parameters[1024] = "", why[1024] = "";
    for (uint32_t i = 2; i < n; i++)
        snprintf(parameters + strlen(parameters), sizeof parameters - strlen(parameters), "%s ", words[i]);
    if (xcm_client_load_module(words[1], parameters, why, sizeof why) < 0) {
        complain(why);
        ctl.worst = EXIT_REFUSED;
    }
}

static void run_line(char *line) {
    char *words[MOST_WORDS] = {NULL}, why[256] = "";
    uint32_t n = 0;
    for (char *word = strtok(line, " \t\n"); word && n < MOST_WORDS; word = strtok(NULL, " \t\n"))
        words[n++] = word;
    if (n == 0 || words[0][0] == '#')
        return;
    if (strcmp(words[0], "load") == 0 && n >= 2) {
        load_module(words, n);
        return;
    }
    if (strcmp(words[0], "unload") == 0) {
        xcm_client_close(ctl.client);
        ctl.client = NULL;
        if (xcm_client_unload_module(why, sizeof why) < 0) {
            complain(why);
            ctl.worst = EXIT_REFUSED;
        }
        return;
    }
    for (uint32_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(words[0], commands[i].name) != 0)
            continue;
        if (n < commands[i].least || n > commands[i].most) {
            fprintf(stderr, "xcmctl: %s: wrong number of words; xcmctl --help\n", words[0]);
            ctl.worst = EXIT_USAGE;
        } else if (open_client()) {
            commands[i].run(words, n);
        }
        return;
    }
    fprintf(stderr, "xcmctl: %s: no such command; xcmctl --help\n", words[0]);
    ctl.worst = EXIT_USAGE;
}

static void run_input(void) {
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        run_line(line);
        fflush(stdout);
    }
}

// The program ends without the monitor, whose target runs again.
static int finish(void) {
    int status = 0;
    xcm_client_close(ctl.client);
    start_program();
    if (ctl.child <= 0 || waitpid(ctl.child, &status, 0) < 0)
        return ctl.worst;
    if (ctl.is_json)
        printf("{\"command\":\"program\",\"status\":%d}\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    else
        printf("%s: %s %d\n", ctl.program, WIFEXITED(status) ? "exit status" : "signal",
               WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return ctl.worst;
}

int main(int argc, char **argv) {
    int first = 1, end = 1;
    uint64_t target = 1;
    for (; first < argc && strncmp(argv[first], "--", 2) == 0 && argv[first][2] != '\0'; first++) {
        if (strcmp(argv[first], "--json") == 0) {
            ctl.is_json = true;
        } else if (strcmp(argv[first], "--target") == 0 && first + 1 < argc && parse_number(argv[first + 1], &target) &&
                   target < CPU_SETSIZE) {
            first++;
        } else if (strcmp(argv[first], "--socket") == 0 && first + 1 < argc) {
            ctl.socket = argv[++first];
        } else if (strcmp(argv[first], "--symbols") == 0 && first + 1 < argc) {
            if (load_image(argv[++first]) < 0)
                return 1;
        } else {
            const bool is_help = strcmp(argv[first], "--help") == 0;
            fputs(usage, is_help ? stdout : stderr);
            return is_help ? 0 : EXIT_USAGE;
        }
    }
    ctl.target = (unsigned)target;
    for (end = first; end < argc && strcmp(argv[end], "--") != 0; end++)
        ;
    if (end == first) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    if (end + 1 < argc && ctl.socket) {
        complain("with --socket the server runs the program; --symbols names its file");
        return EXIT_USAGE;
    }
    if (end + 1 < argc && load_program(argv + end + 1) < 0)
        return 1;
    for (int i = first; i < end; i++) {
        if (strcmp(argv[i], "-") == 0)
            run_input();
        else
            run_line(argv[i]);
        fflush(stdout);
    }
    return finish();
}
