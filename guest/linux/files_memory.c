/* SPDX-License-Identifier: MIT
 * Files as memory: memory files with seals, shared memory and semaphores by name, shared mappings
 * beside read and write. */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void wait_for(pid_t pid) {
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static void test_memory_files(void) {
    char text[16] = "";
    struct stat st;
    int fd = memfd_create("memory", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    CHECK_OK(fd);
    CHECK_EQ(write(fd, "0123456789", 10), 10);
    CHECK_OK(ftruncate(fd, 200000));
    CHECK_EQ(pread(fd, text, 4, 199998), 2);
    CHECK_OK(fstat(fd, &st));
    CHECK_EQ(st.st_size, 200000);
    char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(map != MAP_FAILED);
    CHECK(memcmp(map, "0123456789", 10) == 0);
    map[1] = 'x';
    CHECK_EQ(pread(fd, text, 4, 0), 4);
    CHECK(memcmp(text, "0x23", 4) == 0);
    CHECK_EQ(pwrite(fd, "yz", 2, 2), 2);
    CHECK(memcmp(map, "0xyz4", 5) == 0);
    CHECK_FAILS(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EBUSY); /* somebody may still write */
    CHECK_OK(munmap(map, 8192));
    CHECK_OK(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW));
    CHECK_FAILS(ftruncate(fd, 10), EPERM);
    CHECK_FAILS(ftruncate(fd, 300000), EPERM);
    CHECK_FAILS(pwrite(fd, "ab", 2, 199999), EPERM);
    CHECK_OK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL));
    CHECK_FAILS(write(fd, "x", 1), EPERM);
    CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
    CHECK_EQ(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
    CHECK_FAILS(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EPERM);
    snprintf(text, sizeof text, "/dev/fd/%d", fd);
    int again = open(text, O_RDONLY); /* a description of its own */
    CHECK_OK(again);
    CHECK_EQ(read(again, text, 4), 4);
    CHECK(memcmp(text, "0xyz", 4) == 0);
    close(again);
    close(fd);
    section("memory files");
}

static void test_shared_memory_by_name(void) {
    shm_unlink("/tally-test-shm");
    int fd = shm_open("/tally-test-shm", O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK_OK(fd);
    CHECK_FAILS(shm_open("/tally-test-shm", O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST);
    CHECK_OK(ftruncate(fd, 4096));
    int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(shared != MAP_FAILED);
    close(fd);
    sem_unlink("/tally-test-sem");
    sem_t *semaphore = sem_open("/tally-test-sem", O_CREAT | O_EXCL, 0600, 0);
    CHECK(semaphore != SEM_FAILED);
    pid_t pid = fork();
    if (pid == 0) {
        int other = shm_open("/tally-test-shm", O_RDWR, 0);
        CHECK_OK(other);
        int *mine = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0);
        sem_t *found = sem_open("/tally-test-sem", 0);
        CHECK(found != SEM_FAILED && mine != MAP_FAILED);
        mine[5] = 12345;
        CHECK_OK(sem_post(found));
        _exit(0);
    }
    CHECK_OK(sem_wait(semaphore));
    CHECK_EQ(shared[5], 12345);
    wait_for(pid);
    struct stat st;
    CHECK_OK(stat("/dev/shm/tally-test-shm", &st));
    CHECK_EQ(st.st_size, 4096);
    CHECK_EQ(st.st_mode, S_IFREG | 0600);
    int n_found = 0;
    DIR *dir = opendir("/dev/shm");
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        n_found += strcmp(entry->d_name, "tally-test-shm") == 0 || strcmp(entry->d_name, "sem.tally-test-sem") == 0;
    closedir(dir);
    CHECK_EQ(n_found, 2);
    CHECK_OK(sem_close(semaphore));
    CHECK_OK(sem_unlink("/tally-test-sem"));
    CHECK_OK(shm_unlink("/tally-test-shm"));
    CHECK_FAILS(shm_open("/tally-test-shm", O_RDWR, 0), ENOENT);
    CHECK_EQ(shared[5], 12345); /* mapped, it lives on */
    section("shared memory");
}

static void test_mappings_see_the_file(void) {
    char bytes[8] = "";
    int fd = open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK_OK(ftruncate(fd, 10000));
    char *map = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(map != MAP_FAILED);
    CHECK_EQ(pwrite(fd, "abc", 3, 4095), 3);
    CHECK(memcmp(map + 4095, "abc", 3) == 0);
    map[5000] = 'm';
    CHECK_EQ(pread(fd, bytes, 1, 5000), 1);
    CHECK_EQ(bytes[0], 'm');
    pid_t pid = fork();
    if (pid == 0) {
        map[6000] = 'c';
        int other = open("mapped", O_RDWR);
        CHECK_EQ(pwrite(other, "o", 1, 6001), 1);
        _exit(0);
    }
    wait_for(pid);
    CHECK(memcmp(map + 6000, "co", 2) == 0);
    CHECK_OK(ftruncate(fd, 4500));
    CHECK_OK(ftruncate(fd, 10000));
    CHECK_EQ(map[5000], 0); /* cut off and grown again */
    CHECK_EQ(map[4096], 'b');
    map[4499] = 'w';
    CHECK_OK(munmap(map, 12288));
    CHECK_EQ(pread(fd, bytes, 2, 4499), 2);
    CHECK(bytes[0] == 'w' && bytes[1] == 0);
    close(fd);
    CHECK_OK(unlink("mapped"));
    section("mappings");
}

int main(void) {
    test_memory_files();
    test_shared_memory_by_name();
    test_mappings_see_the_file();
    CHECK_END;
}
