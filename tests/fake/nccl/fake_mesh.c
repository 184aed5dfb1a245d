/* fake_mesh.c - a poll loop over non-blocking connections, and the agreement on what is to be done. */
#include "fake_mesh.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_op.h"

#define SLICE_MS 10


/* ---- Lanes -------------------------------------------------------------- */

static bool wants_out(const struct fake_lane *lane)
{
    return !lane->is_lost && lane->out_at < lane->out_count &&
           (lane->out_at < lane->out_open || lane->in_at >= lane->gate);
}

static bool wants_in(const struct fake_lane *lane)
{
    return !lane->is_lost && lane->in_at < lane->in_count;
}

static bool is_through(const struct fake_lane *lane)
{
    return lane->out_at == lane->out_count && lane->in_at == lane->in_count;
}

static void lane_send(struct fake_lane *lane, int fd)
{
    while (wants_out(lane)) {
        const struct fake_piece *piece = &lane->out[lane->out_at];

        if (lane->out_done < piece->size) {
            ssize_t n = send(fd, (const char *)piece->data + lane->out_done, piece->size - lane->out_done,
                             MSG_DONTWAIT | MSG_NOSIGNAL);

            if (n < 0 && errno != EAGAIN && errno != EINTR)
                lane->is_lost = true;
            if (n <= 0)
                return;
            lane->out_done += (size_t)n;
        }
        if (lane->out_done == piece->size) {
            lane->out_at++;
            lane->out_done = 0;
        }
    }
}

/* false: what came does not match. */
static bool lane_receive(struct fake_lane *lane, int fd)
{
    while (wants_in(lane)) {
        const struct fake_piece *piece = &lane->in[lane->in_at];

        if (lane->in_done < piece->size) {
            ssize_t n =
                recv(fd, (char *)piece->data + lane->in_done, piece->size - lane->in_done, MSG_DONTWAIT);

            if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                lane->is_lost = true;
            if (n <= 0)
                return true;
            lane->in_done += (size_t)n;
        }
        if (lane->in_done < piece->size)
            continue;
        lane->in_done = 0;
        if (lane->in_at < lane->gate && !lane->check(lane, lane->in_at))
            return false;
        lane->in_at++;
    }
    return true;
}

/* ---- The loop ----------------------------------------------------------- */

struct loop {
    ncclComm_t comm;
    struct fake_lane *lanes;
    int count;
    const char *what;
    int64_t started_ns, lost_ns;
    bool is_reported;
};

static void report_hang(struct loop *loop)
{
    int ms = fake_env_int("FAKE_NCCL_HANG_MS", FAKE_HANG_MS);
    char ranks[256] = "";
    size_t length = 0;

    if (loop->is_reported || fake_now_ns() - loop->started_ns < ms * INT64_C(1000000))
        return;
    loop->is_reported = true;
    for (int i = 0; i < loop->count && length < sizeof(ranks) - 16; i++)
        if (!is_through(&loop->lanes[i]))
            length += (size_t)snprintf(ranks + length, sizeof(ranks) - length, " %d", loop->lanes[i].peer);
    fake_violation("%s on %s, rank %d of it, waits for its ranks%s since %d ms", loop->what, loop->comm->name,
                   loop->comm->rank, ranks, ms);
}

/* A lost peer is found out late or never, as over NVLink. */
static bool is_known_lost(struct loop *loop)
{
    int ms = fake_env_int("FAKE_NCCL_PEER_ERROR_MS", -1);
    bool has_lost = false;

    for (int i = 0; i < loop->count; i++)
        has_lost = has_lost || loop->lanes[i].is_lost;
    if (!has_lost)
        return false;
    if (loop->lost_ns == 0)
        loop->lost_ns = fake_now_ns();
    return ms >= 0 && fake_now_ns() - loop->lost_ns >= ms * INT64_C(1000000);
}

static void wait_for_any(const struct loop *loop, struct pollfd *polled)
{
    for (int i = 0; i < loop->count; i++) {
        const struct fake_lane *lane = &loop->lanes[i];

        polled[i].events = (short)((wants_out(lane) ? POLLOUT : 0) | (wants_in(lane) ? POLLIN : 0));
        polled[i].fd = polled[i].events != 0 ? loop->comm->fds[lane->peer] : -1;
    }
    poll(polled, (nfds_t)loop->count, SLICE_MS);
}

static enum fake_moved loop_run(struct loop *loop, struct pollfd *polled)
{
    for (;;) {
        bool all = true;

        for (int i = 0; i < loop->count; i++) {
            struct fake_lane *lane = &loop->lanes[i];
            int fd = loop->comm->fds[lane->peer];

            lane_send(lane, fd);
            if (!lane_receive(lane, fd))
                return FAKE_MISMATCH;
            lane_send(lane, fd);
            all = all && is_through(lane);
        }
        if (all)
            return FAKE_MOVED;
        if (loop->comm->abort || loop->comm->stop)
            return FAKE_STOPPED;
        if (is_known_lost(loop))
            return FAKE_LOST;
        report_hang(loop);
        wait_for_any(loop, polled);
    }
}

