/* SPDX-License-Identifier: MIT
 *
 * Checks and output of bare programs, the same for all instruction sets. Each CHECK site has a
 * number. Sites that fail print one line with what was expected. */
#ifndef GUEST_BARE_CHECK_H
#define GUEST_BARE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t u64;
typedef uint32_t u32;

void check(int number, int line, const char *what, u64 got, u64 want);
extern u64 check_context; /* printed with a failure: which of many cases it was */
extern u64 n_checks, first_failed;
#define CHECK(got, want) check(__COUNTER__ + 1, __LINE__, #got, (u64)(got), (u64)(want))
/* The oracle's runner leaves a word in RAM that says so. */
extern bool is_qemu;
void print(const char *text);
void print_hex(u64 value);
void print_number(u64 value);
_Noreturn void finish(u64 code); /* ends the run; 0: success, else the number of a CHECK */
_Noreturn void finish_all(void); /* prints the verdict, and finishes with the first failure */

#endif
