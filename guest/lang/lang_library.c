/* SPDX-License-Identifier: MIT
 *
 * The shared library that lang_dynamic.c loads at run time. */
int library_state = 1;
static __thread int per_thread;

extern int library_asks(void); /* the program's, bound when first called */

__attribute__((constructor)) static void construct(void) { library_state = 77; }

int library_twice(int n) { return 2 * n + library_asks(); }

int library_count(int step) { return per_thread += step; }

__attribute__((visibility("hidden"))) int library_hidden(void) { return 0; }
