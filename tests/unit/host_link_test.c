#define _GNU_SOURCE
/* Both kinds of links as pipes of bytes: full, wrapped, asleep, left, refused, damaged. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/host_shm.h"
#include "runtime/host_tcp.h"
#include "tap.h"

#define TIMEOUT_MS 20000
#define LONG_BYTES (3u * DT_HOST_SHM_RING_BYTES + 12345u)

/* ---- Making a pair ------------------------------------------------------ */

struct side {
    int fd, cancel_fd;
    bool is_lower, has_no_memfd;
    int timeout_ms;
    int rc;
    struct dt_host_link *link;
    struct dtrain_error err;
};

/* As in a container that forbids it; for the calling thread only. */
static void forbid_memfd(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
        abort();
}

static void *open_side(void *argument)
{
    struct side *side = argument;
    struct dt_deadline deadline = dt_deadline_after_ms(side->timeout_ms);

    if (side->has_no_memfd)
        forbid_memfd();
    side->rc = dt_host_shm_create(&side->link, side->fd, side->is_lower, side->cancel_fd, &deadline,
                                  &side->err);
    return NULL;
}

static void sides_init(struct side sides[2])
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0)
        abort();
    for (int i = 0; i < 2; i++)
        sides[i] = (struct side){.fd = fds[i],
                                 .cancel_fd = eventfd(0, EFD_CLOEXEC),
                                 .is_lower = i == 0,
                                 .timeout_ms = TIMEOUT_MS};
}

static void open_sides(struct side sides[2])
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, open_side, &sides[i]) != 0)
            abort();
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void sides_close(struct side sides[2])
{
    for (int i = 0; i < 2; i++) {
        dt_host_link_destroy(sides[i].link);
        close(sides[i].cancel_fd);
    }
}

/* ---- Pipes -------------------------------------------------------------- */

static ssize_t write_some(struct dt_host_link *link, const char *from, size_t n)
{
    struct iovec pieces[2] = {{.iov_base = (void *)from, .iov_len = n / 3},
                              {.iov_base = (void *)(from + n / 3), .iov_len = n - n / 3}};

    return link->kind->write(link, pieces, 2, NULL);
}

/* As much as the link takes while nobody reads. */
static size_t write_full(struct dt_host_link *link, const char *from, size_t n)
{
    size_t done = 0;
    ssize_t written;

    while (done < n && (written = write_some(link, from + done, n - done)) > 0)
        done += (size_t)written;
    return done;
}

static size_t read_all(struct dt_host_link *link, char *to, size_t n)
{
    size_t done = 0;
    ssize_t got;

    while (done < n && (got = link->kind->read(link, to + done, n - done, NULL)) > 0)
        done += (size_t)got;
    return done;
}

static void test_stream(struct dt_host_link *from, struct dt_host_link *to, const char *name)
{
    char *sent = malloc(LONG_BYTES), *got = calloc(1, LONG_BYTES);
    size_t written = 0, read = 0;
    bool was_full = false;

    for (size_t i = 0; i < LONG_BYTES; i++)
        sent[i] = (char)(i * 2654435761u >> 13);
    for (int i = 0; i < 100000 && read < LONG_BYTES; i++) {
        written += write_full(from, sent + written, LONG_BYTES - written);
        was_full = was_full || written < LONG_BYTES;
        read += read_all(to, got + read, 7777 < LONG_BYTES - read ? 7777 : LONG_BYTES - read);
    }
    tap_ok(was_full, "%s: writes stop when the pipe is full", name);
    tap_ok(read == LONG_BYTES && memcmp(sent, got, LONG_BYTES) == 0, "%s: %u bytes come through", name,
           LONG_BYTES);
    free(sent);
    free(got);
}

/* Whether poll() would return at once. */
static bool is_woken(struct dt_host_link *link, int events)
{
    struct pollfd poll_fd = {.fd = link->fd, .events = (short)events};

    return poll(&poll_fd, 1, TIMEOUT_MS) == 1;
}

static void test_sleep(struct dt_host_link *a, struct dt_host_link *b, const char *name)
{
    struct pollfd poll_fd = {.fd = b->fd};
    char byte;
    int events = b->kind->arm(b, true, false);

    poll_fd.events = (short)events;
    tap_ok(events > 0 && poll(&poll_fd, 1, 0) == 0, "%s: nothing wakes who has nothing to read", name);
    write_some(a, "x", 1);
    tap_ok(is_woken(b, events), "%s: a byte wakes the reader", name);
    b->kind->disarm(b, POLLIN);
    tap_ok(read_all(b, &byte, 1) == 1 && byte == 'x' && !b->left, "%s: and is there", name);
    write_some(a, "y", 1);
    events = b->kind->arm(b, true, false);
    tap_ok(events == DT_HOST_LINK_READY || is_woken(b, events),
           "%s: who has something to read does not sleep", name);
    b->kind->disarm(b, 0);
    read_all(b, &byte, 1);
}

/* What was written before the end is still read, then the end is known. */
static void test_end(struct dt_host_link *a, struct dt_host_link *b, const char *name)
{
    char got[4];
    int events;

    write_some(a, "end", 3);
    dt_host_link_shutdown(a);
    events = b->kind->arm(b, false, false);
    tap_ok(events > 0 && is_woken(b, events), "%s: the end wakes who waits for nothing else", name);
    b->kind->disarm(b, POLLIN | POLLRDHUP);
    tap_ok(b->left, "%s: the peer has left", name);
    tap_ok(read_all(b, got, 3) == 3 && memcmp(got, "end", 3) == 0, "%s: its last bytes are read", name);
    tap_ok(b->kind->read(b, got, 1, NULL) == 0, "%s: and nothing after them", name);
}

