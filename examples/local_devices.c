/*
 * local_devices.c - two ways to use several devices for the same training:
 *
 *   DataParallel  one process and one thread drive all devices. In each step the
 *                 parameters go from device 0 to all, the gradients are averaged,
 *                 and device 0 alone steps. No launcher, one machine.
 *   DDP           a rank a device. Each keeps its parameters and steps by itself;
 *                 only gradients move (dtrain_dp.h).
 *
 *   ./local_devices [N [host|nccl]]     both in this process, N devices (4; host's)
 *   srun -nN --dtrain-dp=N ./local_devices     DDP by the step's N tasks; rank 0 then
 *                                       repeats it with N local devices of the host
 *
 * To see: both end with the same parameters. DataParallel moves the parameters in
 * each step, waits for one thread, and ends at the machine's edge; that is why one
 * process a device is the usual way.
 */
#include <dtrain_dp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lesson.h"
#include "matrix.h"

#define DEVICES_MAX 64
#define ROWS 2 /* of a device's part of the batch */
#define IN 4
#define OUT 2
#define STEPS 3
#define LR 0.5
#define COUNT ((size_t)IN * OUT)

static const char name[] = "local_devices";

/* ---- The model: Y = X W, loss the mean over rows of |Y - T|^2 / 2 -------- */

/* dw, and the loss, of the rows that a device has; the same rows in both ways. */
static double gradient_of(int device, const double *w, double *dw)
{
    double x[ROWS * IN], target[ROWS * OUT], y[ROWS * OUT], loss = 0;

    matrix_fill(x, ROWS * IN, (unsigned)device + 1);
    matrix_fill(target, ROWS * OUT, (unsigned)device + 7);
    matrix_product(y, x, w, ROWS, IN, OUT);
    for (size_t i = 0; i < ROWS * OUT; i++) {
        y[i] -= target[i];
        loss += y[i] * y[i] / 2 / ROWS;
        y[i] /= ROWS;
    }
    memset(dw, 0, COUNT * sizeof(*dw));
    matrix_add_product(dw, x, y, ROWS, IN, OUT);
    return loss;
}

static void descend(double *w, const double *dw)
{
    for (size_t i = 0; i < COUNT; i++)
        w[i] -= LR * dw[i];
}

/* ---- Devices ------------------------------------------------------------- */

struct device {
    struct dtrain_world *world; /* the rank that uses it */
    struct dtrain_stream *stream;
    struct dtrain_comm *comm;
    void *w, *dw;                               /* COUNT doubles each, in the device's memory */
    double host_w[IN * OUT], host_dw[IN * OUT]; /* what the CPU computes with */
};

static int device_open(struct device *device, struct dtrain_world *world, struct dtrain_error *err)
{
    size_t bytes = COUNT * sizeof(double);

    *device = (struct device){.world = world};
    if (dtrain_stream_create(world, &device->stream, err) < 0 ||
        dtrain_comm_get(world, DTRAIN_DP, &device->comm, err) < 0 ||
        dtrain_memory_alloc(world, bytes, &device->w, err) < 0)
        return -1;
    return dtrain_memory_alloc(world, bytes, &device->dw, err);
}

/* Leaves the world, which is its owner's. */
static void device_close(struct device *device)
{
    if (device->stream != NULL)
        dtrain_stream_destroy(device->stream, NULL);
    dtrain_memory_free(device->world, device->w);
    dtrain_memory_free(device->world, device->dw);
}

/* Returns when it is done. */
static int move(struct device *device, void *to, const void *from, struct dtrain_error *err)
{
    if (dtrain_copy(to, from, COUNT * sizeof(double), device->stream, err) < 0)
        return -1;
    return dtrain_stream_synchronize(device->stream, err);
}

/* ---- DataParallel: one thread for all devices ---------------------------- */

static int replicate(struct device *devices, int n, struct dtrain_error *err)
{
    int rc = dtrain_batch_begin(devices[0].world, err);

    if (rc < 0)
        return -1;
    for (int i = 0; rc == 0 && i < n; i++)
        rc = dtrain_broadcast(devices[i].comm, devices[i].w, COUNT, DTRAIN_FLOAT64, 0, devices[i].stream,
                              err);
    if (dtrain_batch_end(devices[0].world, rc == 0 ? err : NULL) < 0)
        rc = -1;
    return rc;
}

static int average(struct device *devices, int n, struct dtrain_error *err)
{
    int rc = dtrain_batch_begin(devices[0].world, err);

    if (rc < 0)
        return -1;
    for (int i = 0; rc == 0 && i < n; i++)
        rc = dtrain_all_reduce(devices[i].comm, devices[i].dw, devices[i].dw, COUNT, DTRAIN_FLOAT64,
                               DTRAIN_AVG, devices[i].stream, err);
    if (dtrain_batch_end(devices[0].world, rc == 0 ? err : NULL) < 0)
        rc = -1;
    for (int i = 0; rc == 0 && i < n; i++)
        rc = dtrain_stream_synchronize(devices[i].stream, err);
    return rc;
}

