// SPDX-License-Identifier: MIT
// The catalogue of names (names/catalogue.h) of a machine: its units, their signals and the numbers
// of its description.
#ifndef TL_SESSION_MACHINE_NAMES_H
#define TL_SESSION_MACHINE_NAMES_H

#include "machine/machine.h"
#include "names/catalogue.h"

// Names of a machine that is not built. Cell numbers equal those of the built machine. TL_EINVAL:
// no machine can be built from this description.
TL_MUST_CHECK tl_status tl_machine_names_new(const tl_config *config, tl_catalogue **ret_catalogue, tl_error *err);
// Names of a built machine; cells are those of machine->probe.
TL_MUST_CHECK tl_status tl_machine_names_new_of(const tl_machine *machine, tl_catalogue **ret_catalogue, tl_error *err);
// Names of a machine that has two of each unit that a machine can have twice, for result/diff.h.
TL_MUST_CHECK tl_status tl_machine_names_new_of_pairs(tl_catalogue **ret_catalogue, tl_error *err);

#endif
