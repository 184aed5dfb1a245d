/* Whole worlds on the NCCL module: every axis, every operation, streams, memory, NCCL's own handles. */
#include <stdlib.h>

#include "nccl_double.h"
#include "runtime/math.h"
#include "tap.h"

#define ENOUGH_MS 30000 /* a deadline that is not meant to pass, under sanitizers and load too */

/* ---- Up ---------------------------------------------------------------------- */

static const unsigned singles[] = {
    DTRAIN_TP, DTRAIN_CP, DTRAIN_DP, DTRAIN_PP, DTRAIN_EXPERT | DTRAIN_TP, DTRAIN_EXPERT | DTRAIN_EP,
    DTRAIN_EXPERT | DTRAIN_DP,
};
#define SINGLE_COUNT (sizeof(singles) / sizeof(singles[0]))

static bool has_same_members(const struct dtrain_world *world, const struct dtrain_group *a,
                             const struct dtrain_group *b)
{
    bool is_same = a->size == b->size;

    for (int i = 0; is_same && i < a->size; i++)
        is_same = dtrain_group_member(world, a, i) == dtrain_group_member(world, b, i);
    return is_same;
}

/* Groups of more than one rank, each set of members once; and of how many of them this rank is the root. */
static int count_groups(const struct dtrain_world *world, int *roots)
{
    struct dtrain_group groups[SINGLE_COUNT];
    int n = 0;

    *roots = 0;
    for (size_t i = 0; i < SINGLE_COUNT; i++) {
        bool is_new = dtrain_group_get(world, singles[i], &groups[n], NULL) == 0 && groups[n].size > 1;

        for (int j = 0; is_new && j < n; j++)
            is_new = !has_same_members(world, &groups[j], &groups[n]);
        *roots += is_new && groups[n].rank == 0;
        n += is_new;
    }
    return n;
}

/*
 * facts: at most one creation a rank for each axis of size > 1, all in one group, none for groups of one,
 * each id once.
 */
static const char *check_counts(const struct dtrain_world *world)
{
    struct fake_nccl_counts counts;
    int roots, groups = count_groups(world, &roots);

    if (fake_nccl_counts(&counts) != 0)
        return "fake_nccl_counts";
    if (counts.inits != groups || counts.live_comms != groups)
        return "a creation for each group of more than one";
    if (counts.groups != (groups > 0))
        return "all creations in one group";
    if (counts.ids != roots)
        return "an id for each group whose root this rank is";
    if (counts.size1 != 0 || counts.splits != 0)
        return "no communicator of one rank, and no split";
    return counts.violations == 0 ? NULL : "a rule of NCCL's is broken";
}

static const char *check_ends(void)
{
    struct fake_nccl_counts counts;

    fake_nccl_counts(&counts);
    if (counts.live_comms != 0 || counts.aborts != 0 || counts.finalizes != counts.destroys)
        return "communicators end by ncclCommFinalize and ncclCommDestroy";
    return counts.violations == 0 ? "well" : "a rule of NCCL's is broken at the end";
}

static const char *check_sums(struct dtrain_world *world, struct dtrain_error *err)
{
    static const unsigned sets[] = {DTRAIN_TP | DTRAIN_DP, DTRAIN_WORLD};
    const char *wrong = NULL;

    for (size_t i = 0; i < SINGLE_COUNT && wrong == NULL; i++)
        wrong = nccl_double_sum(world, singles[i], err);
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]) && wrong == NULL; i++)
        wrong = nccl_double_sum(world, sets[i], err);
    return wrong;
}

static void run(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX],
                const char *(*check)(struct dtrain_world *world, struct dtrain_error *err))
{
    struct dtrain_world *world = NULL;
    struct dtrain_error err = {""};
    const char *wrong;

    wrong = nccl_double_init(&world, step, rank, &err) != 0 ? err.text : NULL;
    if (wrong == NULL)
        wrong = check(world, &err);
    if (wrong != NULL)
        fork_say(said, wrong);
    if (dtrain_finalize(world, wrong == NULL ? &err : NULL) != 0 && wrong == NULL)
        fork_say(said, err.text);
    else if (wrong == NULL)
        fork_say(said, check_ends());
}

