// SPDX-License-Identifier: MIT
// Operand vectors for every row of isa/a64, and random programs, through our bodies and on another
// machine. Registers, flags and memory must be equal. Random programs also run on a machine of ours
// with caches, stepped by engine `step`, whose tallies must hold together. The other machine
// executes vectors_a64_guest.S and is fed through pipes, so one process makes the cases and
// compares.
//
//   vectors_a64 rows CASES QEMU GUEST [NAME]
//       This mode runs 8 words of each row with CASES sets of operands. NAME selects rows whose
//       name begins so.
//   vectors_a64 programs CASES QEMU GUEST
//       This mode runs CASES random programs of up to 32 instructions, and CASES pairs of
//       exclusive accesses.
//   vectors_a64 undefined CASES QEMU GUEST
//       This mode asks of CASES random words whether they are instructions.
//
// Unpredictable instructions are not generated. These are loads that write their base and update
// it, or one register twice, and exclusive stores whose registers overlap. Nor are those that
// depend on the machine: SVC, HLT, DC and IC but for EL0's, system registers but for flags, FPCR
// and FPSR. Exits 77 where QEMU is missing.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "isa/a64/exec_int.h"
#include "isa/a64/insn.h"
#include "isa/a64/step/step.h"
#include "machine/keys.h"
#include "machine/machine.h"
#include "vectors_a64.h"
#include "vectors_port.h"
#include "vectors_random.h"

static const char *const names[TL_A64_N_OPCS] = {
    [TL_A64_OPC_UNDEFINED] = "undefined",
#define INSN(id, ...) [TL_A64_OPC_##id] = #id,
#include "isa/a64/insn_all.def"
#undef INSN
};

// -- Values where carries, saturation, sign extensions and rounding go wrong.
static uint64_t random_float(unsigned fraction_bits, unsigned exponent_bits) {
    const uint64_t exponent_max = (UINT64_C(1) << exponent_bits) - 1, bias = exponent_max / 2, all = (UINT64_C(1) << fraction_bits) - 1;
    uint64_t fraction = 0, exponent;
    const uint64_t kind = random_below(4), a = random_bits(), b = random_bits();
    if (kind == 1)
        fraction = a & all;
    else if (kind == 2)
        fraction = random_runs() & all;
    else if (kind == 3)
        fraction = ((a >> 60 << (fraction_bits - 4)) ^ (b & 3 ? b >> 61 : all - (b >> 61))) & all;
    switch (random_below(8)) {
    case 0: exponent = a & 1 ? 0 : exponent_max; break; // zero, subnormal, infinity, NaN
    case 1: exponent = b & exponent_max; break;
    case 2: exponent = b % (fraction_bits + 4); break;
    case 3: exponent = exponent_max - 1 - b % 6; break;
    case 4: exponent = bias / 2 + b % (bias / 8 + 1); break;
    case 5: exponent = bias + bias / 2 + b % 4; break;
    case 6: exponent = bias + 60 - b % 70; break;
    default: exponent = bias + 3 - b % 6; break;
    }
    exponent &= exponent_max;
    if (exponent == exponent_max && (a & 2))
        fraction = a & 4 ? 0 : UINT64_C(1) << (b % fraction_bits);
    return (a >> 63) << (fraction_bits + exponent_bits) | exponent << fraction_bits | fraction;
}
static uint64_t random_vector_half(uint64_t kind) {
    switch (kind) {
    case 0: return random_integer();
    case 1: {
        const uint64_t low = random_float(23, 8), high = random_float(23, 8);
        return low | high << 32;
    }
    case 2: {
        uint64_t value = 0;
        for (unsigned at = 0; at < 64; at += 16)
            value |= random_float(10, 5) << at;
        return value;
    }
    case 3: { // bytes at the ends of their range
        uint64_t value = 0;
        for (unsigned at = 0; at < 64; at += 8) {
            const uint64_t pick = random_bits();
            value |= (pick & 3 ? (const uint8_t[]){0, 1, 0x7f, 0x80, 0x81, 0xff, 0x40, 0xfe}[pick >> 2 & 7] : pick >> 56) << at;
        }
        return value;
    }
    // Values that meet only by design: infinities, zeros, both kinds of NaN, the ends of the range.
    case 5: {
        static const uint64_t doubles[] = {0,
                                           1,
                                           0x000fffffffffffff,
                                           0x0010000000000000,
                                           0x3ff0000000000000,
                                           0x7fefffffffffffff,
                                           0x7ff0000000000000,
                                           0x7ff0000000000001,
                                           0x7ff8000000000001};
        return random_bits() >> 63 << 63 | doubles[random_below(TL_COUNT_OF(doubles))];
    }
    case 6: {
        static const uint32_t singles[] = {0, 1, 0x007fffff, 0x00800000, 0x3f800000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00001};
        const uint64_t low = singles[random_below(TL_COUNT_OF(singles))], high = singles[random_below(TL_COUNT_OF(singles))];
        return low | high << 32 | (random_bits() & UINT64_C(0x8000000080000000));
    }
    default: return random_float(52, 11);
    }
}

