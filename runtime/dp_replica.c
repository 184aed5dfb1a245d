#include <stdlib.h>

#include "core/error.h"
#include "dp.h"
#include "dp_exchange.h"
#include "dp_hash.h"

/* ---- Broadcast ------------------------------------------------------------------- */

int dtrain_dp_broadcast(struct dtrain_dp *dp, struct dtrain_stream *stream, struct dtrain_error *err)
{
    if (dt_dp_check_alive(dp, err) < 0)
        return -1;
    for (size_t i = 0; i < dp->n; i++) {
        const struct dtrain_parameter *given = &dp->parameters[i].given;

        if (dtrain_broadcast(dp->parameters[i].lane->comm, given->value, given->count, given->type, 0, stream,
                             err) < 0)
            return dt_error_prefix(err, "parameter %zu (%s)", i, given->name);
    }
    return 0;
}

/* ---- Check ------------------------------------------------------------------------ */

static size_t parameter_bytes(const struct dtrain_parameter *given)
{
    return given->count * dtrain_type_size(given->type);
}

/* The values go through the host's memory, the backend's may be out of the CPU's reach. */
static int hash_values(const struct dtrain_dp *dp, struct dtrain_stream *stream, int64_t *hashes, void *host,
                       struct dtrain_error *err)
{
    for (size_t i = 0; i < dp->n; i++) {
        const struct dtrain_parameter *given = &dp->parameters[i].given;

        if (dtrain_copy(host, given->value, parameter_bytes(given), stream, err) < 0 ||
            dtrain_stream_synchronize(stream, err) < 0)
            return -1;
        hashes[i] = (int64_t)dt_dp_hash(DT_DP_HASH_START, host, parameter_bytes(given));
    }
    return 0;
}

/* One set of ranks that hold copies. */
struct copies {
    unsigned axes;
    unsigned mask, flags; /* of which parameters: flags & mask == flags */
};

static const struct copies copy_rows[] = {
    {DTRAIN_DP | DTRAIN_CP, DTRAIN_PARAMETER_EXPERT, 0},
    {DTRAIN_TP, DTRAIN_PARAMETER_EXPERT | DTRAIN_PARAMETER_TP_SHARD, 0},
    {DTRAIN_EXPERT | DTRAIN_DP, DTRAIN_PARAMETER_EXPERT, DTRAIN_PARAMETER_EXPERT},
    {DTRAIN_EXPERT | DTRAIN_TP, DTRAIN_PARAMETER_EXPERT | DTRAIN_PARAMETER_TP_SHARD, DTRAIN_PARAMETER_EXPERT},
};

static int compare(const struct dtrain_dp *dp, const struct copies *copies, const int64_t *all, int size,
                   struct dtrain_error *err)
{
    struct dtrain_group group;

    if (dtrain_group_get(dp->world, copies->axes, &group, err) < 0)
        return -1;
    for (size_t i = 0; i < dp->n; i++) {
        const struct dtrain_parameter *given = &dp->parameters[i].given;
        int usual, odd, rank;

        if ((given->flags & copies->mask) != copies->flags)
            continue;
        odd = dt_dp_exchange_odd(all + i, dp->n, size, &usual);
        if (odd < 0)
            continue;
        rank = dtrain_group_member(dp->world, &group, odd);
        return dt_error_set(
            err,
            "dtrain_dp_check: parameter %zu (%s) on rank %d on %s differs from that on rank %d: "
            "start all from the same values (dtrain_dp_broadcast())",
            i, given->name, rank, dtrain_node_name(dp->world, rank),
            dtrain_group_member(dp->world, &group, usual));
    }
    return 0;
}

static bool has_any(const struct dtrain_dp *dp, const struct copies *copies)
{
    for (size_t i = 0; i < dp->n; i++)
        if ((dp->parameters[i].given.flags & copies->mask) == copies->flags)
            return true;
    return false;
}

static int check_copies(const struct dtrain_dp *dp, const struct copies *copies, const int64_t *hashes,
                        struct dtrain_stream *stream, struct dtrain_error *err)
{
    struct dt_dp_exchange exchange = {dp->world, NULL, stream};
    size_t size;
    int64_t *all;
    int rc;

    if (!has_any(dp, copies))
        return 0;
    if (dtrain_comm_get(dp->world, copies->axes, &exchange.comm, err) < 0)
        return -1;
    size = (size_t)dtrain_comm_size(exchange.comm);
    all = calloc(size * dp->n, sizeof(*all));
    if (all == NULL)
        return dt_error_memory(err, size * dp->n * sizeof(*all), "the ranks' hashes");
    rc = dt_dp_exchange_gather(&exchange, hashes, dp->n, all, err);
    if (rc == 0)
        rc = compare(dp, copies, all, (int)size, err);
    free(all);
    return rc;
}

/* All are exchanged before one is an error: ranks that differ on one axis meet on the others. */
static int check_all(const struct dtrain_dp *dp, const int64_t *hashes, struct dtrain_stream *stream,
                     struct dtrain_error *err)
{
    struct dtrain_error first;
    int rc = 0;

    for (size_t i = 0; i < sizeof(copy_rows) / sizeof(copy_rows[0]); i++) {
        struct dtrain_error found;

        if (check_copies(dp, &copy_rows[i], hashes, stream, &found) == 0)
            continue;
        first = rc == 0 ? found : first;
        rc = -1;
    }
    return rc == 0 ? 0 : dt_error_set(err, "%s", first.text);
}

int dtrain_dp_check(struct dtrain_dp *dp, struct dtrain_stream *stream, struct dtrain_error *err)
{
    size_t most = 0;
    int64_t *hashes;
    void *host;
    int rc = -1;

    if (dt_dp_check_alive(dp, err) < 0)
        return -1;
    for (size_t i = 0; i < dp->n; i++) {
        size_t bytes = parameter_bytes(&dp->parameters[i].given);

        most = bytes > most ? bytes : most;
    }
    hashes = calloc(dp->n + 1, sizeof(*hashes));
    host = malloc(most + 1);
    if (hashes == NULL || host == NULL)
        dt_error_memory(err, most + dp->n * sizeof(*hashes), "the check of the parameters");
    else if (hash_values(dp, stream, hashes, host, err) == 0)
        rc = check_all(dp, hashes, stream, err);
    free(host);
    free(hashes);
    return rc;
}
