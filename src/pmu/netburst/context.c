// SPDX-License-Identifier: MIT
// Extension NBX: contexts. A thread has a tag. Filters of counters compare it, and banks keep the
// counters of each tag while others run.
#include "pmu/netburst/state.h"

#define BIT(i) (UINT32_C(1) << (i))

// ---- Filters.

uint64_t tl_nbx_contexts_of(const tl_netburst *n, uint32_t counter) {
    uint64_t threads = 0;
    if (!tl_nbx_has_filter(n, counter))
        return UINT64_MAX;
    for (uint32_t t = 0; t < n->n_threads; t++)
        if (((n->threads[t]->context ^ n->filter[counter]) & n->filter_mask[counter]) == 0)
            threads |= UINT64_C(1) << t | UINT64_C(1) << (t + TL_NBX_OS_LSB);
    return threads;
}

// ---- Banks.

// A counter follows thread 0, or thread 1 if the upper half of NBX_BANKED says so.
static uint32_t thread_of(const tl_netburst *n, uint32_t counter) {
    return n->n_threads > 1 && *n->banked >> (counter + TL_NBX_OS_LSB) & 1;
}

// A new bank begins with the presets.
static uint32_t bank_for(tl_netburst *n, uint64_t tag) {
    for (uint32_t i = 0; i < n->n_banks; i++)
        if (n->banks[i].tag == tag)
            return i;
    if (n->n_banks == TL_NBX_BANKS) {
        n->is_full = true;
        return TL_NBX_BANKS - 1;
    }
    tl_nbx_bank *bank = &n->banks[n->n_banks];
    *bank = (tl_nbx_bank){.tag = tag};
    for (uint32_t i = 0; i < TL_NETBURST_COUNTERS; i++)
        bank->value[i] = bank->began[i] = n->preset[i];
    return n->n_banks++;
}

// Counters whose OVF says that they are armed.
static bool is_sampler(const tl_netburst *n, uint32_t counter) {
    bool result = false;
    for (uint32_t t = 0; t < TL_NETBURST_THREADS; t++)
        result |= tl_netburst_sampler_of(n, t, counter) != NULL;
    return result;
}

static void put_away(tl_netburst *n, uint32_t counter, bool samples) {
    tl_nbx_bank *bank = &n->banks[n->bank_of[counter]];
    bank->value[counter] = n->counter[counter];
    bank->began[counter] = n->began[counter];
    bank->wrapped = (bank->wrapped & ~BIT(counter)) | (n->wrapped & BIT(counter));
    if (samples)
        bank->armed = (bank->armed & ~BIT(counter)) | (n->cccr[counter] & TL_CCCR_OVF ? BIT(counter) : 0);
}

static void take_out(tl_netburst *n, uint32_t counter, bool samples) {
    const tl_nbx_bank *bank = &n->banks[n->bank_of[counter]];
    n->counter[counter] = bank->value[counter];
    n->began[counter] = bank->began[counter];
    n->wrapped = (n->wrapped & ~BIT(counter)) | (bank->wrapped & BIT(counter));
    if (samples)
        n->cccr[counter] = (n->cccr[counter] & ~TL_CCCR_OVF) | (bank->armed & BIT(counter) ? TL_CCCR_OVF : 0);
}

static void switch_bank(tl_netburst *n, uint32_t counter, uint64_t tag) {
    const uint32_t to = bank_for(n, tag);
    const bool samples = is_sampler(n, counter);
    if (to == n->bank_of[counter])
        return;
    put_away(n, counter, samples);
    n->bank_of[counter] = (uint8_t)to;
    take_out(n, counter, samples);
}

// A counter that begins to have banks takes its value into that of the present tag.
void tl_nbx_bind_banks(tl_netburst *n) {
    const uint32_t wanted = (uint32_t)*n->banked & (BIT(TL_NETBURST_COUNTERS) - 1);
    for (uint32_t left = n->has_bank & ~wanted; left != 0; left &= left - 1)
        put_away(n, (uint32_t)__builtin_ctz(left), false);
    for (uint32_t left = wanted; left != 0; left &= left - 1) {
        const uint32_t counter = (uint32_t)__builtin_ctz(left);
        const uint64_t tag = n->threads[thread_of(n, counter)]->context;
        if (n->has_bank >> counter & 1)
            switch_bank(n, counter, tag);
        else
            n->bank_of[counter] = (uint8_t)bank_for(n, tag);
    }
    n->has_bank = wanted;
}

void tl_nbx_forget_banks(tl_netburst *n) {
    n->n_banks = 0;
    n->is_full = false;
    n->has_bank = 0;
    tl_nbx_bind_banks(n);
}

static bool is_live(const tl_netburst *n, uint32_t bank, uint32_t counter) {
    return (n->has_bank >> counter & 1) && n->bank_of[counter] == bank;
}

uint64_t tl_nbx_bank_value(const tl_netburst *n, uint32_t bank, uint32_t counter) {
    if (bank >= n->n_banks)
        return 0;
    return is_live(n, bank, counter) ? n->counter[counter] : n->banks[bank].value[counter];
}

void tl_nbx_set_bank_value(tl_netburst *n, uint32_t bank, uint32_t counter, uint64_t value) {
    if (bank >= n->n_banks)
        return;
    if (is_live(n, bank, counter))
        n->counter[counter] = n->began[counter] = value;
    else
        n->banks[bank].value[counter] = n->banks[bank].began[counter] = value;
}

// ---- Tags.

void tl_netburst_set_context(tl_netburst *n, uint32_t thread, uint64_t tag) {
    tl_netburst_thread *t = n->threads[thread];
    if (t->context == tag)
        return;
    tl_netburst_settle(n);
    t->context = tag;
    for (uint32_t left = n->has_bank; left != 0; left &= left - 1) {
        const uint32_t counter = (uint32_t)__builtin_ctz(left);
        if (thread_of(n, counter) == thread)
            switch_bank(n, counter, tag);
    }
    n->is_stale = true;
}

// ---- Periods.

// A Galois register of 32 bits, taps 32, 22, 2 and 1, shifted 32 times for each value.
uint64_t tl_nbx_vary(tl_netburst *n, uint64_t value) {
    enum { TAPS = 0x200003 };
    const uint32_t mask = (uint32_t)*n->random;
    if (!n->settings.nbx || mask == 0)
        return value;
    for (uint32_t i = 0; i < 32; i++)
        n->lfsr = n->lfsr >> 1 ^ (n->lfsr & 1 ? UINT32_C(1) << 31 | TAPS : 0);
    return (value & ~(uint64_t)mask) | (n->lfsr & mask);
}