// -- The other machine.
static int to_fd, from_fd;
static pid_t child;

static void start(const char *qemu, const char *guest) {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0)
        exit(2);
    child = fork();
    if (child == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        execlp(qemu, qemu, "-cpu", "cortex-a53", guest, (char *)NULL);
        _exit(77);
    }
    close(to[0]);
    close(from[1]);
    to_fd = to[1];
    from_fd = from[0];
}
static void send_all(const void *bytes, size_t n) {
    for (size_t done = 0; done < n;) {
        const ssize_t now = write(to_fd, (const uint8_t *)bytes + done, n - done);
        if (now <= 0) {
            int status = 0;
            waitpid(child, &status, 0);
            if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
                printf("skipped: no qemu-aarch64; install qemu-user\n");
                exit(77);
            }
            printf("the other machine is gone, wait status %d\n", status);
            exit(2);
        }
        done += (size_t)now;
    }
}
static void receive_all(void *bytes, size_t n) {
    for (size_t done = 0; done < n;) {
        const ssize_t now = read(from_fd, (uint8_t *)bytes + done, n - done);
        if (now <= 0)
            send_all("", 1); // says why
        done += now > 0 ? (size_t)now : 0;
    }
}

// -- Our machine: bodies, and memory that knows one window.
static tl_a64_hart hart;
static uint8_t *window;
static bool is_outside;

static uint8_t *bytes_at(uint64_t vaddr, uint32_t size_bytes) {
    static uint8_t nowhere[16];
    if (vaddr >= VECTORS_DATA && vaddr + size_bytes <= VECTORS_DATA + VECTORS_DATA_BYTES)
        return window + (vaddr - VECTORS_DATA);
    is_outside = true;
    return nowhere;
}
static bool port_load_reserved(tl_hart *h, uint64_t vaddr, uint32_t size_bytes) {
    h->reservation_paddr = vaddr;
    return port_load(h, vaddr, size_bytes);
}
static bool port_store_conditional(tl_hart *h, uint64_t vaddr, uint32_t size_bytes, uint64_t value) {
    h->mem_value = h->reservation_paddr != vaddr;
    h->reservation_paddr = TL_NO_LINE;
    return h->mem_value != 0 || port_store(h, vaddr, size_bytes, value);
}
static void port_maintain_line(tl_hart *h, uint64_t paddr, tl_maintenance what) { (void)h, (void)paddr, (void)what; }
static void port_maintain_way(tl_hart *h, uint32_t level, uint32_t set, uint32_t way, tl_maintenance what) {
    (void)h, (void)level, (void)set, (void)way, (void)what;
}
static void port_drop_code_line(tl_hart *h, uint64_t paddr) { (void)h, (void)paddr; }
static const tl_mem_port port = {
    .load = port_load,
    .store = port_store,
    .load_reserved = port_load_reserved,
    .store_conditional = port_store_conditional,
    .drop_code = port_drop_code,
    .broadcast_drop_code = port_drop_code,
    .maintain_line = port_maintain_line,
    .maintain_way = port_maintain_way,
    .drop_code_line = port_drop_code_line,
};

