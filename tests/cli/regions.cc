// SPDX-License-Identifier: MIT
// A C++ program with a library that it needs and one that it loads, for the tests of --roi. run.py
// builds it three times.
#include <dlfcn.h>

#include <cstdio>

#define FUNCTION __attribute__((noinline, visibility("default")))

FUNCTION int needed(int a);

#ifdef TL_NEEDED
int needed(int a) {
    __asm__ volatile("" : "+r"(a));
    return a + 1;
}
#endif

#ifdef TL_LATE
extern "C" FUNCTION int late_one(int a) {
    __asm__ volatile("" : "+r"(a));
    return a + 2;
}
namespace late {
FUNCTION int two(int a) {
    __asm__ volatile("" : "+r"(a));
    return a + 3;
}
} // namespace late
extern "C" FUNCTION int late_all(int a) {
    for (int i = 0; i < 6; i++)
        a = late_one(a);
    return late::two(a);
}
#endif

#ifdef TL_MAIN
namespace ns {
FUNCTION int f(int a) {
    __asm__ volatile("" : "+r"(a));
    return a;
}
FUNCTION int f(double a) {
    __asm__ volatile("" : "+f"(a));
    return static_cast<int>(a);
}
template <class T> struct S {
    FUNCTION T go(T a) {
        __asm__ volatile("" : "+r"(a));
        return a;
    }
};
} // namespace ns

FUNCTION int shared_inc(int a, int b) {
    __asm__ volatile("" : "+r"(a));
    return a + b;
}

int main() {
    ns::S<int> s;
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        sum += ns::f(i) + s.go(i);
        sum += shared_inc(i, sum) + shared_inc(sum, i);
    }
    sum += ns::f(1) + ns::f(2.5);
    for (int i = 0; i < 5; i++)
        sum += needed(i);
#ifndef TL_NEEDED
    void *library = dlopen("liblate.so", RTLD_NOW);
    auto all = library ? reinterpret_cast<int (*)(int)>(dlsym(library, "late_all")) : nullptr;
    if (!all)
        return 1;
    sum += all(sum);
#endif
    std::puts(sum ? "done" : "none");
    return 0;
}
#endif