enum fake_moved fake_mesh_exchange(ncclComm_t comm, struct fake_lane *lanes, int count, const char *what)
{
    struct loop loop = {comm, lanes, count, what, fake_now_ns(), 0, false};
    struct pollfd *polled = calloc((size_t)count + 1, sizeof(*polled));
    enum fake_moved moved;

    if (polled == NULL)
        abort();
    moved = loop_run(&loop, polled);
    free(polled);
    return moved;
}

enum fake_moved fake_mesh_round(ncclComm_t comm, struct fake_piece *out, struct fake_piece *in,
                                const char *what)
{
    struct fake_lane *lanes = calloc((size_t)comm->nranks, sizeof(*lanes));
    enum fake_moved moved;
    int count = 0, own = comm->rank;

    if (lanes == NULL)
        abort();
    for (int i = 0; i < comm->nranks; i++)
        if (i != own)
            lanes[count++] =
                (struct fake_lane){.peer = i, .out = &out[i], .in = &in[i], .out_count = 1, .in_count = 1,
                                   .out_open = 1};
    moved = fake_mesh_exchange(comm, lanes, count, what);
    if (moved == FAKE_MOVED && in[own].size > 0 && in[own].data != out[own].data)
        memmove(in[own].data, out[own].data, in[own].size);
    free(lanes);
    return moved;
}

/* ---- Agreement ---------------------------------------------------------- */

static void describe(const struct fake_desc *desc, char *text, size_t size)
{
    const char *name = fake_kind_name(desc->kind);

    if (desc->kind == FAKE_P2P)
        snprintf(text, size, "a group of %d sends and %d receives between them", desc->sends, desc->recvs);
    else
        snprintf(text, size, "%s(count %llu, type %d, op %d, root %d), %d of %d in its group", name,
                 (unsigned long long)desc->count, desc->type, desc->op, desc->root, desc->index + 1,
                 desc->total);
}

bool fake_desc_agrees(ncclComm_t comm, int peer, const struct fake_desc *own, const struct fake_desc *other)
{
    char mine[160], theirs[160];
    struct fake_desc wanted = *own;

    wanted.magic = FAKE_DESC_MAGIC;
    wanted.sends = own->recvs;
    wanted.recvs = own->sends;
    if (other->magic == FAKE_DESC_MAGIC && wanted.kind == other->kind && wanted.count == other->count &&
        wanted.type == other->type && wanted.op == other->op && wanted.root == other->root &&
        wanted.index == other->index && wanted.total == other->total && wanted.sends == other->sends &&
        wanted.recvs == other->recvs)
        return true;
    describe(own, mine, sizeof(mine));
    describe(other, theirs, sizeof(theirs));
    fake_break(ncclInvalidUsage, "mismatch on %s: rank %d calls %s; rank %d calls %s", comm->name, comm->rank,
               mine, peer, theirs);
    return false;
}

struct agreement {
    ncclComm_t comm;
    struct fake_desc own;
    struct fake_desc *others;
};

static bool agreement_check(struct fake_lane *lane, int piece)
{
    const struct agreement *agreement = lane->context;

    (void)piece;
    return fake_desc_agrees(agreement->comm, lane->peer, &agreement->own, &agreement->others[lane->peer]);
}

enum fake_moved fake_mesh_agree(ncclComm_t comm, const struct fake_desc *own)
{
    struct agreement agreement = {.comm = comm, .own = *own};
    size_t n = (size_t)comm->nranks;
    struct fake_lane *lanes = calloc(n, sizeof(*lanes));
    struct fake_piece *pieces = calloc(n, sizeof(*pieces));
    struct fake_piece out = {&agreement.own, sizeof(agreement.own)};
    enum fake_moved moved;
    int count = 0;

    agreement.others = calloc(n, sizeof(*agreement.others));
    if (lanes == NULL || pieces == NULL || agreement.others == NULL)
        abort();
    agreement.own.magic = FAKE_DESC_MAGIC;
    for (int i = 0; i < comm->nranks; i++) {
        if (i == comm->rank)
            continue;
        pieces[i] = (struct fake_piece){&agreement.others[i], sizeof(agreement.others[i])};
        lanes[count++] = (struct fake_lane){.peer = i, .out = &out, .in = &pieces[i], .out_count = 1,
                                            .in_count = 1, .gate = 1, .out_open = 1,
                                            .check = agreement_check, .context = &agreement};
    }
    moved = fake_mesh_exchange(comm, lanes, count, fake_kind_name(own->kind));
    free(lanes);
    free(pieces);
    free(agreement.others);
    return moved;
}
