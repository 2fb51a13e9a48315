/* SPDX-License-Identifier: MIT
 * What execve hands over and what it resets. The program runs itself again with a role as first
 * argument: the new image checks its arguments, environment, auxiliary vector, descriptors and
 * signal state, and exits 0 when all is as it was sent. */
#include "check.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char self[4096];
extern char **environ;

static int run_role(char *const argv[], char *const envp[]) {
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        execve(self, argv, envp);
        _exit(119);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return status;
}

/* -- roles of the new image -- */

static int role_arguments(int argc, char **argv) {
    CHECK_EQ(argc, 6);
    CHECK(strcmp(argv[0], "invented-name") == 0);
    CHECK(strcmp(argv[2], "") == 0);
    CHECK(strcmp(argv[3], "two words") == 0);
    CHECK_EQ(strlen(argv[4]), 100000);
    CHECK(strcmp(argv[5], "-x\t\n\xc3\xa9") == 0);
    CHECK(argv[6] == NULL);
    CHECK(strcmp(environ[0], "A=1") == 0);
    CHECK(strcmp(environ[1], "EMPTY=") == 0);
    CHECK(strcmp(environ[2], "no equals sign") == 0);
    CHECK(environ[3] == NULL);
    return 0;
}

static int role_auxv(void) {
    CHECK_EQ(getauxval(AT_PAGESZ), 4096);
    CHECK_EQ(sysconf(_SC_PAGESIZE), 4096);
    const char *name = (const char *)getauxval(AT_EXECFN);
    CHECK(name && strcmp(base_name(name), base_name(self)) == 0);
    const unsigned char *noise = (const unsigned char *)getauxval(AT_RANDOM);
    CHECK(noise);
    int any = 0;
    for (int i = 0; i < 16; i++)
        any |= noise[i];
    CHECK(any != 0);
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    CHECK(headers);
    CHECK_EQ(getauxval(AT_PHENT), sizeof(ElfW(Phdr)));
    int n_load = 0;
    for (unsigned long i = 0; i < getauxval(AT_PHNUM); i++)
        n_load += headers[i].p_type == PT_LOAD;
    CHECK(n_load >= 2);
    CHECK(getauxval(AT_ENTRY) != 0);
    CHECK_EQ(getauxval(AT_UID), getuid());
    CHECK_EQ(getauxval(AT_EUID), geteuid());
    CHECK_EQ(getauxval(AT_GID), getgid());
    CHECK_EQ(getauxval(AT_SECURE), 0);
    CHECK_EQ(getauxval(AT_CLKTCK), 100);
#ifdef __riscv
    unsigned long wanted = 0;
    for (const char *c = "imafdc"; *c; c++)
        wanted |= 1UL << (*c - 'a');
    CHECK_EQ(getauxval(AT_HWCAP) & wanted, wanted);
#endif
    return 0;
}

static int role_inherited(void) {
    /* Descriptor 20 was left open, 21 had close-on-exec. */
    char text[4] = "";
    CHECK_EQ(pread(20, text, 3, 0), 3);
    CHECK(strcmp(text, "abc") == 0);
    CHECK_EQ(lseek(20, 0, SEEK_CUR), 3);
    CHECK_FAILS(fcntl(21, F_GETFD), EBADF);
    struct sigaction action;
    CHECK_OK(sigaction(SIGUSR1, NULL, &action));
    CHECK(action.sa_handler == SIG_DFL); /* was handled */
    CHECK_OK(sigaction(SIGUSR2, NULL, &action));
    CHECK(action.sa_handler == SIG_IGN); /* was ignored */
    sigset_t set;
    CHECK_OK(sigprocmask(SIG_BLOCK, NULL, &set));
    CHECK(sigismember(&set, SIGHUP) == 1); /* the mask survives */
    CHECK(sigismember(&set, SIGUSR1) == 0);
    CHECK_OK(sigpending(&set));
    CHECK(sigismember(&set, SIGHUP) == 1); /* and what is pending */
    stack_t stack;
    CHECK_OK(sigaltstack(NULL, &stack));
    CHECK_EQ(stack.ss_flags, SS_DISABLE);
    CHECK_EQ(umask(0), 027);
    char name[16] = "";
    CHECK_OK(prctl(PR_GET_NAME, name));
    CHECK(strcmp(name, "renamed-thread") != 0); /* taken from the file again */
    char **pid = &environ[0];
    CHECK_EQ(atoi(*pid + 4), getpid()); /* exec keeps the process id */
    return 0;
}

static int role_script(int argc, char **argv) {
    /* "#!SELF script one two": the rest of the line is one argument; the script's name follows. */
    CHECK_EQ(argc, 4);
    CHECK(strcmp(argv[1], "script one two") == 0);
    CHECK(strcmp(argv[2], "./script.txt") == 0);
    CHECK(strcmp(argv[3], "given") == 0);
    return 0;
}

static int role_alone(void) {
    char text[4096] = "";
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY);
    CHECK_OK(fd);
    int n_threads = 0;
    DIR *dir = fdopendir(fd);
    for (struct dirent *entry; (entry = readdir(dir));)
        n_threads += entry->d_name[0] != '.';
    closedir(dir);
    CHECK_EQ(n_threads, 1);
    CHECK_EQ(gettid(), getpid()); /* the process id stays, independent of the calling thread */
    CHECK(readlink("/proc/self/exe", text, sizeof text - 1) > 0);
    return 0;
}

/* -- the senders -- */

static void on_signal(int number) { (void)number; }

