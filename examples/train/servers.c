#include "servers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "optimizer.h"

/* ---- Who is what -------------------------------------------------------------------- */

int servers_check(const struct grid *grid, const struct options *options, struct dtrain_error *err)
{
    const struct layout *layout = &grid->layout;
    int size = dtrain_size(grid->world);

    if (layout->tp.size > 1 || layout->pp.size > 1 || layout->cp.size > 1)
        return error_set(err,
                         "--ps=%d: each worker has the whole model, but this step splits it: tp=%d x pp=%d x "
                         "cp=%d: use 1 of each",
                         options->ps, layout->tp.size, layout->pp.size, layout->cp.size);
    if (options->ps >= size)
        return error_set(err, "--ps=%d: no worker is left of %d rank%s: use fewer servers, or more tasks",
                         options->ps, size, size == 1 ? "" : "s");
    if (strcmp(dtrain_backend(grid->world), "host") != 0)
        return error_set(err,
                         "--ps=%d: this program has parameter servers in memory of the host, and the step's "
                         "backend is %s: use --dtrain-backend=host",
                         options->ps, dtrain_backend(grid->world));
    return 0;
}

/* lr 1 and gradients below zero: values are sums. */
static struct dtrain_ps_options rule_of(const struct options *options, enum servers_group group)
{
    struct dtrain_adamw rule = optimizer_rule(options, group == SERVERS_MATRICES);
    bool is_sum = group == SERVERS_LOSSES;

    return (struct dtrain_ps_options){
        .server_count = (size_t)options->ps,
        .staleness = options->staleness,
        .rule = is_sum ? DTRAIN_PS_SGD : DTRAIN_PS_ADAMW,
        .lr = is_sum ? 1 : rule.lr,
        .beta1 = is_sum ? 0 : rule.beta1,
        .beta2 = is_sum ? 0 : rule.beta2,
        .epsilon = is_sum ? 0 : rule.epsilon,
        .decay = is_sum ? 0 : rule.decay,
    };
}

static void take_place(struct servers *servers)
{
    const struct dtrain_ps *ps = servers->ps[SERVERS_LOSSES];
    struct grid *grid = servers->grid;

    grid->is_apart = true;
    grid->speaker = dtrain_ps_worker(ps, 0);
    grid->layout.dp = (struct axis){dtrain_ps_worker_count(ps), 0};
    for (int i = 0; i < grid->layout.dp.size; i++) {
        if (dtrain_ps_worker(ps, i) == dtrain_rank(grid->world))
            grid->layout.dp.rank = i;
    }
}

int servers_open(struct servers *servers, struct grid *grid, const struct options *options,
                 struct dtrain_error *err)
{
    struct dtrain_ps_options rule = rule_of(options, SERVERS_LOSSES);
    struct dtrain_ps_parameter losses = {
        .name = "losses",
        .value = servers->told,
        .gradient = servers->pushed,
        .count = 2,
        .type = DTRAIN_FLOAT64,
        .gradient_type = DTRAIN_FLOAT64,
    };

    *servers = (struct servers){.grid = grid};
    if (dtrain_ps_create(&servers->ps[SERVERS_LOSSES], grid->world, &losses, 1, &rule, err) != 0)
        return -1;
    take_place(servers);
    return 0;
}

bool servers_is_server(const struct servers *servers)
{
    const struct dtrain_ps *ps = servers->ps[SERVERS_LOSSES];

    return ps != NULL && dtrain_ps_is_server(ps);
}

/* ---- Weights -------------------------------------------------------------------------- */

static int join_group(struct servers *servers, const struct model *model, const struct options *options,
                      enum servers_group group, struct dtrain_error *err)
{
    struct dtrain_ps_options rule = rule_of(options, group);
    struct dtrain_ps_parameter *list = calloc(model->count, sizeof(*list));
    size_t n = 0;
    int rc;

