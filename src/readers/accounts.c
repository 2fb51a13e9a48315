// SPDX-License-Identifier: MIT
// Designs whose hardware is accounted for, in the order of the build's list.
#include "session/account.h"

#define ACCOUNT(name) extern const tl_account_type tl_account_##name;
TL_ACCOUNT_ROWS
#undef ACCOUNT

const tl_account_type *const tl_account_types[] = {
#define ACCOUNT(name) &tl_account_##name,
    TL_ACCOUNT_ROWS
#undef ACCOUNT
        NULL};
