// SPDX-License-Identifier: MIT
// Registers of the client. They lie in the ranges that the privileged manual reserves for custom
// user-level use. hpcr lies in the read-only range, because its number alone must make a write
// illegal. A 32-bit hart accesses hpcm and hpcr in halves.
#include "base/bits.h"
#include "pmu/dhpc/fabric.h"

static const char CITE[] = "Xue, Xie, Song 2021, sec. 2";

static const tl_field hpcc_fields[] = {
    {.name = "trigger",      .lsb = 0,  .width_bits = 1,  .access = TL_WARL, .meaning = "Writing 1 starts a request, writing 0 cancels it; reads 1 until the last datum is in the FIFO."},
    {.name = "interrupted",  .lsb = 1,  .width_bits = 1,  .access = TL_RO,   .meaning = "Set when the context may have been switched, cleared by a write of hpcm: the request should be repeated."},
    {.name = "empty",        .lsb = 2,  .width_bits = 1,  .access = TL_RO,   .reset = 1, .meaning = "The FIFO holds no datum that was not read."},
    {.name = "readerror",    .lsb = 3,  .width_bits = 1,  .access = TL_RO,   .meaning = "Set when hpcr is read while the FIFO is empty, cleared by a write of hpcm."},
    {.name = "HPCManagerID", .lsb = 4,  .width_bits = 17, .access = TL_WARL, .meaning = "The manager of the next request: class in bits 16:14, instance in 13:7, extend in 6:0; held while a request runs."},
    {.name = "useren",       .lsb = 21, .width_bits = 1,  .access = TL_WARL, .meaning = "User mode may start requests; user mode cannot change it."},
    {.name = "reserved",     .lsb = 22, .width_bits = 42, .access = TL_WPRI, .meaning = "Reads 0."},
};
static const tl_field hpcm_fields[] = {
    {.name = "bitmap", .lsb = 0, .width_bits = 64, .access = TL_WARL, .meaning = "The counters of the next request; a start clears it and each datum that arrives sets its bit. A write flushes the FIFO; it is ignored while a request runs."},
};
static const tl_field hpcr_fields[] = {
    {.name = "datum", .lsb = 0, .width_bits = 64, .access = TL_RO, .meaning = "The oldest datum, which reading takes out of the FIFO; of an empty one the last that was taken."},
};

static const tl_reg regs[] = {
    {.name = "hpcc", .cite = CITE, .addr = 0x8e0, .width_bits = 64, .fields = hpcc_fields, .n_fields = TL_COUNT_OF(hpcc_fields), .read = tl_dhpc_read_hpcc, .written = tl_dhpc_hpcc_written,
     .meaning = "Configuration and status of the distributed counters."},
    {.name = "hpcm", .cite = CITE, .addr = 0x8e1, .high_addr = 0x8e2, .width_bits = 64, .fields = hpcm_fields, .n_fields = TL_COUNT_OF(hpcm_fields), .read = tl_dhpc_read_hpcm, .written = tl_dhpc_hpcm_written,
     .meaning = "Bitmap of the counters to read, then of those received."},
    {.name = "hpcr", .cite = CITE, .addr = 0xce0, .high_addr = 0xce1, .width_bits = 64, .fields = hpcr_fields, .n_fields = TL_COUNT_OF(hpcr_fields), .read = tl_dhpc_read_hpcr, .was_read = tl_dhpc_hpcr_was_read,
     .meaning = "Receives the values in ascending order of counters."},
};

const tl_regmap tl_dhpc_regmap = {.space = "CSR", .regs = regs, .n_regs = TL_COUNT_OF(regs)};
