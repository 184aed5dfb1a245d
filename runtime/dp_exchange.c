#include "dp_exchange.h"

static int run_gather(const struct dt_dp_exchange *exchange, const int64_t *own, size_t n, int64_t *memory,
                      int64_t *all, struct dtrain_error *err)
{
    struct dtrain_stream *stream = exchange->stream;
    size_t bytes = n * sizeof(*own), size = (size_t)dtrain_comm_size(exchange->comm);

    if (dtrain_copy(memory + size * n, own, bytes, stream, err) < 0 ||
        dtrain_all_gather(exchange->comm, memory + size * n, memory, n, DTRAIN_INT64, stream, err) < 0 ||
        dtrain_copy(all, memory, size * bytes, stream, err) < 0)
        return -1;
    return dtrain_stream_synchronize(stream, err);
}

int dt_dp_exchange_gather(const struct dt_dp_exchange *exchange, const int64_t *own, size_t n, int64_t *all,
                          struct dtrain_error *err)
{
    size_t size = (size_t)dtrain_comm_size(exchange->comm);
    void *memory;
    int rc;

    if (dtrain_memory_alloc(exchange->world, (size + 1) * n * sizeof(*own), &memory, err) < 0)
        return -1;
    rc = run_gather(exchange, own, n, memory, all, err);
    dtrain_memory_free(exchange->world, memory);
    return rc;
}

static int run_share(const struct dt_dp_exchange *exchange, int64_t *values, size_t n, int64_t *memory,
                     struct dtrain_error *err)
{
    struct dtrain_stream *stream = exchange->stream;

    if (dtrain_copy(memory, values, n * sizeof(*values), stream, err) < 0 ||
        dtrain_broadcast(exchange->comm, memory, n, DTRAIN_INT64, 0, stream, err) < 0 ||
        dtrain_copy(values, memory, n * sizeof(*values), stream, err) < 0)
        return -1;
    return dtrain_stream_synchronize(stream, err);
}

int dt_dp_exchange_share(const struct dt_dp_exchange *exchange, int64_t *values, size_t n,
                         struct dtrain_error *err)
{
    void *memory;
    int rc;

    if (dtrain_memory_alloc(exchange->world, n * sizeof(*values), &memory, err) < 0)
        return -1;
    rc = run_share(exchange, values, n, memory, err);
    dtrain_memory_free(exchange->world, memory);
    return rc;
}

static int count_equal(const int64_t *values, size_t stride, int size, int64_t value)
{
    int count = 0;

    for (int r = 0; r < size; r++)
        count += values[(size_t)r * stride] == value;
    return count;
}

int dt_dp_exchange_odd(const int64_t *values, size_t stride, int size, int *usual)
{
    int most = 0;

    *usual = 0;
    for (int r = 0; r < size && most <= size / 2; r++) {
        int count = count_equal(values, stride, size, values[(size_t)r * stride]);

        if (count <= most)
            continue;
        most = count;
        *usual = r;
    }
    for (int r = 0; r < size; r++)
        if (values[(size_t)r * stride] != values[(size_t)*usual * stride])
            return r;
    return -1;
}
