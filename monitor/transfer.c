// SPDX-License-Identifier: MIT
// Registers, memory, and changes of level. X0 and X1 are scratch; the program's values of both, and
// its PC and PSTATE, are copies in the monitor until the restart.
#include "internal.h"

#include <string.h>

enum { REG_SP = 31, REG_PC = 32, REG_PSTATE = 33, REG_SYSTEM = 0x10000, REG_SYSTEM_END = 0x20000 };

// 64 bits through the debug channel: the low word leaves by DTRTX, the high one by DTRRX.
xcm_code xcm_get_x(xcm *m, uint32_t n, uint64_t *ret) {
    const uint64_t since = m->now_ns;
    XCM_TRY(xcm_execute(m, I_MSR_DTR | n));
    while (!(m->edscr & SCR_TXFULL)) {
        if (m->now_ns - since > T_ITE_NS)
            return XCM_TIMEOUT;
        m->host->relax(m->host->ctx);
        m->edscr = xcm_rd(m, XCM_DBG, EDSCR);
    }
    const uint64_t low = xcm_rd(m, XCM_DBG, DBGDTRTX);
    *ret = (uint64_t)xcm_rd(m, XCM_DBG, DBGDTRRX) << 32 | low;
    m->edscr &= ~SCR_TXFULL;
    return XCM_DONE;
}

xcm_code xcm_set_x(xcm *m, uint32_t n, uint64_t value) {
    XCM_TRY(xcm_wait_ready(m));
    if (m->edscr & SCR_RXFULL)
        return XCM_DCC_OVERRUN;
    xcm_wr(m, XCM_DBG, DBGDTRTX, (uint32_t)(value >> 32));
    xcm_wr(m, XCM_DBG, DBGDTRRX, (uint32_t)value);
    return xcm_execute(m, I_MRS_DTR | n);
}

// DCPS leaves DLR, DSPSR, ELR and SPSR of the level UNKNOWN. At EL0 nothing of that is live.
xcm_code xcm_raise(xcm *m, uint32_t el) {
    const uint32_t now = m->edscr >> SCR_EL_LSB & 3;
    if (el == 3 && (m->edscr & SCR_SDD))
        return XCM_NO_AUTHORITY;
    if (now >= el)
        return XCM_DONE;
    m->is_level_lost = true;
    return xcm_execute(m, el == 3 ? I_DCPS3 : I_DCPS1);
}

xcm_code xcm_lower(xcm *m) {
    if (!m->is_level_lost)
        return XCM_DONE;
    const uint32_t now = m->edscr >> SCR_EL_LSB & 3;
    if (now != m->el || m->el > 0) {
        if (now == 0)
            return XCM_INTERNAL;
        XCM_TRY(xcm_set_x(m, 0, m->dspsr));
        XCM_TRY(xcm_execute(m, now == 3 ? I_MSR_SPSR_EL3 : I_MSR_SPSR_EL1));
        XCM_TRY(xcm_execute(m, I_DRPS));
    }
    m->is_level_lost = false;
    return XCM_DONE;
}

// The level from which a system register can be reached: its op1.
static uint32_t level_of(uint32_t encoding) {
    switch (encoding >> 11 & 7) {
    case 3: return 0;
    case 6:
    case 7: return 3;
    default: return 1;
    }
}
static uint32_t msr_of(uint32_t encoding) { return 0xd5000000 | (encoding & 0xffff) << 5; }

static xcm_code system_register(xcm *m, uint32_t encoding, uint64_t *value, bool is_write) {
    const uint32_t word = msr_of(encoding);
    if (!xcm_may_execute(word))
        return XCM_BAD_ARGUMENT;
    xcm_code code = xcm_raise(m, level_of(encoding));
    if (code == XCM_DONE && is_write)
        code = xcm_set_x(m, 0, *value);
    if (code == XCM_DONE)
        code = xcm_execute(m, is_write ? word : word | 1 << 21);
    if (code == XCM_DONE && !is_write)
        code = xcm_get_x(m, 0, value);
    const xcm_code lowered = xcm_lower(m);
    return code != XCM_DONE ? code : lowered;
}

// Above EL0 the stack pointer of the program at EL0 has a name of its own.
static xcm_code move_sp(xcm *m, uint64_t *value, bool is_write) {
    if (is_write) {
        XCM_TRY(xcm_set_x(m, 0, *value));
        return xcm_execute(m, I_MOV_SP_X0);
    }
    XCM_TRY(xcm_execute(m, I_MOV_X0_SP));
    return xcm_get_x(m, 0, value);
}

