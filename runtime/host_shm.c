#define _GNU_SOURCE
#include "host_shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/host_tcp.h"

#define CACHE_LINE 64
/* Bytes copied before the other side is told: a long copy is read while it is still written. */
#define PIECE_BYTES (DT_HOST_SHM_RING_BYTES / 8)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* What the sides say to each other while they set up. */
enum { OFFER_MEMORY = 'm', OFFER_SOCKET = 's', ANSWER_YES = 'y', ANSWER_NO = 'n' };

struct ring {
    _Alignas(CACHE_LINE) _Atomic uint64_t head; /* bytes ever written */
    _Alignas(CACHE_LINE) _Atomic uint64_t tail; /* bytes ever read */
};

struct sleeper {
    _Alignas(CACHE_LINE) _Atomic uint32_t is_asleep;
};

/* Index 0: written by, or the sleep of, the lower rank. */
struct segment {
    struct ring rings[2];
    struct sleeper sleepers[2];
    _Alignas(CACHE_LINE) unsigned char bytes[2][DT_HOST_SHM_RING_BYTES];
};

struct shm_link {
    struct dt_host_link link;
    struct segment *segment;
    int side;      /* 0: lower rank */
    uint64_t head; /* own copies: what the peer could overwrite is not read back */
    uint64_t tail;
};

/* ---- The rings ---------------------------------------------------------- */

static int damaged(uint64_t used, struct dtrain_error *err)
{
    return dt_error_set(err,
                        "the memory shared with the peer is damaged: a ring of %u bytes claims to hold %llu",
                        DT_HOST_SHM_RING_BYTES, (unsigned long long)used);
}

/*
 * The stores before and the load here are sequentially consistent, as is the
 * sleeper's store before its last look at the rings: one of the two sees the other.
 */
