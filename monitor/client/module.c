// SPDX-License-Identifier: MIT
// Loading and unloading of xcm.ko. The kernel says why it refuses in its log, and nowhere else.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "monitor/client/xcm_client.h"

// The last line of the log that begins with "xcm: ", of those after `from`.
static void last_sentence(int log, char *why, size_t why_bytes) {
    char line[1024];
    ssize_t n;
    while (log >= 0 && (n = read(log, line, sizeof line - 1)) > 0) {
        line[n] = '\0';
        const char *text = strchr(line, ';');
        if (!text || strncmp(text + 1, "xcm: ", 5) != 0)
            continue;
        snprintf(why, why_bytes, "%.*s", (int)strcspn(text + 6, "\n"), text + 6);
    }
}

int xcm_client_load_module(const char *path, const char *parameters, char *why, size_t why_bytes) {
    const int file = open(path, O_RDONLY | O_CLOEXEC), log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int error = file < 0 ? -errno : 0;
    if (log >= 0)
        lseek(log, 0, SEEK_END);
    if (error == 0 && syscall(SYS_finit_module, file, parameters, 0) != 0)
        error = -errno;
    if (error < 0)
        snprintf(why, why_bytes, "%s: %s", path, strerror(-error));
    if (error < 0 && file >= 0)
        last_sentence(log, why, why_bytes);
    if (file >= 0)
        close(file);
    if (log >= 0)
        close(log);
    return error;
}

int xcm_client_unload_module(char *why, size_t why_bytes) {
    if (syscall(SYS_delete_module, "xcm", O_NONBLOCK) == 0)
        return 0;
    const int error = errno;
    snprintf(why, why_bytes, "xcm: %s",
             error == EWOULDBLOCK || error == EBUSY ? "a client has the device open"
             : error == ENOENT                      ? "the module is not loaded"
                                                    : strerror(error));
    return -error;
}
