// SPDX-License-Identifier: MIT
// The shortest program a user would run: what it costs is start-up.
#include <stdio.h>

int main(void) {
    puts("hello, world");
    return 0;
}
