#include "ps.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

#define BETA1 0.9
#define BETA2 0.999
#define EPSILON 1e-8

/* ---- Life ------------------------------------------------------------------ */

static struct dtrain_ps_options fill_options(const struct dtrain_ps_options *given)
{
    struct dtrain_ps_options options = given != NULL ? *given : (struct dtrain_ps_options){0};

    if (options.beta1 == 0)
        options.beta1 = BETA1;
    if (options.beta2 == 0)
        options.beta2 = BETA2;
    if (options.epsilon == 0)
        options.epsilon = EPSILON;
    return options;
}

static int copy_parameters(struct dtrain_ps *ps, const struct dtrain_ps_parameter *parameters, size_t n,
                           struct dtrain_error *err)
{
    ps->parameters = calloc(n, sizeof(*ps->parameters));
    ps->pushed = calloc(n, sizeof(*ps->pushed));
    if (ps->parameters == NULL || ps->pushed == NULL)
        return dt_error_memory(err, n * sizeof(*ps->parameters), "the parameters");
    for (size_t i = 0; i < n; i++) {
        ps->parameters[i] = parameters[i];
        ps->parameters[i].name = strdup(parameters[i].name);
        ps->n = i + 1;
        if (ps->parameters[i].name == NULL)
            return dt_error_memory(err, strlen(parameters[i].name) + 1, "a parameter's name");
    }
    return 0;
}

/* Servers have no values of their own; workers need both buffers. */
static int check_buffers(const struct dtrain_ps *ps, struct dtrain_error *err)
{
    for (size_t i = 0; i < ps->n && !ps->is_server; i++) {
        const struct dtrain_ps_parameter *p = &ps->parameters[i];

        if (p->count > 0 && (p->value == NULL || p->gradient == NULL))
            return dt_error_set(
                err, "dtrain_ps_create: parameter %zu (%s): %s is NULL on a worker: give its address", i,
                p->name, p->value == NULL ? "value" : "gradient");
    }
    return 0;
}

/* What only this rank can see of its own. */
static int prepare(struct dtrain_ps *ps, const struct dtrain_comm *comm,
                   const struct dtrain_ps_parameter *parameters, size_t n, struct dtrain_error *err)
{
    if (dt_ps_check(parameters, n, &ps->options, err) < 0 || copy_parameters(ps, parameters, n, err) < 0 ||
        dt_ps_roles(ps, comm, err) < 0)
        return -1;
    return check_buffers(ps, err);
}

/* A rank that is not well comes to the agreement all the same, so that the others do not wait for it. */
static int build(struct dtrain_ps *ps, const struct dtrain_ps_parameter *parameters, size_t n, uint32_t set,
                 struct dtrain_error *err)
{
    struct dtrain_comm *comm;
    struct dtrain_error own = {""};
    bool is_well;

    if (dtrain_comm_get(ps->world, DTRAIN_WORLD, &comm, err) < 0)
        return -1;
    is_well = prepare(ps, comm, parameters, n, &own) == 0;
    if (dt_ps_agree(ps, comm, is_well, err) < 0)
        return is_well ? -1 : dt_error_set(err, "%s", own.text);
    if (dt_ps_plan_create(&ps->plan, ps->parameters, ps->n, ps->server_count, err) < 0 ||
        dt_ps_lanes_create(ps, set, err) < 0)
        return -1;
    if (ps->is_server && dt_ps_parts_create(ps, err) < 0)
        return -1;
    return dt_ps_parts_fill(ps, err);
}

int dtrain_ps_create(struct dtrain_ps **made, struct dtrain_world *world,
                     const struct dtrain_ps_parameter *parameters, size_t n,
                     const struct dtrain_ps_options *given, struct dtrain_error *err)
{
    struct dtrain_ps_options options = fill_options(given);
    uint32_t set = world->comms.lane_sets++;
    struct dtrain_ps *ps;

    *made = NULL;
    ps = calloc(1, sizeof(*ps));
    if (ps == NULL)
        return dt_error_memory(err, sizeof(*ps), "a parameter server");
    ps->world = world;
    ps->options = options;
    pthread_mutex_init(&ps->lock, NULL);
    pthread_cond_init(&ps->changed, NULL);
    if (build(ps, parameters, n, set, err) < 0) {
        dtrain_ps_destroy(ps);
        return -1;
    }
    *made = ps;
    return 0;
}

void dtrain_ps_destroy(struct dtrain_ps *ps)
{
    if (ps == NULL)
        return;
    dtrain_stream_destroy(ps->stream, NULL);
    dt_ps_lanes_destroy(ps);
    dt_ps_parts_destroy(ps);
    dt_ps_clock_destroy(&ps->clock);
    dt_ps_plan_destroy(&ps->plan);
    for (size_t i = 0; i < ps->n; i++)
        free((char *)ps->parameters[i].name);
    free(ps->parameters);
    free(ps->pushed);
    free(ps->servers);
    free(ps->workers);
    pthread_cond_destroy(&ps->changed);
    pthread_mutex_destroy(&ps->lock);
    free(ps);
}

/* ---- Getters ----------------------------------------------------------------- */

bool dtrain_ps_is_server(const struct dtrain_ps *ps)
{
    return ps->is_server;
}

int dtrain_ps_server_count(const struct dtrain_ps *ps)
{
    return (int)ps->server_count;
}

int dtrain_ps_worker_count(const struct dtrain_ps *ps)
{
    return (int)ps->worker_count;
}

int dtrain_ps_server(const struct dtrain_ps *ps, int i)
{
    return i >= 0 && (size_t)i < ps->server_count ? ps->servers[i] : -1;
}

int dtrain_ps_worker(const struct dtrain_ps *ps, int i)
{
    return i >= 0 && (size_t)i < ps->worker_count ? ps->workers[i] : -1;
}
