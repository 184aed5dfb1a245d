/* Arguments of every operation, and what reaches the backend: a double that notes it. */
#include "runtime/comm.h"

#include "tap.h"

#define SIZE 4
#define RANK 2
#define COUNT 8
#define NO_TYPE ((enum dtrain_type)99)
#define NO_OP ((enum dtrain_op)-1)

/* ---- A backend that notes ----------------------------------------------- */

static struct {
    int operations, copies, destroyed;
    struct dt_operation last;
    struct dtrain_transfer transfers[8];
    const void *copied_from;
    void *copied_to;
    size_t copied_bytes;
    bool has_failure;
} noted;

static int note_operation(void *comm, const struct dt_operation *operation, void *stream,
                          struct dtrain_error *err)
{
    (void)comm;
    (void)stream;
    (void)err;
    noted.operations++;
    noted.last = *operation;
    for (size_t i = 0; i < operation->transfer_count && i < 8; i++)
        noted.transfers[i] = operation->transfers[i];
    return 0;
}

static int note_copy(void *to, const void *from, size_t bytes, void *stream,
                     struct dtrain_error *err)
{
    (void)stream;
    (void)err;
    noted.copies++;
    noted.copied_to = to;
    noted.copied_from = from;
    noted.copied_bytes = bytes;
    return 0;
}

static int fake_stream_create(void *state, void **stream, struct dtrain_error *err)
{
    *stream = state;
    return state != NULL ? 0 : dt_error_set(err, "no stream today");
}

static int fake_synchronize(void *stream, struct dtrain_error *err)
{
    (void)stream;
    return noted.has_failure ? dt_error_set(err, "it failed before") : 0;
}

static int fake_query(void *stream, bool *done, struct dtrain_error *err)
{
    (void)stream;
    (void)err;
    *done = true;
    return 0;
}

static void note_destroy(void *object)
{
    (void)object;
    noted.destroyed++;
}

static const struct dt_backend fake = {
    .name = "fake",
    .comm_destroy = note_destroy,
    .stream_create = fake_stream_create,
    .stream_destroy = note_destroy,
    .stream_synchronize = fake_synchronize,
    .stream_query = fake_query,
    .enqueue = note_operation,
    .enqueue_copy = note_copy,
};

static const struct dt_backend other_fake = {
    .name = "other", .stream_create = fake_stream_create, .stream_destroy = note_destroy,
    .stream_synchronize = fake_synchronize};

/* ---- Bad calls ---------------------------------------------------------- */

struct fixture {
    struct dtrain_comm *comm, *alone;
    struct dtrain_stream *stream, *foreign;
    float a[SIZE * COUNT], b[SIZE * COUNT];
};

struct bad {
    const char *words;
    int (*call)(struct fixture *f, struct dtrain_error *err);
};

#define BAD(name, expression)                                                                      \
    static int name(struct fixture *f, struct dtrain_error *err)                                   \
    {                                                                                              \
        (void)f;                                                                                   \
        return expression;                                                                         \
    }

#define F32 DTRAIN_FLOAT32
#define SUM DTRAIN_SUM

