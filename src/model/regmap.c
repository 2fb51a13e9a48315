// SPDX-License-Identifier: MIT
// The engine of regmap.h: finds the row, applies the kinds of its fields, calls its hooks.
#include "model/regmap.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"

static uint64_t ones(uint32_t width_bits) { return width_bits >= 64 ? UINT64_MAX : (UINT64_C(1) << width_bits) - 1; }

uint32_t tl_regmap_n_cells(const tl_regmap *map) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < map->n_regs; i++)
        n += tl_reg_count(&map->regs[i]);
    return n;
}

static bool is_in(const tl_reg *reg, uint32_t first_addr, uint32_t addr, uint32_t *ret_index) {
    uint32_t stride = reg->stride > 0 ? reg->stride : 1, offset = addr - first_addr;
    if (addr < first_addr || offset % stride != 0 || offset / stride >= tl_reg_count(reg))
        return false;
    *ret_index = offset / stride;
    return true;
}

uint32_t tl_regmap_cell_at(const tl_regmap *map, uint32_t addr) {
    uint32_t cell = 0, index = 0;
    for (uint32_t i = 0; i < map->n_regs; i++) {
        if (is_in(&map->regs[i], map->regs[i].addr, addr, &index))
            return cell + index;
        cell += tl_reg_count(&map->regs[i]);
    }
    assert(false); // not a register of this map
    return 0;
}

static tl_presence presence_of(const tl_regfile *file, const tl_reg_at *at) {
    return at->reg->presence ? at->reg->presence(file, at->index, at->is_high) : TL_PRESENT;
}

bool tl_regfile_find(const tl_regfile *file, uint32_t addr, tl_reg_at *ret_at) {
    uint32_t cell = 0;
    for (uint32_t i = 0; i < file->map->n_regs; i++) {
        const tl_reg *reg = &file->map->regs[i];
        tl_reg_at at = {.reg = reg};
        bool is_found = is_in(reg, reg->addr, addr, &at.index);
        if (!is_found && reg->high_addr != 0 && file->access_bits < reg->width_bits)
            is_found = at.is_high = is_in(reg, reg->high_addr, addr, &at.index);
        if (is_found) {
            at.cell = cell + at.index;
            if (presence_of(file, &at) == TL_ABSENT)
                return false;
            *ret_at = at;
            return true;
        }
        cell += tl_reg_count(reg);
    }
    return false;
}

// Bits of the register whose fields are of one of these kinds.
static uint64_t bits_of(const tl_reg *reg, uint32_t kinds) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < reg->n_fields; i++)
        if (kinds >> reg->fields[i].access & 1)
            bits |= ones(reg->fields[i].width_bits) << reg->fields[i].lsb;
    return bits;
}

static uint64_t value_of(tl_regfile *file, const tl_reg_at *at) {
    uint64_t stored = file->stored[at->cell];
    uint64_t value = at->reg->read ? at->reg->read(file, at->index, stored) : stored;
    return value & ones(at->reg->width_bits) & ~bits_of(at->reg, 1u << TL_WO | 1u << TL_WPRI);
}

// Bits of the register that one access moves.
static uint64_t moved(const tl_regfile *file, const tl_reg_at *at) {
    return ones(file->access_bits) << (at->is_high ? file->access_bits : 0);
}

uint64_t tl_regfile_value_at(tl_regfile *file, const tl_reg_at *at) {
    if (presence_of(file, at) != TL_PRESENT)
        return 0;
    return (value_of(file, at) & moved(file, at)) >> (at->is_high ? file->access_bits : 0);
}

void tl_regfile_was_read_at(tl_regfile *file, const tl_reg_at *at) {
    if (presence_of(file, at) != TL_PRESENT)
        return;
    file->stored[at->cell] &= ~(bits_of(at->reg, 1u << TL_RC) & moved(file, at));
    if (at->reg->was_read)
        at->reg->was_read(file, at->index, at->is_high);
}

uint64_t tl_regfile_read_at(tl_regfile *file, const tl_reg_at *at) {
    uint64_t value = tl_regfile_value_at(file, at);
    tl_regfile_was_read_at(file, at);
    return value;
}

static uint64_t field_written(const tl_regfile *file, const tl_reg_at *at, const tl_field *field, uint64_t old, uint64_t wanted) {
    switch (field->access) {
    case TL_RW:
    case TL_WO: return wanted;
    case TL_W1C: return old & ~wanted;
    case TL_W1S: return old | wanted;
    case TL_WARL: return field->legalize ? field->legalize(file, at->index, old, wanted) : wanted;
    case TL_RO:
    case TL_RC:
    case TL_WPRI: break;
    }
    return old;
}