static const char *check_up(struct dtrain_world *world, struct dtrain_error *err)
{
    const char *wrong = check_counts(world);

    return wrong != NULL ? wrong : check_sums(world, err);
}

static void body_up(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    run(step, rank, said, check_up);
}

/* As in a group of more than 128: a few members make an id each, and ncclCommInitRankScalable() gets all. */
static int two_ranks_per_id(void)
{
    return 2;
}

static const char *check_several_ids(struct dtrain_world *world, struct dtrain_error *err)
{
    struct fake_nccl_counts counts;

    fake_nccl_counts(&counts);
    if (counts.ids != (dtrain_rank(world) % 2 == 0))
        return "an id for each two ranks";
    return check_sums(world, err);
}

static void body_several_ids(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    nccl_double.ranks_per_id = two_ranks_per_id;
    run(step, rank, said, check_several_ids);
}

/* ---- Operations --------------------------------------------------------------- */

#define COUNT 5 /* elements of a block */
#define RANKS 4
#define ELEMENT_MAX 8

/* float16 of a whole number from 0 to 2047: its bits behind the highest one, and the exponent. */
static uint16_t half_of(unsigned value)
{
    unsigned exponent = 0;

    if (value == 0)
        return 0;
    while (value >> exponent > 1)
        exponent++;
    return (uint16_t)((exponent + 15) << 10 | (value << (10 - exponent) & 0x3ff));
}

/* Small whole numbers, which every type holds. */
static void put(void *at, enum dtrain_type type, int value)
{
    float narrow = (float)value;
    double wide = value;
    int64_t whole = value;
    uint16_t half = half_of((unsigned)value);
    uint32_t bits;

    memcpy(&bits, &narrow, sizeof(bits));
    bits >>= 16;
    memcpy(at,
           type == DTRAIN_FLOAT32    ? (void *)&narrow
           : type == DTRAIN_FLOAT64  ? (void *)&wide
           : type == DTRAIN_FLOAT16  ? (void *)&half
           : type == DTRAIN_BFLOAT16 ? (void *)&bits
                                     : (void *)&whole,
           dtrain_type_size(type));
}

/* What rank `rank` has at place i of its buffer to send. */
static int value_at(int rank, int i)
{
    return (rank + 1) * 4 + i % 3;
}

static int reduced(enum dtrain_op op, int i)
{
    int sum = 0, max = 0, min = 1000;

    for (int rank = 0; rank < RANKS; rank++) {
        int value = value_at(rank, i);

        sum += value;
        max = value > max ? value : max;
        min = value < min ? value : min;
    }
    return op == DTRAIN_SUM ? sum : op == DTRAIN_AVG ? sum / RANKS : op == DTRAIN_MAX ? max : min;
}

enum call {
    CALL_ALL_REDUCE,
    CALL_ALL_GATHER,
    CALL_REDUCE_SCATTER,
    CALL_BROADCAST,
    CALL_ALL_TO_ALL,
    CALL_TRANSFER
};

struct operation_row {
    const char *name;
    enum call call;
    int send_blocks, recv_blocks;
    bool reduces, has_in_place;
};

static const struct operation_row operations[] = {
    {"all_reduce", CALL_ALL_REDUCE, 1, 1, true, true},
    {"all_gather", CALL_ALL_GATHER, 1, RANKS, false, true},
    {"reduce_scatter", CALL_REDUCE_SCATTER, RANKS, 1, true, true},
    {"broadcast", CALL_BROADCAST, 1, 1, false, true},
    {"all_to_all", CALL_ALL_TO_ALL, RANKS, RANKS, false, false},
    {"transfer", CALL_TRANSFER, 1, 1, false, false},
};

