#include "host_stream.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/host_call.h"
#include "runtime/host_coll.h"
#include "runtime/thread.h"

enum item_kind { ITEM_OPERATION, ITEM_COPY, ITEM_MATH, ITEM_MARK, ITEM_WAIT };

/* A place in a stream's queue that another stream waits for; each of the two items holds it. */
struct mark {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int holders;
    bool is_passed;
};

struct item {
    struct item *next;
    enum item_kind kind;
    struct dt_host_comm *comm;
    uint64_t ticket;
    struct mark *mark;
    union {
        struct dt_operation operation; /* of a copy: send, recv, and bytes in count */
        struct dt_math math;
    };
    struct dtrain_transfer transfers[];
};

struct dt_host_stream {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct item *head, *tail; /* the head stays in the queue while it runs */
    bool is_closing;
    bool has_failed;
    struct dtrain_error failure; /* the first since the caller was told of one */
};

/* ---- Marks -------------------------------------------------------------- */

static struct mark *mark_create(struct dtrain_error *err)
{
    struct mark *mark = calloc(1, sizeof(*mark));

    if (mark == NULL) {
        dt_error_memory(err, sizeof(*mark), "a stream's wait");
        return NULL;
    }
    pthread_mutex_init(&mark->lock, NULL);
    pthread_cond_init(&mark->changed, NULL);
    mark->holders = 2;
    return mark;
}

static void mark_release(struct mark *mark)
{
    bool is_last;

    pthread_mutex_lock(&mark->lock);
    is_last = --mark->holders == 0;
    pthread_mutex_unlock(&mark->lock);
    if (!is_last)
        return;
    pthread_cond_destroy(&mark->changed);
    pthread_mutex_destroy(&mark->lock);
    free(mark);
}

static void mark_pass(struct mark *mark)
{
    pthread_mutex_lock(&mark->lock);
    mark->is_passed = true;
    pthread_cond_signal(&mark->changed);
    pthread_mutex_unlock(&mark->lock);
    mark_release(mark);
}

static void mark_await(struct mark *mark)
{
    pthread_mutex_lock(&mark->lock);
    while (!mark->is_passed)
        pthread_cond_wait(&mark->changed, &mark->lock);
    pthread_mutex_unlock(&mark->lock);
    mark_release(mark);
}

/* ---- The thread --------------------------------------------------------- */

static int run_item(struct item *item, struct dtrain_error *err)
{
    switch (item->kind) {
    case ITEM_OPERATION:
        return dt_host_call_run(item->comm, &item->operation, item->ticket, err);
    case ITEM_COPY:
        dt_host_copy(item->operation.recv, item->operation.send, item->operation.count);
        return 0;
    case ITEM_MATH:
        dt_math_run(&item->math);
        return 0;
    case ITEM_MARK:
        mark_pass(item->mark);
        return 0;
    case ITEM_WAIT:
        mark_await(item->mark);
        return 0;
    }
    return 0;
}

/* The oldest item; NULL when the stream ends. */
static struct item *await_item(struct dt_host_stream *stream)
{
    struct item *item;

    pthread_mutex_lock(&stream->lock);
    while (stream->head == NULL && !stream->is_closing)
        pthread_cond_wait(&stream->changed, &stream->lock);
    item = stream->head;
    pthread_mutex_unlock(&stream->lock);
    return item;
}

static void retire_item(struct dt_host_stream *stream, int rc, const struct dtrain_error *failure)
{
    struct item *item;

    pthread_mutex_lock(&stream->lock);
    item = stream->head;
    stream->head = item->next;
    if (stream->head == NULL)
        stream->tail = NULL;
    if (rc != 0 && !stream->has_failed) {
        stream->has_failed = true;
        stream->failure = *failure;
    }
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    free(item);
}

static void *run(void *argument)
{
    struct dt_host_stream *stream = argument;
    struct dtrain_error failure;
    struct item *item;

    while ((item = await_item(stream)) != NULL)
        retire_item(stream, run_item(item, &failure), &failure);
    return NULL;
}

/* ---- Life --------------------------------------------------------------- */

int dt_host_stream_create(struct dt_host_stream **stream, struct dtrain_error *err)
{
    struct dt_host_stream *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return dt_error_memory(err, sizeof(*made), "a stream");
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    if (dt_thread_start(&made->thread, run, made, "the thread of a stream", err) != 0) {
        pthread_cond_destroy(&made->changed);
        pthread_mutex_destroy(&made->lock);
        free(made);
        return -1;
    }
    *stream = made;
    return 0;
}