static void run_here(const vector_case *c, const uint32_t *words, uint64_t n_words, vector_result *ret_result) {
    tl_hart *h = &hart.hart;
    vector_result r = {0};
    memcpy(r.data, c->data, sizeof(r.data));
    window = r.data;
    is_outside = false;
    memcpy(hart.x, c->state.x, sizeof(c->state.x));
    hart.x[TL_A64_ZERO] = 0;
    hart.x[TL_A64_SP] = c->state.sp;
    hart.nzcv = (uint32_t)(c->state.nzcv >> TL_A64_NZCV_LSB);
    hart.fpcr = (uint32_t)c->state.fpcr;
    hart.fpsr = (uint32_t)c->state.fpsr;
    memcpy(hart.v, c->v, sizeof(hart.v));
    h->reservation_paddr = TL_NO_LINE;
    uint64_t pc = VECTORS_PC;
    while (pc >= VECTORS_PC && pc < VECTORS_PC + 4 * n_words) {
        tl_a64_decoded insn;
        tl_op op = {0};
        tl_a64_decode(words[(pc - VECTORS_PC) / 4], &insn);
        tl_a64_op_from_decoded(&insn, &op);
        uint64_t next = pc + 4;
        switch (insn.opc) {
        case TL_A64_OPC_bl:
            hart.x[30] = next;
            next = pc + (uint64_t)(int64_t)insn.imm;
            break;
        case TL_A64_OPC_b: next = pc + (uint64_t)(int64_t)insn.imm; break;
        case TL_A64_OPC_blr: {
            const uint64_t target = hart.x[op.rn];
            hart.x[30] = next;
            next = target;
            break;
        }
        case TL_A64_OPC_br:
        case TL_A64_OPC_ret: next = hart.x[op.rn]; break;
        default:
            if (tl_a64_taken[insn.opc] != NULL) {
                next = tl_a64_taken[insn.opc](h, &op) ? pc + (uint64_t)(int64_t)insn.imm : next;
            } else if (!tl_a64_exec_full[insn.opc](h, &op, pc)) {
                *ret_result = (vector_result){.end = VECTOR_SIGNAL};
                return;
            }
            break;
        }
        pc = next;
    }
    if (is_outside) {
        printf("a case reaches beyond its memory: %08x %s\n", words[0], names[0]);
        exit(2);
    }
    r.end = (pc - VECTORS_PC) / 4 - n_words;
    memcpy(r.state.x, hart.x, sizeof(r.state.x));
    r.state.sp = hart.x[TL_A64_SP];
    r.state.nzcv = (uint64_t)hart.nzcv << TL_A64_NZCV_LSB;
    r.state.fpcr = hart.fpcr;
    r.state.fpsr = hart.fpsr;
    memcpy(r.v, hart.v, sizeof(r.v));
    *ret_result = r;
}

// -- Our machine, the whole of it. A BRK ends the program.
static tl_machine *machine;

static void make_machine(void) {
    tl_config config;
    tl_error err;
    tl_config_default(&config);
    config.isa = TL_ISA_AARCH64;
    config.n_harts = 1;
    config.ram_bytes = 16 << 20;
    if (tl_machine_new(&config, &tl_engine_a64_step, &machine, &err) != TL_OK) {
        printf("no machine: %s\n", err.text);
        exit(2);
    }
}

static void run_machine(const vector_case *c, const uint32_t *words, uint64_t n_words, vector_result *ret_result) {
    static const uint32_t ends[2] = {0xd4200000, 0xd4200000}; // BRK #0
    tl_hart *h = machine->harts[0];
    tl_a64_hart *a = tl_a64(h);
    vector_result r = {0};
    memcpy(tl_machine_ram(machine, VECTORS_PC), words, 4 * n_words);
    memcpy(tl_machine_ram(machine, VECTORS_PC) + 4 * n_words, ends, sizeof ends);
    memcpy(tl_machine_ram(machine, VECTORS_DATA), c->data, sizeof(c->data));
    tl_memory_code_changed(machine->memory, VECTORS_PC & ~UINT64_C(0xfff));
    memcpy(a->x, c->state.x, sizeof(c->state.x));
    a->x[TL_A64_ZERO] = 0;
    a->x[TL_A64_SP] = c->state.sp;
    a->nzcv = (uint32_t)(c->state.nzcv >> TL_A64_NZCV_LSB);
    a->fpcr = (uint32_t)c->state.fpcr;
    a->fpsr = (uint32_t)c->state.fpsr;
    memcpy(a->v, c->v, sizeof(a->v));
    h->reservation_paddr = TL_NO_LINE;
    h->pc = VECTORS_PC;
    h->horizon = h->insn_limit = h->access_until = h->first_until = UINT64_MAX;
    h->break_pc[0] = h->break_pc[1] = TL_NO_LINE;
    const tl_stop stop = tl_engine_a64_step.run(h);
    const uint64_t at = (h->pc - VECTORS_PC) / 4;
    r.end = stop == TL_STOP_TRAP && h->trap_cause == TL_A64_CAUSE_BRK && at >= n_words ? at - n_words : VECTOR_SIGNAL;
    memcpy(r.state.x, a->x, sizeof(r.state.x));
    r.state.sp = a->x[TL_A64_SP];
    r.state.nzcv = (uint64_t)a->nzcv << TL_A64_NZCV_LSB;
    r.state.fpcr = a->fpcr;
    r.state.fpsr = a->fpsr;
    memcpy(r.v, a->v, sizeof(r.v));
    memcpy(r.data, tl_machine_ram(machine, VECTORS_DATA), sizeof(r.data));
    *ret_result = r;
}

