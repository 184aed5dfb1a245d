#define _GNU_SOURCE
#include "host_double.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WIRES_MAX 512
#define CANCELLED_MAX 512
#define REVOKED_MAX 8
#define GUARD_S 120 /* a test that hangs ends */

const char *const placement_names[PLACEMENT_COUNT] = {"local", "remote", "mixed"};

/* A pair of sockets for one pair of ranks and one channel; fds[0] is the lower rank's. */
struct wire {
    uint32_t lower, upper;
    uint64_t channel;
    int fds[2];
    bool is_taken[2];
};

/* Seen by all processes. */
struct news {
    _Atomic uint32_t death_count;
    _Atomic bool is_dead[DOUBLE_RANKS_MAX];
    _Atomic uint32_t revoke_count;
    struct {
        uint64_t channel;
        char text[DTRAIN_ERROR_MAX];
    } revoked[REVOKED_MAX];
};

struct host_double {
    int size;
    enum placement placement;
    struct news *news;
    int death_fd;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_barrier_t meeting;
    struct wire wires[WIRES_MAX];
    int wire_count;
    uint64_t cancelled[CANCELLED_MAX];
    int cancelled_count;
};

/* What one rank's peers know. */
struct view {
    struct host_double *world;
    uint32_t rank;
};

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "host_double: cannot %s: %s\n", what, strerror(errno));
    abort();
}

static int node_of(const struct host_double *world, uint32_t rank)
{
    if (world->placement == ALL_LOCAL)
        return 1;
    return (int)(world->placement == ALL_REMOTE ? rank : rank / 2) + 1;
}

/* ---- Sockets ------------------------------------------------------------ */

static void tcp_pair(int fds[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;

    must(listener >= 0 && bind(listener, (struct sockaddr *)&address, size) == 0 &&
             listen(listener, 1) == 0 &&
             getsockname(listener, (struct sockaddr *)&address, &size) == 0, "listen");
    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fds[0] >= 0 && connect(fds[0], (struct sockaddr *)&address, size) == 0, "connect");
    fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    must(fds[1] >= 0, "accept");
    close(listener);
    for (int i = 0; i < 2; i++) {
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        must(fcntl(fds[i], F_SETFL, O_NONBLOCK) == 0, "set O_NONBLOCK");
    }
}

static void make_pair(struct host_double *world, struct wire *wire)
{
    if (node_of(world, wire->lower) == node_of(world, wire->upper))
        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, wire->fds) == 0,
             "make a socket pair");
    else
        tcp_pair(wire->fds);
}

static struct wire *find_wire(struct host_double *world, uint32_t a, uint32_t b, uint64_t channel)
{
    uint32_t lower = a < b ? a : b, upper = a < b ? b : a;
    struct wire *wire;

    for (int i = 0; i < world->wire_count; i++) {
        wire = &world->wires[i];
        if (wire->lower == lower && wire->upper == upper && wire->channel == channel)
            return wire;
    }
    must(world->wire_count < WIRES_MAX, "hold more connections");
    wire = &world->wires[world->wire_count++];
    *wire = (struct wire){.lower = lower, .upper = upper, .channel = channel};
    make_pair(world, wire);
    return wire;
}

/* ---- struct dt_peers ---------------------------------------------------- */

static bool is_cancelled(const struct host_double *world, uint64_t channel)
{
    for (int i = 0; i < world->cancelled_count; i++) {
        if (world->cancelled[i] == channel)
            return true;
    }
    return false;
}

static bool double_is_dead(void *context, uint32_t rank, struct dtrain_error *err)
{
    const struct view *view = context;

    if (!atomic_load(&view->world->news->is_dead[rank]))
        return false;
    dt_error_set(err, "rank %u on n%d died: signal 9", rank, node_of(view->world, rank));
    return true;
}

/* Own cancellations only count for the own rank: every rank has its view of a channel. */
static int double_connect(void *context, uint32_t peer, uint64_t channel,
                          const struct dt_deadline *deadline, int *fd, bool *is_local,
                          struct dtrain_error *err)
{
    const struct view *view = context;
    struct host_double *world = view->world;
    int side = view->rank < peer ? 0 : 1;
    struct timespec soon;
    struct wire *wire;
    int rc = 0;

    pthread_mutex_lock(&world->lock);
    wire = find_wire(world, view->rank, peer, channel);
    wire->is_taken[side] = true;
    pthread_cond_broadcast(&world->changed);
    while (rc == 0 && !wire->is_taken[1 - side]) {
        if (double_is_dead(context, peer, err))
            rc = -1;
        else if (is_cancelled(world, channel << 8 | view->rank))
            rc = dt_error_set(err, "connecting to rank %u was cancelled", peer);
        else if (dt_deadline_passed(deadline))
            rc = dt_error_set(err, "rank %u did not connect", peer);
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 20000000;
        soon.tv_sec += soon.tv_nsec / 1000000000;
        soon.tv_nsec %= 1000000000;
        if (rc == 0)
            pthread_cond_timedwait(&world->changed, &world->lock, &soon);
    }
    *fd = rc == 0 ? wire->fds[side] : -1;
    *is_local = node_of(world, view->rank) == node_of(world, peer);
    if (rc == 0)
        wire->fds[side] = -1;
    pthread_mutex_unlock(&world->lock);
    return rc;
}