BAD(no_comm, dtrain_all_reduce(NULL, f->a, f->b, 1, F32, SUM, f->stream, err))
BAD(no_comm_2, dtrain_all_gather(NULL, f->a, f->b, 1, F32, f->stream, err))
BAD(no_comm_3, dtrain_reduce_scatter(NULL, f->a, f->b, 1, F32, SUM, f->stream, err))
BAD(no_comm_4, dtrain_broadcast(NULL, f->a, 1, F32, 0, f->stream, err))
BAD(no_comm_5, dtrain_all_to_all(NULL, f->a, f->b, 1, F32, f->stream, err))
BAD(no_comm_6, dtrain_send(NULL, f->a, 1, F32, 0, f->stream, err))
BAD(no_comm_7, dtrain_recv(NULL, f->a, 1, F32, 0, f->stream, err))
BAD(no_comm_8, dtrain_transfer(NULL, NULL, 0, f->stream, err))
BAD(no_comm_9, dtrain_barrier(NULL, f->stream, err))
BAD(no_stream, dtrain_barrier(f->comm, NULL, err))
BAD(no_stream_2, dtrain_all_reduce(f->alone, f->a, f->b, 1, F32, SUM, NULL, err))
BAD(no_stream_3, dtrain_stream_synchronize(NULL, err))
BAD(no_stream_4, dtrain_stream_query(NULL, NULL, err))
BAD(no_done, dtrain_stream_query(f->stream, NULL, err))
BAD(foreign_stream, dtrain_barrier(f->comm, f->foreign, err))
BAD(no_type, dtrain_all_reduce(f->comm, f->a, f->b, 1, NO_TYPE, SUM, f->stream, err))
BAD(no_type_2, dtrain_broadcast(f->comm, f->a, 0, NO_TYPE, 0, f->stream, err))
BAD(no_type_3, dtrain_send(f->comm, f->a, 1, NO_TYPE, 0, f->stream, err))
BAD(no_type_4, dtrain_all_gather(f->alone, f->a, f->b, 1, NO_TYPE, f->stream, err))
BAD(no_op, dtrain_all_reduce(f->comm, f->a, f->b, 1, F32, NO_OP, f->stream, err))
BAD(no_op_2, dtrain_reduce_scatter(f->comm, f->a, f->b, 0, F32, NO_OP, f->stream, err))
BAD(no_send, dtrain_all_reduce(f->comm, NULL, f->b, 3, F32, SUM, f->stream, err))
BAD(no_recv, dtrain_all_gather(f->comm, f->a, NULL, 3, F32, f->stream, err))
BAD(no_recv_2, dtrain_all_to_all(f->comm, f->a, NULL, 3, F32, f->stream, err))
BAD(no_buf, dtrain_broadcast(f->comm, NULL, 3, F32, 0, f->stream, err))
BAD(no_buf_2, dtrain_recv(f->comm, NULL, 3, F32, 0, f->stream, err))
BAD(no_send_alone, dtrain_reduce_scatter(f->alone, NULL, f->b, 3, F32, SUM, f->stream, err))
BAD(unaligned, dtrain_all_reduce(f->comm, (char *)f->a + 2, f->b, 1, F32, SUM, f->stream, err))
BAD(unaligned_2, dtrain_send(f->comm, (char *)f->a + 1, 1, F32, 0, f->stream, err))
BAD(huge, dtrain_all_reduce(f->comm, f->a, f->b, SIZE_MAX, F32, SUM, f->stream, err))
BAD(huge_2, dtrain_all_gather(f->comm, f->a, f->b, PTRDIFF_MAX / 16 + 1, F32, f->stream, err))
BAD(huge_3, dtrain_broadcast(f->comm, f->a, PTRDIFF_MAX / 4 + 1, F32, 0, f->stream, err))
BAD(root_low, dtrain_broadcast(f->comm, f->a, 1, F32, -1, f->stream, err))
BAD(root_high, dtrain_broadcast(f->comm, f->a, 1, F32, SIZE, f->stream, err))
BAD(root_alone, dtrain_broadcast(f->alone, f->a, 1, F32, 1, f->stream, err))
BAD(peer_low, dtrain_send(f->comm, f->a, 1, F32, -1, f->stream, err))
BAD(peer_high, dtrain_recv(f->comm, f->a, 1, F32, SIZE, f->stream, err))
BAD(send_to_self, dtrain_send(f->comm, f->a, 1, F32, RANK, f->stream, err))
BAD(recv_from_self, dtrain_recv(f->comm, f->a, 1, F32, RANK, f->stream, err))
BAD(overlap, dtrain_all_reduce(f->comm, f->a, f->a + 1, 2, F32, SUM, f->stream, err))
BAD(overlap_2, dtrain_all_gather(f->comm, f->a, f->a, 2, F32, f->stream, err))
BAD(overlap_3, dtrain_reduce_scatter(f->comm, f->a, f->a, 2, F32, SUM, f->stream, err))
BAD(overlap_4, dtrain_all_to_all(f->comm, f->a, f->a + 2, 2, F32, f->stream, err))
BAD(no_transfers, dtrain_transfer(f->comm, NULL, 2, f->stream, err))
BAD(many_transfers,
    dtrain_transfer(f->comm, (struct dtrain_transfer[1]){{0}}, DT_TRANSFERS_MAX + 1, f->stream, err))
