// SPDX-License-Identifier: MIT
// Physical memory protection: privileged manual, sec. 3.7. Ranges are whole pages (the grain is 4 KiB), and an access within a line has one
// answer. Around any address there is a stretch with the same answer; the stretches found open, cut to RAM, are remembered, one for each
// kind of access in machine mode and below, so that most accesses need one compare. Without system software there is no protection.
#include "mem/memory.h"

enum { PMP_R = 1, PMP_W = 2, PMP_X = 4, PMP_L = 0x80, PMP_A_LSB = 3, PMP_OFF = 0, PMP_TOR = 1, GRAIN = 10, PMP_ADDRESS_LSB = 2 };

// The addresses that entry i stands for: start <= address < end. Sec. 3.7.1.1.
typedef struct stretch {
    uint64_t start, end;
} stretch;

static stretch stretch_of(const tl_privileged *csr, uint32_t i) {
    const uint64_t grain_mask = (UINT64_C(1) << GRAIN) - 1;
    uint32_t kind = csr->pmpcfg[i] >> PMP_A_LSB & 3;
    if (kind == PMP_OFF)
        return (stretch){0};
    if (kind == PMP_TOR) {
        uint64_t start = i == 0 ? 0 : csr->pmpaddr[i - 1] & ~grain_mask, end = csr->pmpaddr[i] & ~grain_mask;
        return start < end ? (stretch){start << PMP_ADDRESS_LSB, end << PMP_ADDRESS_LSB} : (stretch){0};
    }
    uint64_t address = csr->pmpaddr[i] | grain_mask >> 1, ones = address & ~(address + 1); // k ones at the bottom: 2^(k+3) bytes
    uint64_t start = (address & ~ones) << PMP_ADDRESS_LSB;
    return (stretch){start, start + (ones + 1) * 8};
}

static bool has_locks(const tl_privileged *csr) {
    uint8_t all = 0;
    for (uint32_t i = 0; i < TL_N_PMP; i++)
        all |= csr->pmpcfg[i];
    return (all & PMP_L) != 0;
}

// The answer for paddr; *ret_around is a stretch in which it is the same.
static bool is_permitted(const tl_privileged *csr, uint64_t paddr, tl_access access, bool is_machine, stretch *ret_around) {
    uint8_t needed = access == TL_ACCESS_FETCH ? PMP_X : access == TL_ACCESS_LOAD ? PMP_R : PMP_W;
    stretch around = {0, UINT64_MAX};
    bool answer = is_machine; // what no entry matches
    for (uint32_t i = 0; i < TL_N_PMP; i++) {
        stretch s = stretch_of(csr, i);
        if (s.start == s.end)
            continue;
        if (s.end <= paddr) {
            around.start = around.start < s.end ? s.end : around.start;
        } else if (s.start > paddr) {
            around.end = around.end > s.start ? s.start : around.end;
        } else { // the first to match decides
            around.start = around.start < s.start ? s.start : around.start;
            around.end = around.end > s.end ? s.end : around.end;
            answer = (csr->pmpcfg[i] & needed) != 0 || (is_machine && !(csr->pmpcfg[i] & PMP_L));
            break;
        }
    }
    *ret_around = around;
    return answer;
}

bool tl_pmp_ask(tl_hart_mem *hm, uint64_t paddr, tl_access access, bool is_machine) {
    const tl_memory *m = hm->memory;
    stretch around = {0, UINT64_MAX};
    const tl_privileged *csr = &hm->h->csr;
    if (hm->h->is_privileged && !(is_machine && !has_locks(csr)) && !is_permitted(csr, paddr, access, is_machine, &around))
        return false;
    if (!tl_is_ram(m, paddr))
        return true;
    uint64_t start = around.start > TL_RAM_BASE_PADDR ? around.start : TL_RAM_BASE_PADDR, end = TL_RAM_BASE_PADDR + m->ram_bytes;
    end = around.end < end ? around.end : end;
    hm->open[is_machine][access] = (tl_range){start, end - start};
    return true;
}

void tl_pmp_forget(tl_hart_mem *hm) {
    for (uint32_t access = 0; access < 3; access++)
        hm->open[0][access] = hm->open[1][access] = (tl_range){0};
}