static void ring_bell(struct shm_link *shm)
{
    _Atomic uint32_t *is_asleep = &shm->segment->sleepers[1 - shm->side].is_asleep;

    if (atomic_load(is_asleep) != 0 && atomic_exchange(is_asleep, 0) != 0)
        (void)!send(shm->link.fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void copy_in(unsigned char *ring, uint64_t at, const void *from, size_t n)
{
    size_t offset = at % DT_HOST_SHM_RING_BYTES;
    size_t first = DT_HOST_SHM_RING_BYTES - offset;

    if (first > n)
        first = n;
    memcpy(ring + offset, from, first);
    memcpy(ring, (const char *)from + first, n - first);
}

static void copy_out(void *to, const unsigned char *ring, uint64_t at, size_t n)
{
    size_t offset = at % DT_HOST_SHM_RING_BYTES;
    size_t first = DT_HOST_SHM_RING_BYTES - offset;

    if (first > n)
        first = n;
    memcpy(to, ring + offset, first);
    memcpy((char *)to + first, ring, n - first);
}

static ssize_t shm_write(struct dt_host_link *link, const struct iovec *pieces, int n,
                         struct dtrain_error *err)
{
    struct shm_link *shm = (struct shm_link *)link;
    struct ring *ring = &shm->segment->rings[shm->side];
    uint64_t used = shm->head - atomic_load(&ring->tail);
    size_t room, written = 0;

    if (used > DT_HOST_SHM_RING_BYTES)
        return damaged(used, err);
    room = DT_HOST_SHM_RING_BYTES - used;
    if (room > PIECE_BYTES)
        room = PIECE_BYTES;
    for (int i = 0; i < n && written < room; i++) {
        size_t take = pieces[i].iov_len < room - written ? pieces[i].iov_len : room - written;

        copy_in(shm->segment->bytes[shm->side], shm->head + written, pieces[i].iov_base, take);
        written += take;
    }
    if (written == 0)
        return 0;
    shm->head += written;
    atomic_store(&ring->head, shm->head);
    ring_bell(shm);
    return (ssize_t)written;
}

static ssize_t shm_read(struct dt_host_link *link, void *buf, size_t size, struct dtrain_error *err)
{
    struct shm_link *shm = (struct shm_link *)link;
    struct ring *ring = &shm->segment->rings[1 - shm->side];
    uint64_t used = atomic_load(&ring->head) - shm->tail;

    if (used > DT_HOST_SHM_RING_BYTES)
        return damaged(used, err);
    if (size > used)
        size = used;
    if (size > PIECE_BYTES)
        size = PIECE_BYTES;
    if (size == 0)
        return 0;
    copy_out(buf, shm->segment->bytes[1 - shm->side], shm->tail, size);
    shm->tail += size;
    atomic_store(&ring->tail, shm->tail);
    ring_bell(shm);
    return (ssize_t)size;
}

/* ---- Sleeping ----------------------------------------------------------- */

static int shm_arm(struct dt_host_link *link, bool wants_read, bool wants_write)
{
    struct shm_link *shm = (struct shm_link *)link;
    struct segment *segment = shm->segment;

    atomic_store(&segment->sleepers[shm->side].is_asleep, 1);
    if (wants_read && atomic_load(&segment->rings[1 - shm->side].head) != shm->tail)
        return DT_HOST_LINK_READY;
    if (wants_write &&
        shm->head - atomic_load(&segment->rings[shm->side].tail) < DT_HOST_SHM_RING_BYTES)
        return DT_HOST_LINK_READY;
    return POLLIN;
}

static void drain_bell(struct dt_host_link *link)
{
    char bells[64];
    ssize_t got;

    do
        got = recv(link->fd, bells, sizeof(bells), MSG_DONTWAIT);
    while (got > 0 || (got < 0 && errno == EINTR));
    if (got == 0 || errno == ECONNRESET)
        link->left = true;
}

static void shm_disarm(struct dt_host_link *link, int events)
{
    struct shm_link *shm = (struct shm_link *)link;

    atomic_store(&shm->segment->sleepers[shm->side].is_asleep, 0);
    if (events != 0)
        drain_bell(link);
}

static void shm_destroy(struct dt_host_link *link)
{
    struct shm_link *shm = (struct shm_link *)link;

    munmap(shm->segment, sizeof(*shm->segment));
    close(link->fd);
    free(shm);
}

static const struct dt_host_link_kind shm_kind = {
    .shares_memory = true,
    .write = shm_write,
    .read = shm_read,
    .arm = shm_arm,
    .disarm = shm_disarm,
    .destroy = shm_destroy,
};

/* ---- Setting up --------------------------------------------------------- */

/* Waits for events on the socket; -1 when cancelled, at the deadline, or by an error of poll(). */
static int wait_for(int fd, int cancel_fd, const struct dt_deadline *deadline,
                    struct dtrain_error *err)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = cancel_fd, .events = POLLIN}};
        int n = poll(fds, 2, dt_deadline_left_ms(deadline));

        if (n < 0 && errno != EINTR)
            return dt_error_set(err, "cannot wait for a peer of this node: %m");
        if (fds[1].revents != 0 && n > 0)
            return dt_error_set(err, "the communicator failed while it connected");
        if (n > 0)
            return 0;
        if (dt_deadline_passed(deadline))
            return dt_error_set(err, "a peer of this node did not set up shared memory within %d ms",
                                deadline->timeout_ms);
    }
}

/* One byte, with a descriptor when it is not -1. */
static int say(int fd, char word, int passed_fd, struct dtrain_error *err)
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
    if (sendmsg(fd, &message, MSG_NOSIGNAL) != 1)
        return dt_error_set(err, "cannot write to a peer of this node: %m");
    return 0;
}

static int passed_descriptor(struct msghdr *message)
{
    struct cmsghdr *head = CMSG_FIRSTHDR(message);
    int fd;

    if (head == NULL || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
        head->cmsg_len != CMSG_LEN(sizeof(int)))
        return -1;
    memcpy(&fd, CMSG_DATA(head), sizeof(fd));
    return fd;
}