xcm_code xcm_read_register(xcm *m, uint32_t n, uint64_t *ret) {
    switch (n) {
    case 0: *ret = m->x0; return XCM_DONE;
    case 1: *ret = m->x1; return XCM_DONE;
    case REG_SP: return move_sp(m, ret, false);
    case REG_PC: *ret = m->dlr; return XCM_DONE;
    case REG_PSTATE: *ret = m->dspsr; return XCM_DONE;
    default: break;
    }
    if (n < REG_SP)
        return xcm_get_x(m, n, ret);
    return n >= REG_SYSTEM && n < REG_SYSTEM_END ? system_register(m, n, ret, false) : XCM_BAD_ARGUMENT;
}

xcm_code xcm_write_register(xcm *m, uint32_t n, uint64_t value) {
    // Flags alone: a level or an instruction set that the program does not have stays out.
    const uint32_t flags = 0xf0000000;
    switch (n) {
    case 0: m->x0 = value; return XCM_DONE;
    case 1: m->x1 = value; return XCM_DONE;
    case REG_SP: return move_sp(m, &value, true);
    case REG_PC: m->dlr = value; return XCM_DONE;
    case REG_PSTATE:
        if ((((uint32_t)value ^ m->dspsr) & ~flags) != 0 || value >> 32 != 0)
            return XCM_BAD_ARGUMENT;
        m->dspsr = (uint32_t)value;
        return XCM_DONE;
    default: break;
    }
    if (n < REG_SP)
        return xcm_set_x(m, n, value);
    return n >= REG_SYSTEM && n < REG_SYSTEM_END ? system_register(m, n, &value, true) : XCM_BAD_ARGUMENT;
}

// -- Memory, at the level of entry and with its translation.

// The largest aligned access at an address: its size is 1 << the result.
static uint32_t size_log2(uint64_t address, uint32_t n_bytes) {
    uint32_t size = 3;
    while ((address & ((1u << size) - 1)) != 0 || (1u << size) > n_bytes)
        size--;
    return size;
}

// LDR and STR of X1, post-indexed by their size.
static uint32_t access_word(bool is_load, uint32_t size) {
    const uint32_t immediate = (1u << size) << 12, plain = is_load ? 0x38400401 : 0x38000401;
    return plain | size << 30 | immediate;
}

static xcm_code slow(xcm *m, uint64_t address, uint8_t *bytes, uint32_t n_bytes, bool is_load) {
    XCM_TRY(xcm_set_x(m, 0, address));
    for (uint32_t done = 0; done < n_bytes;) {
        const uint32_t size = size_log2(address + done, n_bytes - done);
        uint64_t value = 0;
        if (xcm_is_over_budget(m))
            return XCM_OVER_BUDGET;
        if (!is_load)
            XCM_TRY(xcm_set_x(m, 1, xcm_get_bytes(bytes + done, 1u << size)));
        XCM_TRY(xcm_execute(m, access_word(is_load, size)));
        if (is_load) {
            XCM_TRY(xcm_get_x(m, 1, &value));
            xcm_put_bytes(bytes + done, 1u << size, value);
        }
        done += 1u << size;
    }
    return XCM_DONE;
}

static xcm_code set_memory_access(xcm *m, bool is_on) {
    XCM_TRY(xcm_wait_ready(m));
    const uint32_t scr = xcm_rd(m, XCM_DBG, EDSCR);
    xcm_wr(m, XCM_DBG, EDSCR, is_on ? scr | SCR_MA : scr & ~SCR_MA);
    m->edscr = xcm_rd(m, XCM_DBG, EDSCR);
    return XCM_DONE;
}

static xcm_code wait_for(xcm *m, uint32_t set, uint32_t clear) {
    const uint64_t since = m->now_ns;
    for (;;) {
        m->edscr = xcm_rd(m, XCM_DBG, EDSCR);
        if (m->edscr & SCR_ERR)
            return XCM_EXCEPTION;
        if ((m->edscr & set) == set && (m->edscr & clear) == 0)
            return XCM_DONE;
        if (m->now_ns - since > T_ITE_NS)
            return XCM_TIMEOUT;
        m->host->relax(m->host->ctx);
    }
}

// In Memory access mode each transfer moves a word and advances X0.
static xcm_code read_words(xcm *m, uint8_t *to, uint32_t n_words) {
    XCM_TRY(xcm_execute(m, I_MSR_DTR));
    XCM_TRY(set_memory_access(m, true));
    (void)xcm_rd(m, XCM_DBG, DBGDTRTX); // starts the first load
    for (uint32_t i = 0; i + 1 < n_words; i++) {
        XCM_TRY(wait_for(m, SCR_ITE | SCR_TXFULL, 0));
        xcm_put_bytes(to + 4 * i, 4, xcm_rd(m, XCM_DBG, DBGDTRTX));
    }
    XCM_TRY(wait_for(m, SCR_ITE | SCR_TXFULL, 0));
    XCM_TRY(set_memory_access(m, false));
    xcm_put_bytes(to + 4 * (n_words - 1), 4, xcm_rd(m, XCM_DBG, DBGDTRTX));
    return XCM_DONE;
}
static xcm_code write_words(xcm *m, const uint8_t *from, uint32_t n_words) {
    XCM_TRY(set_memory_access(m, true));
    for (uint32_t i = 0; i < n_words; i++) {
        XCM_TRY(wait_for(m, SCR_ITE, SCR_RXFULL));
        xcm_wr(m, XCM_DBG, DBGDTRRX, (uint32_t)xcm_get_bytes(from + 4 * i, 4));
    }
    XCM_TRY(wait_for(m, SCR_ITE, SCR_RXFULL));
    return set_memory_access(m, false);
}