BAD(unmatched,
    dtrain_transfer(f->comm, (struct dtrain_transfer[2]){{true, RANK, F32, 1, f->a},
                                                         {false, 0, F32, 1, f->b}}, 2, f->stream, err))
BAD(unequal,
    dtrain_transfer(f->comm, (struct dtrain_transfer[2]){{true, RANK, F32, 2, f->a},
                                                         {false, RANK, F32, 3, f->b}}, 2, f->stream, err))

static const struct bad bads[] = {
    {"dtrain_all_reduce: comm is NULL", no_comm},
    {"dtrain_all_gather: comm is NULL", no_comm_2},
    {"dtrain_reduce_scatter: comm is NULL", no_comm_3},
    {"dtrain_broadcast: comm is NULL", no_comm_4},
    {"dtrain_all_to_all: comm is NULL", no_comm_5},
    {"dtrain_send: comm is NULL", no_comm_6},
    {"dtrain_recv: comm is NULL", no_comm_7},
    {"dtrain_transfer: comm is NULL", no_comm_8},
    {"dtrain_barrier: comm is NULL", no_comm_9},
    {"dtrain_barrier: stream is NULL", no_stream},
    {"dtrain_all_reduce: stream is NULL", no_stream_2},
    {"dtrain_stream_synchronize: stream is NULL", no_stream_3},
    {"dtrain_stream_query: stream is NULL", no_stream_4},
    {"dtrain_stream_query: done is NULL", no_done},
    {"the stream is of backend other, the communicator of backend fake", foreign_stream},
    {"dtrain_all_reduce: type 99 is not known", no_type},
    {"dtrain_broadcast: type 99 is not known", no_type_2},
    {"dtrain_send: type 99 is not known", no_type_3},
    {"dtrain_all_gather: type 99 is not known", no_type_4},
    {"dtrain_all_reduce: op -1 is not known", no_op},
    {"dtrain_reduce_scatter: op -1 is not known", no_op_2},
    {"dtrain_all_reduce: send is NULL but count is 3", no_send},
    {"dtrain_all_gather: recv is NULL but count is 3", no_recv},
    {"dtrain_all_to_all: recv is NULL but count is 3", no_recv_2},
    {"dtrain_broadcast: buf is NULL but count is 3", no_buf},
    {"dtrain_recv: buf is NULL but count is 3", no_buf_2},
    {"dtrain_reduce_scatter: send is NULL but count is 3", no_send_alone},
    {"float32 must be aligned to 4 bytes", unaligned},
    {"float32 must be aligned to 4 bytes", unaligned_2},
    {"count 18446744073709551615 of float32 in 4 blocks is more than memory can hold", huge},
    {"of float32 in 4 blocks is more than memory can hold", huge_2},
    {"is more than memory can hold", huge_3},
    {"dtrain_broadcast: root is -1: the group has ranks 0 to 3", root_low},
    {"dtrain_broadcast: root is 4: the group has ranks 0 to 3", root_high},
    {"dtrain_broadcast: root is 1: the group has ranks 0 to 0", root_alone},
    {"dtrain_send: peer is -1: the group has ranks 0 to 3", peer_low},
    {"dtrain_recv: peer is 4: the group has ranks 0 to 3", peer_high},
    {"dtrain_send: peer 2 is the own rank, and no receive in the same call matches", send_to_self},
    {"dtrain_recv: peer 2 is the own rank, and no send in the same call matches", recv_from_self},
    {"overlap in a way that is not in place", overlap},
    {"overlap in a way that is not in place", overlap_2},
    {"overlap in a way that is not in place", overlap_3},
    {"overlap in a way that is not in place", overlap_4},
    {"dtrain_transfer: transfers is NULL but n is 2", no_transfers},
    {"dtrain_transfer: n is 1048577: at most 1048576 transfers", many_transfers},
    {"no receive in the same call matches", unmatched},
    {"a send of 2 float32 to the own rank 2 meets a receive of 3 float32", unequal},
};

