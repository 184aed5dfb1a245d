/* The NCCL module when something fails: who, where, in which operation; and nothing hangs or leaks. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "nccl_double.h"
#include "runtime/math.h"
#include "tap.h"

#define ENOUGH_MS 30000 /* a deadline that is not meant to pass, under sanitizers and load too */
#define SHORT_MS 1500   /* one that is, in an operation */
#define INIT_MS 4000    /* one that is, in the bring-up: creations are in progress for a while */

/* ---- Coming up ------------------------------------------------------------------ */

static void body_init(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_world *world = NULL;
    struct dtrain_error err = {"well"};

    nccl_double_init(&world, step, rank, &err);
    fork_say(said, err.text);
    dtrain_finalize(world, NULL);
}

/* ---- Operations ------------------------------------------------------------------ */

struct use {
    struct dtrain_world *world;
    struct dtrain_comm *comm;
    struct dtrain_stream *stream, *other;
    int *memory; /* of the device, 64 ints */
};

/* One of each, with a copy and math between them. */
static int use_all(struct use *use, struct dtrain_error *err)
{
    struct dtrain_comm *comm = use->comm;
    struct dtrain_stream *on = use->stream;
    int size = dtrain_comm_size(comm), rank = dtrain_comm_rank(comm), *x = use->memory, host[4];
    struct dtrain_transfer ring[2] = {{true, (rank + 1) % size, DTRAIN_INT32, 4, x},
                                      {false, (rank + size - 1) % size, DTRAIN_INT32, 4, x + 32}};
    struct dt_math fill = {.kind = DT_MATH_FILL, .fill = {x, DTRAIN_FLOAT32, 4, 1.0}};

    if (dt_math_enqueue(&fill, on, err) != 0 ||
        dtrain_all_reduce(comm, x, x, 4, DTRAIN_INT32, DTRAIN_SUM, on, err) != 0 ||
        dtrain_all_gather(comm, x, x + 32, 4, DTRAIN_INT32, on, err) != 0 ||
        dtrain_reduce_scatter(comm, x + 32, x, 4, DTRAIN_INT32, DTRAIN_MAX, on, err) != 0 ||
        dtrain_broadcast(comm, x, 4, DTRAIN_INT32, 1, on, err) != 0 ||
        dtrain_all_to_all(comm, x, x + 32, 4, DTRAIN_INT32, on, err) != 0 ||
        dtrain_transfer(comm, ring, 2, on, err) != 0 || dtrain_barrier(comm, on, err) != 0 ||
        dtrain_stream_wait(use->other, on, err) != 0 ||
        dtrain_copy(host, x, sizeof(host), use->other, err) != 0)
        return -1;
    return dtrain_stream_synchronize(use->other, err);
}

static int use_open(struct use *use, struct dtrain_error *err)
{
    void *memory = NULL;
    int rc = dtrain_comm_get(use->world, DTRAIN_TP, &use->comm, err);

    if (rc == 0)
        rc = dtrain_stream_create(use->world, &use->stream, err);
    if (rc == 0)
        rc = dtrain_stream_create(use->world, &use->other, err);
    if (rc == 0)
        rc = dtrain_memory_alloc(use->world, 64 * sizeof(int), &memory, err);
    use->memory = memory;
    return rc;
}

/* Who cannot go on says so to the others, as dtrain.h asks. */
static void use_close(struct use *use, bool has_failed, const struct dtrain_error *err)
{
    if (has_failed && use->comm != NULL)
        dtrain_comm_revoke(use->comm, err->text, NULL);
    dtrain_stream_destroy(use->stream, NULL);
    dtrain_stream_destroy(use->other, NULL);
    if (use->memory != NULL)
        dtrain_memory_free(use->world, use->memory);
}

static void run(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX],
                int (*work)(struct use *use, struct dtrain_error *err))
{
    struct dtrain_error err = {"well"};
    struct use use = {0};
    int rc = nccl_double_init(&use.world, step, rank, &err);

    if (rc == 0) {
        rc = use_open(&use, &err);
        if (rc == 0)
            rc = work(&use, &err);
        use_close(&use, rc != 0, &err);
    }
    fork_say(said, rc != 0 ? err.text : "well");
    dtrain_finalize(use.world, NULL);
}

