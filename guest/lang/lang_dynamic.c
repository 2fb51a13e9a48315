/* SPDX-License-Identifier: MIT
 * A position-independent program with shared libraries: lazy and immediate binding, dlopen with
 * constructors, symbols that the program overrides, thread-local variables of a library loaded
 * late, function pointers across libraries, libm, and unloading. The library is lang_library.c; its
 * path is the first argument. */
#include "check.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>

int library_asks(void) { return 1000; } /* the library calls back into the program */

typedef int int_function(int);
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int_function *count_per_thread;
static void *use_library_tls(void *arg) {
    (void)arg;
    for (int i = 1; i <= 3; i++)
        CHECK_EQ(count_per_thread(10), i * 10);
    return NULL;
}

static void test_library(const char *path) {
    CHECK(dlopen("./no-such-library.so", RTLD_NOW) == NULL);
    CHECK(dlerror() != NULL);
    void *library = dlopen(path, RTLD_LAZY);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(library != NULL);
    int *state = dlsym(library, "library_state");
    CHECK(state && *state == 77); /* the constructor ran */
    int_function *twice = (int_function *)dlsym(library, "library_twice");
    CHECK(twice && twice(21) == 42 + 1000);
    count_per_thread = (int_function *)dlsym(library, "library_count");
    CHECK(count_per_thread != NULL);
    CHECK_EQ(count_per_thread(1), 1);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, use_library_tls, NULL), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(count_per_thread(1), 2);
    CHECK(dlsym(library, "library_hidden") == NULL);
    CHECK(dlsym(RTLD_DEFAULT, "qsort") != NULL);
    Dl_info info;
    CHECK(dladdr((void *)twice, &info) != 0);
    CHECK(strcmp(info.dli_sname, "library_twice") == 0);
    CHECK_EQ(dlclose(library), 0);
    section("library");
}

int main(int argc, char **argv) {
    int numbers[] = {5, 3, 9, 1, 7};
    qsort(numbers, 5, sizeof *numbers, compare); /* libc calls back through a pointer */
    CHECK_EQ(numbers[0] * 10000 + numbers[1] * 1000 + numbers[2] * 100 + numbers[3] * 10 + numbers[4], 13579);
    volatile double one = 1.0;
    char text[128];
    snprintf(text, sizeof text, "%.15g %.15g %.15g", sin(one), pow(one + 1, 0.5), exp(one));
    printf("%s\n", text);
    fflush(stdout);
    section("libc and libm");
    CHECK(argc > 1);
    test_library(argv[1]);
    CHECK_END;
}
