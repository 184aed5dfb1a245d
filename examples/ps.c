/*
 * ps.c - a least-squares fit with parameter servers. Every worker has rows of its
 * own; the servers' weights must end where the normal equations say, of all rows
 * of the workers that lived to the end.
 *
 *   srun -N2 --ntasks-per-node=4 --kill-on-bad-exit=0 --dtrain-tp=1 --dtrain-backend=host ./ps
 *
 * The first task of each node is a server, the others are workers. With
 * --kill-on-bad-exit=0 a worker may be killed while it runs, and the others go on:
 *
 *   ps STEPS PAUSE_MS SERVERS   steps (100), a pause in each of them (0), how many servers (0: one a node)
 *
 * The values are in memory of the process: this is for the host backend.
 */
#include <dtrain_ps.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROWS 640 /* of each worker: ten for each weight, which converges in 100 steps */
#define COLUMNS 64
#define RATE 1.0
#define TOLERANCE 1e-6 /* of each weight */

struct fit {
    struct dtrain_world *world;
    struct dtrain_ps *ps;
    struct dtrain_stream *stream;
    uint64_t steps;
    int pause_ms;
    double x[ROWS][COLUMNS], y[ROWS];
    double weights[COLUMNS], gradient[COLUMNS];
};

/* ---- Data ------------------------------------------------------------------- */

/* In [-1, 1), the same in every process. */
static double number(unsigned worker, unsigned row, unsigned column)
{
    unsigned hash = (worker * 73856093u) ^ (row * 19349663u) ^ (column * 83492791u);

    hash = (hash ^ hash >> 16) * 0x45d9f3bu;
    hash = (hash ^ hash >> 16) * 0x45d9f3bu;
    hash ^= hash >> 16;
    return hash / 2147483648.0 - 1;
}

/* y = x . (1, 2, 3, ...) / COLUMNS, and noise, so that every worker's rows want other weights. */
static void make_rows(double x[ROWS][COLUMNS], double y[ROWS], unsigned worker)
{
    for (unsigned r = 0; r < ROWS; r++) {
        y[r] = number(worker + 1, r + 1, 0);
        for (unsigned c = 0; c < COLUMNS; c++) {
            x[r][c] = number(worker + 1, r + 1, c + 1);
            y[r] += x[r][c] * (c + 1) / COLUMNS;
        }
    }
}

/* The worker's loss; the gradient of half its mean square. */
static double compute(struct fit *fit)
{
    double loss = 0;

    for (int c = 0; c < COLUMNS; c++)
        fit->gradient[c] = 0;
    for (int r = 0; r < ROWS; r++) {
        double miss = -fit->y[r];

        for (int c = 0; c < COLUMNS; c++)
            miss += fit->x[r][c] * fit->weights[c];
        for (int c = 0; c < COLUMNS; c++)
            fit->gradient[c] += miss * fit->x[r][c] / ROWS;
        loss += miss * miss / ROWS;
    }
    return loss;
}

/* ---- The closed form ------------------------------------------------------------ */

/* Adds a worker's part of the normal equations: a[COLUMNS][COLUMNS] w = a[.][COLUMNS]. */
static void add_equations(double a[COLUMNS][COLUMNS + 1], unsigned worker)
{
    static double x[ROWS][COLUMNS], y[ROWS];

    make_rows(x, y, worker);
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < COLUMNS; i++) {
            for (int j = 0; j < COLUMNS; j++)
                a[i][j] += x[r][i] * x[r][j];
            a[i][COLUMNS] += x[r][i] * y[r];
        }
}

/* Gauss-Jordan; the matrix is positive definite, so no row needs another's place. */
static void solve(double a[COLUMNS][COLUMNS + 1])
{
    for (int p = 0; p < COLUMNS; p++) {
        for (int j = COLUMNS; j >= p; j--)
            a[p][j] /= a[p][p];
        for (int i = 0; i < COLUMNS; i++)
            for (int j = COLUMNS; i != p && j >= p; j--)
                a[i][j] -= a[i][p] * a[p][j];
    }
}

/* The largest difference of a weight to the closed form of the workers that were not lost. */
static double distance(const struct fit *fit, const struct dtrain_ps_status *status, int *lost)
{
    static double a[COLUMNS][COLUMNS + 1];
    double most = 0;

    *lost = 0;
    for (int w = 0; w < dtrain_ps_worker_count(fit->ps); w++) {
        if (status[w].state == DTRAIN_PS_IS_LOST)
            ++*lost;
        else
            add_equations(a, (unsigned)w);
    }
    solve(a);
    for (int c = 0; c < COLUMNS; c++)
        most = fmax(most, fabs(a[c][COLUMNS] - fit->weights[c]));
    return most;
}

/* ---- Training --------------------------------------------------------------------- */

