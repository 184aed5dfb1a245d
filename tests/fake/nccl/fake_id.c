/* fake_id.c - unique ids, the process's listener, and the side of a meeting that comes to it. */
#define _GNU_SOURCE /* accept4 */

#include "fake_id.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "fake.h"
#include "fake_comm.h"
#include "fake_meeting.h"

#define ID_MAGIC UINT64_C(0x66616b656e63636c)
#define HELLO_MS 5000
#define FNV_START UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

/* What a unique id holds. */
struct id {
    uint64_t magic;
    struct fake_key key;
    struct fake_addr addr;
};

_Static_assert(sizeof(struct id) <= sizeof(ncclUniqueId), "NCCL's size of an id");

/* A link that came before it was asked for. */
struct parked {
    struct parked *next;
    struct fake_key key;
    int rank, to, fd;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_up;
    int fd;
    struct fake_addr addr;
    struct parked *parked;
} listener = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

uint64_t fake_hash(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;

    if (hash == 0)
        hash = FNV_START;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * FNV_PRIME;
    return hash;
}

struct fake_key fake_key_child(struct fake_key key, uint64_t number)
{
    uint64_t mixed = fake_hash(fake_hash(0, &key, sizeof(key)), &number, sizeof(number));

    return (struct fake_key){mixed, fake_hash(mixed, &key, sizeof(key))};
}

uint64_t fake_id_host(void)
{
    const char *given = getenv("NCCL_HOSTID");
    char name[256] = "";

    if (given != NULL && *given != '\0')
        return fake_hash(0, given, strlen(given));
    gethostname(name, sizeof(name) - 1);
    return fake_hash(0, name, strlen(name));
}

/* ---- Listening ---------------------------------------------------------- */

static void park(int fd, const struct fake_hello *hello)
{
    struct parked *new = malloc(sizeof(*new));

    if (new == NULL)
        abort();
    *new = (struct parked){NULL, hello->meeting.key, hello->rank, hello->to, fd};
    pthread_mutex_lock(&listener.lock);
    new->next = listener.parked;
    listener.parked = new;
    pthread_cond_broadcast(&listener.changed);
    pthread_mutex_unlock(&listener.lock);
}

static void receive(int fd)
{
    struct fake_cancel cancel = {.deadline_ns = fake_now_ns() + HELLO_MS * INT64_C(1000000)};
    struct fake_hello hello;

    if (fake_net_read(fd, &hello, sizeof(hello), &cancel) != 0 || hello.magic != FAKE_HELLO_MAGIC)
        close(fd);
    else if (hello.is_link)
        park(fd, &hello);
    else
        fake_meeting_join(fd, &hello);
}

static void *listen_main(void *arg)
{
    (void)arg;
    for (;;) {
        int fd = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC);

        if (fd >= 0) {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
            receive(fd);
        }
        if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
            return NULL;
    }
}

int fake_id_own(struct fake_addr *own)
{
    pthread_t thread;
    int rc = 0;

    pthread_mutex_lock(&listener.lock);
    if (!listener.is_up) {
        listener.fd = fake_net_listen(&listener.addr);
        rc = listener.fd < 0 || pthread_create(&thread, NULL, listen_main, NULL) != 0 ? -1 : 0;
        listener.is_up = rc == 0;
        if (rc == 0)
            pthread_detach(thread);
    }
    *own = listener.addr;
    pthread_mutex_unlock(&listener.lock);
    return rc;
}

/* ---- Ids ---------------------------------------------------------------- */

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    struct id new = {.magic = ID_MAGIC};
    ncclResult_t result = fake_enter("ncclGetUniqueId", NULL);

    if (result != ncclSuccess)
        return result;
    if (id == NULL)
        return fake_fail(ncclInvalidArgument, "ncclGetUniqueId: the id is NULL");
    if (fake_id_own(&new.addr) != 0)
        return fake_fail(ncclInvalidUsage, "Bootstrap : no socket interface found");
    if (getrandom(&new.key, sizeof(new.key), 0) != sizeof(new.key))
        return fake_fail(ncclSystemError, "getrandom failed");
    fake_meeting_expect(new.key);
    memset(id, 0, sizeof(*id));
    memcpy(id, &new, sizeof(new));
    fake_count(&fake_counts.ids);
    return ncclSuccess;
}

bool fake_id_is_one(const ncclUniqueId *id)
{
    struct id one;

    memcpy(&one, id, sizeof(one));
    return one.magic == ID_MAGIC;
}

