#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "core/error.h"
#include "ps.h"
#include "world_ids.h"

/* Above all bits that other channels use. Server, then worker: also the order in which ranks greet. */
#define CHANNEL_OF_LANES (UINT64_C(1) << 63)
#define SET_SHIFT 44
#define SET_MASK 0xffffu
#define SERVER_SHIFT 22

static uint64_t channel_of(const struct dtrain_ps *ps, const struct dt_ps_lane *lane, uint32_t set)
{
    uint64_t server = ps->is_server ? ps->self : lane->number;
    uint64_t worker = ps->is_server ? lane->number : ps->self;

    return CHANNEL_OF_LANES | (uint64_t)(set & SET_MASK) << SET_SHIFT | server << SERVER_SHIFT | worker;
}

static void request_fill(const struct dtrain_ps *ps, struct dt_ps_lane *lane, uint32_t set,
                         struct dt_comm_request *request)
{
    int self = dtrain_rank(ps->world);

    lane->members[DT_PS_SERVER_SEAT] = (uint32_t)(ps->is_server ? self : lane->peer);
    lane->members[DT_PS_WORKER_SEAT] = (uint32_t)(ps->is_server ? lane->peer : self);
    *request = (struct dt_comm_request){
        .channel = channel_of(ps, lane, set),
        .size = 2,
        .rank = ps->is_server ? DT_PS_SERVER_SEAT : DT_PS_WORKER_SEAT,
        .members = lane->members,
        .config = dt_comm_config_of(&ps->world->settings.comm, DT_COMM_ALL),
    };
    snprintf(request->name, sizeof(request->name), "dtrain/ps/%u-%u", lane->members[DT_PS_SERVER_SEAT],
             lane->members[DT_PS_WORKER_SEAT]);
}

/* Servers take their workers in order, and workers their servers: nobody waits in a circle. */
static int exchange_ids(struct dtrain_ps *ps, struct dt_comm_request *request,
                        const struct dt_deadline *deadline, struct dtrain_error *err)
{
    if (dt_world_ids_alloc(ps->world, request, err) < 0 || dt_world_ids_make(ps->world, request, err) < 0 ||
        dt_world_ids_exchange(ps->world, request, deadline, err) < 0)
        return dt_error_prefix(err, "%s", request->name);
    return 0;
}

static int adopt(struct dtrain_ps *ps, struct dt_ps_lane *lane, const struct dt_comm_request *request,
                 void *state, struct dtrain_error *err)
{
    struct dt_comm_place place = {
        .peers = dt_control_peers(ps->world->control),
        .rank = ps->world->rank,
        .channel = request->channel,
        .members = lane->members,
    };

    if (dt_comm_create(&lane->comm, ps->world->backend, state, 2, request->rank, err) < 0)
        return -1;
    dt_comm_set_place(lane->comm, &place);
    return 0;
}

static int create_comms(struct dtrain_ps *ps, struct dt_comm_request *requests, void **states,
                        struct dtrain_error *err)
{
    struct dt_deadline deadline = dt_deadline_after_ms(ps->world->settings.init_timeout_ms);
    const struct dt_backend *backend = ps->world->backend;
    int rc = 0;

    for (size_t i = 0; i < ps->lane_count; i++)
        if (exchange_ids(ps, &requests[i], &deadline, err) < 0)
            return -1;
    if (backend->comms_create(ps->world->backend_state, requests, ps->lane_count, states, &deadline, err) < 0)
        return -1;
    for (size_t i = 0; i < ps->lane_count; i++)
        if (adopt(ps, &ps->lanes[i], &requests[i], states[i], rc == 0 ? err : NULL) < 0)
            rc = -1;
    return rc;
}

static int connect_all(struct dtrain_ps *ps, uint32_t set, struct dtrain_error *err)
{
    struct dt_comm_request *requests = calloc(ps->lane_count, sizeof(*requests));
    void **states = calloc(ps->lane_count, sizeof(*states));
    int rc = -1;

    if (requests == NULL || states == NULL) {
        dt_error_memory(err, ps->lane_count * sizeof(*requests), "the connections of servers and workers");
    } else {
        for (size_t i = 0; i < ps->lane_count; i++)
            request_fill(ps, &ps->lanes[i], set, &requests[i]);
        rc = create_comms(ps, requests, states, err);
    }
    for (size_t i = 0; requests != NULL && i < ps->lane_count; i++)
        free(requests[i].ids);
    free(requests);
    free(states);
    return rc;
}

static int lane_open(struct dtrain_ps *ps, struct dt_ps_lane *lane, struct dtrain_error *err)
{
    size_t server = ps->is_server ? ps->self : lane->number;
    size_t pieces = ps->plan.begin[server + 1] - ps->plan.begin[server];
    size_t answer = ps->worker_count * DT_PS_ANSWER_SIZE * sizeof(*lane->answer);

    lane->transfers = calloc(pieces + 1, sizeof(*lane->transfers));
    if (lane->transfers == NULL)
        return dt_error_memory(err, pieces * sizeof(*lane->transfers),
                               "the transfers of a server and a worker");
    if (dtrain_stream_create(ps->world, &lane->stream, err) < 0 ||
        dtrain_memory_alloc(ps->world, DT_PS_REQUEST_SIZE * sizeof(*lane->request), (void **)&lane->request,
                            err) < 0)
        return -1;
    return dtrain_memory_alloc(ps->world, answer, (void **)&lane->answer, err);
}

int dt_ps_lanes_create(struct dtrain_ps *ps, uint32_t set, struct dtrain_error *err)
{
    const int *peers = ps->is_server ? ps->workers : ps->servers;
    size_t n = ps->is_server ? ps->worker_count : ps->server_count;

    ps->lanes = calloc(n, sizeof(*ps->lanes));
    if (ps->lanes == NULL)
        return dt_error_memory(err, n * sizeof(*ps->lanes), "the connections of servers and workers");
    ps->lane_count = n;
    for (size_t i = 0; i < n; i++)
        ps->lanes[i] = (struct dt_ps_lane){.ps = ps, .number = i, .peer = peers[i]};
    if (connect_all(ps, set, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (lane_open(ps, &ps->lanes[i], err) < 0)
            return -1;
    return 0;
}

void dt_ps_lanes_revoke(struct dtrain_ps *ps, const char *why)
{
    for (size_t i = 0; i < ps->lane_count; i++)
        (void)dtrain_comm_revoke(ps->lanes[i].comm, why, NULL);
}

/* All streams first: one lane's may wait for another's. */
void dt_ps_lanes_destroy(struct dtrain_ps *ps)
{
    for (size_t i = 0; i < ps->lane_count; i++)
        dtrain_stream_destroy(ps->lanes[i].stream, NULL);
    for (size_t i = 0; i < ps->lane_count; i++) {
        struct dt_ps_lane *lane = &ps->lanes[i];

        dt_comm_destroy(lane->comm);
        dtrain_memory_free(ps->world, lane->request);
        dtrain_memory_free(ps->world, lane->answer);
        free(lane->transfers);
    }
    free(ps->lanes);
}
