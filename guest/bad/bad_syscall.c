/* SPDX-License-Identifier: MIT
 *
 * System calls that do not exist return ENOSYS and change nothing but the result register; bad
 * descriptors and pointers give errors, not crashes. */
#include "check.h"

#include <fcntl.h>
#include <sys/syscall.h>

int main(void) {
    static const long unknown[] = {
#ifdef __riscv
        244, 245,  300,  400,
#endif
        599, 1000, 5000, 0x7fffffff, -1, -1000};
    for (unsigned i = 0; i < sizeof unknown / sizeof *unknown; i++)
        CHECK_FAILS(syscall(unknown[i], 1, 2, 3, 4, 5, 6), ENOSYS);
    section("unknown numbers");
#ifdef __riscv
    register long a0 __asm__("a0") = 11, a1 __asm__("a1") = 22, a2 __asm__("a2") = 33, a7 __asm__("a7") = 999;
    register long a3 __asm__("a3") = 44, a4 __asm__("a4") = 55, a5 __asm__("a5") = 66, a6 __asm__("a6") = 77;
    register long t0 __asm__("t0") = 88, t6 __asm__("t6") = 99;
    __asm__ volatile("ecall"
                     : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3), "+r"(a4), "+r"(a5), "+r"(a6), "+r"(a7), "+r"(t0), "+r"(t6)::"memory");
    long sum = a1 + a2 + a3 + a4 + a5 + a6 + t0 + t6;
    CHECK_EQ(a0, -ENOSYS);
    CHECK_EQ(sum, 22 + 33 + 44 + 55 + 66 + 77 + 88 + 99);
    section("other registers");
#endif
    char byte;
    CHECK_FAILS(read(-1, &byte, 1), EBADF);
    CHECK_FAILS(write(99, "x", 1), EBADF);
    CHECK_FAILS(close(99), EBADF);
    CHECK_FAILS(dup(99), EBADF);
    CHECK_FAILS(lseek(99, 0, SEEK_SET), EBADF);
    CHECK_FAILS(fcntl(99, F_GETFD), EBADF);
    CHECK_FAILS(syscall(SYS_openat, AT_FDCWD, -4096L, O_RDONLY, 0), EFAULT);
    CHECK_FAILS(syscall(SYS_getcwd, -4096L, 100), EFAULT);
    CHECK_FAILS(syscall(SYS_uname, 0), EFAULT);
    section("bad arguments");
    CHECK_END;
}
