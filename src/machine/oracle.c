// SPDX-License-Identifier: MIT
// See oracle.h. First-level structures are read through the hart's port.
#include "machine/oracle.h"

static const tl_hart *hart_of(const tl_machine *machine, uint32_t hart) { return hart < machine->n_harts ? machine->harts[hart] : NULL; }

bool tl_oracle_l1_line(const tl_machine *machine, uint32_t hart, bool is_fetch, uint32_t way, tl_line_view *ret_line) {
    const tl_hart *h = hart_of(machine, hart);
    return h && h->port->line_at(h, is_fetch, way, ret_line);
}

bool tl_oracle_l2_line(const tl_machine *machine, uint32_t slice, uint32_t way, tl_line_view *ret_line) {
    return tl_memory_l2_line_at(machine->memory, slice, way, ret_line);
}

bool tl_oracle_page(const tl_machine *machine, uint32_t hart, tl_tlb_kind kind, uint32_t entry, tl_page *ret_page) {
    const tl_hart *h = hart_of(machine, hart);
    return h && h->port->page_at(h, kind, entry, ret_page);
}

bool tl_oracle_table(const tl_machine *machine, uint32_t hart, uint32_t entry, tl_walk_table *ret_table) {
    const tl_hart *h = hart_of(machine, hart);
    return h && h->port->table_at(h, entry, ret_table);
}

bool tl_oracle_page_of(const tl_machine *machine, uint32_t hart, tl_tlb_kind kind, uint64_t vaddr, tl_page *ret_page) {
    const tl_hart *h = hart_of(machine, hart);
    for (uint32_t entry = 0; h && h->port->page_at(h, kind, entry, ret_page); entry++) {
        const bool is_seen = !(ret_page->attributes & TL_ATTRIBUTE_NON_GLOBAL) || ret_page->asid == h->regime.asid;
        if (ret_page->flags != 0 && is_seen && ret_page->world == h->regime.world &&
            ((vaddr ^ ret_page->vaddr) & tl_page_mask(ret_page->level)) == 0)
            return true;
    }
    return false;
}

char tl_oracle_state_of(const tl_machine *machine, uint32_t hart, bool is_fetch, uint64_t paddr) {
    const tl_hart *h = hart_of(machine, hart);
    tl_line_view line;
    for (uint32_t way = 0; h && h->port->line_at(h, is_fetch, way, &line); way++)
        if (line.state != 'I' && line.paddr == (paddr & h->line_mask))
            return line.state;
    return 'I';
}

bool tl_oracle_is_in_l2(const tl_machine *machine, uint64_t paddr) { return tl_memory_is_in_l2(machine->memory, paddr); }

bool tl_oracle_target(const tl_machine *machine, uint32_t hart, uint64_t pc, uint64_t *ret_target) {
    const tl_hart *h = hart_of(machine, hart);
    if (!h)
        return false;
    const tl_btb_entry *entry = &h->bp.btb[(pc >> 1) & h->bp.btb_mask];
    if (entry->pc != pc)
        return false;
    *ret_target = entry->target;
    return true;
}

uint32_t tl_oracle_return_stack(const tl_machine *machine, uint32_t hart, uint64_t *ret_pcs, uint32_t n) {
    const tl_hart *h = hart_of(machine, hart);
    uint32_t n_found = 0;
    for (; h && n_found < n && n_found < h->bp.ras_used; n_found++)
        ret_pcs[n_found] = h->bp.ras[(h->bp.ras_top + h->bp.ras_entries - n_found) % h->bp.ras_entries];
    return n_found;
}

bool tl_oracle_direction(const tl_machine *machine, uint32_t hart, uint64_t pc, uint64_t target, bool *ret_is_taken) {
    const tl_hart *h = hart_of(machine, hart);
    if (!h || h->bp.fixed == TL_BPRED_LOGGED)
        return false;
    if (h->bp.fixed == TL_BPRED_COUNTERS)
        *ret_is_taken = h->bp.counters[((pc >> 1) ^ (h->bp.history & h->bp.history_mask)) & h->bp.counter_mask] >= 2;
    else
        *ret_is_taken = h->bp.fixed == TL_BPRED_BACKWARD && target < pc;
    return true;
}
