// SPDX-License-Identifier: MIT
// Files by which Linux perf names translated code: perf-PID.map, a text, and jit-PID.dump, the
// format that perf's source describes in jitdump-specification.txt. One of them follows all harts
// of a machine.
#ifndef TL_SESSION_CODE_FILE_H
#define TL_SESSION_CODE_FILE_H

#include <tally/run.h>

#include "base/arena.h"
#include "base/status.h"
#include "machine/machine.h"
#include "session/guest.h"

typedef struct tl_code_file tl_code_file;

// Creates the file and listens to the harts from now on. TL_EINVAL: the machine's front-end makes
// no code.
TL_MUST_CHECK tl_status tl_code_file_new(tl_host_symbols kind, tl_machine *machine, tl_arena *arena, tl_code_file **ret_file,
                                         tl_error *err);
// The guest is the source of symbol names; NULL: none.
void tl_code_file_set_guest(tl_code_file *file, const tl_guest *guest);
// Writes what is held back; TL_EIO when something could not be written, now or before.
TL_MUST_CHECK tl_status tl_code_file_flush(tl_code_file *file, tl_error *err);
void tl_code_file_free(tl_code_file *file); // NULL is fine

#endif
