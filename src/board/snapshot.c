// SPDX-License-Identifier: MIT
// Snapshots of a system: the machine with its devices, which stand in its arena, and the board with
// the run loop's place. Host descriptors and what was printed stay as they are.
#include "machine/snapshot.h"

#include <stdlib.h>

#include "board/system_internal.h"

struct tl_system_snapshot {
    tl_system *system;
    tl_system copy;
    tl_snapshot *machine;
};

tl_status tl_system_snapshot_take(tl_system *system, tl_system_snapshot **ret_snapshot, tl_error *err) {
    tl_system_snapshot *s = calloc(1, sizeof *s);
    if (!s)
        return tl_fail(err, TL_ENOMEM, "no memory for a snapshot of the board");
    const tl_status status = tl_snapshot_take(system->machine, &s->machine, err);
    if (status != TL_OK) {
        free(s);
        return status;
    }
    s->system = system;
    s->copy = *system;
    *ret_snapshot = s;
    return TL_OK;
}

void tl_system_snapshot_restore(const tl_system_snapshot *snapshot) {
    *snapshot->system = snapshot->copy;
    tl_snapshot_restore(snapshot->machine);
}

void tl_system_snapshot_free(tl_system_snapshot *snapshot) {
    if (!snapshot)
        return;
    tl_snapshot_free(snapshot->machine);
    free(snapshot);
}
