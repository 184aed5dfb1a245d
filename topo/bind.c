#include "topo/bind.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/bind_part.h"

void dt_bind_say(struct dt_bind_task *task, const char *fmt, ...)
{
    size_t used = strlen(task->reason);
    va_list args;
    int n;

    if (used > 0 && used + 2 < DT_BIND_REASON_MAX) {
        memcpy(task->reason + used, "; ", 3);
        used += 2;
    }
    va_start(args, fmt);
    n = vsnprintf(task->reason + used, DT_BIND_REASON_MAX - used, fmt, args);
    va_end(args);
    if (n >= (int)(DT_BIND_REASON_MAX - used))
        memcpy(task->reason + DT_BIND_REASON_MAX - 4, "...", 4);
}

const struct dt_topo_numa *dt_bind_numa(const struct dt_topo *topo, int os_index)
{
    for (uint32_t i = 0; i < topo->numa_count; i++)
        if (topo->numas[i].os_index == os_index)
            return &topo->numas[i];
    return NULL;
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static int input_gpus(struct dt_bind_input *input, struct dtrain_error *err)
{
    const struct dt_bind_request *request = input->request;
    const struct dt_topo *topo = input->topo;

    input->gpu_count = request->gpus != NULL ? request->gpu_count : topo->gpu_count;
    if (input->gpu_count > topo->gpu_count)
        return dt_error_set(err, "%u GPUs are allowed, but %s has %u: expected the topology of this node",
                            input->gpu_count, topo->source, topo->gpu_count);
    for (uint32_t i = 0; i < input->gpu_count; i++)
        input->gpus[i] = request->gpus != NULL ? request->gpus[i] : i;
    qsort(input->gpus, input->gpu_count, sizeof(input->gpus[0]), compare_u32);
    for (uint32_t i = 0; i < input->gpu_count; i++) {
        if (input->gpus[i] >= topo->gpu_count)
            return dt_error_set(err, "GPU %u is allowed, but %s has %u: expected the topology of this node",
                                input->gpus[i], topo->source, topo->gpu_count);
        if (i > 0 && input->gpus[i] == input->gpus[i - 1])
            return dt_error_set(err, "GPU %u is allowed twice: expected each once", input->gpus[i]);
    }
    return 0;
}

static int input_init(struct dt_bind_input *input, struct dtrain_error *err)
{
    const struct dt_bind_request *request = input->request;

    if (request->task_count == 0 || request->task_count > DT_BIND_TASKS_MAX || request->group == NULL)
        return dt_error_set(err, "%u tasks to bind: expected 1 to %u, each with its group",
                            request->task_count, DT_BIND_TASKS_MAX);
    if (input_gpus(input, err))
        return -1;
    input->cpus = hwloc_bitmap_dup(input->topo->cpus);
    if (input->cpus == NULL ||
        (request->cpus != NULL && hwloc_bitmap_and(input->cpus, input->cpus, request->cpus)))
        return dt_error_memory(err, DT_TOPO_NAME_MAX, "a CPU mask");
    if (hwloc_bitmap_weight(input->cpus) < 0)
        return dt_error_set(err, "the CPUs of %s are a set without end: expected those it has",
                            input->topo->source);
    return 0;
}

static struct dt_binding *binding_create(uint32_t task_count, struct dtrain_error *err)
{
    struct dt_binding *binding = calloc(1, sizeof(*binding));

    if (binding != NULL)
        binding->tasks = calloc(task_count, sizeof(*binding->tasks));
    if (binding == NULL || binding->tasks == NULL) {
        dt_error_memory(err, task_count * sizeof(*binding->tasks), "a binding");
        free(binding);
        return NULL;
    }
    binding->task_count = task_count;
    binding->is_exact = true;
    for (uint32_t i = 0; i < task_count; i++) {
        struct dt_bind_task *task = &binding->tasks[i];

        task->gpu = task->nic = task->numa = -1;
        task->keeps_cpus = true;
        task->cpus = hwloc_bitmap_alloc();
        if (task->cpus == NULL) {
            dt_error_memory(err, sizeof(*task), "a binding");
            dt_binding_destroy(binding);
            return NULL;
        }
    }
    return binding;
}

void dt_binding_destroy(struct dt_binding *binding)
{
    if (binding == NULL)
        return;
    for (uint32_t i = 0; i < binding->task_count; i++)
        hwloc_bitmap_free(binding->tasks[i].cpus);
    free(binding->tasks);
    free(binding);
}

/* The one NUMA node that holds all of the task's cores; -1: several or none. */
static int numa_of_cpus(const struct dt_topo *topo, hwloc_const_bitmap_t cpus)
{
    if (hwloc_bitmap_iszero(cpus))
        return -1;
    for (uint32_t i = 0; i < topo->numa_count; i++)
        if (hwloc_bitmap_isincluded(cpus, topo->numas[i].cpus))
            return topo->numas[i].os_index;
    return -1;
}

static void bind_memory(struct dt_binding *binding, const struct dt_topo *topo)
{
    for (uint32_t i = 0; i < binding->task_count; i++) {
        struct dt_bind_task *task = &binding->tasks[i];
        int near = task->gpu >= 0 ? topo->gpus[task->gpu].numa : -1;
        const struct dt_topo_numa *numa = dt_bind_numa(topo, near);

        if (numa != NULL && !hwloc_bitmap_iszero(numa->cpus)) {
            task->numa = near;
            dt_bind_say(task, "memory of NUMA node %d, its GPU's", near);
        } else {
            task->numa = numa_of_cpus(topo, task->cpus);
            if (task->numa >= 0)
                dt_bind_say(task, "memory of NUMA node %d, its cores'", task->numa);
        }
    }
}

static int bind_parts(struct dt_binding *binding, const struct dt_bind_input *input,
                      struct dtrain_error *err)
{
    unsigned what = input->request->what;

    if (what & DT_BIND_GPU && dt_bind_gpu(binding, input, err))
        return -1;
    if (what & DT_BIND_CPU && dt_bind_cpu(binding, input, err))
        return -1;
    if (what & DT_BIND_NIC && dt_bind_nic(binding, input, err))
        return -1;
    if (what & DT_BIND_MEM)
        bind_memory(binding, input->topo);
    return 0;
}

int dt_bind(struct dt_binding **binding, const struct dt_topo *topo, const struct dt_bind_request *request,
            struct dtrain_error *err)
{
    struct dt_bind_input input = {.topo = topo, .request = request};
    int rc = -1;

    *binding = NULL;
    if (input_init(&input, err))
        goto out;
    *binding = binding_create(request->task_count, err);
    if (*binding == NULL || bind_parts(*binding, &input, err))
        goto out;
    rc = 0;
out:
    if (rc) {
        dt_binding_destroy(*binding);
        *binding = NULL;
    }
    hwloc_bitmap_free(input.cpus);
    return rc;
}
