/* SPDX-License-Identifier: MIT
 * Names: directories and their entries, links hard and symbolic, renames in all variants, and
 * working directories. Everything happens in a fresh directory, which must be empty again at the
 * end. */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void touch(const char *name, const char *text) {
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK_OK(fd);
    CHECK_EQ(write(fd, text, strlen(text)), (long)strlen(text));
    close(fd);
}

static void test_directories(void) {
    CHECK_OK(mkdir("d", 0755));
    CHECK_FAILS(mkdir("d", 0755), EEXIST);
    CHECK_FAILS(mkdir("no/such", 0755), ENOENT);
    int fd = open("d", O_RDONLY | O_DIRECTORY);
    CHECK_OK(fd);
    CHECK_OK(mkdirat(fd, "inner", 0700));
    CHECK_FAILS(rmdir("d"), ENOTEMPTY);
    CHECK_OK(openat(fd, "file", O_CREAT | O_WRONLY, 0600));
    CHECK_OK(faccessat(fd, "file", R_OK, 0));
    CHECK_FAILS(unlinkat(fd, "inner", 0), EISDIR);
    CHECK_FAILS(unlinkat(fd, "file", AT_REMOVEDIR), ENOTDIR);
    CHECK_OK(unlinkat(fd, "inner", AT_REMOVEDIR));
    CHECK_OK(unlinkat(fd, "file", 0));
    CHECK_FAILS(unlink("d/file"), ENOENT);
    close(fd);
    CHECK_OK(rmdir("d"));
    CHECK_FAILS(rmdir("d"), ENOENT);
    CHECK_FAILS(rmdir("."), EINVAL);
    section("directories");
}

static void test_listing_is_complete(void) {
    enum { N = 300 };
    char name[64];
    static char seen[N];
    CHECK_OK(mkdir("many", 0755));
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "many/entry-%03d-with-a-rather-long-name", i);
        touch(name, "");
    }
    DIR *dir = opendir("many");
    CHECK(dir != NULL);
    int n_entries = 0, n_dots = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') {
            n_dots++;
            continue;
        }
        int i = atoi(entry->d_name + 6);
        CHECK(i >= 0 && i < N && !seen[i]);
        CHECK(entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN);
        CHECK(entry->d_ino != 0);
        seen[i] = 1;
        n_entries++;
    }
    CHECK_EQ(n_entries, N);
    CHECK_EQ(n_dots, 2);
    rewinddir(dir);
    CHECK(readdir(dir) != NULL);
    closedir(dir);
    char small[8];
    int fd = open("many", O_RDONLY);
    CHECK_FAILS(syscall(SYS_getdents64, fd, small, sizeof small), EINVAL); /* not even one entry fits */
    close(fd);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "many/entry-%03d-with-a-rather-long-name", i);
        CHECK_OK(unlink(name));
    }
    CHECK_OK(rmdir("many"));
    section("listing");
}

static void test_hard_links(void) {
    struct stat a, b;
    touch("one", "same");
    CHECK_OK(link("one", "two"));
    CHECK_OK(stat("one", &a));
    CHECK_OK(stat("two", &b));
    CHECK_EQ(a.st_ino, b.st_ino);
    CHECK_EQ(a.st_nlink, 2);
    CHECK_FAILS(link("one", "two"), EEXIST);
    CHECK_OK(unlink("one"));
    CHECK_OK(stat("two", &b));
    CHECK_EQ(b.st_nlink, 1);
    CHECK_EQ(b.st_size, 4);
    CHECK_OK(unlink("two"));
    section("hard links");
}

static void test_symbolic_links(void) {
    char text[64] = "";
    struct stat st;
    touch("target", "contents");
    CHECK_OK(symlink("target", "link"));
    CHECK_EQ(readlink("link", text, sizeof text), 6);
    CHECK(strcmp(text, "target") == 0);
    CHECK_EQ(readlink("link", text, 3), 3); /* cut off, no zero byte */
    CHECK_OK(lstat("link", &st));
    CHECK(S_ISLNK(st.st_mode));
    CHECK_EQ(st.st_size, 6);
    CHECK_OK(stat("link", &st));
    CHECK(S_ISREG(st.st_mode));
    CHECK_OK(fstatat(AT_FDCWD, "link", &st, AT_SYMLINK_NOFOLLOW));
    CHECK(S_ISLNK(st.st_mode));
    CHECK_FAILS(open("link", O_RDONLY | O_NOFOLLOW), ELOOP);
    CHECK_FAILS(readlink("target", text, sizeof text), EINVAL);
    CHECK_OK(symlink("loop-b", "loop-a"));
    CHECK_OK(symlink("loop-a", "loop-b"));
    CHECK_FAILS(open("loop-a", O_RDONLY), ELOOP);
    CHECK_OK(symlink("nowhere", "dangling"));
    CHECK_FAILS(stat("dangling", &st), ENOENT);
    CHECK_OK(unlink("target"));
    CHECK_FAILS(open("link", O_RDONLY), ENOENT);
    for (char **name = (char *[]){"link", "loop-a", "loop-b", "dangling", NULL}; *name; name++)
        CHECK_OK(unlink(*name));
    section("symbolic links");
}

static void test_renames(void) {
    struct stat st;
    touch("a", "A");
    touch("b", "BB");
    CHECK_OK(rename("a", "b"));
    CHECK_OK(stat("b", &st));
    CHECK_EQ(st.st_size, 1);
    CHECK_FAILS(stat("a", &st), ENOENT);
    touch("a", "AAA");
    CHECK_FAILS(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE), EEXIST);
    CHECK_OK(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE));
    CHECK_OK(stat("a", &st));
    CHECK_EQ(st.st_size, 1);
    CHECK_OK(mkdir("dir", 0755));
    CHECK_FAILS(rename("a", "dir"), EISDIR);
    CHECK_FAILS(rename("dir", "a"), ENOTDIR);
    CHECK_FAILS(rename("dir", "dir/below-itself"), EINVAL);
    CHECK_OK(rename("a", "dir/a"));
    CHECK_OK(rename("dir", "directory"));
    CHECK_OK(unlink("directory/a"));
    CHECK_OK(rmdir("directory"));
    CHECK_OK(unlink("b"));
    section("renames");
}

static void test_working_directory(void) {
    char start[PATH_MAX], now[PATH_MAX], want[PATH_MAX + 8];
    CHECK(getcwd(start, sizeof start) != NULL);
    CHECK_EQ(start[0], '/');
    CHECK_OK(mkdir("below", 0755));
    CHECK_OK(chdir("below"));
    CHECK(getcwd(now, sizeof now) != NULL);
    snprintf(want, sizeof want, "%s/below", start);
    CHECK(strcmp(now, want) == 0);
    CHECK(getcwd(now, 2) == NULL && errno == ERANGE);
    touch("here", "");
    int fd = open("..", O_RDONLY | O_DIRECTORY);
    CHECK_OK(fchdir(fd));
    close(fd);
    CHECK_OK(access("below/here", F_OK));
    CHECK_FAILS(chdir("below/here"), ENOTDIR);
    CHECK_OK(unlink("below/here"));
    CHECK_OK(rmdir("below"));
    section("working directory");
}

int main(void) {
    CHECK_OK(mkdir("names-test", 0755));
    CHECK_OK(chdir("names-test"));
    test_directories();
    test_listing_is_complete();
    test_hard_links();
    test_symbolic_links();
    test_renames();
    test_working_directory();
    CHECK_OK(chdir(".."));
    CHECK_OK(rmdir("names-test")); /* everything was cleaned up */
    CHECK_END;
}