// -- Cases.
static bool is_format(const tl_a64_decoded *insn, const char *words) {
    return strstr(tl_a64_format_operands[tl_a64_rows[insn->opc].format], words) != NULL;
}
static bool is_memory(const tl_a64_decoded *insn) {
    return is_format(insn, "[XnS") || (is_format(insn, "{label}") && !is_format(insn, "Rt") && insn->opc != TL_A64_OPC_b &&
                                       insn->opc != TL_A64_OPC_bl && insn->opc != TL_A64_OPC_b_cond);
}
static bool is_prefetch(const tl_a64_decoded *insn) { return is_format(insn, "{prf}"); }
static bool is_control(const tl_a64_decoded *insn) {
    const uint8_t cls = tl_a64_rows[insn->opc].cls;
    return cls == TL_CLASS_BRANCH || cls == TL_CLASS_JAL || cls == TL_CLASS_JALR;
}

// Whether a word of a row is one that both machines must treat alike.
static bool is_fair(const tl_a64_decoded *insn) {
    const uint32_t raw = insn->raw;
    const tl_a64_row *row = &tl_a64_rows[insn->opc];
    switch (insn->opc) {
    case TL_A64_OPC_svc:
    case TL_A64_OPC_hlt:
    case TL_A64_OPC_hint: // WFI
        return false;
    case TL_A64_OPC_mrs: return insn->imm == TL_A64_SYS_NZCV || insn->imm == TL_A64_SYS_FPCR || insn->imm == TL_A64_SYS_FPSR;
    case TL_A64_OPC_msr: return insn->imm == TL_A64_SYS_NZCV || insn->imm == TL_A64_SYS_FPCR || insn->imm == TL_A64_SYS_FPSR;
    // DC ZVA only.
    case TL_A64_OPC_sys: return (raw & 0xffffe0) == (UINT32_C(0xd50b7420) & 0xffffe0) && insn->rd != 31;
    case TL_A64_OPC_sysl: return false;
    default: break;
    }
    if (tl_a64_exec_full[insn->opc] == NULL && !is_control(insn))
        return false;
    if (row->cls == TL_CLASS_JALR)
        return insn->rn != 31;
    if (!is_memory(insn) || is_prefetch(insn))
        return true;
    const bool is_vector = row->cls == TL_CLASS_FP_LOAD || row->cls == TL_CLASS_FP_STORE, is_pair = is_format(insn, "a, [");
    const bool is_load = row->cls == TL_CLASS_LOAD || row->cls == TL_CLASS_LR || row->cls == TL_CLASS_FP_LOAD;
    const bool writes_back = is_format(insn, "]!") || is_format(insn, "], ");
    if (is_pair && is_load && insn->rd == insn->ra)
        return false;
    if (writes_back && !is_vector && (insn->rn == insn->rd || (is_pair && insn->rn == insn->ra)))
        return false;
    if (row->cls == TL_CLASS_SC && (insn->rm == insn->rd || insn->rm == insn->rn || (is_pair && insn->rm == insn->ra)))
        return false;
    if (is_format(insn, "{index}") && insn->rm == insn->rn && insn->rm != 31)
        return false;
    if (is_format(insn, "{after}") && insn->rm == insn->rn)
        return false;
    return true;
}

// A random word of the row.
static bool random_word(uint32_t opc, uint32_t *ret_word) {
    const tl_a64_row *row = &tl_a64_rows[opc];
    for (int i = 0; i < 1000; i++) {
        uint32_t word = row->match | ((uint32_t)random_bits() & ~row->mask);
        tl_a64_decoded insn;
        if (opc == TL_A64_OPC_mrs || opc == TL_A64_OPC_msr)
            word = row->match | (uint32_t)(const uint16_t[]){TL_A64_SYS_NZCV, TL_A64_SYS_FPCR, TL_A64_SYS_FPSR}[random_below(3)] << 5 |
                   (word & 31);
        if (opc == TL_A64_OPC_sys)
            word = 0xd50b7420 | (word & 31);
        tl_a64_decode(word, &insn);
        if (insn.opc != opc)
            continue;
        const bool is_literal = is_memory(&insn) && !is_format(&insn, "[XnS");
        const uint32_t target = (uint32_t)(VECTORS_DATA + 64 - VECTORS_PC) / 4 + (uint32_t)random_below(64);
        const uint32_t ahead = 1 + (uint32_t)random_below(2);
        if (is_literal) {
            word = (word & ~(UINT32_C(0x7ffff) << 5)) | target << 5;
        } else if (is_control(&insn)) { // to one of the ends
            if (is_format(&insn, "{bit}"))
                word = (word & ~(UINT32_C(0x3fff) << 5)) | ahead << 5;
            else if (opc == TL_A64_OPC_b || opc == TL_A64_OPC_bl)
                word = row->match | ahead;
            else if (row->cls == TL_CLASS_BRANCH)
                word = (word & ~(UINT32_C(0x7ffff) << 5)) | ahead << 5;
        }
        tl_a64_decode(word, &insn);
        if (insn.opc == opc && is_fair(&insn)) {
            *ret_word = word;
            return true;
        }
    }
    return false;
}

