#include "ps_plan.h"

#include <stdlib.h>

#include "core/error.h"

static size_t total_bytes(const struct dtrain_ps_parameter *parameters, size_t n)
{
    size_t total = 0;

    for (size_t i = 0; i < n; i++)
        total += parameters[i].count * dtrain_type_size(parameters[i].type);
    return total;
}

/* Where part s ends; s * total may not fit. */
static size_t end_of(size_t total, size_t s, size_t servers)
{
    return total / servers * (s + 1) + total % servers * (s + 1) / servers;
}

/* How many of `left` elements go to a server with so many bytes of room; up, so that the first gets some. */
static size_t elements_of(size_t room, size_t size, size_t left)
{
    size_t blocks = (room + DT_PS_BLOCK * size - 1) / (DT_PS_BLOCK * size);

    return blocks > left / DT_PS_BLOCK ? left : blocks * DT_PS_BLOCK;
}

static void cut(struct dt_ps_plan *plan, const struct dtrain_ps_parameter *parameters, size_t n,
                size_t servers)
{
    size_t total = total_bytes(parameters, n), at = 0, server = 0, used = 0;

    for (size_t i = 0; i < n; i++) {
        size_t size = dtrain_type_size(parameters[i].type);

        for (size_t first = 0; first < parameters[i].count;) {
            size_t left = parameters[i].count - first, end, count;

            while ((end = end_of(total, server, servers)) <= at && server + 1 < servers)
                plan->begin[++server] = used;
            count = server + 1 < servers ? elements_of(end - at, size, left) : left;
            plan->pieces[used++] = (struct dt_ps_piece){i, first, count};
            first += count;
            at += count * size;
        }
    }
    while (server < servers)
        plan->begin[++server] = used;
}

int dt_ps_plan_create(struct dt_ps_plan *plan, const struct dtrain_ps_parameter *parameters, size_t n,
                      size_t servers, struct dtrain_error *err)
{
    size_t most = n + servers; /* every border cuts one parameter at most */

    plan->pieces = calloc(most, sizeof(*plan->pieces));
    plan->begin = calloc(servers + 1, sizeof(*plan->begin));
    if (plan->pieces == NULL || plan->begin == NULL)
        return dt_error_memory(err, most * sizeof(*plan->pieces), "the servers' parts");
    cut(plan, parameters, n, servers);
    return 0;
}

void dt_ps_plan_destroy(struct dt_ps_plan *plan)
{
    free(plan->pieces);
    free(plan->begin);
}
