/* SPDX-License-Identifier: MIT
 * What a process can read about itself in /proc/self, as far as run-time libraries and language run
 * times use it. */
#include "check.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

static int has_argument; /* the part that qemu does not imitate runs only with an argument */

static size_t read_all(const char *name, char *text, size_t size) {
    int fd = open(name, O_RDONLY);
    CHECK_OK(fd);
    size_t length = 0;
    for (ssize_t n; (n = read(fd, text + length, size - 1 - length)) > 0;)
        length += (size_t)n;
    close(fd);
    text[length] = 0;
    return length;
}

static char text[1 << 18];

static void test_exe(const char *name) {
    char target[4096] = "";
    struct stat by_link, by_name;
    CHECK(readlink("/proc/self/exe", target, sizeof target - 1) > 0);
    CHECK_EQ(target[0], '/');
    CHECK(strcmp(base_name(target), base_name(name)) == 0);
    if (has_argument) {
        CHECK_OK(stat("/proc/self/exe", &by_link));
        CHECK_OK(stat(target, &by_name));
        CHECK_EQ(by_link.st_ino, by_name.st_ino);
    }
    char magic[4];
    int fd = open("/proc/self/exe", O_RDONLY);
    CHECK_EQ(read(fd, magic, 4), 4);
    CHECK(memcmp(magic, "\177ELF", 4) == 0);
    close(fd);
    section("exe");
}

static void test_cmdline(char **argv) {
    size_t length = read_all("/proc/self/cmdline", text, sizeof text), at = 0;
    for (char **arg = argv; *arg; arg++) {
        CHECK(at < length && strcmp(text + at, *arg) == 0);
        at += strlen(*arg) + 1;
    }
    CHECK_EQ(at, length);
    section("cmdline");
}

/* Finds the line of /proc/self/maps that covers an address and copies its rights. */
static int find_rights(uintptr_t address, char rights[5], char *name, size_t size) {
    read_all("/proc/self/maps", text, sizeof text);
    unsigned long last_end = 0;
    int found = 0;
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        unsigned long start, end, offset, inode;
        unsigned major, minor;
        int path_at = 0;
        char flags[5];
        CHECK_EQ(sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &start, &end, flags, &offset, &major, &minor, &inode, &path_at), 7);
        CHECK(start < end && start >= last_end); /* sorted, no overlap */
        last_end = end;
        if (address >= start && address < end) {
            memcpy(rights, flags, 5);
            snprintf(name, size, "%.*s", (int)(strchr(line, '\n') - line - path_at), line + path_at);
            found = 1;
        }
    }
    return found;
}

static void test_maps(const char *program) {
    char rights[5], name[4096];
    int on_stack;
    CHECK(find_rights((uintptr_t)&on_stack, rights, name, sizeof name));
    CHECK(strcmp(rights, "rw-p") == 0);
    CHECK(strcmp(name, "[stack]") == 0);
    CHECK(find_rights((uintptr_t)test_maps, rights, name, sizeof name));
    CHECK(strcmp(rights, "r-xp") == 0);
    CHECK(strcmp(base_name(name), base_name(program)) == 0);
    char *page = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK_OK(mprotect(page + 4096, 4096, PROT_READ));
    CHECK(find_rights((uintptr_t)page + 4096, rights, name, sizeof name));
    CHECK(strcmp(rights, "r--p") == 0);
    CHECK(find_rights((uintptr_t)page + 8192, rights, name, sizeof name));
    CHECK(strcmp(rights, "rw-p") == 0);
    CHECK_OK(munmap(page, 3 * 4096));
    CHECK(!find_rights((uintptr_t)page + 4096, rights, name, sizeof name));
    section("maps");
}

static void test_auxv(void) {
    static unsigned long pairs[128];
    int fd = open("/proc/self/auxv", O_RDONLY);
    CHECK_OK(fd);
    ssize_t length = read(fd, pairs, sizeof pairs);
    close(fd);
    CHECK(length > 0 && length % 16 == 0);
    int n_checked = 0, i = 0;
    for (; pairs[i] != AT_NULL; i += 2) {
        if (pairs[i] != AT_HWCAP) /* the C library has its own idea on some machines */
            CHECK_EQ(getauxval(pairs[i]), pairs[i + 1]);
        n_checked++;
    }
    CHECK(n_checked >= 10);
    CHECK_EQ(length, 8 * (i + 2));
    section("auxv");
}

static void test_fd(void) {
    char link[64], target[4096] = "";
    int fd = open("proc-test", O_RDWR | O_CREAT, 0600);
    CHECK_OK(fd);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    CHECK(readlink(link, target, sizeof target - 1) > 0);
    CHECK(strcmp(base_name(target), "proc-test") == 0);
    CHECK_EQ(write(fd, "abc", 3), 3);
    int again = open(link, O_RDONLY); /* opens the same file, with its own offset */
    CHECK_OK(again);
    char bytes[4] = "";
    CHECK_EQ(read(again, bytes, 4), 3);
    close(again);
    DIR *dir = opendir("/proc/self/fd");
    CHECK(dir != NULL);
    int found = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        found += atoi(entry->d_name) == fd;
    closedir(dir);
    CHECK_EQ(found, 1);
    close(fd);
    CHECK_FAILS(readlink(link, target, sizeof target), ENOENT);
    unlink("proc-test");
    section("fd");
}

/* The value after "Key:" in /proc/self/status. */
static const char *status_field(const char *key) {
    read_all("/proc/self/status", text, sizeof text);
    char *at = strstr(text, key);
    CHECK(at != NULL);
    at += strlen(key);
    return at + strspn(at, " \t");
}

static void test_status_and_stat(const char *program) {
    char name[16];
    snprintf(name, sizeof name, "%.15s", base_name(program));
    CHECK_EQ(strncmp(status_field("Name:"), name, strlen(name)), 0);
    CHECK_EQ(atoi(status_field("\nPid:")), getpid());
    CHECK_EQ(atoi(status_field("\nPPid:")), getppid());
    CHECK_EQ(atoi(status_field("\nThreads:")), 1);
    CHECK(atoi(status_field("\nVmRSS:")) > 0);
    read_all("/proc/self/stat", text, sizeof text);
    CHECK_EQ(atoi(text), getpid());
    char *open_paren = strchr(text, '('), *close_paren = strrchr(text, ')');
    CHECK(open_paren && close_paren && strncmp(open_paren + 1, name, strlen(name)) == 0);
    CHECK_EQ(close_paren[2], 'R');
    CHECK_EQ(atoi(close_paren + 4), getppid());
    section("status and stat");
}

int main(int argc, char **argv) {
    has_argument = argc > 1;
    test_exe(argv[0]);
    test_cmdline(argv);
    test_maps(argv[0]);
    test_auxv();
    test_fd();
    if (has_argument)
        test_status_and_stat(argv[0]);
    CHECK_END;
}
