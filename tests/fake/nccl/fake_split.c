/*
 * fake_split.c - children of a communicator. Their members meet at the
 * lowest rank that takes part, under a key that all derive from the parent's.
 */
#include <stdlib.h>
#include <string.h>

#include "fake_group.h"

#define CHILD_OF_COLOR UINT64_C(0x100000000)

static int compare_order(const void *a, const void *b)
{
    const struct fake_member *x = a, *y = b;

    if (x->order != y->order)
        return (x->order > y->order) - (x->order < y->order);
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Keeps the own color's cards in their order; the child's ranks are their places. */
static void choose_members(ncclComm_t child, struct fake_member *cards, int count, int own_rank, int color)
{
    int kept = 0;

    for (int i = 0; i < count; i++)
        if (cards[i].color == color)
            cards[kept++] = cards[i];
    qsort(cards, (size_t)kept, sizeof(*cards), compare_order);
    for (int i = 0; i < kept; i++) {
        if (cards[i].rank == own_rank)
            child->rank = i;
        cards[i].rank = i;
    }
    child->nranks = kept;
    child->members = cards;
}

static ncclResult_t child_run(struct fake_job *job)
{
    struct fake_member *cards = NULL;
    char why[FAKE_TEXT_MAX] = "";
    ncclResult_t result;

    while ((job->fault.kind == FAKE_FAULT_NEVER || job->fault.kind == FAKE_FAULT_HANG) &&
           !fake_cancel_is_set(&job->cancel))
        fake_pause_us(1000);
    if (job->flags & NCCL_SHRINK_ABORT)
        fake_comm_await_idle(job->comm, job->function, false);
    result = fake_id_meet(&job->meeting, &job->card, &job->cancel, &cards, why);
    if (result != ncclSuccess)
        return fake_fail(result, "%s", why);
    if (job->child == NULL) {
        free(cards);
        return ncclSuccess;
    }
    choose_members(job->child, cards, job->meeting.nranks, job->card.rank, job->card.color);
    job->child->key = fake_key_child(job->meeting.key, CHILD_OF_COLOR + (uint64_t)job->card.color);
    result = fake_comm_connect(job->child, &job->cancel);
    if (result == ncclSuccess)
        job->child->life = FAKE_READY;
    return result;
}

static void child_undo(struct fake_job *job)
{
    if (job->child == NULL)
        return;
    fake_comm_close(job->child);
    job->child->life = FAKE_GONE;
}

static struct fake_job *child_job(const char *function, ncclComm_t parent, ncclComm_t *out, int leader,
                                  int nranks, uint64_t check)
{
    struct fake_job *job = fake_job_new(function, parent, child_run);

    *out = NULL;
    job->out = out;
    job->undo = child_undo;
    job->card = fake_job_card(parent->rank);
    job->card.device = fake_device_physical(parent->device);
    job->meeting.key = job->meeting.main_key = fake_key_child(parent->key, ++parent->children);
    job->meeting.addr = job->meeting.main_addr = parent->members[leader].addr;
    job->meeting.nranks = job->meeting.expected = nranks;
    job->meeting.check = check;
    return job;
}

static ncclComm_t child_new(ncclComm_t parent, const ncclConfig_t *config)
{
    ncclComm_t child = fake_comm_new(1, 0, config);

    child->device = parent->device;
    return child;
}

/* The parent's own words are the child's where none are given. */
static ncclResult_t check_parent(const char *function, ncclComm_t parent, ncclComm_t *out,
                                 const ncclConfig_t *given, ncclConfig_t *config, struct fake_fault *fault)
{
    ncclResult_t result = fake_enter(function, fault);

    if (result == ncclSuccess)
        result = fake_comm_use(parent, function, FAKE_USE_MANAGE);
    if (result == ncclSuccess && out == NULL)
        result = fake_fail(ncclInvalidArgument, "%s: the place for the new communicator is NULL", function);
    if (result == ncclSuccess && fake_group_has_split(parent))
        result = fake_break(ncclInvalidUsage, "%s: two children of %s in one group", function, parent->name);
    return result == ncclSuccess ? fake_config_read(config, given, &parent->config) : result;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *out, ncclConfig_t *given)
{
    struct fake_fault fault = {FAKE_FAULT_NONE, 0};
    ncclConfig_t config;
    struct fake_job *job;
    ncclResult_t result = check_parent("ncclCommSplit", comm, out, given, &config, &fault);

    if (result != ncclSuccess)
        return result;
    if (color < NCCL_SPLIT_NOCOLOR)
        return fake_fail(ncclInvalidArgument, "ncclCommSplit: color %d", color);
    fake_count(&fake_counts.splits);
    job = child_job("ncclCommSplit", comm, out, 0, comm->nranks, 0);
    job->is_split = true;
    job->fault = fault;
    job->card.color = color;
    job->card.order = key;
    job->child = color != NCCL_SPLIT_NOCOLOR ? child_new(comm, &config) : NULL;
    fake_group_open();
    fake_group_add_job(job);
    return fake_group_close();
}

/* ---- Shrinking ---------------------------------------------------------- */

static int compare_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* Sorts the list, as NCCL does. */
static ncclResult_t check_excluded(ncclComm_t comm, int *excluded, int count, int flags)
{
    if (excluded == NULL || count < 1 || count >= comm->nranks)
        return fake_fail(ncclInvalidArgument, "ncclCommShrink of %d ranks without %d", comm->nranks, count);
    if (flags != NCCL_SHRINK_DEFAULT && flags != NCCL_SHRINK_ABORT)
        return fake_fail(ncclInvalidArgument, "ncclCommShrink: flags 0x%x", (unsigned)flags);
    qsort(excluded, (size_t)count, sizeof(*excluded), compare_int);
    for (int i = 0; i < count; i++) {
        if (excluded[i] < 0 || excluded[i] >= comm->nranks || (i > 0 && excluded[i] == excluded[i - 1]))
            return fake_fail(ncclInvalidArgument, "ncclCommShrink: rank %d is none, or twice", excluded[i]);
        if (excluded[i] == comm->rank)
            return fake_break(ncclInvalidUsage, "ncclCommShrink by rank %d, which it excludes", comm->rank);
    }
    return ncclSuccess;
}

static int lowest_survivor(const int *excluded, int count)
{
    int lowest = 0;

    while (lowest < count && excluded[lowest] == lowest)
        lowest++;
    return lowest;
}

/* An error of the parent's is no hindrance where its operations are ended first. */
static void forgive(ncclComm_t comm, int flags)
{
    if (comm == NULL || flags != NCCL_SHRINK_ABORT)
        return;
    if (comm->state != ncclSuccess && comm->state != ncclInProgress && comm->life == FAKE_READY)
        comm->state = ncclSuccess;
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int *excluded, int count, ncclComm_t *out, ncclConfig_t *given,
                            int flags)
{
    struct fake_fault fault = {FAKE_FAULT_NONE, 0};
    ncclConfig_t config;
    struct fake_job *job;
    ncclResult_t result;

    forgive(comm, flags);
    result = check_parent("ncclCommShrink", comm, out, given, &config, &fault);
    if (result == ncclSuccess)
        result = check_excluded(comm, excluded, count, flags);
    if (result != ncclSuccess)
        return result;
    fake_count(&fake_counts.shrinks);
    job = child_job("ncclCommShrink", comm, out, lowest_survivor(excluded, count), comm->nranks - count,
                    fake_hash(0, excluded, sizeof(*excluded) * (size_t)count));
    job->is_split = true;
    job->fault = fault;
    job->flags = flags;
    job->child = child_new(comm, &config);
    if (flags == NCCL_SHRINK_ABORT) {
        comm->must_abort = true;
        fake_comm_raise(comm, &comm->stop);
    }
    fake_group_open();
    fake_group_add_job(job);
    return fake_group_close();
}