static void test_bad(const struct bad *bad, struct fixture *f)
{
    struct dtrain_error err = {""};
    int before = noted.operations + noted.copies;

    tap_ok(bad->call(f, &err) == -1 && noted.operations + noted.copies == before, "refused: %s",
           bad->words);
    tap_holds(err.text, bad->words, "  in these words");
    tap_ok(bad->call(f, NULL) == -1, "  also without a place for them");
}

/* ---- Good calls --------------------------------------------------------- */

static void test_operations(struct fixture *f)
{
    struct dtrain_stream *stream = f->stream;

    tap_ok(dtrain_all_reduce(f->comm, f->a, f->a, COUNT, F32, DTRAIN_AVG, stream, NULL) == 0 &&
               noted.last.kind == DT_ALL_REDUCE && noted.last.send == f->a &&
               noted.last.recv == f->a && noted.last.count == COUNT && noted.last.type == F32 &&
               noted.last.op == DTRAIN_AVG, "all_reduce in place");
    tap_ok(dtrain_all_gather(f->comm, f->a + RANK * COUNT, f->a, COUNT, F32, stream, NULL) == 0 &&
               noted.last.kind == DT_ALL_GATHER, "all_gather in place");
    tap_ok(dtrain_reduce_scatter(f->comm, f->a, f->a + RANK * COUNT, COUNT, F32, DTRAIN_MIN, stream,
                                 NULL) == 0 &&
               noted.last.kind == DT_REDUCE_SCATTER && noted.last.op == DTRAIN_MIN,
           "reduce_scatter in place");
    tap_ok(dtrain_all_to_all(f->comm, f->a, f->b, COUNT, F32, stream, NULL) == 0 &&
               noted.last.kind == DT_ALL_TO_ALL, "all_to_all");
    tap_ok(dtrain_broadcast(f->comm, f->a, COUNT, F32, 3, stream, NULL) == 0 &&
               noted.last.kind == DT_BROADCAST && noted.last.root == 3 &&
               noted.last.send == noted.last.recv && noted.last.recv == f->a, "broadcast");
    tap_ok(dtrain_barrier(f->comm, stream, NULL) == 0 && noted.last.kind == DT_BARRIER, "barrier");
    tap_ok(dtrain_send(f->comm, f->a, COUNT, F32, 1, stream, NULL) == 0 &&
               noted.last.kind == DT_TRANSFER && noted.last.transfer_count == 1 &&
               noted.transfers[0].is_send && noted.transfers[0].peer == 1, "send");
    tap_ok(dtrain_recv(f->comm, f->a, COUNT, F32, 3, stream, NULL) == 0 &&
               !noted.transfers[0].is_send && noted.transfers[0].peer == 3, "recv");
    tap_ok(dtrain_all_reduce(f->comm, NULL, NULL, 0, F32, SUM, stream, NULL) == 0 &&
               noted.last.count == 0 && noted.last.send != NULL && noted.last.recv != NULL,
           "nothing to reduce is still an operation");
}

static void test_own_transfers(struct fixture *f)
{
    struct dtrain_transfer transfers[5] = {
        {true, RANK, F32, 2, f->a}, {true, 0, F32, 1, f->a}, {false, RANK, F32, 2, f->b},
        {false, 1, F32, 1, f->b},   {true, 3, F32, 1, f->a}};

    noted.copies = noted.operations = 0;
    tap_ok(dtrain_transfer(f->comm, transfers, 5, f->stream, NULL) == 0 && noted.copies == 1 &&
               noted.copied_from == f->a && noted.copied_to == f->b && noted.copied_bytes == 8,
           "a transfer to the own rank is a copy");
    tap_ok(noted.operations == 1 && noted.last.transfer_count == 3 && noted.transfers[0].peer == 0 &&
               noted.transfers[1].peer == 1 && noted.transfers[2].peer == 3,
           "the others keep their order");
    tap_ok(dtrain_transfer(f->comm, NULL, 0, f->stream, NULL) == 0 && noted.operations == 1,
           "no transfers are nothing to do");
}