static void double_cancel(void *context, uint64_t channel)
{
    const struct view *view = context;
    struct host_double *world = view->world;

    pthread_mutex_lock(&world->lock);
    must(world->cancelled_count < CANCELLED_MAX, "hold more cancelled channels");
    world->cancelled[world->cancelled_count++] = channel << 8 | view->rank;
    pthread_cond_broadcast(&world->changed);
    pthread_mutex_unlock(&world->lock);
}

static char *double_describe(void *context, uint32_t rank, char *buf, size_t size)
{
    const struct view *view = context;

    snprintf(buf, size, "rank %u on n%d", rank, node_of(view->world, rank));
    return buf;
}

static int find_revoked(const struct news *news, uint64_t channel)
{
    for (int i = 0; i < (int)atomic_load(&news->revoke_count); i++) {
        if (news->revoked[i].channel == channel)
            return i;
    }
    return -1;
}

static void double_revoke(void *context, uint64_t channel, const char *text)
{
    const struct view *view = context;
    struct news *news = view->world->news;

    pthread_mutex_lock(&view->world->lock);
    if (find_revoked(news, channel) < 0) {
        must(news->revoke_count < REVOKED_MAX, "hold more revocations");
        news->revoked[news->revoke_count].channel = channel;
        snprintf(news->revoked[news->revoke_count].text, DTRAIN_ERROR_MAX, "%s", text);
        atomic_fetch_add(&news->revoke_count, 1);
        eventfd_write(view->world->death_fd, 1);
    }
    pthread_mutex_unlock(&view->world->lock);
}

static bool double_is_revoked(void *context, uint64_t channel, struct dtrain_error *err)
{
    const struct view *view = context;
    int i = find_revoked(view->world->news, channel);

    if (i >= 0)
        dt_error_set(err, "%s", view->world->news->revoked[i].text);
    return i >= 0;
}

void double_mark_dead(struct host_double *world, int rank)
{
    atomic_store(&world->news->is_dead[rank], true);
    atomic_fetch_add(&world->news->death_count, 1);
    eventfd_write(world->death_fd, 1);
}

void double_meet(struct rank *r)
{
    pthread_barrier_wait(&r->world->meeting);
}

/* ---- A rank ------------------------------------------------------------- */

struct dtrain_comm *double_comm(struct rank *r, const char *name, uint64_t channel,
                                const uint32_t *members, int size)
{
    struct dt_comm_request request = {.channel = channel, .size = size, .members = members};
    struct dt_deadline deadline = dt_deadline_after_ms(60000);
    struct dtrain_comm *comm;
    void *state = NULL;

    snprintf(request.name, sizeof(request.name), "%s", name);
    while (members[request.rank] != (uint32_t)r->rank)
        request.rank++;
    if (size > 1 &&
        dt_backend_host.comms_create(r->state, &request, 1, &state, &deadline, &r->err) != 0)
        return NULL;
    if (dt_comm_create(&comm, &dt_backend_host, state, size, request.rank, &r->err) != 0)
        return NULL;
    dt_comm_set_place(comm, &(struct dt_comm_place){r->peers, (uint32_t)r->rank, channel, members});
    return comm;
}

struct job {
    struct rank rank;
    struct view view;
    struct dt_peers peers;
    int timeout_ms;
    rank_body *body;
    bool ok;
};

static bool open_rank(struct job *job)
{
    struct rank *r = &job->rank;
    struct dt_backend_env env = {
        .peers = &job->peers, .rank = (uint32_t)r->rank, .timeout_ms = job->timeout_ms};
    uint32_t members[DOUBLE_RANKS_MAX];

    for (uint32_t i = 0; i < DOUBLE_RANKS_MAX; i++)
        members[i] = i;
    if (dt_backend_host.open(&r->state, &env, &r->err) != 0)
        return false;
    r->comm = double_comm(r, "dtrain/tp/0", 1, members, r->size);
    for (int i = 0; i < DOUBLE_STREAMS && r->comm != NULL; i++) {
        if (dt_stream_create(&r->streams[i], &dt_backend_host, r->state, &r->err) != 0)
            return false;
    }
    return r->comm != NULL;
}

static void close_rank(struct rank *r)
{
    for (int i = 0; i < DOUBLE_STREAMS; i++)
        dtrain_stream_destroy(r->streams[i], NULL);
    dt_comm_destroy(r->comm);
    dt_backend_host.close(r->state);
}

static void *run_job(void *argument)
{
    struct job *job = argument;

    job->ok = open_rank(job) && job->body(&job->rank);
    if (!job->ok)
        printf("# rank %d of %d: %s\n", job->rank.rank, job->rank.size, job->rank.err.text);
    close_rank(&job->rank);
    return NULL;
}