static void body_use(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    run(step, rank, said, use_all);
}

static int use_failing_kernel(struct use *use, struct dtrain_error *err)
{
    if (dtrain_barrier(use->comm, use->stream, err) != 0)
        return -1;
    fake_nccl_fail("cudaStreamQuery:1:cudaErrorIllegalAddress");
    return dtrain_stream_synchronize(use->stream, err);
}

static void body_kernel(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    run(step, rank, said, use_failing_kernel);
}

/* A failed communicator stays so, for every later call, in the words of its first failure. */
static int use_again(struct use *use, struct dtrain_error *err)
{
    struct dtrain_error first, second;
    int rc = use_all(use, err);

    if (rc == 0 || dtrain_barrier(use->comm, use->stream, &first) == 0)
        return dt_error_set(err, "a failed communicator took an operation");
    dtrain_barrier(use->comm, use->other, &second);
    return strcmp(first.text, second.text) == 0
               ? -1
               : dt_error_set(err, "two reasons: %s; %s", first.text, second.text);
}

static void body_again(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    run(step, rank, said, use_again);
}

/* ---- Deaths and revocations -------------------------------------------------------- */

static uint32_t odd_rank; /* of this process's row */

/* The others wait in an operation for one that is gone. */
static int use_without_odd(struct use *use, struct dtrain_error *err)
{
    if ((uint32_t)dtrain_rank(use->world) == odd_rank)
        raise(SIGKILL);
    if (dtrain_all_reduce(use->comm, use->memory, use->memory, 4, DTRAIN_INT32, DTRAIN_SUM, use->stream,
                          err) != 0)
        return -1;
    return dtrain_stream_synchronize(use->stream, err);
}

static void body_death(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    odd_rank = step->row->odd;
    run(step, rank, said, use_without_odd);
}

static int use_after_revoke(struct use *use, struct dtrain_error *err)
{
    if ((uint32_t)dtrain_rank(use->world) == odd_rank &&
        (dtrain_comm_revoke(use->comm, "its loss is no number", err) != 0 ||
         dtrain_comm_revoke(use->comm, "again", err) != 0))
        return dt_error_set(err, "dtrain_comm_revoke failed");
    if (dtrain_all_reduce(use->comm, use->memory, use->memory, 4, DTRAIN_INT32, DTRAIN_SUM, use->stream,
                          err) != 0)
        return -1;
    return dtrain_stream_synchronize(use->stream, err);
}

static void body_revoke(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    odd_rank = step->row->odd;
    run(step, rank, said, use_after_revoke);
}

#define TOLD "revoked by rank 2 on n1: all_reduce #1 on dtrain/tp/0: "

/* The rank where NCCL fails says nothing itself, and keeps its end of the connections until the others know. */
static void body_told(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    struct dtrain_error err = {"well"};
    struct use use = {0};

    odd_rank = UINT32_MAX;
    if (nccl_double_init(&use.world, step, rank, &err) == 0 && use_open(&use, &err) == 0)
        use_without_odd(&use, &err);
    fork_say(said, rank == step->row->odd && strstr(err.text, TOLD) == NULL ? TOLD : err.text);
    if (!fork_reached(step, rank, step->count))
        fork_say(said, "the others were not told");
    use_close(&use, false, NULL);
    dtrain_finalize(use.world, NULL);
}

/* ---- The end of communicators that failed --------------------------------------------- */

/* What this process writes to stderr from here on. */
static FILE *catch_stderr(void)
{
    FILE *file = tmpfile();

    if (file == NULL || dup2(fileno(file), STDERR_FILENO) < 0)
        exit(2);
    return file;
}

static void say_caught(FILE *file, char said[FORK_TEXT_MAX])
{
    size_t n;

    rewind(file);
    n = fread(said, 1, FORK_TEXT_MAX - 1, file);
    said[n] = '\0';
    fclose(file);
}

/* The process goes on past an abort that does not come back, and its log says so. */
static void body_abort(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    FILE *file = catch_stderr();

    run(step, rank, said, use_failing_kernel);
    say_caught(file, said);
}