/* What this rank has at place i of its buffer to receive, afterwards. */
static int expected_at(enum call call, enum dtrain_op op, int rank, int i)
{
    int block = i / COUNT, in_block = i % COUNT;

    switch (call) {
    case CALL_ALL_REDUCE:
        return reduced(op, i);
    case CALL_ALL_GATHER:
        return value_at(block, in_block);
    case CALL_REDUCE_SCATTER:
        return reduced(op, rank * COUNT + i);
    case CALL_BROADCAST:
        return value_at(1, i);
    case CALL_ALL_TO_ALL:
        return value_at(block, rank * COUNT + in_block);
    case CALL_TRANSFER:
        return value_at((rank + RANKS - 1) % RANKS, i);
    }
    return -1;
}

struct buffers {
    char *send, *recv;
    enum dtrain_type type;
    enum dtrain_op op;
};

static int call(const struct operation_row *row, struct dtrain_comm *comm, const struct buffers *b,
                struct dtrain_stream *stream, struct dtrain_error *err)
{
    int rank = dtrain_comm_rank(comm);
    struct dtrain_transfer ring[2] = {{true, (rank + 1) % RANKS, b->type, COUNT, b->send},
                                      {false, (rank + RANKS - 1) % RANKS, b->type, COUNT, b->recv}};

    switch (row->call) {
    case CALL_ALL_REDUCE:
        return dtrain_all_reduce(comm, b->send, b->recv, COUNT, b->type, b->op, stream, err);
    case CALL_ALL_GATHER:
        return dtrain_all_gather(comm, b->send, b->recv, COUNT, b->type, stream, err);
    case CALL_REDUCE_SCATTER:
        return dtrain_reduce_scatter(comm, b->send, b->recv, COUNT, b->type, b->op, stream, err);
    case CALL_BROADCAST:
        return dtrain_broadcast(comm, b->recv, COUNT, b->type, 1, stream, err);
    case CALL_ALL_TO_ALL:
        return dtrain_all_to_all(comm, b->send, b->recv, COUNT, b->type, stream, err);
    case CALL_TRANSFER:
        return dtrain_transfer(comm, ring, 2, stream, err);
    }
    return -1;
}

/* Both buffers lie in one piece of the device's memory; in place they overlap as dtrain.h says. */
static void place(const struct operation_row *row, struct buffers *b, char *memory, int rank, bool in_place)
{
    size_t block = COUNT * dtrain_type_size(b->type);

    b->send = memory;
    b->recv = memory + block * RANKS;
    if (row->call == CALL_BROADCAST)
        b->recv = b->send;
    else if (in_place && row->recv_blocks > row->send_blocks)
        b->send = b->recv + (size_t)rank * block;
    else if (in_place)
        b->recv = b->send + (row->send_blocks > row->recv_blocks ? (size_t)rank * block : 0);
}

static int copy_all(const struct operation_row *row, struct dtrain_comm *comm, struct buffers *b,
                    struct dtrain_stream *stream, char *result, struct dtrain_error *err)
{
    char start[RANKS * COUNT * ELEMENT_MAX];
    size_t size = dtrain_type_size(b->type);

    for (int i = 0; i < row->send_blocks * COUNT; i++)
        put(start + (size_t)i * size, b->type, value_at(dtrain_comm_rank(comm), i));
    if (dtrain_copy(b->send, start, (size_t)row->send_blocks * COUNT * size, stream, err) != 0 ||
        call(row, comm, b, stream, err) != 0 ||
        dtrain_copy(result, b->recv, (size_t)row->recv_blocks * COUNT * size, stream, err) != 0)
        return -1;
    return dtrain_stream_synchronize(stream, err);
}

static const char *check_operation(const struct operation_row *row, struct dtrain_comm *comm,
                                   struct buffers *b, struct dtrain_stream *stream, struct dtrain_error *err)
{
    char result[RANKS * COUNT * ELEMENT_MAX], expected[ELEMENT_MAX];
    size_t size = dtrain_type_size(b->type);