static void random_registers(vector_case *c) {
    memset(c, 0, sizeof(*c));
    for (unsigned i = 0; i < 31; i++)
        c->state.x[i] = random_integer();
    if (random_below(4) == 0) { // equal operands
        const uint64_t value = random_integer();
        for (unsigned i = 0; i < 31; i++)
            c->state.x[i] = random_below(2) ? value : c->state.x[i];
    }
    c->state.sp = random_integer() & ~UINT64_C(15);
    c->state.nzcv = random_below(16) << 28;
    c->state.fpcr = random_bits() & (random_below(2) ? TL_A64_FPCR_BITS : 0);
    c->state.fpsr = random_below(4) ? 0 : random_bits() & TL_A64_FPSR_BITS;
    enum { KINDS = 8 };
    const uint64_t kind = random_below(KINDS + 1);
    for (unsigned i = 0; i < 32; i++)
        for (unsigned k = 0; k < 2; k++)
            c->v[i][k] = random_vector_half(kind == KINDS ? random_below(KINDS) : kind);
    if (random_below(8) == 0) { // equal operands, or opposite ones
        for (unsigned i = 1; i < 32; i++)
            for (unsigned k = 0; k < 2; k++)
                c->v[i][k] = random_below(2) ? c->v[0][k] ^ (random_below(4) << 62) : c->v[i][k];
    }
    for (unsigned i = 0; i < VECTORS_DATA_BYTES; i += 8) {
        const uint64_t value = random_integer();
        memcpy(c->data + i, &value, 8);
    }
}

static uint64_t *base_of(vector_case *c, uint32_t reg) { return reg == 31 ? &c->state.sp : &c->state.x[reg]; }

// Makes the registers of a memory access or an indirect jump point where they must.
static void aim(vector_case *c, const tl_a64_decoded *insn) {
    const tl_a64_row *row = &tl_a64_rows[insn->opc];
    if (row->cls == TL_CLASS_JALR) {
        c->state.x[insn->rn] = VECTORS_PC + 4 + 4 * random_below(2);
        return;
    }
    if (row->cls == TL_CLASS_DIV && random_below(8) == 0) { // the quotient that is too large
        if (insn->rn != 31)
            c->state.x[insn->rn] = random_below(2) ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
        if (insn->rm != 31)
            c->state.x[insn->rm] = random_below(4) ? UINT64_MAX : 0;
        return;
    }
    if (insn->opc == TL_A64_OPC_sys) {
        c->state.x[insn->rd] = VECTORS_DATA + 128 + random_below(256);
        return;
    }
    if (!is_format(insn, "[XnS"))
        return;
    uint64_t target = VECTORS_DATA + 64 + random_below(256);
    if (row->cls == TL_CLASS_LR || row->cls == TL_CLASS_SC || strncmp(names[insn->opc], "ldar", 4) == 0 ||
        strncmp(names[insn->opc], "stlr", 4) == 0)
        target &= ~UINT64_C(15);
    uint64_t offset = 0;
    if (is_format(insn, "{index}"))
        offset = tl_a64_extend(insn->rm == 31 ? 0 : c->state.x[insn->rm], (uint32_t)insn->imm & 7, (uint32_t)insn->imm >> 3);
    else if (!is_format(insn, "], ") && !is_format(insn, "{list}") && !is_format(insn, "{lane}"))
        offset = (uint64_t)(int64_t)insn->imm;
    *base_of(c, insn->rn) = target - offset;
}

