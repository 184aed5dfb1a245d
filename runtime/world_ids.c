#include "world_ids.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

/* Set in the channels over which a group's ids travel: to member 0, and from it. */
#define CHANNEL_OF_OWN_ID (UINT64_C(1) << 61)
#define CHANNEL_OF_IDS (UINT64_C(1) << 62)

static int ranks_per_id(const struct dtrain_world *world)
{
    return world->backend->ranks_per_id != NULL ? world->backend->ranks_per_id() : INT_MAX;
}

int dt_world_ids_alloc(const struct dtrain_world *world, struct dt_comm_request *request,
                       struct dtrain_error *err)
{
    if (world->backend->id_size == 0 || request->size == 1)
        return 0;
    request->id_count = (request->size - 1) / ranks_per_id(world) + 1;
    request->ids = calloc((size_t)request->id_count, sizeof(*request->ids));
    if (request->ids == NULL)
        return dt_error_memory(err, (size_t)request->id_count * sizeof(*request->ids), "a group's ids");
    return 0;
}

/* The member that makes id i. */
static int maker_of(const struct dtrain_world *world, int i)
{
    return i == 0 ? 0 : i * ranks_per_id(world);
}

/* This rank's own id among them; NULL: it makes none. */
static unsigned char *own_id(const struct dtrain_world *world, const struct dt_comm_request *request)
{
    if (request->id_count == 0 || request->rank % ranks_per_id(world) != 0)
        return NULL;
    return request->ids[request->rank / ranks_per_id(world)];
}

int dt_world_ids_make(const struct dtrain_world *world, struct dt_comm_request *request,
                      struct dtrain_error *err)
{
    unsigned char *id = own_id(world, request);

    if (id == NULL || world->backend->id_create(id, err) == 0)
        return 0;
    return dt_error_prefix(err, "%s", request->name);
}

/* ---- In cards -------------------------------------------------------------------- */

int dt_world_ids_publish(const struct dtrain_world *world, struct dt_comm_request *request,
                         struct dt_card *card, struct dtrain_error *err)
{
    const unsigned char *id = own_id(world, request);

    if (id == NULL)
        return 0;
    if (dt_world_ids_make(world, request, err) < 0)
        return -1;
    card->channels[card->id_count] = request->channel;
    memcpy(card->ids[card->id_count++], id, DT_BACKEND_ID_MAX);
    return 0;
}

int dt_world_ids_collect(struct dtrain_world *world, struct dt_comm_request *request,
                         int (*get)(struct dtrain_world *world, uint32_t rank, struct dt_card *card,
                                    struct dtrain_error *err),
                         struct dtrain_error *err)
{
    for (int i = 0; i < request->id_count; i++) {
        int maker = maker_of(world, i);
        const unsigned char *id;
        struct dt_card card;

        if (maker == request->rank)
            continue;
        if (get(world, request->members[maker], &card, err) < 0)
            return -1;
        id = dt_card_id(&card, request->channel);
        if (id == NULL)
            return dt_error_set(err, "rank %u published no id for %s%s%s", request->members[maker],
                                request->name, card.failure[0] != '\0' ? ": " : "", card.failure);
        memcpy(request->ids[i], id, DT_BACKEND_ID_MAX);
    }
    return 0;
}

/* ---- Over connections -------------------------------------------------------------- */

static int move_bytes(int fd, bool is_send, unsigned char *bytes, size_t size,
                      const struct dt_deadline *deadline, struct dtrain_error *err)
{
    size_t moved = 0;

    while (moved < size) {
        struct pollfd wanted = {.fd = fd, .events = is_send ? POLLOUT : POLLIN};
        ssize_t n = is_send ? send(fd, bytes + moved, size - moved, MSG_NOSIGNAL)
                            : recv(fd, bytes + moved, size - moved, 0);

        if (n > 0)
            moved += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            return dt_error_set(err, "the group's id did not come over: %s",
                                n == 0 ? "connection closed" : strerror(errno));
        else if (poll(&wanted, 1, dt_deadline_left_ms(deadline)) == 0)
            return dt_error_set(err, "the group's id did not come over within %.4g s",
                                deadline->timeout_ms / 1000.0);
    }
    return 0;
}

/* What to move, and with which member. */
struct transfer {
    uint64_t channel;
    int peer;
    bool is_send;
    unsigned char *bytes;
    size_t size;
};

static int move(struct dtrain_world *world, const struct dt_comm_request *request,
                const struct transfer *transfer, const struct dt_deadline *deadline, struct dtrain_error *err)
{
    const struct dt_peers *peers = dt_control_peers(world->control);
    bool is_local;
    int fd, rc;

    if (peers->connect(peers->context, request->members[transfer->peer], transfer->channel, deadline, &fd,
                       &is_local, err) < 0)
        return -1;
    rc = move_bytes(fd, transfer->is_send, transfer->bytes, transfer->size, deadline, err);
    close(fd);
    return rc;
}

/* From its maker to member 0. */
static int move_own_id(struct dtrain_world *world, const struct dt_comm_request *request, int peer,
                       unsigned char *id, const struct dt_deadline *deadline, struct dtrain_error *err)
{
    struct transfer transfer = {request->channel | CHANNEL_OF_OWN_ID, peer, request->rank != 0, id,
                                DT_BACKEND_ID_MAX};

    return move(world, request, &transfer, deadline, err);
}

/* From member 0 to each other. */
static int move_all_ids(struct dtrain_world *world, const struct dt_comm_request *request, int peer,
                        const struct dt_deadline *deadline, struct dtrain_error *err)
{
    struct transfer transfer = {request->channel | CHANNEL_OF_IDS, peer, request->rank == 0, request->ids[0],
                                (size_t)request->id_count * DT_BACKEND_ID_MAX};

    return move(world, request, &transfer, deadline, err);
}

static int hand_out(struct dtrain_world *world, const struct dt_comm_request *request,
                    const struct dt_deadline *deadline, struct dtrain_error *err)
{
    for (int i = 1; i < request->id_count; i++)
        if (move_own_id(world, request, maker_of(world, i), request->ids[i], deadline, err) < 0)
            return -1;
    for (int i = 1; i < request->size; i++)
        if (move_all_ids(world, request, i, deadline, err) < 0)
            return -1;
    return 0;
}

int dt_world_ids_exchange(struct dtrain_world *world, struct dt_comm_request *request,
                          const struct dt_deadline *deadline, struct dtrain_error *err)
{
    unsigned char *own = own_id(world, request);

    if (request->id_count == 0)
        return 0;
    if (request->rank == 0)
        return hand_out(world, request, deadline, err);
    if (own != NULL && move_own_id(world, request, 0, own, deadline, err) < 0)
        return -1;
    return move_all_ids(world, request, 0, deadline, err);
}
