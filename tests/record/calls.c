// SPDX-License-Identifier: MIT
// Calls of which the numbers are known: from two callers, by recursion of one and of two functions,
// through a pointer, from a signal handler, and around longjmp.
#include <setjmp.h>
#include <signal.h>

static volatile unsigned sum;
static jmp_buf way_out;

void leaf(void) { sum += 1; }

void left(void) {
    for (int i = 0; i < 10; i++)
        leaf();
}

void right(void) {
    for (int i = 0; i < 25; i++)
        leaf();
}

unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

unsigned is_odd(unsigned n);
unsigned is_even(unsigned n) { return n == 0 ? 1 : is_odd(n - 1); }
unsigned is_odd(unsigned n) { return n == 0 ? 0 : is_even(n - 1); }

void handler(int signal) {
    (void)signal;
    leaf();
}

void jump_out(int depth) {
    if (depth == 0)
        longjmp(way_out, 1);
    jump_out(depth - 1);
}

void try(void) {
    if (setjmp(way_out) == 0)
        jump_out(6);
    leaf();
}

int main(void) {
    void (*volatile pointer)(void) = right;
    for (int i = 0; i < 3; i++)
        left();
    pointer();
    sum += fib(12);
    sum += is_even(9);
    signal(SIGUSR1, handler);
    for (int i = 0; i < 4; i++)
        raise(SIGUSR1);
    for (int i = 0; i < 5; i++)
        try();
    return 0;
}