static int sum_again(struct use *use, struct dtrain_error *err)
{
    const char *wrong = nccl_double_sum(use->world, DTRAIN_TP, err);

    if (wrong == NULL)
        wrong = nccl_double_sum(use->world, DTRAIN_DP, err);
    return wrong == NULL ? 0 : wrong == err->text ? -1 : dt_error_set(err, "%s", wrong);
}

/* All revoke and go on with the same ranks. */
static int use_rebuilt(struct use *use, struct dtrain_error *err)
{
    int ranks[FORK_RANKS_MAX], n = dtrain_size(use->world);

    for (int i = 0; i < n; i++)
        ranks[i] = i;
    if (dtrain_comms_revoke(use->world, "a rank died", err) != 0 ||
        dtrain_comms_rebuild(use->world, ranks, (size_t)n, err) != 0)
        return -1;
    return sum_again(use, err);
}

#define GROUPS 3 /* of each rank: tp, dp, and dp of the experts */

/* Never from a failed parent: each is made anew, and ends once, a revoked one by destroy, others by abort. */
static void body_rebuild(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    const struct nccl_row *row = (const struct nccl_row *)(const void *)step->row;
    int aborts = row->version != NULL ? GROUPS : 0; /* without ncclCommRevoke */
    struct fake_nccl_counts counts;

    run(step, rank, said, use_rebuilt);
    if (strcmp(said, "well") != 0 || fake_nccl_counts(&counts) != 0)
        return;
    snprintf(said, FORK_TEXT_MAX, "%d shrinks, %d splits, %d inits, %d aborts, %d destroys, %d left",
             counts.shrinks, counts.splits, counts.inits, counts.aborts, counts.destroys, counts.live_comms);
    if (counts.shrinks == 0 && counts.splits == 0 && counts.inits == 2 * GROUPS && counts.aborts == aborts &&
        counts.destroys == counts.inits - aborts && counts.live_comms == 0 && counts.violations == 0)
        fork_say(said, "well");
}

/* ---- Versions ------------------------------------------------------------------------ */

/* What an older NCCL lacks is named, and breaks nothing. */
static int use_window(struct use *use, struct dtrain_error *err)
{
    ncclWindow_t window;

    return dtrain_nccl_window_register(use->comm, use->memory, 64, NCCL_WIN_DEFAULT, &window, err);
}

static void body_window(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    run(step, rank, said, use_window);
}

/* The choice of the backend, in one process; "well" when the module can be used. */
static void body_available(struct fork_step *step, uint32_t rank, char said[FORK_TEXT_MAX])
{
    const struct nccl_row *row = (const struct nccl_row *)(const void *)step->row;
    char why[512] = "well";

    (void)rank;
    if (row->version != NULL)
        setenv("FAKE_NCCL_VERSION", row->version, 1);
    if (row->variable != NULL)
        putenv((char *)row->variable);
    fork_say(said, nccl_double.is_available(why, sizeof(why)) ? "well" : why);
}

/* ---- The table --------------------------------------------------------------------- */

/* One node, one tensor-parallel group of four: ncclAllReduce's first call is the warm-up. */
#define FOUR(title, ms, runs) title, {1, 4, 4, 1, 1}, ms, runs, .backend = &nccl_double
#define ONE(title, runs) title, {1, 1, 1, 1, 1}, ENOUGH_MS, runs, .backend = &nccl_double
#define RANK_2 "rank 2 on n1"