static int step_data_parallel(struct device *devices, int n, int step, struct dtrain_error *err)
{
    struct device *first = &devices[0];
    double loss = 0;

    if (replicate(devices, n, err) < 0)
        return -1;
    for (int i = 0; i < n; i++) {
        if (move(&devices[i], devices[i].host_w, devices[i].w, err) < 0)
            return -1;
        loss += gradient_of(i, devices[i].host_w, devices[i].host_dw) / n;
        if (move(&devices[i], devices[i].dw, devices[i].host_dw, err) < 0)
            return -1;
    }
    if (average(devices, n, err) < 0 || move(first, first->host_dw, first->dw, err) < 0)
        return -1;
    printf("  step %d loss %.6f\n", step + 1, loss);
    descend(first->host_w, first->host_dw);
    return move(first, first->w, first->host_w, err);
}

static int learn_data_parallel(struct device *devices, int n, double *w, struct dtrain_error *err)
{
    matrix_fill(devices[0].host_w, COUNT, 2);
    if (move(&devices[0], devices[0].w, devices[0].host_w, err) < 0)
        return -1;
    for (int step = 0; step < STEPS; step++)
        if (step_data_parallel(devices, n, step, err) < 0)
            return -1;
    memcpy(w, devices[0].host_w, COUNT * sizeof(*w));
    return 0;
}

/* w: the parameters at the end. */
static int run_data_parallel(int n, const char *backend, double *w, struct dtrain_error *err)
{
    struct dtrain_local_options options = {.n = n, .backend = backend};
    struct dtrain_world *worlds[DEVICES_MAX];
    struct device devices[DEVICES_MAX] = {0};
    int rc = 0;

    if (dtrain_init_local(worlds, &options, err) < 0)
        return -1;
    for (int i = 0; rc == 0 && i < n; i++)
        rc = device_open(&devices[i], worlds[i], err);
    if (rc == 0)
        rc = learn_data_parallel(devices, n, w, err);
    if (rc < 0)
        dtrain_comms_revoke(worlds[0], err->text, NULL);
    for (int i = 0; i < n; i++)
        if (devices[i].world != NULL)
            device_close(&devices[i]);
    if (dtrain_finalize_local(worlds, n, rc == 0 ? err : NULL) < 0)
        rc = -1;
    return rc;
}

/* ---- DDP: a rank a device ------------------------------------------------ */

static int step_ddp(struct device *device, struct dtrain_dp *dp, struct dtrain_error *err)
{
    gradient_of(dtrain_rank(device->world), device->host_w, device->host_dw);
    if (move(device, device->dw, device->host_dw, err) < 0 || dtrain_dp_begin(dp, true, err) < 0 ||
        dtrain_dp_ready(dp, 0, device->stream, err) < 0 || dtrain_dp_finish(dp, device->stream, err) < 0 ||
        move(device, device->host_dw, device->dw, err) < 0)
        return -1;
    descend(device->host_w, device->host_dw);
    return move(device, device->w, device->host_w, err);
}

static int learn_ddp(struct device *device, struct dtrain_error *err)
{
    const struct dtrain_parameter parameter = {"W", device->w, device->dw, COUNT, DTRAIN_FLOAT64,
                                               DTRAIN_FLOAT64, 0, 0};
    struct dtrain_dp *dp;
    int rc;

    if (dtrain_dp_create(&dp, device->world, &parameter, 1, NULL, err) < 0)
        return -1;
    matrix_fill(device->host_w, COUNT, 2);
    rc = move(device, device->w, device->host_w, err);
    for (int step = 0; rc == 0 && step < STEPS; step++)
        rc = step_ddp(device, dp, err);
    if (rc == 0)
        rc = dtrain_dp_check(dp, device->stream, err);
    dtrain_stream_synchronize(device->stream, NULL);
    dtrain_dp_destroy(dp);
    return rc;
}

/* w: the parameters at the end, which are the same bits on all ranks. */
static int run_ddp(struct dtrain_world *world, double *w, struct dtrain_error *err)
{
    struct device device;
    int rc = device_open(&device, world, err);

    if (rc == 0)
        rc = learn_ddp(&device, err);
    if (rc < 0)
        dtrain_comms_revoke(world, err->text, NULL);
    memcpy(w, device.host_w, sizeof(device.host_w));
    device_close(&device);
    return rc;
}

/* ---- Both ---------------------------------------------------------------- */