static void rest(int ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

static int train(struct fit *fit, struct dtrain_error *err)
{
    int rank = dtrain_rank(fit->world);

    if (dtrain_ps_pull(fit->ps, fit->stream, err) < 0 || dtrain_ps_wait(fit->ps, err) < 0)
        return -1;
    for (uint64_t step = 1; step <= fit->steps; step++) {
        double loss = compute(fit);

        rest(fit->pause_ms);
        if (dtrain_ps_push(fit->ps, step, fit->stream, err) < 0 ||
            dtrain_ps_pull(fit->ps, fit->stream, err) < 0 || dtrain_ps_wait(fit->ps, err) < 0)
            return -1;
        if (rank == dtrain_ps_worker(fit->ps, 0)) {
            printf("step %llu loss %.9f weight[0] %.9f\n", (unsigned long long)step, loss, fit->weights[0]);
            fflush(stdout);
        }
    }
    return 0;
}

/* *lost: how many workers. */
static int check(struct fit *fit, struct dtrain_ps_status *status, int *lost, struct dtrain_error *err)
{
    double far;

    if (dtrain_ps_status_get(fit->ps, status, err) < 0)
        return -1;
    far = distance(fit, status, lost);
    printf("worker rank %d: %d of %d workers lost, off the closed form by %.1e\n", dtrain_rank(fit->world),
           *lost, dtrain_ps_worker_count(fit->ps), far);
    if (far <= TOLERANCE)
        return 0;
    snprintf(err->text, sizeof(err->text), "the fit is off the closed form by %g: expected %g or less", far,
             TOLERANCE);
    return -1;
}

static int work(struct fit *fit, struct dtrain_ps_status *status, int *lost, struct dtrain_error *err)
{
    int self = 0;

    while (dtrain_ps_worker(fit->ps, self) != dtrain_rank(fit->world))
        self++;
    make_rows(fit->x, fit->y, (unsigned)self);
    if (train(fit, err) < 0 || check(fit, status, lost, err) < 0)
        return -1;
    return dtrain_ps_leave(fit->ps, err);
}

static int serve(struct fit *fit, struct dtrain_ps_status *status, int *lost, struct dtrain_error *err)
{
    if (dtrain_ps_serve(fit->ps, err) < 0 || dtrain_ps_status_get(fit->ps, status, err) < 0)
        return -1;
    for (int w = 0; w < dtrain_ps_worker_count(fit->ps); w++)
        *lost += status[w].state == DTRAIN_PS_IS_LOST;
    printf("server rank %d: served %d workers, %d lost\n", dtrain_rank(fit->world),
           dtrain_ps_worker_count(fit->ps), *lost);
    return 0;
}

static int play_part(struct fit *fit, int *lost, struct dtrain_error *err)
{
    size_t workers = (size_t)dtrain_ps_worker_count(fit->ps);
    struct dtrain_ps_status *status = calloc(workers, sizeof(*status));
    int rc;

    if (status == NULL) {
        snprintf(err->text, sizeof(err->text), "no memory for the status of %zu workers", workers);
        return -1;
    }
    rc = dtrain_ps_is_server(fit->ps) ? serve(fit, status, lost, err) : work(fit, status, lost, err);
    free(status);
    return rc;
}

static int run(struct fit *fit, const struct dtrain_ps_options *options, int *lost, struct dtrain_error *err)
{
    struct dtrain_ps_parameter parameter = {"weights", fit->weights,   fit->gradient,
                                            COLUMNS,   DTRAIN_FLOAT64, DTRAIN_FLOAT64};
    int rc = -1;

    if (dtrain_stream_create(fit->world, &fit->stream, err) < 0)
        return -1;
    if (dtrain_ps_create(&fit->ps, fit->world, &parameter, 1, options, err) == 0)
        rc = play_part(fit, lost, err);
    dtrain_ps_destroy(fit->ps);
    if (dtrain_stream_destroy(fit->stream, rc == 0 ? err : NULL) < 0)
        rc = -1;
    return rc;
}

int main(int argc, char **argv)
{
    static struct fit fit;
    struct dtrain_ps_options options = {.rule = DTRAIN_PS_SGD, .lr = RATE};
    struct dtrain_error err = {""}, end = {""};
    int lost = 0, rc;

    fit.steps = argc > 1 ? (uint64_t)atoi(argv[1]) : 100;
    fit.pause_ms = argc > 2 ? atoi(argv[2]) : 0;
    options.server_count = argc > 3 ? (size_t)atoi(argv[3]) : 0;
    rc = dtrain_init(&fit.world, NULL, &err);
    if (rc == 0)
        rc = run(&fit, &options, &lost, &err);
    /* A world that lost a worker ends with its death, which is no failure here. */
    if (dtrain_finalize(fit.world, &end) < 0 && rc == 0 && lost == 0) {
        rc = -1;
        err = end;
    }
    if (rc < 0)
        fprintf(stderr, "ps: %s\n", err.text);
    return rc < 0 ? 1 : 0;
}
