// SPDX-License-Identifier: MIT
// Reads the first bytes of a program as the personality will (linux/process/exec.c). A mistake here
// only chooses a machine that then refuses the program with a sentence.
#include "session/program.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "session/digest.h"

enum { LINE_BYTES = 256, MACHINE_OFFSET = 18, MAX_SCRIPTS = 4 };

uint16_t tl_program_elf_machine(const char *root, const char *path) {
    char name[LINE_BYTES];
    for (uint32_t n_scripts = 0; n_scripts <= MAX_SCRIPTS; n_scripts++) {
        char line[LINE_BYTES + 1] = {0};
        const int fd = tl_digest_open(root, path);
        const ssize_t n = fd >= 0 ? read(fd, line, LINE_BYTES) : -1;
        if (fd >= 0)
            close(fd);
        if (n > MACHINE_OFFSET + 1 && memcmp(line, "\177ELF", 4) == 0)
            return (uint16_t)((uint8_t)line[MACHINE_OFFSET] | (uint8_t)line[MACHINE_OFFSET + 1] << 8);
        if (n < 2 || line[0] != '#' || line[1] != '!')
            return 0;
        const char *interpreter = line + 2 + strspn(line + 2, " \t");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(interpreter, " \t\n"), interpreter);
        path = name;
    }
    return 0;
}