    if (list == NULL)
        return error_memory(err, model->count * sizeof(*list), "the list of parameters");
    for (size_t i = 0; i < model->count; i++) {
        const struct tensor *tensor = &model->tensors[i];

        if (model->parameters[i].decay == (group == SERVERS_MATRICES))
            list[n++] = (struct dtrain_ps_parameter){
                .name = model->parameters[i].name,
                .value = model->own[tensor->place],
                .gradient = model->gradients[tensor->place],
                .count = tensor->count,
                .type = model->grid->compute->type,
                .gradient_type = model->grid->compute->main,
            };
    }
    rc = dtrain_ps_create(&servers->ps[group], model->grid->world, list, n, &rule, err);
    free(list);
    return rc;
}

int servers_join(struct servers *servers, const struct model *model, const struct options *options,
                 struct dtrain_error *err)
{
    if (join_group(servers, model, options, SERVERS_MATRICES, err) != 0)
        return -1;
    return join_group(servers, model, options, SERVERS_VECTORS, err);
}

void servers_destroy(struct servers *servers)
{
    for (int i = 0; i < SERVERS_GROUPS; i++)
        dtrain_ps_destroy(servers->ps[i]);
    *servers = (struct servers){0};
}

/* ---- Serving ---------------------------------------------------------------------------- */

struct service {
    struct dtrain_ps *ps;
    struct dtrain_error err;
    int rc;
    pthread_t thread;
};

static void *serve(void *argument)
{
    struct service *service = argument;

    service->rc = dtrain_ps_serve(service->ps, &service->err);
    return NULL;
}

/* The first failure of the services; each is told of by others' ends, too. */
static int conclude(const struct service *services, int count, struct dtrain_error *err)
{
    for (int i = 0; i < count; i++) {
        if (services[i].rc != 0)
            return error_set(err, "%s", services[i].err.text);
    }
    return 0;
}

int servers_serve(struct servers *servers, struct dtrain_error *err)
{
    struct service services[SERVERS_GROUPS];
    int started = 0, failure = 0;

    /* Each blocks until the workers leave it. */
    while (started < SERVERS_GROUPS && failure == 0) {
        services[started] = (struct service){.ps = servers->ps[started]};
        failure = pthread_create(&services[started].thread, NULL, serve, &services[started]);
        started += failure == 0;
    }
    for (int i = 0; i < started; i++)
        pthread_join(services[i].thread, NULL);
    if (failure != 0)
        return error_set(err, "cannot start a parameter server's thread: %s", strerror(failure));
    return conclude(services, started, err);
}

/* ---- Working ---------------------------------------------------------------------------- */

static int exchange(struct servers *servers, struct dtrain_error *err)
{
    struct dtrain_stream *stream = grid_stream(servers->grid);

    for (int i = 0; i < SERVERS_GROUPS; i++) {
        if (dtrain_ps_push(servers->ps[i], servers->step, stream, err) != 0)
            return -1;
    }
    for (int i = 0; i < SERVERS_GROUPS; i++) {
        if (dtrain_ps_pull(servers->ps[i], stream, err) != 0)
            return -1;
    }
    for (int i = 0; i < SERVERS_GROUPS; i++) {
        if (dtrain_ps_wait(servers->ps[i], err) != 0)
            return -1;
    }
    return grid_follow(servers->grid, err);
}

int servers_step(struct servers *servers, double *loss, struct dtrain_error *err)
{
    servers->step++;
    servers->pushed[0] = -*loss * (double)servers->grid->layout.dp.size;
    servers->pushed[1] = -1;
    memcpy(servers->before, servers->told, sizeof(servers->before));
    if (exchange(servers, err) != 0)
        return -1;
    *loss = (servers->told[0] - servers->before[0]) / (servers->told[1] - servers->before[1]);
    return 0;
}

int servers_leave(struct servers *servers, struct dtrain_error *err)
{
    for (int i = 0; i < SERVERS_GROUPS; i++) {
        if (dtrain_ps_leave(servers->ps[i], err) != 0)
            return -1;
    }
    return 0;
}
