// SPDX-License-Identifier: MIT
// Names of kinds in the file.
#include "profile/profile.h"
#include "profile/store.h"

const char *const tl_profile_kind_names[TL_PROFILE_N_KINDS] = {"signal", "constant", "alias", "metric"};
