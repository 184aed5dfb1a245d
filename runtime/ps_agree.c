#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "ps.h"
#include "runtime/dp_exchange.h"
#include "runtime/dp_hash.h"
#include "runtime/type.h"

/* What every rank tells of itself. */
enum { IS_WELL, OPTIONS, COUNT, LIST, FACTS };

static uint64_t parameter_hash(const struct dtrain_ps_parameter *p)
{
    const uint64_t numbers[] = {p->count, p->type, p->gradient_type};
    uint64_t hash = dt_dp_hash(DT_DP_HASH_START, p->name, strlen(p->name));

    return dt_dp_hash(hash, numbers, sizeof(numbers));
}

static uint64_t options_hash(const struct dtrain_ps *ps)
{
    const struct dtrain_ps_options *o = &ps->options;
    const uint64_t numbers[] = {(uint64_t)o->staleness, o->sum, o->rule};
    const double factors[] = {o->lr, o->momentum, o->beta1, o->beta2, o->epsilon, o->decay};
    uint64_t hash = dt_dp_hash(DT_DP_HASH_START, numbers, sizeof(numbers));

    hash = dt_dp_hash(hash, factors, sizeof(factors));
    return dt_dp_hash(hash, ps->servers, ps->server_count * sizeof(*ps->servers));
}

static int differing_options(const struct dtrain_ps *ps, const struct dtrain_comm *comm, int odd, int usual,
                             struct dtrain_error *err)
{
    const struct dtrain_ps_options *o = &ps->options;
    int rank = dtrain_comm_member(comm, odd);

    return dt_error_set(
        err,
        "dtrain_ps_create: rank %d on %s has other options than rank %d (here: %zu servers, the "
        "first one rank %d, staleness %d, sum %d, rule %d, lr %g, momentum %g, beta1 %g, beta2 "
        "%g, epsilon %g, decay %g): give all ranks the same",
        rank, dtrain_node_name(ps->world, rank), dtrain_comm_member(comm, usual), ps->server_count,
        ps->servers[0], o->staleness, o->sum, (int)o->rule, o->lr, o->momentum, o->beta1, o->beta2,
        o->epsilon, o->decay);
}

static int differing_parameter(const struct dtrain_ps *ps, const struct dtrain_comm *comm, size_t index,
                               int odd, int usual, struct dtrain_error *err)
{
    int rank = dtrain_comm_member(comm, odd);
    char here[DTRAIN_ERROR_MAX / 2] = "there is none";

    if (index < ps->n) {
        const struct dtrain_ps_parameter *p = &ps->parameters[index];

        snprintf(here, sizeof(here), "it is %s, %zu of %s, gradient in %s", p->name, p->count,
                 dt_type_name(p->type), dt_type_name(p->gradient_type));
    }
    return dt_error_set(
        err,
        "dtrain_ps_create: rank %d on %s registered parameter %zu otherwise than rank %d (here "
        "%s): register the same on all ranks",
        rank, dtrain_node_name(ps->world, rank), index, dtrain_comm_member(comm, usual), here);
}

/* Numbers of all ranks: own[n] and all[n * size] in one piece of memory, which the caller frees. */
static int64_t *gather_hashes(const struct dtrain_ps *ps, const struct dt_dp_exchange *exchange, size_t n,
                              struct dtrain_error *err)
{
    size_t size = (size_t)dtrain_comm_size(exchange->comm);
    int64_t *all = calloc(n * (size + 1), sizeof(*all));

    if (all == NULL) {
        dt_error_memory(err, n * (size + 1) * sizeof(*all), "the ranks' parameters");
        return NULL;
    }
    for (size_t i = 0; i < n && i < ps->n; i++)
        all[n * size + i] = (int64_t)parameter_hash(&ps->parameters[i]);
    if (dt_dp_exchange_gather(exchange, all + n * size, n, all, err) == 0)
        return all;
    free(all);
    return NULL;
}

static int name_difference(const struct dtrain_ps *ps, const struct dt_dp_exchange *exchange, size_t most,
                           struct dtrain_error *err)
{
    int64_t *all = gather_hashes(ps, exchange, most, err);
    int odd = -1, usual = 0;
    size_t i = 0;

    if (all == NULL)
        return -1;
    while (i < most &&
           (odd = dt_dp_exchange_odd(all + i, most, dtrain_comm_size(exchange->comm), &usual)) < 0)
        i++;
    free(all);
    return odd < 0 ? dt_error_set(err, "dtrain_ps_create: the ranks' lists of parameters differ")
                   : differing_parameter(ps, exchange->comm, i, odd, usual, err);
}

static int not_well(const struct dtrain_ps *ps, int rank, struct dtrain_error *err)
{
    return dt_error_set(err, "dtrain_ps_create: rank %d on %s cannot take part: its own error says why", rank,
                        dtrain_node_name(ps->world, rank));
}

static int compare(const struct dtrain_ps *ps, const struct dt_dp_exchange *exchange, const int64_t *facts,
                   struct dtrain_error *err)
{
    int size = dtrain_comm_size(exchange->comm), usual, odd;
    size_t most = 0;

    for (int r = 0; r < size; r++)
        if (facts[r * FACTS + IS_WELL] == 0)
            return not_well(ps, dtrain_comm_member(exchange->comm, r), err);
    odd = dt_dp_exchange_odd(facts + OPTIONS, FACTS, size, &usual);
    if (odd >= 0)
        return differing_options(ps, exchange->comm, odd, usual, err);
    if (dt_dp_exchange_odd(facts + LIST, FACTS, size, &usual) < 0)
        return 0;
    for (int r = 0; r < size; r++)
        most = (size_t)facts[r * FACTS + COUNT] > most ? (size_t)facts[r * FACTS + COUNT] : most;
    return name_difference(ps, exchange, most, err);
}

static int exchange_facts(struct dtrain_ps *ps, const struct dt_dp_exchange *exchange, bool is_well,
                          struct dtrain_error *err)
{
    size_t size = (size_t)dtrain_comm_size(exchange->comm);
    int64_t own[FACTS] = {[IS_WELL] = is_well};
    uint64_t hash = dt_dp_hash(DT_DP_HASH_START, &ps->n, sizeof(ps->n));
    int64_t *facts = calloc(size * FACTS, sizeof(*facts));
    int rc;

    if (facts == NULL)
        return dt_error_memory(err, size * FACTS * sizeof(*facts), "what the ranks registered");
    for (size_t i = 0; is_well && i < ps->n; i++) {
        uint64_t one = parameter_hash(&ps->parameters[i]);

        hash = dt_dp_hash(hash, &one, sizeof(one));
    }
    own[COUNT] = (int64_t)ps->n;
    own[LIST] = (int64_t)hash;
    own[OPTIONS] = is_well ? (int64_t)options_hash(ps) : 0;
    rc = dt_dp_exchange_gather(exchange, own, FACTS, facts, err);
    if (rc == 0)
        rc = compare(ps, exchange, facts, err);
    free(facts);
    return rc;
}

int dt_ps_agree(struct dtrain_ps *ps, struct dtrain_comm *comm, bool is_well, struct dtrain_error *err)
{
    struct dt_dp_exchange exchange = {.world = ps->world, .comm = comm};
    int rc;

    if (dtrain_stream_create(ps->world, &exchange.stream, err) < 0)
        return -1;
    rc = exchange_facts(ps, &exchange, is_well, err);
    dtrain_stream_destroy(exchange.stream, NULL);
    return rc;
}