// -- Comparison.
static bool is_same(const vector_result *a, const vector_result *b) {
    if (a->end != b->end)
        return false;
    return a->end == VECTOR_SIGNAL || (memcmp(&a->state, &b->state, sizeof(a->state)) == 0 && memcmp(a->v, b->v, sizeof(a->v)) == 0 &&
                                       memcmp(a->data, b->data, sizeof(a->data)) == 0);
}
static void explain(const vector_case *c, const vector_result *theirs, const vector_result *ours) {
    printf("  before: nzcv %" PRIx64 " fpcr %" PRIx64 " fpsr %" PRIx64 "; the other machine ends with %" PRIu64 " (signal %" PRIu64
           "), ours with %" PRIu64 "\n",
           c->state.nzcv >> 28, c->state.fpcr, c->state.fpsr, theirs->end, theirs->signal, ours->end);
    const uint64_t *was = c->state.x, *a = theirs->state.x, *b = ours->state.x;
    static const char *const others[] = {"sp", "nzcv", "fpcr", "fpsr"};
    for (unsigned i = 0; i < 35; i++)
        if (a[i] != b[i])
            printf("  %s%.0u before %016" PRIx64 ", theirs %016" PRIx64 ", ours %016" PRIx64 "\n", i < 31 ? "x" : others[i - 31],
                   i < 31 ? i : 0, was[i], a[i], b[i]);
    for (unsigned i = 0; i < 32; i++)
        if (memcmp(theirs->v[i], ours->v[i], 16) != 0)
            printf("  v%u before %016" PRIx64 "%016" PRIx64 ", theirs %016" PRIx64 "%016" PRIx64 ", ours %016" PRIx64 "%016" PRIx64 "\n", i,
                   c->v[i][1], c->v[i][0], theirs->v[i][1], theirs->v[i][0], ours->v[i][1], ours->v[i][0]);
    for (unsigned i = 0; i < VECTORS_DATA_BYTES; i++)
        if (theirs->data[i] != ours->data[i])
            printf("  byte %u before %02x, theirs %02x, ours %02x\n", i, c->data[i], theirs->data[i], ours->data[i]);
}

enum { BATCH = 16 };
static uint64_t n_cases, n_wrong;

// Runs cases of one program on both. Returns whether all are equal.
static bool run_batch(vector_case *cases, size_t n, bool explains) {
    bool is_good = true;
    static vector_result theirs[BATCH];
    send_all(cases, n * sizeof(*cases));
    receive_all(theirs, n * sizeof(*theirs));
    for (size_t i = 0; i < n; i++) {
        vector_result ours;
        run_here(&cases[i], cases[0].words, cases[0].n_words, &ours);
        if (machine != NULL && is_same(&theirs[i], &ours))
            run_machine(&cases[i], cases[0].words, cases[0].n_words, &ours);
        n_cases += 1;
        if (is_same(&theirs[i], &ours))
            continue;
        n_wrong += 1;
        if (is_good && explains) {
            for (uint64_t w = 0; w < cases[0].n_words; w++) {
                tl_a64_decoded insn;
                char text[128];
                tl_a64_decode(cases[0].words[w], &insn);
                tl_a64_disassemble(&insn, VECTORS_PC + 4 * w, NULL, NULL, text, sizeof(text));
                printf("%s: %08x %s\n", names[insn.opc], cases[0].words[w], text);
                if (cases[0].n_words == 1) {
                    const uint32_t regs[4] = {insn.rd, insn.rn, insn.rm, insn.ra};
                    for (unsigned k = 0; k < 4; k++)
                        printf("  r%u x %016" PRIx64 " v %016" PRIx64 "%016" PRIx64 "\n", regs[k],
                               regs[k] < 31 ? cases[i].state.x[regs[k]] : 0, cases[i].v[regs[k]][1], cases[i].v[regs[k]][0]);
                }
            }
            explain(&cases[i], &theirs[i], &ours);
        }
        is_good = false;
    }
    return is_good;
}

static uint32_t n_explained, n_rows, n_bad_rows;

static void run_row(uint32_t opc, uint64_t n) {
    static vector_case cases[BATCH];
    bool is_good = true;
    uint32_t n_words = 0;
    random_state = UINT64_C(88172645463325252) ^ tl_a64_rows[opc].match * UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t w = 0; w < 8; w++) {
        uint32_t word;
        if (!random_word(opc, &word))
            continue;
        n_words += 1;
        tl_a64_decoded insn;
        tl_a64_decode(word, &insn);
        for (uint64_t done = 0; done < n; done += BATCH) {
            const size_t batch = n - done < BATCH ? (size_t)(n - done) : BATCH;
            for (size_t i = 0; i < batch; i++) {
                random_registers(&cases[i]);
                aim(&cases[i], &insn);
                cases[i].n_words = i == 0;
                cases[i].words[0] = word;
            }
            is_good = run_batch(cases, batch, is_good && n_explained < 25) && is_good;
        }
    }
    n_rows += n_words != 0;
    if (!is_good) {
        n_bad_rows += 1;
        n_explained += 1;
    }
    if (n_words == 0)
        printf("no cases: %s\n", names[opc]);
}