static void test_arguments(void) {
    static char big[100001];
    memset(big, 'y', sizeof big - 1);
    char *argv[] = {"invented-name", "arguments", "", "two words", big, "-x\t\n\xc3\xa9", NULL};
    char *envp[] = {"A=1", "EMPTY=", "no equals sign", NULL};
    CHECK_EQ(run_role(argv, envp), 0);
    section("arguments and environment");
}

static void test_auxv(void) {
    char *argv[] = {"self", "auxv", NULL}, *envp[] = {NULL};
    CHECK_EQ(run_role(argv, envp), 0);
    section("auxiliary vector");
}

static void test_inheritance(void) {
    char *argv[] = {"self", "inherited", NULL}, pid_text[32], *envp[] = {pid_text, NULL};
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open("inherited", O_RDWR | O_CREAT | O_TRUNC, 0600);
        CHECK_EQ(dup2(fd, 20), 20);
        CHECK_EQ(dup3(fd, 21, O_CLOEXEC), 21);
        CHECK_EQ(write(20, "abc", 3), 3);
        signal(SIGUSR1, on_signal);
        signal(SIGUSR2, SIG_IGN);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGHUP);
        CHECK_OK(sigprocmask(SIG_BLOCK, &set, NULL));
        raise(SIGHUP);
        stack_t stack = {.ss_sp = malloc(16384), .ss_size = 16384};
        CHECK_OK(sigaltstack(&stack, NULL));
        umask(027);
        CHECK_OK(prctl(PR_SET_NAME, "renamed-thread"));
        snprintf(pid_text, sizeof pid_text, "PID=%d", getpid());
        execve(self, argv, envp);
        _exit(119);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    unlink("inherited");
    section("inheritance");
}

static void test_vfork_parent_waits(void) {
    int fds[2];
    CHECK_OK(pipe(fds));
    pid_t pid = vfork();
    if (pid == 0) {
        /* Only calls without effect on the shared stack and memory. */
        if (write(fds[1], "first", 5) != 5)
            _exit(1);
        _exit(6);
    }
    CHECK(pid > 0);
    int pending = 0;
    CHECK_OK(ioctl(fds[0], FIONREAD, &pending));
    CHECK_EQ(pending, 5); /* the child has run before vfork returned here */
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 6 << 8);
    close(fds[0]);
    close(fds[1]);
    section("vfork waits");
}

static void test_vfork_then_exec(void) {
    char *argv[] = {"self", "auxv", NULL}, *envp[] = {NULL};
    int status;
    for (volatile int i = 0; i < 5; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            execve(self, argv, envp);
            _exit(119);
        }
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK_EQ(status, 0);
    }
    section("vfork and exec");
}

static void write_file(const char *name, const char *text, mode_t mode) {
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, mode);
    CHECK_OK(fd);
    CHECK_EQ(write(fd, text, strlen(text)), (long)strlen(text));
    close(fd);
}

static void test_failures_leave_the_caller_alive(void) {
    char *argv[] = {"x", NULL}, *envp[] = {NULL};
    CHECK_FAILS(execve("does-not-exist", argv, envp), ENOENT);
    CHECK_FAILS(execve(".", argv, envp), EACCES);
    write_file("not-executable", "text", 0600);
    CHECK_FAILS(execve("not-executable", argv, envp), EACCES);
    write_file("garbage",
               "\x7f"
               "ELFgarbage, and nothing but garbage here to be read as a header........",
               0700);
    CHECK_FAILS(execve("garbage", argv, envp), ENOEXEC);
    write_file("empty", "", 0700);
    CHECK_FAILS(execve("empty", argv, envp), ENOEXEC);
    unlink("not-executable");
    unlink("garbage");
    unlink("empty");
    section("failures");
}

static void test_script(void) {
    char line[4200], *argv[] = {"ignored", "given", NULL}, *envp[] = {NULL};
    snprintf(line, sizeof line, "#!%s script one two\nnot read by anybody\n", self);
    write_file("script.txt", line, 0700);
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        execve("./script.txt", argv, envp);
        _exit(119);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    write_file("script.txt", "#!/no/such/interpreter\n", 0700);
    CHECK_FAILS(execve("./script.txt", argv, envp), ENOENT);
    unlink("script.txt");
    section("script");
}

static void *idle(void *arg) {
    for (;;)
        sleep(1000);
    return arg;
}
static void *run_alone(void *arg) {
    char *argv[] = {"self", "alone", NULL}, *envp[] = {NULL};
    execve(self, argv, envp);
    _exit(119);
    return arg;
}

static void test_exec_ends_all_other_threads(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, idle, NULL);
        pthread_create(&thread, NULL, run_alone, NULL); /* not the first thread */
        idle(NULL);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    section("threads and exec");
}

static void test_exec_by_descriptor(void) {
    char *argv[] = {"self", "alone", NULL}, *envp[] = {NULL};
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        fexecve(open(self, O_RDONLY | O_CLOEXEC), argv, envp);
        _exit(119);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    section("exec by descriptor");
}

int main(int argc, char **argv) {
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    if (argc > 1 && strcmp(argv[1], "arguments") == 0)
        return role_arguments(argc, argv);
    if (argc > 1 && strcmp(argv[1], "auxv") == 0)
        return role_auxv();
    if (argc > 1 && strcmp(argv[1], "inherited") == 0)
        return role_inherited();
    if (argc > 1 && strncmp(argv[1], "script", 6) == 0)
        return role_script(argc, argv);
    if (argc > 1 && strcmp(argv[1], "alone") == 0)
        return role_alone();
    test_arguments();
    test_auxv();
    test_inheritance();
    test_vfork_parent_waits();
    test_vfork_then_exec();
    test_failures_leave_the_caller_alive();
    test_script();
    test_exec_ends_all_other_threads();
    test_exec_by_descriptor();
    CHECK_END;
}