    if (copy_all(row, comm, b, stream, result, err) != 0)
        return err->text;
    for (int i = 0; i < row->recv_blocks * COUNT; i++) {
        put(expected, b->type, expected_at(row->call, b->op, dtrain_comm_rank(comm), i));
        if (memcmp(result + (size_t)i * size, expected, size) == 0)
            continue;
        dt_error_set(err, "%s of type %d with op %d: element %d is wrong", row->name, (int)b->type,
                     (int)b->op, i);
        return err->text;
    }
    return NULL;
}

static const char *check_types(const struct operation_row *row, struct dtrain_comm *comm, char *memory,
                               struct dtrain_stream *stream, struct dtrain_error *err)
{
    const char *wrong = NULL;

    for (int type = DTRAIN_FLOAT32; type <= DTRAIN_INT8; type++)
        for (int op = DTRAIN_SUM; op <= (row->reduces ? DTRAIN_MIN : DTRAIN_SUM); op++)
            for (int in_place = 0; in_place <= row->has_in_place && wrong == NULL; in_place++) {
                struct buffers b = {.type = (enum dtrain_type)type, .op = (enum dtrain_op)op};

                place(row, &b, memory, dtrain_comm_rank(comm), in_place);
                wrong = check_operation(row, comm, &b, stream, err);
            }
    return wrong;
}

static const char *check_operations(struct dtrain_world *world, struct dtrain_error *err)
{
    struct dtrain_stream *stream = NULL;
    struct dtrain_comm *comm;
    const char *wrong = NULL;
    void *memory = NULL;

    if (dtrain_comm_get(world, DTRAIN_TP, &comm, err) != 0 ||
        dtrain_stream_create(world, &stream, err) != 0 ||
        dtrain_memory_alloc(world, 2 * RANKS * COUNT * ELEMENT_MAX, &memory, err) != 0)
        wrong = err->text;
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]) && wrong == NULL; i++)
        wrong = check_types(&operations[i], comm, memory, stream, err);
    if (wrong == NULL &&
        (dtrain_all_reduce(comm, NULL, NULL, 0, DTRAIN_FLOAT32, DTRAIN_SUM, stream, err) != 0 ||
         dtrain_barrier(comm, stream, err) != 0))
        wrong = err->text;
    dtrain_stream_destroy(stream, NULL);
    dtrain_memory_free(world, memory);
    return wrong;
}

static void body_operations(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    run(step, rank, said, check_operations);
}

/* ---- Streams, memory, math ------------------------------------------------------ */

/* fill on one stream, then scale on another that waits for it, then a sum over the group on a third. */
static int queue_chain(struct dtrain_comm *comm, float *x, struct dtrain_stream *streams[3], float *result,
                       struct dtrain_error *err)
{
    struct dt_math fill = {.kind = DT_MATH_FILL, .fill = {x, DTRAIN_FLOAT32, 64, 3.0}};
    struct dt_math scale = {.kind = DT_MATH_SCALE,
                            .scale = {.to = x,
                                      .from = x,
                                      .to_type = DTRAIN_FLOAT32,
                                      .from_type = DTRAIN_FLOAT32,
                                      .n = 64,
                                      .by = {.factor = 2.0}}};

    if (dt_math_enqueue(&fill, streams[0], err) != 0 ||
        dtrain_stream_wait(streams[1], streams[0], err) != 0 ||
        dt_math_enqueue(&scale, streams[1], err) != 0 ||
        dtrain_stream_wait(streams[2], streams[1], err) != 0 ||
        dtrain_all_reduce(comm, x, x, 64, DTRAIN_FLOAT32, DTRAIN_SUM, streams[2], err) != 0 ||
        dtrain_copy(result, x, 64 * sizeof(*x), streams[2], err) != 0)
        return -1;
    return dtrain_stream_synchronize(streams[2], err);
}

static const char *check_chain(struct dtrain_world *world, struct dtrain_stream *streams[3],
                               struct dtrain_error *err)
{
    struct dtrain_comm *comm;
    float result[64];
    void *x = NULL;
    bool done = false;
    int rc = dtrain_comm_get(world, DTRAIN_TP, &comm, err);

