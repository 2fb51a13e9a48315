/* SPDX-License-Identifier: MIT
 * Where mappings go and what they hold: anonymous and file, private and shared, fixed places,
 * holes, huge reservations, file offsets, write-back, what stays after the descriptor is closed,
 * and the errors. */
#include "check.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { PAGE = 4096 };

static char *map(void *where, size_t size, int prot, int flags, int fd, off_t offset) { return mmap(where, size, prot, flags, fd, offset); }

static char *map_anonymous(size_t size) {
    char *at = map(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static int is_mapped(void *at) {
    unsigned char resident;
    return mincore(at, PAGE, &resident) == 0;
}

static int new_file(const char *name, const char *text, off_t size) {
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK_OK(fd);
    CHECK_EQ(write(fd, text, strlen(text)), (long)strlen(text));
    CHECK_OK(ftruncate(fd, size));
    return fd;
}

static void test_anonymous_memory_is_zero_and_aligned(void) {
    char *at = map_anonymous(10 * PAGE + 1); /* rounded up */
    CHECK_EQ((uintptr_t)at % PAGE, 0);
    for (int i = 0; i < 11 * PAGE; i++)
        CHECK_EQ(at[i], 0);
    memset(at, 0x5a, 11 * PAGE);
    CHECK_OK(munmap(at, 11 * PAGE));
    CHECK(!is_mapped(at));
    CHECK_OK(munmap(at, PAGE)); /* nothing there: still fine */
    section("anonymous");
}

static void test_fixed_places(void) {
    char *area = map_anonymous(8 * PAGE);
    memset(area, 1, 8 * PAGE);
    CHECK(map(area + 2 * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == area + 2 * PAGE);
    CHECK_EQ(area[2 * PAGE - 1], 1);
    CHECK_EQ(area[2 * PAGE], 0); /* replaced by fresh pages */
    CHECK_EQ(area[4 * PAGE - 1], 0);
    CHECK_EQ(area[4 * PAGE], 1);
    CHECK_OK(munmap(area + 5 * PAGE, PAGE));
    CHECK(!is_mapped(area + 5 * PAGE) && is_mapped(area + 4 * PAGE) && is_mapped(area + 6 * PAGE));
    CHECK(map(area + 5 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == area + 5 * PAGE); /* a free hint is taken */
    char *other = map(area, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(other != MAP_FAILED && other != area); /* a taken hint is not */
    CHECK_OK(munmap(other, PAGE));
    CHECK_OK(munmap(area, 8 * PAGE)); /* across all the pieces */
    section("fixed places");
}

static void test_errors(void) {
    CHECK_FAILS(map(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), EINVAL);
    CHECK_FAILS(map((char *)0x100001, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), EINVAL);
    CHECK_FAILS(map(NULL, PAGE, PROT_READ, MAP_PRIVATE, 1000, 0), EBADF);
    CHECK_FAILS(map(NULL, PAGE, PROT_READ, MAP_ANONYMOUS, -1, 0), EINVAL); /* neither private nor shared */
    CHECK_FAILS(munmap((char *)1, PAGE), EINVAL);
    int fd = new_file("map-errors", "x", PAGE);
    CHECK_FAILS(map(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 100), EINVAL);
    close(fd);
    fd = open("map-errors", O_RDONLY);
    CHECK_FAILS(map(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), EACCES);
    CHECK(map(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) != MAP_FAILED);
    close(fd);
    fd = open("map-errors", O_WRONLY);
    CHECK_FAILS(map(NULL, PAGE, PROT_WRITE, MAP_SHARED, fd, 0), EACCES);
    close(fd);
    unlink("map-errors");
    section("errors");
}

static void test_huge_reservation(void) {
    size_t size = 64UL << 30;
    char *at = map(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(at != MAP_FAILED);
    for (size_t offset = 0; offset < size; offset += 8UL << 30) { /* use a page here and there, as garbage collectors do */
        CHECK_OK(mprotect(at + offset, PAGE, PROT_READ | PROT_WRITE));
        at[offset] = (char)(offset >> 33);
    }
    for (size_t offset = 0; offset < size; offset += 8UL << 30)
        CHECK_EQ(at[offset], (char)(offset >> 33));
    CHECK_OK(munmap(at, size));
    section("64 GiB reserved");
}

static void test_file_private_and_shared(void) {
    int fd = new_file("mapped", "hello, file", 3 * PAGE);
    char *private = map(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    char *shared = map(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *second = map(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 2 * PAGE);
    CHECK(private != MAP_FAILED && shared != MAP_FAILED && second != MAP_FAILED);
    CHECK_EQ(memcmp(private, "hello, file", 12), 0);
    private[0] = 'J';
    CHECK_EQ(shared[0], 'h'); /* private writes stay private */
    shared[1] = 'E';
    shared[2 * PAGE + 5] = 99;
    CHECK_EQ(second[5], 99); /* two mappings of one page */
    char byte = 0;
    CHECK_OK(msync(shared, 3 * PAGE, MS_SYNC));
    CHECK_EQ(pread(fd, &byte, 1, 1), 1);
    CHECK_EQ(byte, 'E');
    CHECK_EQ(pread(fd, &byte, 1, 0), 1);
    CHECK_EQ(byte, 'h');
    CHECK_EQ(pwrite(fd, "W", 1, 7), 1);
    CHECK_EQ(shared[7], 'W'); /* and the other way round */
    close(fd);
    shared[3] = 'L'; /* the mapping outlives the descriptor */
    CHECK_OK(munmap(shared, 3 * PAGE));
    fd = open("mapped", O_RDONLY);
    char text[12] = "";
    CHECK_EQ(read(fd, text, 11), 11);
    CHECK(strcmp(text, "hElLo, Wile") == 0);
    CHECK(memcmp(private, "J", 1) == 0);
    close(fd);
    unlink("mapped");
    CHECK_EQ(second[5], 99); /* and the name */
    section("files");
}

static void test_shared_between_parent_and_child(void) {
    int fd = new_file("family", "", PAGE);
    volatile char *anonymous = map(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    volatile char *file = map(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    volatile char *private = map_anonymous(PAGE);
    anonymous[0] = file[0] = private[0] = 1;
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_EQ(anonymous[0] + file[0] + private[0], 3);
        anonymous[1] = 2;
        file[1] = 3;
        private[1] = 4;
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    CHECK_EQ(anonymous[1], 2);
    CHECK_EQ(file[1], 3);
    CHECK_EQ(private[1], 0);
    char bytes[2];
    CHECK_EQ(pread(fd, bytes, 2, 0), 2);
    CHECK_EQ(bytes[1], 3);
    close(fd);
    unlink("family");
    section("parent and child");
}

static void test_memory_file(void) {
    int fd = memfd_create("scratch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK_OK(fd);
    CHECK_OK(ftruncate(fd, 2 * PAGE));
    char *one = map(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *two = map(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, PAGE);
    one[PAGE + 1] = 42;
    CHECK_EQ(two[1], 42);
    struct stat st;
    CHECK_OK(fstat(fd, &st));
    CHECK_EQ(st.st_size, 2 * PAGE);
    CHECK_OK(munmap(one, 2 * PAGE));
    CHECK_OK(munmap(two, PAGE));
    CHECK_OK(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW));
    CHECK_FAILS(ftruncate(fd, PAGE), EPERM);
    CHECK_EQ(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW);
    close(fd);
    section("memory file");
}

int main(void) {
    test_anonymous_memory_is_zero_and_aligned();
    test_fixed_places();
    test_errors();
    test_huge_reservation();
    test_file_private_and_shared();
    test_shared_between_parent_and_child();
    test_memory_file();
    CHECK_END;
}