void tl_regfile_write_at(tl_regfile *file, const tl_reg_at *at, uint64_t value) {
    if (presence_of(file, at) != TL_PRESENT)
        return;
    const tl_reg *reg = at->reg;
    uint64_t old = reg->read ? value_of(file, at) : file->stored[at->cell], now = 0;
    uint32_t shift = at->is_high ? file->access_bits : 0;
    uint64_t given = ones(file->access_bits) << shift; // bits that this access carries
    for (uint32_t i = 0; i < reg->n_fields; i++) {
        const tl_field *field = &reg->fields[i];
        uint64_t mask = ones(field->width_bits), field_old = old >> field->lsb & mask;
        uint64_t field_given = given >> field->lsb & mask, wanted = (value << shift) >> field->lsb & field_given, next = field_old;
        if (field_given != 0) {
            // Bits that are not given are not written.
            bool is_event = field->access == TL_W1C || field->access == TL_W1S;
            next = field_written(file, at, field, field_old, is_event ? wanted : wanted | (field_old & ~field_given));
        }
        now |= (next & mask) << field->lsb;
    }
    file->stored[at->cell] = now;
    if (reg->written)
        reg->written(file, at->index, old, now);
}

bool tl_regfile_read(tl_regfile *file, uint32_t addr, uint64_t *ret_value) {
    tl_reg_at at;
    if (!tl_regfile_find(file, addr, &at))
        return false;
    *ret_value = tl_regfile_read_at(file, &at);
    return true;
}

bool tl_regfile_write(tl_regfile *file, uint32_t addr, uint64_t value) {
    tl_reg_at at;
    if (!tl_regfile_find(file, addr, &at))
        return false;
    tl_regfile_write_at(file, &at, value);
    return true;
}

void tl_regfile_reset(tl_regfile *file) {
    uint32_t cell = 0;
    for (uint32_t i = 0; i < file->map->n_regs; i++) {
        const tl_reg *reg = &file->map->regs[i];
        uint64_t value = 0;
        for (uint32_t k = 0; k < reg->n_fields; k++)
            value |= reg->fields[k].reset << reg->fields[k].lsb;
        for (uint32_t k = 0; k < tl_reg_count(reg); k++)
            file->stored[cell++] = value;
    }
}

static tl_status check_fields(const tl_reg *reg, tl_error *err) {
    uint32_t lsb = 0;
    if (reg->width_bits < 1 || reg->width_bits > 64)
        return tl_fail(err, TL_EINVAL, "%s: width of %u bits: must be 1 to 64", reg->name, reg->width_bits);
    for (uint32_t i = 0; i < reg->n_fields; i++) {
        const tl_field *field = &reg->fields[i];
        if (field->lsb != lsb || field->width_bits == 0)
            return tl_fail(err, TL_EINVAL, "%s.%s: begins at bit %u: must begin at bit %u", reg->name, field->name, field->lsb, lsb);
        lsb += field->width_bits;
        if (field->reset & ~ones(field->width_bits))
            return tl_fail(err, TL_EINVAL, "%s.%s: the reset value does not fit", reg->name, field->name);
        if (field->access == TL_WPRI && field->reset != 0)
            return tl_fail(err, TL_EINVAL, "%s.%s: reserved bits are 0 after reset", reg->name, field->name);
        if (field->legalize && field->access != TL_WARL)
            return tl_fail(err, TL_EINVAL, "%s.%s: only WARL fields are legalized", reg->name, field->name);
    }
    if (lsb != reg->width_bits)
        return tl_fail(err, TL_EINVAL, "%s: its fields end at bit %u of %u", reg->name, lsb, reg->width_bits);
    return TL_OK;
}

static tl_status check_unique(const tl_regmap *map, const tl_reg *reg, uint32_t addr, tl_error *err) {
    uint32_t n = 0, index;
    for (uint32_t i = 0; i < map->n_regs; i++) {
        const tl_reg *other = &map->regs[i];
        n += is_in(other, other->addr, addr, &index);
        n += other->high_addr != 0 && is_in(other, other->high_addr, addr, &index);
    }
    return n == 1 ? TL_OK : tl_fail(err, TL_EINVAL, "%s: address 0x%x is given %u times", reg->name, addr, n);
}

tl_status tl_regmap_check(const tl_regmap *map, tl_error *err) {
    for (uint32_t i = 0; i < map->n_regs; i++) {
        const tl_reg *reg = &map->regs[i];
        tl_status status = check_fields(reg, err);
        uint32_t stride = reg->stride > 0 ? reg->stride : 1;
        for (uint32_t k = 0; status == TL_OK && k < tl_reg_count(reg); k++) {
            status = check_unique(map, reg, reg->addr + k * stride, err);
            if (status == TL_OK && reg->high_addr != 0)
                status = check_unique(map, reg, reg->high_addr + k * stride, err);
        }
        if (status != TL_OK)
            return status;
    }
    return TL_OK;
}

int tl_reg_name(const tl_reg *reg, uint32_t index, bool is_high, char *buffer, size_t size) {
    const char *mark = strchr(reg->name, '#'), *half = is_high ? "h" : "";
    if (!mark)
        return snprintf(buffer, size, "%s%s", reg->name, half);
    return snprintf(buffer, size, "%.*s%u%s%s", (int)(mark - reg->name), reg->name, reg->first + index, mark + 1, half);
}

const char *tl_reg_access_name(tl_reg_access access) {
    static const char *const names[] = {"RW", "RO", "WO", "W1C", "W1S", "RC", "WARL", "WPRI"};
    return (size_t)access < TL_COUNT_OF(names) ? names[access] : "?";
}