static void test_pipe(struct side sides[2], const char *name)
{
    test_stream(sides[0].link, sides[1].link, name);
    test_stream(sides[1].link, sides[0].link, name);
    test_sleep(sides[0].link, sides[1].link, name);
    test_end(sides[1].link, sides[0].link, name);
}

/* ---- Cases -------------------------------------------------------------- */

static void test_shared(void)
{
    struct side sides[2];

    sides_init(sides);
    open_sides(sides);
    if (tap_ok(sides[0].rc == 0 && sides[1].rc == 0 && sides[0].link->kind->shares_memory &&
                   sides[1].link->kind->shares_memory, "two sides share memory"))
        test_pipe(sides, "shared memory");
    sides_close(sides);
}

static void test_forbidden(void)
{
    struct side sides[2];

    sides_init(sides);
    sides[0].has_no_memfd = true;
    open_sides(sides);
    if (tap_ok(sides[0].rc == 0 && sides[1].rc == 0 && !sides[0].link->kind->shares_memory &&
                   !sides[1].link->kind->shares_memory, "without memfd_create() both use the socket"))
        test_pipe(sides, "socket");
    sides_close(sides);
}

/* The peer's words come from a byte and maybe a descriptor; no answer of ours may crash. */
static void pass_descriptor(int fd, char word, int passed_fd)
{
    union {
        char buf[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.buf = {0}};
    struct iovec piece = {.iov_base = &word, .iov_len = 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};

    if (passed_fd >= 0) {
        message.msg_control = control.buf;
        message.msg_controllen = sizeof(control.buf);
        *CMSG_FIRSTHDR(&message) = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &passed_fd, sizeof(int));
    }
    if (sendmsg(fd, &message, 0) != 1)
        abort();
}

/* The descriptor that the lower side passes. */
static int take_descriptor(int fd)
{
    union {
        char buf[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    char word;
    struct iovec piece = {.iov_base = &word, .iov_len = 1};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.buf,
                             .msg_controllen = sizeof(control.buf)};
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int passed_fd;

    if (poll(&poll_fd, 1, TIMEOUT_MS) != 1 || recvmsg(fd, &message, 0) != 1 ||
        CMSG_FIRSTHDR(&message) == NULL)
        abort();
    memcpy(&passed_fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(passed_fd));
    return passed_fd;
}

/* A peer that writes nonsense into the shared indices gets an error, nothing else. */
static void test_damaged(void)
{
    struct side sides[2];
    struct dtrain_error err = {""};
    pthread_t thread;
    struct stat status;
    char byte = 'y', *memory;
    int memory_fd;

    sides_init(sides);
    if (pthread_create(&thread, NULL, open_side, &sides[0]) != 0)
        abort();
    memory_fd = take_descriptor(sides[1].fd);
    tap_ok(ftruncate(memory_fd, 0) != 0, "the shared memory cannot shrink");
    if (fstat(memory_fd, &status) != 0 || write(sides[1].fd, &byte, 1) != 1)
        abort();
    pthread_join(thread, NULL);
    memory = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
    memset(memory, 0x7f, (size_t)status.st_size);
    tap_ok(sides[0].link->kind->read(sides[0].link, &byte, 1, &err) == -1,
           "a read from damaged memory fails");
    tap_holds(err.text, "is damaged: a ring of 262144 bytes claims to hold", "and says why");
    tap_ok(write_some(sides[0].link, "abc", 3) == -1, "so does a write");
    munmap(memory, (size_t)status.st_size);
    close(memory_fd);
    close(sides[1].fd);
    sides_close(sides);
}

static int open_small_memory(void)
{
    int fd = memfd_create("small", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || ftruncate(fd, 4096) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        abort();
    return fd;
}

static int open_file(void)
{
    char path[] = "/tmp/host_link_test.XXXXXX";
    int fd = mkstemp(path);

    unlink(path);
    if (fd < 0 || ftruncate(fd, 4 * DT_HOST_SHM_RING_BYTES) != 0)
        abort();
    return fd;
}

/* A file without seals, and none at all, are answered with "no". */
static void test_refused(int passed_fd, const char *name)
{
    struct side sides[2];
    char answer = 0;

    sides_init(sides);
    pass_descriptor(sides[0].fd, 'm', passed_fd);
    open_side(&sides[1]);
    tap_ok(sides[1].rc == 0 && !sides[1].link->kind->shares_memory &&
               read(sides[0].fd, &answer, 1) == 1 && answer == 'n', "%s is refused", name);
    close(sides[0].fd);
    sides_close(sides);
    if (passed_fd >= 0)
        close(passed_fd);
}

static void test_no_answer(void)
{
    struct side sides[2];

    sides_init(sides);
    sides[0].timeout_ms = 50;
    open_side(&sides[0]);
    tap_ok(sides[0].rc == -1, "a peer that does not answer is an error");
    tap_holds(sides[0].err.text, "within 50 ms", "it names the deadline");
    close(sides[1].fd);
    sides_close(sides);

    sides_init(sides);
    eventfd_write(sides[1].cancel_fd, 1);
    open_side(&sides[1]);
    tap_ok(sides[1].rc == -1, "setting up can be cancelled");
    close(sides[0].fd);
    sides_close(sides);

    sides_init(sides);
    close(sides[0].fd);
    open_side(&sides[1]);
    tap_ok(sides[1].rc == -1, "a peer that left is an error");
    tap_holds(sides[1].err.text, "closed its connection", "it says so");
    sides_close(sides);
}

int main(void)
{
    test_shared();
    test_forbidden();
    test_refused(-1, "an offer without memory");
    test_refused(open_file(), "a file that could shrink");
    test_refused(open_small_memory(), "memory of another size");
    test_damaged();
    test_no_answer();
    return tap_done();
}