    if (rc == 0)
        rc = dtrain_memory_alloc(world, sizeof(result), &x, err);
    for (int turn = 0; rc == 0 && turn < 20; turn++) {
        rc = queue_chain(comm, x, streams, result, err);
        for (int i = 0; rc == 0 && i < 64; i++)
            if (result[i] != 6.0F * (float)dtrain_comm_size(comm))
                rc = dt_error_set(err, "element %d is %f", i, (double)result[i]);
    }
    if (rc == 0)
        rc = dtrain_stream_query(streams[0], &done, err);
    dtrain_memory_free(world, x);
    return rc != 0 ? err->text : done ? NULL : "an empty stream is done";
}

static const char *check_zeroed(struct dtrain_world *world, struct dtrain_error *err)
{
    char bytes[1000], zeros[1000] = {0};
    void *memory = NULL;
    int rc = dtrain_memory_alloc(world, sizeof(bytes), &memory, err);

    if (rc == 0)
        rc = nccl_double_download(world, bytes, memory, sizeof(bytes), err);
    dtrain_memory_free(world, memory);
    if (rc != 0)
        return err->text;
    return memcmp(bytes, zeros, sizeof(bytes)) == 0 && (uintptr_t)memory % 64 == 0 ? NULL
                                                                                   : "memory is zeroed";
}

static const char *check_streams(struct dtrain_world *world, struct dtrain_error *err)
{
    struct dtrain_stream *streams[3] = {NULL};
    const char *wrong = check_zeroed(world, err);

    for (int i = 0; i < 3 && wrong == NULL; i++)
        wrong = dtrain_stream_create(world, &streams[i], err) != 0 ? err->text : NULL;
    if (wrong == NULL)
        wrong = check_chain(world, streams, err);
    for (int i = 0; i < 3; i++)
        dtrain_stream_destroy(streams[i], NULL);
    return wrong;
}

static void body_streams(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    run(step, rank, said, check_streams);
}

/* ---- Batches ---------------------------------------------------------------------- */

static int queue_batch(struct dtrain_world *world, int *x, struct dtrain_stream *streams[2],
                       struct dtrain_error *err)
{
    struct dtrain_comm *tp, *pp;

    if (dtrain_comm_get(world, DTRAIN_TP, &tp, err) != 0 ||
        dtrain_comm_get(world, DTRAIN_PP, &pp, err) != 0 ||
        dtrain_batch_begin(world, err) != 0 || dtrain_batch_begin(world, err) != 0)
        return -1;
    if (dtrain_all_reduce(tp, x, x, 1, DTRAIN_INT32, DTRAIN_SUM, streams[0], err) != 0 ||
        dtrain_all_reduce(pp, x + 1, x + 1, 1, DTRAIN_INT32, DTRAIN_SUM, streams[1], err) != 0)
        return -1;
    return dtrain_batch_end(world, err) != 0 ? -1 : dtrain_batch_end(world, err);
}

static const char *check_batch(struct dtrain_world *world, struct dtrain_error *err)
{
    int two[2] = {1, 1}, rc = 0, *x = nccl_double_upload(world, two, sizeof(two), err);
    struct dtrain_stream *streams[2] = {NULL};
    bool was_refused;

    for (int i = 0; i < 2 && rc == 0; i++)
        rc = dtrain_stream_create(world, &streams[i], err);
    if (rc == 0 && x != NULL)
        rc = queue_batch(world, x, streams, err);
    for (int i = 0; i < 2; i++)
        if (dtrain_stream_destroy(streams[i], rc == 0 ? err : NULL) != 0)
            rc = -1;
    if (rc == 0)
        rc = nccl_double_download(world, two, x, sizeof(two), err);
    dtrain_memory_free(world, x);
    if (rc != 0)
        return err->text;
    was_refused = dtrain_batch_end(world, err) != 0;
    return two[0] == 2 && two[1] == 2 && was_refused ? NULL : "two sums in one batch";
}

