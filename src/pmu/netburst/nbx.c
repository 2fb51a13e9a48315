// SPDX-License-Identifier: MIT
// Extension NBX: an XESCR chooses threads and their privilege by 64 bits, an XCCCR bounds how many
// threads are active. Fields of ESCR and CCCR are views of them: a write to either shows in both.
#include "pmu/netburst/state.h"

enum { MODE_ANY = 3, BOUNDS = 0xffff, UNBOUNDED = 0xff };

uint64_t tl_nbx_of_flags(uint64_t escr) {
    return (escr & TL_ESCR_T0_USR ? UINT64_C(1) : 0) | (escr & TL_ESCR_T1_USR ? UINT64_C(2) : 0) |
           (escr & TL_ESCR_T0_OS ? UINT64_C(1) << TL_NBX_OS_LSB : 0) | (escr & TL_ESCR_T1_OS ? UINT64_C(2) << TL_NBX_OS_LSB : 0);
}

uint64_t tl_nbx_of_owner(uint16_t owner) {
    const uint32_t thread = owner >> TL_NBX_THREAD_LSB;
    return tl_nbx_of_flags(owner) << thread;
}

uint64_t tl_nbx_flags_of(uint64_t threads) {
    const uint64_t os = threads >> TL_NBX_OS_LSB;
    return (threads & 1 ? TL_ESCR_T0_USR : 0u) | (threads & 2 ? TL_ESCR_T1_USR : 0u) | (os & 1 ? TL_ESCR_T0_OS : 0u) |
           (os & 2 ? TL_ESCR_T1_OS : 0u);
}

uint32_t tl_nbx_mode_of(uint64_t xcccr) {
    const uint32_t least = (uint32_t)xcccr & 0xff, most = (uint32_t)xcccr >> TL_NBX_MOST_LSB & 0xff;
    return least == most && least < MODE_ANY ? least : MODE_ANY;
}

uint64_t tl_nbx_of_mode(uint64_t xcccr, uint32_t mode) {
    const uint32_t least = mode == MODE_ANY ? 0 : mode, most = mode == MODE_ANY ? UNBOUNDED : mode;
    return (xcccr & ~(uint64_t)BOUNDS) | most << TL_NBX_MOST_LSB | least;
}

uint64_t tl_nbx_threads_of(const tl_netburst *n, tl_escr escr) {
    const uint64_t first_two = UINT64_C(3) | UINT64_C(3) << TL_NBX_OS_LSB;
    if (!n->settings.nbx)
        return tl_nbx_of_flags(n->escr[escr]);
    return (n->xescr[escr] & ~first_two) | tl_nbx_of_flags(n->escr[escr]);
}

uint64_t tl_nbx_all_threads(const tl_netburst *n) {
    const uint64_t class = UINT32_MAX >> (TL_NBX_MAX_THREADS - n->n_threads);
    return class | class << TL_NBX_OS_LSB;
}

bool tl_nbx_is_in_range(const tl_netburst *n, uint32_t counter, uint64_t active) {
    const uint64_t xcccr = n->xcccr[counter];
    const uint32_t threads = (uint32_t)active | (uint32_t)(active >> TL_NBX_OS_LSB), n_threads = (uint32_t)__builtin_popcount(threads);
    const uint32_t must_run = (uint32_t)(xcccr >> TL_NBX_ACTIVE_LSB), must_idle = (uint32_t)n->idle[counter];
    return n_threads >= (xcccr & 0xff) && n_threads <= (xcccr >> TL_NBX_MOST_LSB & 0xff) && (must_run & ~threads) == 0 &&
           (must_idle & threads) == 0;
}