/* The peer's word; *passed_fd is the descriptor that came with it, or -1. */
static int hear(int fd, char *word, int *passed_fd, int cancel_fd,
                const struct dt_deadline *deadline, struct dtrain_error *err)
{
    union {
        char buf[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec piece = {.iov_base = word, .iov_len = 1};
    struct msghdr message;
    ssize_t got;

    do {
        if (wait_for(fd, cancel_fd, deadline, err) != 0)
            return -1;
        message = (struct msghdr){.msg_iov = &piece,
                                  .msg_iovlen = 1,
                                  .msg_control = control.buf,
                                  .msg_controllen = sizeof(control.buf)};
        got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (got < 0 && (errno == EAGAIN || errno == EINTR));
    if (got != 1)
        return dt_error_set(err, "a peer of this node closed its connection while it was set up");
    *passed_fd = passed_descriptor(&message);
    return 0;
}

/* Whether the file is one that the peer cannot make shorter under our feet. */
static bool is_trusted(int memory_fd)
{
    struct stat status;
    int seals = fcntl(memory_fd, F_GET_SEALS);

    return seals >= 0 && (seals & SEALS) == SEALS && fstat(memory_fd, &status) == 0 &&
           status.st_size == (off_t)sizeof(struct segment);
}

static int memory_create(void)
{
    int fd = memfd_create("dtrain", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -1;
    if (ftruncate(fd, sizeof(struct segment)) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        return fd;
    close(fd);
    return -1;
}

static struct segment *memory_map(int memory_fd)
{
    void *map;

    if (memory_fd < 0 || !is_trusted(memory_fd))
        return NULL;
    map = mmap(NULL, sizeof(struct segment), PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

/*
 * *segment stays NULL when either side cannot share memory. The lower rank
 * offers, the other answers whether it could map what it got.
 */
static int share_as_lower(struct segment **segment, int fd, int cancel_fd,
                          const struct dt_deadline *deadline, struct dtrain_error *err)
{
    int memory_fd = memory_create();
    int ignored_fd = -1;
    char answer = ANSWER_NO;
    int rc = -1;

    *segment = memory_map(memory_fd);
    if (say(fd, *segment != NULL ? OFFER_MEMORY : OFFER_SOCKET, *segment != NULL ? memory_fd : -1,
            err) != 0)
        goto out;
    rc = hear(fd, &answer, &ignored_fd, cancel_fd, deadline, err);
out:
    if (*segment != NULL && (rc != 0 || answer != ANSWER_YES)) {
        munmap(*segment, sizeof(**segment));
        *segment = NULL;
    }
    if (memory_fd >= 0)
        close(memory_fd);
    if (ignored_fd >= 0)
        close(ignored_fd);
    return rc;
}

static int share_as_upper(struct segment **segment, int fd, int cancel_fd,
                          const struct dt_deadline *deadline, struct dtrain_error *err)
{
    int memory_fd = -1;
    char offer = OFFER_SOCKET;

    *segment = NULL;
    if (hear(fd, &offer, &memory_fd, cancel_fd, deadline, err) != 0)
        return -1;
    if (offer == OFFER_MEMORY)
        *segment = memory_map(memory_fd);
    if (memory_fd >= 0)
        close(memory_fd);
    if (say(fd, *segment != NULL ? ANSWER_YES : ANSWER_NO, -1, err) == 0)
        return 0;
    if (*segment != NULL)
        munmap(*segment, sizeof(**segment));
    return -1;
}

static int link_create(struct dt_host_link **link, int fd, struct segment *segment, bool is_lower,
                       struct dtrain_error *err)
{
    struct shm_link *shm = malloc(sizeof(*shm));

    if (shm == NULL) {
        munmap(segment, sizeof(*segment));
        close(fd);
        return dt_error_memory(err, sizeof(*shm), "a connection");
    }
    *shm = (struct shm_link){
        .link = {.kind = &shm_kind, .fd = fd}, .segment = segment, .side = is_lower ? 0 : 1};
    *link = &shm->link;
    return 0;
}

int dt_host_shm_create(struct dt_host_link **link, int fd, bool is_lower, int cancel_fd,
                       const struct dt_deadline *deadline, struct dtrain_error *err)
{
    struct segment *segment;
    int rc = is_lower ? share_as_lower(&segment, fd, cancel_fd, deadline, err)
                      : share_as_upper(&segment, fd, cancel_fd, deadline, err);

    if (rc != 0) {
        close(fd);
        return -1;
    }
    return segment != NULL ? link_create(link, fd, segment, is_lower, err)
                           : dt_host_tcp_create(link, fd, err);
}