void dt_host_stream_destroy(struct dt_host_stream *stream)
{
    if (stream == NULL)
        return;
    pthread_mutex_lock(&stream->lock);
    stream->is_closing = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    pthread_join(stream->thread, NULL);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

/* ---- Waiting ------------------------------------------------------------ */

/* With the lock held: the failure, once. */
static int take_failure(struct dt_host_stream *stream, struct dtrain_error *err)
{
    if (!stream->has_failed)
        return 0;
    stream->has_failed = false;
    return dt_error_set(err, "%s", stream->failure.text);
}

int dt_host_stream_synchronize(struct dt_host_stream *stream, struct dtrain_error *err)
{
    int rc;

    pthread_mutex_lock(&stream->lock);
    while (stream->head != NULL)
        pthread_cond_wait(&stream->changed, &stream->lock);
    rc = take_failure(stream, err);
    pthread_mutex_unlock(&stream->lock);
    return rc;
}

int dt_host_stream_query(struct dt_host_stream *stream, bool *done, struct dtrain_error *err)
{
    int rc;

    pthread_mutex_lock(&stream->lock);
    *done = stream->head == NULL;
    rc = take_failure(stream, err);
    pthread_mutex_unlock(&stream->lock);
    return rc;
}

/* ---- Queueing ----------------------------------------------------------- */

static void append(struct dt_host_stream *stream, struct item *item)
{
    pthread_mutex_lock(&stream->lock);
    if (stream->tail != NULL)
        stream->tail->next = item;
    else
        stream->head = item;
    stream->tail = item;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
}

static struct item *item_create(enum item_kind kind, size_t transfers, struct dtrain_error *err)
{
    size_t bytes = sizeof(struct item) + transfers * sizeof(struct dtrain_transfer);
    struct item *item = calloc(1, bytes);

    if (item == NULL) {
        dt_error_memory(err, bytes, "a queued operation");
        return NULL;
    }
    item->kind = kind;
    return item;
}

static struct item *operation_item(struct dt_host_comm *comm, const struct dt_operation *operation,
                                   struct dtrain_error *err)
{
    struct item *item = item_create(ITEM_OPERATION, operation->transfer_count, err);

    if (item == NULL)
        return NULL;
    item->comm = comm;
    item->operation = *operation;
    if (operation->transfer_count > 0)
        memcpy(item->transfers, operation->transfers, operation->transfer_count * sizeof(item->transfers[0]));
    item->operation.transfers = item->transfers;
    return item;
}

/*
 * The ticket and the place in the queue are taken under one lock. So there is one
 * order of all queueing that both the streams and the communicators follow, and a
 * stream never waits for a turn that stands behind it.
 */
int dt_host_stream_push(struct dt_host_stream *stream, struct dt_host_comm *comm,
                        const struct dt_operation *operation, struct dtrain_error *err)
{
    struct item *item = operation_item(comm, operation, err);
    int rc = 0;

    if (item == NULL)
        return -1;
    pthread_mutex_lock(&comm->lock);
    if (comm->has_failed) {
        rc = dt_error_set(err, "%s", comm->failure.text);
        free(item);
    } else {
        item->ticket = comm->tickets++;
        append(stream, item);
    }
    pthread_mutex_unlock(&comm->lock);
    return rc;
}

int dt_host_stream_push_copy(struct dt_host_stream *stream, void *to, const void *from,
                             size_t bytes, struct dtrain_error *err)
{
    struct item *item = item_create(ITEM_COPY, 0, err);

    if (item == NULL)
        return -1;
    item->operation = (struct dt_operation){.send = from, .recv = to, .count = bytes};
    append(stream, item);
    return 0;
}

int dt_host_stream_push_math(struct dt_host_stream *stream, const struct dt_math *math,
                             struct dtrain_error *err)
{
    struct item *item = item_create(ITEM_MATH, 0, err);

    if (item == NULL)
        return -1;
    item->math = *math;
    append(stream, item);
    return 0;
}

/* The mark is queued first: every wait is for what was queued before it, so none is in a circle. */
int dt_host_stream_push_wait(struct dt_host_stream *stream, struct dt_host_stream *other,
                             struct dtrain_error *err)
{
    struct mark *mark = mark_create(err);
    struct item *passing = mark != NULL ? item_create(ITEM_MARK, 0, err) : NULL;
    struct item *waiting = passing != NULL ? item_create(ITEM_WAIT, 0, err) : NULL;

    if (waiting == NULL) {
        free(passing);
        if (mark != NULL) {
            mark_release(mark);
            mark_release(mark);
        }
        return -1;
    }
    passing->mark = waiting->mark = mark;
    append(other, passing);
    append(stream, waiting);
    return 0;
}
