// SPDX-License-Identifier: MIT
// The user-level registers: floating-point control, and the counters of Zicntr and Zihpm.
#include "isa/rv/csr.h"

#include "base/bits.h"
#include "isa/rv/fp.h"

__extension__ typedef unsigned __int128 uint128;

typedef struct csr_row {
    uint32_t first, last; // numbers; several registers of one kind stand in one row
    uint64_t (*read)(tl_hart *h, uint32_t index);
    void (*write)(tl_hart *h, uint32_t index, uint64_t value); // NULL: read-only
} csr_row;

static uint64_t read_fflags(tl_hart *h, uint32_t index) {
    (void)index;
    tl_fp_harvest(h);
    return h->fflags;
}
static void write_fflags(tl_hart *h, uint32_t index, uint64_t value) {
    (void)index;
    tl_fp_harvest(h); // what is still in the host's flags must not come back later
    h->fflags = value & 31;
}
static uint64_t read_frm(tl_hart *h, uint32_t index) {
    (void)index;
    return h->frm;
}
static void write_frm(tl_hart *h, uint32_t index, uint64_t value) {
    (void)index;
    tl_fp_set_rounding(h, value & 7);
}
static uint64_t read_fcsr(tl_hart *h, uint32_t index) { return read_frm(h, index) << 5 | read_fflags(h, index); }
static void write_fcsr(tl_hart *h, uint32_t index, uint64_t value) {
    write_fflags(h, index, value);
    write_frm(h, index, value >> 5);
}

static uint64_t read_cycle(tl_hart *h, uint32_t index) {
    (void)index;
    return h->now - h->idle_cycles;
}
static uint64_t read_time(tl_hart *h, uint32_t index) {
    static const uint64_t timebase_hz = 10000000;
    (void)index;
    return (uint64_t)((uint128)h->now * timebase_hz / (h->config->clock_hz != 0 ? h->config->clock_hz : 1));
}
static uint64_t read_instret(tl_hart *h, uint32_t index) {
    (void)index;
    return h->instret;
}
static uint64_t read_hpmcounter(tl_hart *h, uint32_t index) { // index 0 is hpmcounter3
    (void)h;
    (void)index;
    return 0; // no PMU is attached to these
}

static const csr_row rows[] = {
    {0x001, 0x001, read_fflags, write_fflags}, {0x002, 0x002, read_frm, write_frm}, {0x003, 0x003, read_fcsr, write_fcsr},
    {0xc00, 0xc00, read_cycle, NULL},          {0xc01, 0xc01, read_time, NULL},     {0xc02, 0xc02, read_instret, NULL},
    {0xc03, 0xc1f, read_hpmcounter, NULL},
};

static const csr_row *row_of(const tl_hart *h, uint32_t csr) {
    if ((csr >> 8 & 3) > (uint32_t)h->priv)
        return NULL;
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++)
        if (csr >= rows[i].first && csr <= rows[i].last)
            return &rows[i];
    return NULL;
}

bool tl_csr_read(tl_hart *h, uint32_t csr, uint64_t *ret_value) {
    const csr_row *row = row_of(h, csr);
    if (row == NULL)
        return false;
    *ret_value = row->read(h, csr - row->first);
    return true;
}

bool tl_csr_may_write(const tl_hart *h, uint32_t csr) {
    const csr_row *row = row_of(h, csr);
    return row != NULL && row->write != NULL && csr >> 10 != 3;
}

bool tl_csr_write(tl_hart *h, uint32_t csr, uint64_t value) {
    if (!tl_csr_may_write(h, csr))
        return false;
    const csr_row *row = row_of(h, csr);
    row->write(h, csr - row->first, value);
    return true;
}
