// SPDX-License-Identifier: MIT
// Sealed records of confidential VMs, in files of a folder: vmN.records, and vmN.key that opens it.
#ifndef TL_SESSION_TENANTS_RECORDS_H
#define TL_SESSION_TENANTS_RECORDS_H

#include "session/tenants_state.h"

// Begins to seal into options.records; nothing happens without it. TL_EINVAL: no monitor that
// seals, or no confidential VM. TL_EACCESS: the host refuses a file.
TL_MUST_CHECK tl_status tl_tenants_records_open(tl_tenants *tenants, tl_error *err);
// The run has ended. TL_EIO: a file is not complete.
TL_MUST_CHECK tl_status tl_tenants_records_end(tl_tenants *tenants, tl_error *err);
void tl_tenants_records_close(tl_tenants *tenants);

#endif
