// SPDX-License-Identifier: MIT
#ifndef TL_READERS_DHPC_FUNCTIONAL_H
#define TL_READERS_DHPC_FUNCTIONAL_H

#include "session/source.h"

extern const tl_source_type tl_source_dhpc_functional; // of preset functional

#endif
