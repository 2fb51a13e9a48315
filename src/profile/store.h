// SPDX-License-Identifier: MIT
// Facts that the writer and the reader of a profile's file share.
#ifndef TL_PROFILE_STORE_H
#define TL_PROFILE_STORE_H

#include "base/embedded.h"

enum { TL_PROFILE_APPLICATION_ID = 0x54616c79, TL_PROFILE_VERSION = 1 };

extern const tl_embedded_file tl_profile_schema[]; // docs/schema/profile-1.sql
extern const char *const tl_profile_kind_names[];  // by tl_profile_kind

#endif
