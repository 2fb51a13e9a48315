// SPDX-License-Identifier: MIT
// The virtual tree: /proc, /sys, /dev and a few files of /etc, made from the simulated machine.
// virtual.c resolves paths, file_proc.c makes the texts, file_dev.c makes devices and /dev/shm.
#ifndef TL_OS_VIRTUAL_H
#define TL_OS_VIRTUAL_H

#include "base/strbuf.h"
#include "linux/file/file_system.h"

// The subject of a text: the process for /proc/PID, and the thread for /proc/PID/task/TID.
typedef struct tl_proc_subject {
    tl_thread *asker;
    tl_process *process;
    tl_thread *thread; // NULL: the process as a whole
} tl_proc_subject;

typedef void tl_proc_text_fn(tl_strbuf *text, const tl_proc_subject *subject);
typedef struct tl_proc_row {
    const char *name; // absolute, or below /proc/PID
    tl_proc_text_fn *make;
} tl_proc_row;
// The tables end with a NULL name.
extern const tl_proc_row tl_proc_rows[], tl_proc_process_rows[], tl_proc_task_rows[];
// Some rows depend on the machine.
bool tl_proc_is_there(const tl_os *os, const tl_proc_row *row);

typedef enum tl_device_kind {
    TL_DEVICE_NULL,
    TL_DEVICE_ZERO,
    TL_DEVICE_FULL,
    TL_DEVICE_RANDOM,
    TL_DEVICE_URANDOM,
    TL_DEVICE_TTY,
    TL_DEVICE_WINDOW, // of a PMU
    TL_DEVICE_OWNER   // window of the machine's owner
} tl_device_kind;
typedef struct tl_device_row {
    const char *name;
    tl_device_kind kind;
    uint32_t major, minor;
    const tl_pmu *pmu; // TL_DEVICE_WINDOW
} tl_device_row;
// Devices of this machine, by name: those that every system has, windows of PMUs that are granted,
// and the window of the context's own. Returns their number.
enum { TL_MAX_DEVICES = 8 + TL_MAX_PMUS };
uint32_t tl_device_list(const tl_os *os, uint32_t context, tl_device_row ret_rows[TL_MAX_DEVICES]);
// The row is copied.
int64_t tl_device_open(tl_os *os, const tl_device_row *row, uint32_t flags, tl_file **ret_file);
bool tl_file_is_dev_zero(const tl_file *file);

// Names of /dev/shm.
tl_shm_entry *tl_shm_find(tl_file_system *fs, const char *name);
// Takes a reference of its own. -EEXIST, -ENOMEM.
int64_t tl_shm_link(tl_file_system *fs, const char *name, tl_mem_inode *inode);
int64_t tl_shm_unlink(tl_os *os, const char *name);
bool tl_path_is_shm(const char *path); // directly in /dev/shm
static inline const char *tl_shm_name(const char *path) { return path + sizeof "/dev/shm/" - 1; }

// The text of a link in /proc/PID/fd: a path, or "pipe:[12]".
void tl_file_describe(const tl_file *file, char *to, size_t n);

#endif