static void body_batch(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    run(step, rank, said, check_batch);
}

/* ---- NCCL's own handles ----------------------------------------------------------- */

static const char *check_config_of(struct dtrain_world *world, unsigned axes, const char *name, int max_ctas,
                                   struct dtrain_error *err)
{
    struct dtrain_comm *comm;
    ncclConfig_t config;
    ncclComm_t handle;
    int rank = -1;

    if (dtrain_comm_get(world, axes, &comm, err) != 0 || dtrain_nccl_comm(comm, &handle, err) != 0)
        return err->text;
    if (fake_nccl_config(handle, &config) != 0 || ncclCommUserRank(handle, &rank) != ncclSuccess ||
        rank != dtrain_comm_rank(comm))
        return "the handle's rank";
    dt_error_set(err, "%s: blocking %d, cga %d, CTAs %d to %d, split %d, name %s", name, config.blocking,
                 config.cgaClusterSize, config.minCTAs, config.maxCTAs, config.splitShare, config.commName);
    return config.blocking == 0 && config.maxCTAs == max_ctas && config.minCTAs == 2 &&
                   config.splitShare == 0 && strncmp(config.commName, name, strlen(name)) == 0
               ? NULL
               : err->text;
}

/* min_ctas comes from all; NCCL refuses it without a maximum, which dp and pp then get. */
static const char *check_config(struct dtrain_world *world, struct dtrain_error *err)
{
    const char *wrong = check_config_of(world, DTRAIN_TP, "dtrain/tp/", 8, err);

    if (wrong == NULL)
        wrong = check_config_of(world, DTRAIN_DP, "dtrain/dp/", 16, err);
    if (wrong == NULL)
        wrong = check_config_of(world, DTRAIN_PP, "dtrain/pp/", 64, err);
    return wrong != NULL ? wrong : check_sums(world, err);
}

static void body_config(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    run(step, rank, said, check_config);
}

/* A CUDA stream of the program's, and NCCL's own call on it, in the order of the stream. */
static int use_handles(struct dtrain_world *world, struct dtrain_comm *comm, cudaStream_t own, int *x,
                       struct dtrain_error *err)
{
    struct dtrain_stream *stream;
    ncclResult_t result;
    cudaStream_t again;
    ncclComm_t handle;

    if (dtrain_nccl_comm(comm, &handle, err) != 0 || dtrain_nccl_stream_wrap(world, own, &stream, err) != 0)
        return -1;
    if (dtrain_nccl_stream(stream, &again, err) != 0 || again != own)
        return dt_error_set(err, "the stream comes back as another");
    if (dtrain_all_reduce(comm, x, x, 1, DTRAIN_INT32, DTRAIN_SUM, stream, err) != 0)
        return -1;
    result = ncclAllReduce(x, x, 1, ncclInt32, ncclSum, handle, own);
    while (result == ncclInProgress)
        ncclCommGetAsyncError(handle, &result);
    return dtrain_stream_destroy(stream, err);
}

static const char *check_handles(struct dtrain_world *world, struct dtrain_error *err)
{
    int one = 1, *x = nccl_double_upload(world, &one, sizeof(one), err), rc;
    struct dtrain_comm *comm = NULL, *single = NULL;
    cudaStream_t own;
    ncclComm_t handle;

    if (x == NULL || dtrain_nccl_device(world) != dtrain_local_rank(world) ||
        cudaStreamCreate(&own) != cudaSuccess)
        return "the device";
    rc = dtrain_comm_get(world, DTRAIN_TP, &comm, err);
    if (rc == 0)
        rc = use_handles(world, comm, own, x, err);
    if (rc == 0)
        rc = nccl_double_download(world, &one, x, sizeof(one), err);
    cudaStreamDestroy(own);
    dtrain_memory_free(world, x);
    if (rc != 0)
        return err->text;
    if (one != dtrain_comm_size(comm) * dtrain_comm_size(comm))
        return "two sums, one of them NCCL's own";
    if (dtrain_comm_get(world, DTRAIN_CP, &single, err) != 0 || dtrain_nccl_comm(single, &handle, err) == 0)
        return "a group of one has no handle";
    return strstr(err->text, "dtrain_nccl_comm: a group of one") != NULL ? NULL : err->text;
}