// x28 points to the middle of memory and is never written; accesses are relative to it.
enum { PROGRAM_BASE = 28, PROGRAM_WORDS = 32 };
static bool writes(const tl_a64_decoded *insn, uint32_t reg) {
    tl_op op = {0};
    tl_a64_op_from_decoded(insn, &op);
    return op.rd == reg || op.ra == reg || op.rm == reg;
}
static uint32_t program_word(uint32_t at, uint32_t n) {
    for (;;) {
        uint32_t word;
        const uint32_t opc = 1 + (uint32_t)random_below(TL_A64_N_OPCS - 1);
        if (!random_word(opc, &word))
            continue;
        tl_a64_decoded insn;
        tl_a64_decode(word, &insn);
        const tl_a64_row *row = &tl_a64_rows[opc];
        // After a load that reserves, a store of another size may happen or not: run_exclusives has
        // the pairs.
        if (row->cls == TL_CLASS_LR || row->cls == TL_CLASS_SYSTEM || row->cls == TL_CLASS_JALR ||
            (row->cls == TL_CLASS_CSR && opc != TL_A64_OPC_mrs && opc != TL_A64_OPC_msr) || opc == TL_A64_OPC_adr ||
            opc == TL_A64_OPC_adrp || opc == TL_A64_OPC_bl)
            continue;
        if (row->cls == TL_CLASS_JAL || row->cls == TL_CLASS_BRANCH) {
            const uint32_t ahead = 1 + (uint32_t)random_below(n - at);
            word = opc == TL_A64_OPC_b         ? row->match | ahead
                   : is_format(&insn, "{bit}") ? (word & ~(UINT32_C(0x3fff) << 5)) | ahead << 5
                                               : (word & ~(UINT32_C(0x7ffff) << 5)) | ahead << 5;
            return word;
        }
        if (is_memory(&insn) && is_format(&insn, "[XnS")) {
            if (is_format(&insn, "]!") || is_format(&insn, "], "))
                continue;
            word = (word & ~(UINT32_C(31) << 5)) | PROGRAM_BASE << 5;
            if (is_format(&insn, "{index}"))
                word |= 31u << 16;
            if (is_format(&insn, "{u12}"))
                word &= ~(UINT32_C(0xff8) << 10); // 7 units at most
            tl_a64_decode(word, &insn);
            if (insn.opc != opc || !is_fair(&insn) || writes(&insn, PROGRAM_BASE) ||
                (is_format(&insn, "{s7}") || is_format(&insn, "{s9}") ? insn.imm < -192 || insn.imm > 192 : false))
                continue;
            return word;
        }
        if (is_memory(&insn) && !is_format(&insn, "[XnS")) {
            const uint32_t target = (uint32_t)(VECTORS_DATA + 64 - VECTORS_PC) / 4 + (uint32_t)random_below(64) - at;
            word = (word & ~(UINT32_C(0x7ffff) << 5)) | target << 5;
        }
        tl_a64_decode(word, &insn);
        if (!writes(&insn, PROGRAM_BASE))
            return word;
    }
}

static void run_programs(uint64_t n) {
    static vector_case cases[BATCH];
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t n_words = 2 + (uint32_t)random_below(PROGRAM_WORDS - 1);
        for (size_t k = 0; k < 4; k++) {
            random_registers(&cases[k]);
            cases[k].state.x[PROGRAM_BASE] = VECTORS_DATA + 256;
            cases[k].n_words = k == 0 ? n_words : 0;
        }
        for (uint32_t w = 0; w < n_words; w++)
            cases[0].words[w] = program_word(w, n_words);
        if (!run_batch(cases, 4, n_explained < 3))
            n_explained += 1;
    }
}

// A reservation and the store that it permits, and one that CLREX took away.
static void run_exclusives(uint64_t n) {
    static const char pairs[][2][12] = {{"ldxr_b", "stxr_b"},   {"ldxr_h", "stlxr_h"}, {"ldaxr_w", "stxr_w"},
                                        {"ldaxr_x", "stlxr_x"}, {"ldxp_w", "stlxp_w"}, {"ldaxp_x", "stxp_x"}};
    static vector_case c;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t words[2] = {0, 0};
        for (uint32_t k = 0; k < 2; k++)
            for (uint32_t opc = 1; opc < TL_A64_N_OPCS; opc++)
                if (strcmp(names[opc], pairs[i % TL_COUNT_OF(pairs)][k]) == 0)
                    while (!random_word(opc, &words[k])) {}
        random_registers(&c);
        const uint32_t has_clrex = (uint32_t)random_below(2), base = 28;
        c.state.x[base] = VECTORS_DATA + 64 + 16 * random_below(16);
        c.words[0] = (words[0] & ~(UINT32_C(31) << 5 | 31 | 31 << 10)) | base << 5 | 3 | 4 << 10;
        c.words[1] = 0xd503305f; // CLREX
        c.words[1 + has_clrex] = (words[1] & ~(UINT32_C(31) << 5 | 31 << 16)) | base << 5 | 5 << 16;
        c.words[1 + has_clrex] = (c.words[1 + has_clrex] & ~(UINT32_C(31) | 31 << 10)) | 6 | 7 << 10;
        c.n_words = 2 + has_clrex;
        (void)run_batch(&c, 1, n_explained++ < 3);
    }
    n_explained = 0;
}

