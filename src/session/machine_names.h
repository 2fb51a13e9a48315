// SPDX-License-Identifier: MIT
// The catalogue of names (names/catalogue.h) of a machine: its units, their signals and the numbers
// of its description.
#ifndef TL_SESSION_MACHINE_NAMES_H
#define TL_SESSION_MACHINE_NAMES_H

#include "machine/machine.h"
#include "names/catalogue.h"

// Of a machine that is not built. Its cell numbers equal the built machine's. TL_EINVAL: no machine
// can be built so.
TL_MUST_CHECK tl_status tl_machine_names_new(const tl_config *config, tl_catalogue **ret_catalogue, tl_error *err);
// Of a built machine; cells are those of machine->probe.
TL_MUST_CHECK tl_status tl_machine_names_new_of(const tl_machine *machine, tl_catalogue **ret_catalogue, tl_error *err);
// Of a machine that has two of everything that there can be two of: result/diff.h.
TL_MUST_CHECK tl_status tl_machine_names_new_of_pairs(tl_catalogue **ret_catalogue, tl_error *err);

#endif