static void body_handles(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    run(step, rank, said, check_handles);
}

static const char *check_registration(struct dtrain_world *world, struct dtrain_error *err)
{
    struct dtrain_comm *comm;
    ncclWindow_t window = NULL;
    void *memory = NULL, *handle = NULL;
    int rc = dtrain_comm_get(world, DTRAIN_TP, &comm, err);

    if (rc == 0)
        rc = dtrain_memory_alloc(world, 8192, &memory, err);
    if (rc == 0)
        rc = dtrain_nccl_register(comm, memory, 8192, &handle, err);
    if (rc == 0)
        rc = dtrain_nccl_deregister(comm, handle, err);
    if (rc == 0)
        rc = dtrain_nccl_window_register(comm, memory, 8192, NCCL_WIN_COLL_SYMMETRIC, &window, err);
    if (rc == 0)
        rc = dtrain_nccl_window_deregister(comm, window, err);
    dtrain_memory_free(world, memory);
    if (rc != 0)
        return err->text;
    if (dtrain_nccl_register(comm, NULL, 8, &handle, err) == 0)
        return "no memory is registered";
    return strstr(err->text, "dtrain_nccl_register: buf is") != NULL ? NULL : err->text;
}

static void body_registration(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    run(step, rank, said, check_registration);
}

/* ---- The table --------------------------------------------------------------------- */

#define ROW(title, nodes, tasks, tp, pp, ep, runs)                                                           \
    .row = {title, {nodes, tasks, tp, pp, ep}, ENOUGH_MS, runs, .words = {"well"}, .backend = &nccl_double}

static const struct nccl_row rows[] = {
    {ROW("nccl#964, nccl#864, nccl#2363: a world of one has no communicator", 1, 1, 1, 1, 1, body_up)},
    {ROW("2 ranks on 1 node", 1, 2, 2, 1, 1, body_up)},
    {ROW("2 ranks on 2 nodes", 2, 1, 1, 2, 1, body_up)},
    {ROW("nccl#2094, nccl#863: 8 ranks, tp 2, pp 2, dp 2, made in one group", 1, 8, 2, 2, 1, body_up)},
    {ROW("8 ranks on 2 nodes with experts", 2, 4, 2, 2, 2, body_up)},
    {ROW("pp of 2: the next stage is the one before, too", 1, 2, 1, 2, 1, body_up)},
    {ROW("several ids for one group", 1, 4, 4, 1, 1, body_several_ids)},
    {ROW("every operation, type, reduction, in place and not", 1, 4, 4, 1, 1, body_operations)},
    {ROW("the same on an NCCL 2.19", 1, 4, 4, 1, 1, body_operations), .version = "21900"},
    {ROW("streams, memory and math", 1, 4, 4, 1, 1, body_streams)},
    {ROW("memory that can be registered", 1, 2, 2, 1, 1, body_streams), .config = "all.mem_alloc=1"},
    {ROW("a configuration for each axis, read back", 1, 8, 2, 2, 1, body_config),
     .config = "all.min_ctas=2,tp.max_ctas=8,dp.max_ctas=16"},
    {ROW("operations of two communicators as one batch", 1, 4, 2, 2, 1, body_batch)},
    {ROW("NCCL's own handles", 1, 2, 2, 1, 1, body_handles)},
    {ROW("registration and windows", 1, 2, 2, 1, 1, body_registration), .config = "all.mem_alloc=1"},
};

int main(void)
{
    nccl_double_load();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(nccl_double_check(&rows[i]), "%s", rows[i].row.name);
    return tap_done();
}