// Random words and neighbors of rows: SIGILL on the other machine if and only if undefined here.
// Registers point to memory, so that most instructions do no harm.
static void run_undefined(uint64_t n) {
    static vector_case c;
    vector_result theirs;
    uint64_t n_undefined = 0, n_done = 0;
    while (n_done < n) {
        const tl_a64_row *row = &tl_a64_rows[1 + random_below(TL_A64_N_OPCS - 1)];
        uint32_t word = (uint32_t)random_bits();
        if (random_below(4) != 0)
            word = (row->match | (word & ~row->mask)) ^ (random_below(2) ? 1u << random_below(32) : 0);
        tl_a64_decoded insn;
        tl_a64_decode(word, &insn);
        const uint32_t group = word >> 25 & 15;
        if (insn.opc != TL_A64_OPC_UNDEFINED && (is_memory(&insn) || is_control(&insn) || !is_fair(&insn)))
            continue; // allocated: the vectors execute it
        if (group == 10 || group == 11 || (insn.opc == TL_A64_OPC_UNDEFINED && (group & 5) == 4))
            // Skips system space, and space where another architecture might access memory
            // anywhere.
            continue;
        random_registers(&c);
        c.n_words = 1;
        c.words[0] = word;
        send_all(&c, sizeof(c));
        receive_all(&theirs, sizeof(theirs));
        n_done += 1;
        const bool is_theirs = theirs.end == VECTOR_SIGNAL && theirs.signal == SIGILL;
        n_undefined += is_theirs;
        if (is_theirs == (insn.opc == TL_A64_OPC_UNDEFINED))
            continue;
        n_wrong += 1;
        if (n_explained++ < 25)
            printf("%08x: the other machine %s, we say %s\n", word, is_theirs ? "does not know it" : "executes it", names[insn.opc]);
    }
    printf("%" PRIu64 " words, %" PRIu64 " undefined, ", n_done, n_undefined);
    n_cases = n_done;
}

int main(int argc, char **argv) {
    if (argc < 5) {
        fprintf(stderr, "usage: vectors_a64 rows|programs|undefined CASES QEMU GUEST [NAME]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    const uint64_t n = strtoull(argv[2], NULL, 10);
    start(argv[3], argv[4]);
    hart.hart.isa = &tl_isa_a64;
    tl_isa_a64.init(&hart.hart);
    static uint64_t tally[TL_S_N_CELLS];
    hart.hart.tally = tally;
    hart.hart.port = &port;
    hart.hart.line_log2 = 6;
    hart.hart.line_mask = ~UINT64_C(63);
    for (size_t i = 0; i < TL_COUNT_OF(hart.hart.data_slot); i++)
        hart.hart.data_slot[i].read_tag = hart.hart.data_slot[i].write_tag = TL_NO_LINE;
    if (strcmp(argv[1], "rows") == 0) {
        for (uint32_t opc = 1; opc < TL_A64_N_OPCS; opc++)
            if (argc < 6 || strncmp(names[opc], argv[5], strlen(argv[5])) == 0)
                run_row(opc, n);
        printf("%u rows, %u differ; ", n_rows, n_bad_rows);
    } else if (strcmp(argv[1], "programs") == 0) {
        make_machine();
        run_programs(n);
        run_exclusives(n);
        tl_error err;
        tl_machine_sync(machine);
        const uint64_t *t = machine->harts[0]->tally;
        printf("%" PRIu64 " instructions in %" PRIu64 " cycles, %" PRIu64 " loads, %" PRIu64 " stores; ", t[TL_S_HART_INSTRET],
               t[TL_S_HART_CYCLE], t[TL_S_L1D_LOAD], t[TL_S_L1D_STORE]);
        if (tl_machine_check_identities(machine, &err) != TL_OK) {
            printf("%s\n", err.text);
            n_wrong += 1;
        }
        tl_machine_free(machine);
    } else {
        run_undefined(n);
    }
    printf("%" PRIu64 " cases, %" PRIu64 " differ\n", n_cases, n_wrong);
    close(to_fd);
    waitpid(child, NULL, 0);
    return n_wrong != 0;
}
