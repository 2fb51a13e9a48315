// SPDX-License-Identifier: MIT
// Out-of-band clients of a run: a Unix socket of the host that stands for the two-wire bus of the
// monitor's mailbox. It is served between instructions and while harts stand still. No guest, and
// no hart, takes part.
#ifndef TL_SESSION_TENANTS_OOB_H
#define TL_SESSION_TENANTS_OOB_H

#include "session/tenants_state.h"

// Listens at options.oob, mode 0600; nothing happens without it. TL_EINVAL: no monitor with a
// mailbox, or a path that is too long. TL_EACCESS: the path is taken, or the host refuses.
TL_MUST_CHECK tl_status tl_tenants_oob_open(tl_tenants *tenants, tl_error *err);
// Answers what has arrived, and waits for nothing.
void tl_tenants_oob_poll(tl_tenants *tenants);
// Answers until options.wants_stop says so, while the chip stands still.
void tl_tenants_oob_serve(tl_tenants *tenants);
void tl_tenants_oob_close(tl_tenants *tenants);

#endif
