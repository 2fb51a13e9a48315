// SPDX-License-Identifier: MIT
// The memory that translated code lies in: mapped twice, once to write and once to execute; no page is both.
#if defined(__x86_64__) && defined(__linux__)

#include <sys/mman.h>
#include <unistd.h>

#include "isa/rv/translate/translator.h"

bool tl_code_map(tl_translator *t) {
    int fd = memfd_create("tally code", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    void *write = MAP_FAILED, *exec = MAP_FAILED;
    if (ftruncate(fd, TL_CODE_BYTES) == 0) {
        write = mmap(NULL, TL_CODE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        exec = mmap(NULL, TL_CODE_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (write != MAP_FAILED && exec != MAP_FAILED) {
        t->write = write;
        t->exec = exec;
        return true;
    }
    if (write != MAP_FAILED)
        munmap(write, TL_CODE_BYTES);
    if (exec != MAP_FAILED)
        munmap(exec, TL_CODE_BYTES);
    return false;
}

void tl_code_unmap(tl_translator *t) {
    munmap(t->write, TL_CODE_BYTES);
    munmap(t->exec, TL_CODE_BYTES);
}

#endif