static void job_init(struct job *job, struct host_double *world, int rank, int timeout_ms,
                     rank_body *body, void *argument)
{
    *job = (struct job){
        .rank = {.world = world, .rank = rank, .size = world->size, .argument = argument, .peers = &job->peers},
        .view = {.world = world, .rank = (uint32_t)rank},
        .peers = {.context = &job->view,
                  .connect = double_connect,
                  .cancel = double_cancel,
                  .is_dead = double_is_dead,
                  .revoke = double_revoke,
                  .is_revoked = double_is_revoked,
                  .revoke_count = &world->news->revoke_count,
                  .describe = double_describe,
                  .death_count = &world->news->death_count,
                  .death_fd = world->death_fd},
        .timeout_ms = timeout_ms,
        .body = body,
    };
}

/* ---- The world ---------------------------------------------------------- */

static struct host_double *world_create(int size, enum placement placement)
{
    struct host_double *world = calloc(1, sizeof(*world));

    must(world != NULL, "allocate a world");
    world->size = size;
    world->placement = placement;
    world->news = mmap(NULL, sizeof(*world->news), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(world->news != MAP_FAILED, "share the news");
    world->death_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&world->lock, NULL);
    pthread_cond_init(&world->changed, NULL);
    pthread_barrier_init(&world->meeting, NULL, (unsigned)size);
    return world;
}

static void world_destroy(struct host_double *world)
{
    for (int i = 0; i < world->wire_count; i++) {
        for (int side = 0; side < 2; side++) {
            if (world->wires[i].fds[side] >= 0)
                close(world->wires[i].fds[side]);
        }
    }
    pthread_barrier_destroy(&world->meeting);
    pthread_cond_destroy(&world->changed);
    pthread_mutex_destroy(&world->lock);
    munmap(world->news, sizeof(*world->news));
    close(world->death_fd);
    free(world);
}

int double_run(int size, enum placement placement, int timeout_ms, rank_body *body, void *argument)
{
    struct host_double *world = world_create(size, placement);
    struct job jobs[DOUBLE_RANKS_MAX];
    pthread_t threads[DOUBLE_RANKS_MAX];
    int failed = 0;

    alarm(GUARD_S);
    for (int i = 0; i < size; i++) {
        job_init(&jobs[i], world, i, timeout_ms, body, argument);
        must(pthread_create(&threads[i], NULL, run_job, &jobs[i]) == 0, "start a thread");
    }
    for (int i = 0; i < size; i++) {
        pthread_join(threads[i], NULL);
        failed += !jobs[i].ok;
    }
    world_destroy(world);
    return failed;
}

/* ---- Processes ---------------------------------------------------------- */

/* Processes cannot meet in a table: all pairs are made before, and each closes the others' ends. */
static void make_all_pairs(struct host_double *world)
{
    for (int a = 0; a < world->size; a++) {
        for (int b = a + 1; b < world->size; b++) {
            struct wire *wire = find_wire(world, (uint32_t)a, (uint32_t)b, 1);

            wire->is_taken[0] = wire->is_taken[1] = true;
        }
    }
}

static void close_ends(struct host_double *world, int kept)
{
    for (int i = 0; i < world->wire_count; i++) {
        struct wire *wire = &world->wires[i];
        const uint32_t owners[2] = {wire->lower, wire->upper};

        for (int side = 0; side < 2; side++) {
            if ((int)owners[side] == kept)
                continue;
            close(wire->fds[side]);
            wire->fds[side] = -1;
        }
    }
}

static pid_t start_process(struct host_double *world, int rank, int timeout_ms, rank_body *body,
                           void *argument)
{
    struct job job;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    must(pid >= 0, "fork");
    if (pid != 0)
        return pid;
    alarm(GUARD_S);
    close_ends(world, rank);
    job_init(&job, world, rank, timeout_ms, body, argument);
    run_job(&job);
    world_destroy(world);
    fflush(stdout);
    _exit(job.ok ? 0 : 1);
}

static void await_victim(struct host_double *world, pid_t pid, int victim, bool is_told)
{
    int status = 0;

    must(waitpid(pid, &status, WUNTRACED) == pid, "wait for the victim");
    if (is_told)
        double_mark_dead(world, victim);
}

int double_run_forked(int size, enum placement placement, int timeout_ms, rank_body *body,
                      void *argument, int victim, bool is_told)
{
    struct host_double *world = world_create(size, placement);
    pid_t pids[DOUBLE_RANKS_MAX];
    int failed = 0;

    make_all_pairs(world);
    for (int i = 0; i < size; i++)
        pids[i] = start_process(world, i, timeout_ms, body, argument);
    close_ends(world, -1);
    await_victim(world, pids[victim], victim, is_told);
    for (int i = 0; i < size; i++) {
        int status = 0;

        if (i == victim)
            continue;
        must(waitpid(pids[i], &status, 0) == pids[i], "wait for a rank");
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    kill(pids[victim], SIGKILL);
    waitpid(pids[victim], NULL, 0);
    world_destroy(world);
    return failed;
}