static bool copied(const void *from, const void *to, size_t bytes)
{
    bool ok = noted.operations == 0 && noted.copies == 1 && noted.copied_from == from &&
              noted.copied_to == to && noted.copied_bytes == bytes;

    noted.copies = 0;
    return ok;
}

static void test_alone(struct fixture *f)
{
    struct dtrain_stream *stream = f->stream;
    size_t bytes = COUNT * sizeof(float);

    noted.copies = noted.operations = 0;
    tap_ok(dtrain_all_reduce(f->alone, f->a, f->b, COUNT, F32, SUM, stream, NULL) == 0 &&
               copied(f->a, f->b, bytes), "all_reduce of one copies");
    tap_ok(dtrain_all_gather(f->alone, f->a, f->b, COUNT, F32, stream, NULL) == 0 &&
               copied(f->a, f->b, bytes), "all_gather of one copies");
    tap_ok(dtrain_reduce_scatter(f->alone, f->a, f->b, COUNT, F32, SUM, stream, NULL) == 0 &&
               copied(f->a, f->b, bytes), "reduce_scatter of one copies");
    tap_ok(dtrain_all_to_all(f->alone, f->a, f->b, COUNT, F32, stream, NULL) == 0 &&
               copied(f->a, f->b, bytes), "all_to_all of one copies");
    tap_ok(dtrain_all_reduce(f->alone, f->a, f->a, COUNT, F32, SUM, stream, NULL) == 0 &&
               dtrain_broadcast(f->alone, f->a, COUNT, F32, 0, stream, NULL) == 0 &&
               dtrain_barrier(f->alone, stream, NULL) == 0 && noted.copies + noted.operations == 0,
           "in place, broadcast and barrier of one do nothing");
}

static void test_streams(struct fixture *f)
{
    struct dtrain_stream *stream;
    struct dtrain_error err;
    bool done = false;

    tap_ok(dtrain_stream_query(f->stream, &done, NULL) == 0 && done, "a stream can be asked");
    tap_ok(dt_stream_create(&stream, &fake, NULL, &err) == -1, "a stream that cannot be made");
    tap_holds(err.text, "no stream today", "says why");
    tap_ok(dtrain_stream_destroy(NULL, NULL) == 0, "no stream can be destroyed");
    noted.has_failure = true;
    tap_ok(dt_stream_create(&stream, &fake, f, &err) == 0 &&
               dtrain_stream_destroy(stream, &err) == -1, "what nobody was told is told at the end");
    tap_holds(err.text, "it failed before", "in its words");
    noted.has_failure = false;
}

int main(void)
{
    struct fixture f = {.comm = NULL};
    int state;

    if (dt_comm_create(&f.comm, &fake, &state, SIZE, RANK, NULL) != 0 ||
        dt_comm_create(&f.alone, &fake, NULL, 1, 0, NULL) != 0 ||
        dt_stream_create(&f.stream, &fake, &state, NULL) != 0 ||
        dt_stream_create(&f.foreign, &other_fake, &state, NULL) != 0)
        return 1;
    tap_ok(dtrain_comm_size(f.comm) == SIZE && dtrain_comm_rank(f.comm) == RANK, "size and rank");
    tap_ok(dtrain_comm_size(NULL) == -1 && dtrain_comm_rank(NULL) == -1, "of nothing: -1");
    for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++)
        test_bad(&bads[i], &f);
    test_operations(&f);
    test_own_transfers(&f);
    test_alone(&f);
    test_streams(&f);
    noted.destroyed = 0;
    tap_ok(dtrain_stream_destroy(f.stream, NULL) == 0 && dtrain_stream_destroy(f.foreign, NULL) == 0 &&
               noted.destroyed == 2, "streams are destroyed");
    dt_comm_destroy(f.comm);
    dt_comm_destroy(f.alone);
    dt_comm_destroy(NULL);
    tap_ok(noted.destroyed == 3, "a group of one has nothing to destroy in the backend");
    return tap_done();
}