static const struct nccl_row rows[] = {
    /* One rank fails in the bring-up: all are freed, and it is named. */
    {{FOUR("nccl#582: a creation fails on one rank", ENOUGH_MS, body_init),
      .words = {RANK_2, "ncclCommInitRankConfig on dtrain/tp/0: "}},
     .fail = "ncclCommInitRankConfig:1:ncclInvalidArgument@rank=2"},
    {{FOUR("pytorch#107177: ncclGroupEnd fails on one rank", ENOUGH_MS, body_init),
      .words = {RANK_2, "ncclCommInitRankConfig on dtrain/tp/0: "}},
     .fail = "ncclGroupEnd:1:ncclSystemError@rank=2"},
    {{FOUR("ncclGroupStart fails on one rank", ENOUGH_MS, body_init), .words = {RANK_2, "ncclGroupStart: "}},
     .fail = "ncclGroupStart:1:ncclInternalError@rank=2"},
    {{FOUR("a creation fails later on one rank", ENOUGH_MS, body_init),
      .words = {RANK_2, "ncclCommInitRankConfig on dtrain/tp/0: "}},
     .fail = "ncclCommInitRankConfig:1:async-ncclSystemError@rank=2"},
    {{FOUR("no id", ENOUGH_MS, body_init), .words = {"dtrain/tp/0: ncclGetUniqueId: "}},
     .fail = "ncclGetUniqueId:1:ncclSystemError@rank=0"},
    {{.name = "a creation fails on one rank of several groups", .layout = {2, 2, 2, 1, 1},
      .timeout_ms = ENOUGH_MS, .body = body_init, .backend = &nccl_double,
      .words = {"ncclCommInitRankConfig on dtrain/"}},
     .fail = "ncclCommInitRankConfig:1:ncclInvalidArgument@rank=2"},
    {{FOUR("a rank that never joins", INIT_MS, body_init),
      .words = {"ncclCommInitRankConfig on dtrain/tp/0: NCCL has it in progress for 4 s", ", on rank "}},
     .fail = "ncclCommInitRankConfig:1:never@rank=2"},
    {{FOUR("a creation that stays in progress on one rank", INIT_MS, body_init),
      .words = {" on dtrain/tp/0: ", ", on rank "}},
     .fail = "ncclCommInitRankConfig:1:stuck@rank=2"},
    {{FOUR("no memory on one rank's device", ENOUGH_MS, body_init),
      .words = {"cudaMalloc of 1 byte: cudaErrorMemoryAllocation (out of memory)"}},
     .fail = "cudaMalloc:1:cudaErrorMemoryAllocation@rank=2"},
    {{FOUR("no stream on one rank's device", ENOUGH_MS, body_init),
      .words = {"cudaStreamCreateWithFlags: cudaErrorUnknown"}},
     .fail = "cudaStreamCreateWithFlags:1:cudaErrorUnknown@rank=2"},
    {{FOUR("a device that cannot be used", ENOUGH_MS, body_init),
      .words = {"cudaSetDevice: cudaErrorECCUncorrectable"}},
     .fail = "cudaSetDevice:1:cudaErrorECCUncorrectable@rank=2"},
    {{FOUR("the warm-up fails on one rank", ENOUGH_MS, body_init),
      .words = {RANK_2, "the first all-reduce on dtrain/tp/0: "}},
     .fail = "ncclAllReduce:1:ncclUnhandledCudaError@rank=2"},
    {{FOUR("the warm-up fails later on one rank", ENOUGH_MS, body_init),
      .words = {RANK_2, "the first all-reduce on dtrain/tp/0: "}},
     .fail = "ncclAllReduce:1:async-ncclInternalError@rank=2"},
    {{FOUR("the warm-up hangs on one rank", INIT_MS, body_init),
      .words = {"the first all-reduce on dtrain/tp/0: ", ", on rank "}},
     .fail = "ncclAllReduce:1:hang@rank=2"},
    {{FOUR("more ranks than devices", ENOUGH_MS, body_init),
      .words = {" on n1: local rank ", " has no GPU: 2 visible; use --gpus-per-node=N"}},
     .variable = "FAKE_CUDA_DEVICES=2"},

    /* Each call of NCCL's and CUDA's fails on one rank: the operation is named on all. */
    {{FOUR("all_reduce fails", ENOUGH_MS, body_use),
      .words = {"all_reduce #1 on dtrain/tp/0: ", "internal error"}},
     .fail = "ncclAllReduce:2:ncclInternalError@rank=2"},
    {{FOUR("all_gather fails", ENOUGH_MS, body_use), .words = {"all_gather #2 on dtrain/tp/0: "}},
     .fail = "ncclAllGather:1:ncclInternalError@rank=2"},
    {{FOUR("reduce_scatter fails", ENOUGH_MS, body_use), .words = {"reduce_scatter #3 on dtrain/tp/0: "}},
     .fail = "ncclReduceScatter:1:ncclInternalError@rank=2"},
    {{FOUR("broadcast fails", ENOUGH_MS, body_use), .words = {"broadcast #4 on dtrain/tp/0: "}},
     .fail = "ncclBroadcast:1:ncclInternalError@rank=2"},
    {{FOUR("a send of all_to_all fails", ENOUGH_MS, body_use), .words = {"all_to_all #5 on dtrain/tp/0: "}},
     .fail = "ncclSend:2:ncclInternalError@rank=2"},
    {{FOUR("a receive of all_to_all fails", ENOUGH_MS, body_use),
      .words = {"all_to_all #5 on dtrain/tp/0: "}},
     .fail = "ncclRecv:3:ncclInternalError@rank=2"},
    {{FOUR("a transfer fails", ENOUGH_MS, body_use), .words = {"transfer #1 on dtrain/tp/0: "}},
     .fail = "ncclSend:5:ncclInternalError@rank=2"},
    {{FOUR("the group of a transfer fails", ENOUGH_MS, body_use), .words = {"transfer #1 on dtrain/tp/0: "}},
     .fail = "ncclGroupEnd:3:ncclInternalError@rank=2"},
    {{FOUR("a barrier fails", ENOUGH_MS, body_use), .words = {"barrier #6 on dtrain/tp/0: "}},
     .fail = "ncclAllReduce:3:ncclInternalError@rank=2"},
    {{FOUR("a failure that NCCL finds later", ENOUGH_MS, body_again), .words = {" on dtrain/tp/0: "}},
     .fail = "ncclAllGather:1:async-ncclInternalError@rank=2"},
    {{FOUR("a copy fails", ENOUGH_MS, body_use), .words = {"cudaMemcpyAsync: cudaErrorInvalidValue"}},
     .fail = "cudaMemcpyAsync:1:cudaErrorInvalidValue"},
    {{FOUR("a kernel of the warm-up fails", ENOUGH_MS, body_init),
      .words = {"the first all-reduce on dtrain/tp/0: cudaErrorIllegalAddress", ", on rank "}},
     .fail = "cudaStreamQuery:1:cudaErrorIllegalAddress"},
    {{FOUR("a kernel fails", ENOUGH_MS, body_kernel),
      .words = {"the stream failed: cudaStreamQuery: cudaErrorIllegalAddress"}},
     .fail = NULL},
    {{FOUR("an event fails", ENOUGH_MS, body_use), .words = {"cudaEventRecord: cudaErrorUnknown"}},
     .fail = "cudaEventRecord:1:cudaErrorUnknown"},
    {{FOUR("no event", ENOUGH_MS, body_use),
      .words = {"cudaEventCreateWithFlags: cudaErrorMemoryAllocation"}},
     .fail = "cudaEventCreateWithFlags:1:cudaErrorMemoryAllocation"},
    {{FOUR("no memory for a buffer", ENOUGH_MS, body_use),
      .words = {"cudaMalloc of 256 bytes on device 2: cudaErrorMemoryAllocation"}},
     .fail = "cudaMalloc:2:cudaErrorMemoryAllocation@rank=2"},
    {{FOUR("memory cannot be zeroed", ENOUGH_MS, body_use),
      .words = {"cudaMemsetAsync: cudaErrorInvalidValue"}},
     .fail = "cudaMemsetAsync:1:cudaErrorInvalidValue@rank=2"},
    {{FOUR("no memory that can be registered", ENOUGH_MS, body_use),
      .words = {"ncclMemAlloc of 256 bytes on device 2: "}},
     .fail = "ncclMemAlloc:1:ncclUnhandledCudaError@rank=2",
     .config = "all.mem_alloc=1"},

    /* Hangs, deaths, revocations. */
    {{FOUR("an operation hangs", SHORT_MS, body_use),
      .words = {"barrier #6 on dtrain/tp/0: it did not end within 1.5 s, seen by rank "}},
     .fail = "ncclAllGather:1:hang@rank=2"},
    {{FOUR("an operation stays in progress when it is queued", ENOUGH_MS, body_again),
      .words = {" on dtrain/tp/0: "}},
     .fail = "ncclBroadcast:1:async-ncclRemoteError@rank=2"},
    {{FOUR("nccl#1013: a member dies, and the others wait for it", ENOUGH_MS, body_death), .odd = 2,
      .killed = 1 << 2, .words = {"all_reduce #1 on dtrain/tp/0: " RANK_2 " died"}},
     .fail = NULL},
    {{FOUR("NCCL fails on one rank, which tells the others", ENOUGH_MS, body_told), .odd = 2, .words = {TOLD}},
     .fail = "ncclAllReduce:2:async-ncclInternalError@rank=2"},
    {{FOUR("a member dies, and NCCL notices first", ENOUGH_MS, body_death), .odd = 2, .killed = 1 << 2,
      .words = {"all_reduce #1 on dtrain/tp/0: " RANK_2 " died"}},
     .variable = "FAKE_NCCL_PEER_ERROR_MS=0"},
    {{FOUR("a member revokes, and the others wait for it", ENOUGH_MS, body_revoke), .odd = 2,
      .words = {"revoked by " RANK_2 ": its loss is no number"}},
     .fail = NULL},
    {{FOUR("the same before NCCL 2.28.7: the communicator is aborted", ENOUGH_MS, body_revoke), .odd = 2,
      .words = {"revoked by " RANK_2 ": its loss is no number"}},
     .version = "22703"},
    {{FOUR("revoking fails: the communicator is aborted", ENOUGH_MS, body_revoke), .odd = 2,
      .words = {"revoked by " RANK_2 ": its loss is no number"}},
     .fail = "ncclCommRevoke:1:ncclInternalError"},
    {{FOUR("ncclCommFinalize fails: the communicator is aborted", ENOUGH_MS, body_use), .words = {"well"}},
     .fail = "ncclCommFinalize:1:ncclInternalError"},

    {{FOUR("nccl#1777: ncclCommAbort does not come back", SHORT_MS, body_abort),
      .words = {"1 communicators of rank ",
                ": ncclCommAbort did not come back within 1.5 s: end the process"}},
     .fail = "ncclCommAbort:1:hang",
     .version = "22703"},
    {{.name = "pytorch#194679: no shrinking after a failure", .layout = {1, 4, 2, 1, 1},
      .timeout_ms = ENOUGH_MS, .body = body_rebuild, .backend = &nccl_double, .words = {"well"}},
     .fail = NULL},
    {{.name = "pytorch#194679: aborted parents are not destroyed", .layout = {1, 4, 2, 1, 1},
      .timeout_ms = ENOUGH_MS, .body = body_rebuild, .backend = &nccl_double, .words = {"well"}},
     .version = "22703"},

    /* Versions: what is too old, or lacks what is asked for, is named. */
    {{ONE("NCCL 2.18 is too old", body_available),
      .words = {"NCCL 2.18.5 (", ") is too old: expected 2.19 or newer"}},
     .version = "21805"},
    {{ONE("NCCL 2.19 is not", body_available), .words = {"well"}}, .version = "21903"},
    {{ONE("nor is a newer one", body_available), .words = {"well"}}, .version = "23100"},
    {{ONE("no device", body_available), .words = {"no CUDA device"}}, .variable = "FAKE_CUDA_DEVICES=0"},
    {{FOUR("NCCL 2.21 does all operations", ENOUGH_MS, body_use), .words = {"well"}}, .version = "22105"},
    {{FOUR("NCCL 2.27.3 does", ENOUGH_MS, body_use), .words = {"well"}}, .version = "22703"},
    {{FOUR("NCCL 2.21 has no windows", ENOUGH_MS, body_window),
      .words = {"a window needs NCCL 2.27.0, this is 2.21.5"}},
     .version = "22105"},
    {{FOUR("nor a field of the configuration", ENOUGH_MS, body_init),
      .words = {"dtrain/tp/0: nvls_ctas needs NCCL 2.27.0, this is 2.21.5"}},
     .version = "22105",
     .config = "tp.nvls_ctas=4"},
    {{FOUR("which 2.27 has", ENOUGH_MS, body_use), .words = {"well"}},
     .version = "22703",
     .config = "tp.nvls_ctas=4"},
    {{FOUR("2.27 lacks that of 2.28", ENOUGH_MS, body_init),
      .words = {"dtrain/tp/0: nvlink_centric_sched needs NCCL 2.28.0, this is 2.27.3"}},
     .version = "22703",
     .config = "all.nvlink_centric_sched=1"},
};

int main(void)
{
    nccl_double_load();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tap_ok(nccl_double_check(&rows[i]), "%s", rows[i].row.name);
    return tap_done();
}