// An abort in Memory access mode leaves RXfull and the mode behind.
static xcm_code after_fast(xcm *m, xcm_code code) {
    m->edscr = xcm_rd(m, XCM_DBG, EDSCR);
    if (m->edscr & SCR_ERR) {
        xcm_wr(m, XCM_DBG, EDRCR, EDRCR_CSE);
        code = code == XCM_DONE ? XCM_EXCEPTION : code;
    }
    if (m->edscr & SCR_MA)
        (void)set_memory_access(m, false);
    m->edscr = xcm_rd(m, XCM_DBG, EDSCR);
    m->is_level_lost = (m->edscr >> SCR_EL_LSB & 3) != m->el;
    if (m->edscr & SCR_RXFULL)
        (void)xcm_execute(m, I_MRS_DTR | 1);
    if (m->edscr & SCR_TXFULL) {
        (void)xcm_rd(m, XCM_DBG, DBGDTRTX);
        m->edscr = xcm_rd(m, XCM_DBG, EDSCR);
    }
    return code;
}

static xcm_code memory(xcm *m, uint64_t address, uint8_t *bytes, uint32_t n_bytes, bool is_fast, bool is_load) {
    xcm_code code;
    m->ledger |= LEDGER_MEMORY;
    if (is_fast) {
        XCM_TRY(xcm_set_x(m, 0, address));
        code = after_fast(m, is_load ? read_words(m, bytes, n_bytes / 4) : write_words(m, bytes, n_bytes / 4));
    } else {
        code = slow(m, address, bytes, n_bytes, is_load);
    }
    const xcm_code lowered = xcm_lower(m);
    return code != XCM_DONE ? code : lowered;
}

xcm_code xcm_read_memory(xcm *m, uint64_t address, uint8_t *to, uint32_t n_bytes, bool is_fast) {
    return memory(m, address, to, n_bytes, is_fast, true);
}
// The bytes are read only.
xcm_code xcm_write_memory(xcm *m, uint64_t address, const uint8_t *from, uint32_t n_bytes, bool is_fast) {
    uint8_t *bytes = (uint8_t *)m->memory;
    if (bytes != from)
        memcpy(bytes, from, n_bytes);
    return memory(m, address, bytes, n_bytes, is_fast, false);
}

static xcm_code ask_translation(xcm *m, uint64_t vaddr, uint64_t *ret_par) {
    uint64_t saved = 0;
    XCM_TRY(xcm_raise(m, 1));
    XCM_TRY(xcm_execute(m, I_MRS_PAR));
    XCM_TRY(xcm_get_x(m, 0, &saved));
    XCM_TRY(xcm_set_x(m, 0, vaddr));
    XCM_TRY(xcm_execute(m, I_AT_S1E0R));
    XCM_TRY(xcm_execute(m, I_ISB));
    XCM_TRY(xcm_execute(m, I_MRS_PAR));
    XCM_TRY(xcm_get_x(m, 0, ret_par));
    XCM_TRY(xcm_set_x(m, 0, saved));
    return xcm_execute(m, I_MSR_PAR);
}

xcm_code xcm_translate(xcm *m, uint64_t vaddr, uint64_t *ret_paddr, bool *ret_is_mapped) {
    uint64_t par = 1;
    const xcm_code code = ask_translation(m, vaddr, &par);
    const xcm_code lowered = xcm_lower(m);
    *ret_is_mapped = !(par & 1);
    *ret_paddr = (par & UINT64_C(0xfffffffff000)) | (vaddr & 0xfff);
    return code != XCM_DONE ? code : lowered;
}

bool xcm_image_word(const xcm *m, uint64_t address, uint32_t *ret_word) {
    for (uint32_t i = 0; i < m->config.n_images; i++) {
        const xcm_image *image = &m->config.images[i];
        const uint64_t index = (address - image->address) / 4;
        if (address >= image->address && index < image->n_words) {
            *ret_word = image->words[index];
            return true;
        }
    }
    return false;
}

xcm_code xcm_read_code(xcm *m, uint64_t address, uint32_t *ret_word) {
    uint8_t bytes[4];
    if (xcm_image_word(m, address, ret_word))
        return XCM_DONE;
    m->ledger |= LEDGER_CODE;
    XCM_TRY(xcm_read_memory(m, address, bytes, 4, false));
    *ret_word = (uint32_t)xcm_get_bytes(bytes, 4);
    return XCM_DONE;
}
