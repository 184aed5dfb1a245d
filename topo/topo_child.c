#define _GNU_SOURCE /* pipe2, environ */
#include "topo_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RESULT_FD 3
#define MEMORY_MAX (1024ul * 1024ul * 1024ul) /* bytes that the work may add */
#define READ_STEP 65536u
#define REAP_MS 200 /* a child that sysfs holds cannot be reaped; its parent goes on */
#define FDS_MAX 65536

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void close_others(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, RESULT_FD + 1, ~0u, 0) == 0)
        return;
#endif
    for (int fd = RESULT_FD + 1; fd < FDS_MAX; fd++)
        close(fd);
}

/* The parent's standard streams and its other files must not stay open in a child that hangs. */
static int use_fds(int result)
{
    int null;

    if (dup2(result, RESULT_FD) < 0)
        return -1;
    null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(null, STDERR_FILENO) < 0)
        return -1;
    close_others();
    return 0;
}

void dt_topo_child_lift_memory(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_AS, &limit);
    }
}

/* On top of what the parent has already, which with a sanitizer is huge. */
static void limit_memory(void)
{
    struct rlimit limit = {0, 0};
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    setrlimit(RLIMIT_CORE, &limit);
    if (file == NULL)
        return;
    if (fscanf(file, "%lu", &pages) == 1 && getrlimit(RLIMIT_AS, &limit) == 0) {
        rlim_t wanted = pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY_MAX;

        if (limit.rlim_max == RLIM_INFINITY || wanted < limit.rlim_max)
            limit.rlim_cur = wanted;
        setrlimit(RLIMIT_AS, &limit);
    }
    fclose(file);
}

static void reset_signals(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void send_result(const struct dt_topo_wire *wire)
{
    for (size_t sent = 0; sent < wire->size;) {
        ssize_t n = write(RESULT_FD, wire->bytes + sent, wire->size - sent);

        if (n < 0 && errno != EINTR)
            _exit(1);
        sent += n > 0 ? (size_t)n : 0;
    }
}

static void __attribute__((noreturn))
run_child(int result, dt_topo_child_work *work, void *arg, char **environment)
{
    struct dt_topo_wire wire = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    reset_signals();
    if (use_fds(result) != 0)
        _exit(1);
    environ = environment;
    limit_memory();
    work(&wire, arg);
    send_result(&wire);
    _exit(0);
}

static int make_room(struct dt_topo_wire *wire, const char *source, struct dtrain_error *err)
{
    char *bigger;

    if (wire->size >= DT_TOPO_WIRE_MAX)
        return dt_error_set(err, "%s is a topology of more than %u bytes: expected at most that many", source,
                            DT_TOPO_WIRE_MAX);
    bigger = realloc(wire->bytes, wire->size + READ_STEP);
    if (bigger == NULL)
        return dt_error_memory(err, wire->size + READ_STEP, "a topology");
    wire->bytes = bigger;
    return 0;
}

static int wait_readable(int fd, int64_t deadline_ms, int timeout_ms, const char *source,
                         struct dtrain_error *err)
{
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int64_t left = deadline_ms - now_ms();
        int n = left > 0 ? poll(&ready, 1, (int)left) : 0;

        if (n > 0)
            return 0;
        if (n == 0)
            return dt_error_set(err,
                                "%s: the topology was not read within %d ms: expected it sooner; sysfs may "
                                "hang, or the file be hostile",
                                source, timeout_ms);
        if (errno != EINTR)
            return dt_error_set(err, "%s: cannot wait for the topology: %s", source, strerror(errno));
    }
}

static int read_result(struct dt_topo_wire *wire, int fd, int timeout_ms, const char *source,
                       struct dtrain_error *err)
{
    int64_t deadline_ms = now_ms() + timeout_ms;

    for (;;) {
        ssize_t n;

        if (wait_readable(fd, deadline_ms, timeout_ms, source, err) || make_room(wire, source, err))
            return -1;
        n = read(fd, wire->bytes + wire->size, READ_STEP);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return dt_error_set(err, "%s: cannot read the topology: %s", source, strerror(errno));
        wire->size += n > 0 ? (size_t)n : 0;
    }
}

/* Kills what is still there: a handler of this process's may have reaped it already. */
static void reap(pid_t child)
{
    int64_t deadline_ms = now_ms() + REAP_MS;
    const struct timespec pause = {0, 500000};

    if (waitpid(child, NULL, WNOHANG) != 0)
        return;
    kill(child, SIGKILL);
    while (waitpid(child, NULL, WNOHANG) == 0 && now_ms() < deadline_ms)
        nanosleep(&pause, NULL);
}

int dt_topo_child_run(struct dt_topo_wire *wire, dt_topo_child_work *work, void *arg, char **environment,
                      int timeout_ms, const char *source, struct dtrain_error *err)
{
    int fds[2];
    pid_t child;
    int rc;

    *wire = (struct dt_topo_wire){0};
    if (pipe2(fds, O_CLOEXEC) != 0)
        return dt_error_set(err, "%s: cannot make a pipe to read the topology: %s", source, strerror(errno));
    child = fork();
    if (child == 0)
        run_child(fds[1], work, arg, environment);
    close(fds[1]);
    if (child < 0) {
        close(fds[0]);
        return dt_error_set(err, "%s: cannot start a child to read the topology: %s", source,
                            strerror(errno));
    }
    rc = read_result(wire, fds[0], timeout_ms, source, err);
    close(fds[0]);
    reap(child);
    if (rc != 0)
        dt_topo_wire_destroy(wire);
    return rc;
}