/* NCCL's distribution: the first nranks % nids ids serve one rank more. */
static int id_of_rank(int rank, int nranks, int nids)
{
    int more = nranks % nids, each = nranks / nids, edge = more * (each + 1);

    return rank < edge ? rank / (each + 1) : (rank - edge) / each + more;
}

void fake_id_meeting(struct fake_meeting *meeting, const ncclUniqueId *ids, int nids, int rank, int nranks)
{
    int own = id_of_rank(rank, nranks, nids), segment = 0;
    struct id one, first;

    for (int i = 0; i < nranks; i++)
        segment += id_of_rank(i, nranks, nids) == own;
    memcpy(&one, &ids[own], sizeof(one));
    memcpy(&first, &ids[0], sizeof(first));
    *meeting = (struct fake_meeting){
        .key = one.key, .addr = one.addr, .main_key = first.key, .main_addr = first.addr,
        .nranks = nranks, .expected = own == 0 ? nranks : segment, .is_id = 1,
        .check = fake_hash(0, ids, sizeof(*ids) * (size_t)nids)};
}

/* ---- Coming to a meeting ------------------------------------------------ */

static ncclResult_t broke_off(const struct fake_meeting *meeting, const struct fake_cancel *cancel,
                              char why[FAKE_TEXT_MAX])
{
    snprintf(why, FAKE_TEXT_MAX, "a creation of %d ranks broke off", meeting->nranks);
    if (fake_cancel_is_late(cancel)) {
        snprintf(why, FAKE_TEXT_MAX,
                 "a creation of %d ranks did not end in time: a rank never came, or blocking creations "
                 "come in another order on shared ranks",
                 meeting->nranks);
        fake_violation("%s", why);
    }
    return ncclRemoteError;
}

ncclResult_t fake_id_meet(const struct fake_meeting *meeting, const struct fake_member *card,
                          const struct fake_cancel *cancel, struct fake_member **members,
                          char why[FAKE_TEXT_MAX])
{
    struct fake_hello hello = {.magic = FAKE_HELLO_MAGIC, .count = 1, .meeting = *meeting};
    struct fake_answer answer = {.result = ncclSuccess};
    struct fake_member *cards = NULL;
    int fd = fake_net_connect(&meeting->addr, cancel);
    bool ok = fd >= 0 && fake_net_write(fd, &hello, sizeof(hello), cancel) == 0 &&
              fake_net_write(fd, card, sizeof(*card), cancel) == 0 &&
              fake_net_read(fd, &answer, sizeof(answer), cancel) == 0;

    if (ok && answer.result == ncclSuccess) {
        cards = calloc((size_t)answer.count, sizeof(*cards));
        ok = cards != NULL && fake_net_read(fd, cards, sizeof(*cards) * (size_t)answer.count, cancel) == 0;
    }
    if (fd >= 0)
        close(fd);
    if (ok && answer.result == ncclSuccess) {
        *members = cards;
        return ncclSuccess;
    }
    free(cards);
    if (!ok)
        return broke_off(meeting, cancel, why);
    snprintf(why, FAKE_TEXT_MAX, "%s", answer.text);
    if (answer.is_violation)
        fake_violation("%s", why);
    return (ncclResult_t)answer.result;
}

static int take_parked(struct fake_key key, int rank, int to)
{
    struct parked **link = &listener.parked, *one;
    int fd;

    while ((one = *link) != NULL && (one->key.a != key.a || one->key.b != key.b ||
                                     one->rank != rank || one->to != to))
        link = &one->next;
    if (one == NULL)
        return -1;
    *link = one->next;
    fd = one->fd;
    free(one);
    return fd;
}

static int accept_link(struct fake_key key, int rank, int to, const struct fake_cancel *cancel)
{
    int fd;

    pthread_mutex_lock(&listener.lock);
    while ((fd = take_parked(key, rank, to)) < 0 && !fake_cancel_is_set(cancel)) {
        pthread_mutex_unlock(&listener.lock);
        fake_pause_us(500);
        pthread_mutex_lock(&listener.lock);
    }
    pthread_mutex_unlock(&listener.lock);
    return fd;
}

/* The higher rank connects. */
int fake_id_link(struct fake_key key, int own_rank, const struct fake_member *peer,
                 const struct fake_cancel *cancel)
{
    struct fake_hello hello = {.magic = FAKE_HELLO_MAGIC, .is_link = 1, .rank = own_rank, .to = peer->rank};
    int fd;

    if (own_rank < peer->rank)
        return accept_link(key, peer->rank, own_rank, cancel);
    hello.meeting.key = key;
    fd = fake_net_connect(&peer->addr, cancel);
    if (fd >= 0 && fake_net_write(fd, &hello, sizeof(hello), cancel) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}