/* What both ways ended with; the status of the process. */
static int compare(const double *ddp, const double *data_parallel, int n)
{
    struct lesson lesson = {.name = name};

    lesson_print(&lesson, "W by DDP", ddp, IN, OUT);
    lesson_print(&lesson, "W by DataParallel", data_parallel, IN, OUT);
    lesson_check(&lesson, "W by DDP, against DataParallel in", ddp, data_parallel, COUNT);
    printf("%s: %s: %d steps on %d device%s in both ways\n", name, lesson.wrong == 0 ? "ok" : "wrong", STEPS,
           n, n == 1 ? "" : "s");
    if (fflush(stdout) == 0 && !ferror(stdout))
        return lesson.wrong == 0 ? 0 : 1;
    fprintf(stderr, "%s: cannot write to standard output\n", name);
    return 1;
}

static int fail(const struct dtrain_error *err)
{
    fprintf(stderr, "%s: %s\n", name, err->text);
    return 1;
}

static int compare_with_local(int n, const char *backend, const double *ddp)
{
    struct dtrain_error err;
    double w[IN * OUT];

    printf("2. DataParallel: one thread drives %d devices, %s backend\n", n, backend);
    if (run_data_parallel(n, backend, w, &err) < 0)
        return fail(&err);
    return compare(ddp, w, n);
}

struct seat {
    struct dtrain_world *world;
    double w[IN * OUT];
    struct dtrain_error err;
    int rc;
};

/* A rank of this process; the body of a thread. */
static void *take_seat(void *argument)
{
    struct seat *seat = argument;

    seat->rc = run_ddp(seat->world, seat->w, &seat->err);
    return NULL;
}

static int run_threads(struct seat *seats, int n)
{
    pthread_t threads[DEVICES_MAX];
    int rc = 0;

    for (int i = 0; i < n; i++) {
        if (pthread_create(&threads[i], NULL, take_seat, &seats[i]) == 0)
            continue;
        /* The ranks that run wait for this one: only the end of the process stops them. */
        fprintf(stderr, "%s: cannot start a thread for rank %d\n", name, i);
        _Exit(1);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        rc |= seats[i].rc < 0 ? fail(&seats[i].err) : 0;
    }
    return rc;
}

static int run_alone(int n, const char *backend)
{
    struct dtrain_local_options options = {.n = n, .backend = backend};
    struct dtrain_world *worlds[DEVICES_MAX];
    struct seat seats[DEVICES_MAX] = {0};
    struct dtrain_error err;
    int status;

    if (dtrain_init_local(worlds, &options, &err) < 0)
        return fail(&err);
    printf("1. DDP: a rank a device, %d threads of this process, %s backend\n", n, backend);
    for (int i = 0; i < n; i++)
        seats[i].world = worlds[i];
    status = run_threads(seats, n);
    if (dtrain_finalize_local(worlds, n, &err) < 0 && status == 0)
        status = fail(&err);
    return status == 0 ? compare_with_local(n, backend, seats[0].w) : status;
}

/* The same on all ranks, so that one of them tells it. */
static bool is_refused(const struct dtrain_world *world)
{
    struct dtrain_group group = {0};
    int size = dtrain_size(world);

    dtrain_group_get(world, DTRAIN_DP, &group, NULL);
    if (group.size == size && size <= DEVICES_MAX)
        return false;
    if (dtrain_rank(world) == 0)
        fprintf(stderr,
                "%s: this step has %d ranks, dp=%d; this program needs as many ranks as dp, 2 to %d: "
                "srun -n2 --dtrain-dp=2\n",
                name, size, group.size, DEVICES_MAX);
    return true;
}

static int run_step(struct dtrain_world *world)
{
    struct dtrain_error err;
    double w[IN * OUT];
    int rank = dtrain_rank(world), size = dtrain_size(world), rc;

    if (is_refused(world)) {
        dtrain_finalize(world, NULL);
        return 1;
    }
    if (rank == 0)
        printf("1. DDP: a rank a device, %d tasks of this step, %s backend\n", size, dtrain_backend(world));
    rc = run_ddp(world, w, &err);
    if (dtrain_finalize(world, rc == 0 ? &err : NULL) < 0)
        rc = -1;
    if (rc < 0)
        return fail(&err);
    return rank == 0 ? compare_with_local(size, "host", w) : 0;
}

static int refuse_arguments(void)
{
    fprintf(stderr, "usage: %s [devices, 1 to %d [host|nccl]]\n", name, DEVICES_MAX);
    return 2;
}

int main(int argc, char **argv)
{
    const char *backend = argc > 2 ? argv[2] : "host";
    struct dtrain_world *world;
    struct dtrain_error err;
    char *end = NULL;
    long n = argc > 1 ? strtol(argv[1], &end, 10) : 4;

    if (argc > 3 || n < 1 || n > DEVICES_MAX || (end != NULL && *end != '\0'))
        return refuse_arguments();
    if (dtrain_init(&world, NULL, &err) < 0)
        return fail(&err);
    if (dtrain_size(world) > 1)
        return run_step(world);
    dtrain_finalize(world, NULL);
    return run_alone((int)n, backend);
}
