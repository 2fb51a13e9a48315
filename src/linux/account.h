// SPDX-License-Identifier: MIT
// tl_account counts host memory that a program holds besides its pages: open files, pipes,
// messages, areas, locks, threads. A real kernel takes this memory from the machine's RAM. A charge
// that exceeds a share of `ram` is refused with ENOMEM.
#ifndef TL_OS_ACCOUNT_H
#define TL_OS_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tl_account {
    uint64_t n_bytes;
    uint64_t most_bytes; // 0: no limit
} tl_account;

enum { TL_ACCOUNT_SHARE = 4 }; // a quarter of RAM

static inline bool tl_account_has_room(const tl_account *account, uint64_t n) {
    return account->most_bytes == 0 || (n <= account->most_bytes && account->n_bytes <= account->most_bytes - n);
}

// false: the charge is refused and nothing is counted.
static inline bool tl_account_charge(tl_account *account, uint64_t n) {
    if (!tl_account_has_room(account, n))
        return false;
    account->n_bytes += n;
    return true;
}

// Never refuses. For small objects that accompany an object that was charged.
static inline void tl_account_add(tl_account *account, uint64_t n) { account->n_bytes += n; }
static inline void tl_account_release(tl_account *account, uint64_t n) { account->n_bytes -= n; }

#endif
