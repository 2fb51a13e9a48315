// SPDX-License-Identifier: MIT
// Prints the folders of program and start, by each method available to a program. `stack` calls
// pthread_getattr_np, which reads /proc/self/maps. Linked dynamically.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern int in_library(void);

static void *ask(void *argument) {
    pthread_attr_t attributes;
    void *stack;
    size_t n_bytes;
    if (pthread_getattr_np(pthread_self(), &attributes) || pthread_attr_getstack(&attributes, &stack, &n_bytes))
        return argument;
    pthread_attr_destroy(&attributes);
    return NULL;
}

static void show(const char *what, const char *path) { printf("%s %s\n", what, path ? path : strerror(errno)); }

static void show_link(const char *path) {
    char text[PATH_MAX] = "";
    ssize_t n = readlink(path, text, sizeof text - 1);
    show(path, n < 0 ? NULL : text);
}

static int one(struct dl_phdr_info *info, size_t n, void *ctx) {
    (void)n, (void)ctx;
    show("object", info->dlpi_name);
    return 0;
}

static void show_real(const char *path) {
    char text[PATH_MAX], what[PATH_MAX + 16];
    snprintf(what, sizeof what, "realpath %s", path);
    show(what, realpath(path, text));
}

static int look(void) {
    char text[PATH_MAX], line[PATH_MAX + 100];
    show("getcwd", getcwd(text, sizeof text));
    show("execfn", (const char *)(uintptr_t)getauxval(AT_EXECFN));
    show("name", program_invocation_name);
    show_link("/proc/self/exe");
    show_link("/proc/self/cwd");
    show_link("/proc/thread-self/../../exe");
    static const char *const paths[] = {"/proc/self/exe", ".", "..", "../..", "../../..", "data", "./folder/../data", "folder/link",
                                        "folder/absolute"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        show_real(paths[i]);
    static const char *const opened[] = {"data", ".", "..", "/proc/self/exe", "folder"};
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) {
        int fd = open(opened[i], O_RDONLY);
        snprintf(line, sizeof line, "/proc/self/fd/%d", fd);
        show_link(line);
        close(fd);
    }
    dl_iterate_phdr(one, NULL);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strchr(line, '/'))
            printf("maps %s", line);
    fclose(maps);
    struct stat st;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (stat(paths[i], &st) == 0)
            printf("stat %s %ju %ju %o\n", paths[i], (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, st.st_mode & S_IFMT);
    DIR *folder = opendir(".");
    for (const struct dirent *d; (d = readdir(folder)) != NULL;)
        printf("entry %s %ju\n", d->d_name, (uintmax_t)d->d_ino);
    closedir(folder);
    return in_library() != 42;
}

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, strerror(errno)); \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

static ino_t inode(const char *path) {
    struct stat st;
    CHECK(stat(path, &st) == 0);
    return st.st_ino;
}

// Paths that programs build from visible ones lead to equal files.
static int use(const char *self) {
    char cwd[PATH_MAX], exe[PATH_MAX], path[2 * PATH_MAX];
    CHECK(getcwd(cwd, sizeof cwd));
    CHECK(inode(cwd) == inode("."));
    for (int up = 1; up <= 9; up++) { // textually and truly
        strcpy(path, cwd);
        char truly[64] = ".";
        for (int i = 0; i < up; i++) {
            strcat(truly, "/..");
            *strrchr(path, '/') = 0;
        }
        if (up < 9)
            CHECK(inode(path) == inode(truly));
        CHECK(chdir(truly) == 0 && getcwd(path, sizeof path));
        CHECK(inode(path) == inode("."));
        CHECK(chdir(cwd) == 0);
    }
    for (int i = 0; i < 40; i++)
        CHECK(chdir("..") == 0);
    CHECK(getcwd(path, sizeof path) && !strcmp(path, "/"));
    CHECK(chdir(cwd) == 0 && inode("data") == inode("./data"));
    snprintf(path, sizeof path, "%s/data", cwd);
    CHECK(inode(path) == inode("data"));
    snprintf(path, sizeof path, "%s/folder/../folder/link", cwd);
    CHECK(inode(path) == inode("data"));
    CHECK(unlink("made") == 0 || errno == ENOENT);
    CHECK(symlink(cwd, "made") == 0); // an absolute link to where we are
    CHECK(inode("made/data") == inode("data"));
    CHECK(unlink("made") == 0);
    snprintf(path, sizeof path, "%s/new folder", cwd);
    CHECK(mkdir(path, 0700) == 0 && chdir("new folder") == 0 && inode("../data") == inode("../folder/link"));
    CHECK(chdir("..") == 0 && rmdir(path) == 0);
    CHECK(mkdir(cwd, 0700) == -1 && errno == EEXIST);
    CHECK(rmdir(cwd) == -1);
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    CHECK(n > 0);
    exe[n] = 0;
    CHECK(inode(exe) == inode("/proc/self/exe"));
    CHECK(access(exe, X_OK) == 0);
    snprintf(path, sizeof path, "%s", exe);
    *strrchr(path, '/') = 0;
    CHECK(access(path, R_OK | X_OK) == 0);
    *strrchr(path, '/') = 0;
    snprintf(path + strlen(path), 32, "/lib/liblies.so"); // dirname(dirname(exe))/lib
    CHECK(access(path, R_OK) == 0);
    char real[PATH_MAX];
    CHECK(realpath("/proc/self/exe", real) && !strcmp(real, exe));
    int top = open("/", O_RDONLY | O_DIRECTORY);
    CHECK(openat(top, cwd + 1, O_RDONLY | O_DIRECTORY) >= 0);
    CHECK(openat(top, "tally/2/1/p/nothing", O_RDONLY) == -1 && errno == ENOENT);
    CHECK(access("/tally/3", F_OK) == -1 && errno == ENOENT);
    CHECK(open("/tally/3", O_CREAT | O_WRONLY, 0600) == -1);
    pid_t pid = fork();
    if (pid == 0) {
        chdir("folder");
        execl("/proc/self/exe", self, "leaf", (char *)NULL);
        _exit(99);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 7 << 8);
    pid = fork();
    if (pid == 0) {
        chdir("/");
        execl(exe, self, "leaf", (char *)NULL);
        _exit(99);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 7 << 8);
    return 0;
}

int main(int argc, char **argv) {
    const char *deed = argc > 1 ? argv[1] : "";
    if (!strcmp(deed, "leaf"))
        return 7;
    if (!strcmp(deed, "look"))
        return look();
    if (!strcmp(deed, "use"))
        return use(argv[0]);
    pthread_t thread;
    void *result;
    if (ask(argv) || pthread_create(&thread, NULL, ask, argv) || pthread_join(thread, &result) || result)
        return 1;
    return in_library() != 42;
}
