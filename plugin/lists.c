#include "lists.h"

#include <stdlib.h>
#include <string.h>

#include "core/parse.h"

static const struct {
    const char *variable;
    enum dt_vendor vendor;
} kinds[DT_LISTS_COUNT] = {
    {"CUDA_VISIBLE_DEVICES", DT_VENDOR_NVIDIA},
    {"ROCR_VISIBLE_DEVICES", DT_VENDOR_AMD},
    {"ZE_AFFINITY_MASK", DT_VENDOR_INTEL},
};

/* What is wrong with one list is so with the others: said once a node, and the lists are left alone. */
static int leave(struct dt_lists *lists, const struct dt_task *task, const struct dtrain_error *err)
{
    if (task->is_speaker)
        slurm_error("dtrain: %s: the devices stay as Slurm set them", err->text);
    lists->are_left = true;
    return 0;
}

/* GPUs that the step has on this node; 0 when Slurm gave it none. */
static uint32_t devices_on_node(spank_t spank)
{
    char text[DT_TASK_VALUE_MAX];
    uint32_t count;

    if (spank_getenv(spank, "SLURM_GPUS_ON_NODE", text, sizeof(text)) != ESPANK_SUCCESS ||
        dt_parse_u32(&count, text, 0, UINT32_MAX, "SLURM_GPUS_ON_NODE", NULL))
        return 0;
    return count;
}

static int describe_isolation(const char *variable, uint32_t own, uint32_t on_node, struct dtrain_error *err)
{
    return dt_error_set(
        err,
        "each task has %u of the %u GPUs of its node in %s: with --gpus-per-task or --gpu-bind tasks do not "
        "see each other's GPUs, and NVLink between them is lost; use --gpus-per-node=%u or --gres=gpu:%u",
        own, on_node, variable, on_node, on_node);
}

static int refuse_sharing(const struct dt_task *task, uint32_t count, struct dtrain_error *err)
{
    uint32_t tasks = dt_plan_node_tasks(task->plan, task->node);

    return dt_error_set(err,
                        "%u tasks on %.64s have %u GPUs: use --gpus-per-node=%u, --ntasks-per-node=%u, or "
                        "--dtrain-backend=host",
                        tasks, dt_plan_node_name(task->plan, task->node), count, tasks, count);
}

static int judge_list(struct dt_lists *lists, const struct dt_task *task, const struct dt_list *list,
                      uint32_t on_node, struct dtrain_error *err)
{
    uint32_t tasks = dt_plan_node_tasks(task->plan, task->node);

    if (tasks > 1 && list->visible.count < on_node) {
        describe_isolation(list->variable, list->visible.count, on_node, err);
        return leave(lists, task, err);
    }
    if (tasks > list->visible.count && dt_plan_backend(task->plan) != DT_BACKEND_HOST)
        return refuse_sharing(task, list->visible.count, err);
    return 0;
}

static int load_list(struct dt_lists *lists, struct dt_list *list, const struct dt_task *task, spank_t spank,
                     uint32_t on_node, struct dtrain_error *err)
{
    spank_err_t rc = spank_getenv(spank, list->variable, list->given, sizeof(list->given));

    list->visible.count = 0;
    if (rc == ESPANK_ENV_NOEXIST)
        return 0;
    if (rc != ESPANK_SUCCESS) {
        dt_error_set(err, "%s cannot be read: %s", list->variable, spank_strerror(rc));
        return leave(lists, task, err);
    }
    if (dt_visible_parse(&list->visible, list->given, list->variable, err))
        return leave(lists, task, err);
    return list->visible.count ? judge_list(lists, task, list, on_node, err) : 0;
}

/* Not Slurm's, or not understood: the lists' own numbers must do. */
static void load_step(struct dt_lists *lists, spank_t spank)
{
    if (spank_getenv(spank, "SLURM_STEP_GPUS", lists->chosen, sizeof(lists->chosen)) != ESPANK_SUCCESS ||
        dt_visible_parse(&lists->step, lists->chosen, "SLURM_STEP_GPUS", NULL))
        lists->step.count = 0;
}

int dt_lists_load(struct dt_lists **lists, const struct dt_task *task, spank_t spank,
                  struct dtrain_error *err)
{
    uint32_t on_node = devices_on_node(spank);
    struct dt_lists *loaded = calloc(1, sizeof(*loaded));

    *lists = NULL;
    if (loaded == NULL)
        return dt_error_memory(err, sizeof(*loaded), "the lists of devices");
    for (size_t i = 0; i < DT_LISTS_COUNT; i++) {
        struct dt_list *list = &loaded->lists[i];

        list->variable = kinds[i].variable;
        list->vendor = kinds[i].vendor;
        if (on_node == 0 || loaded->are_left)
            continue;
        if (load_list(loaded, list, task, spank, on_node, err)) {
            free(loaded);
            return -1;
        }
    }
    load_step(loaded, spank);
    *lists = loaded;
    return 0;
}

int dt_lists_set(struct dt_lists *lists, struct dt_list *list, const uint32_t *own, uint32_t own_count,
                 int only, spank_t spank, struct dtrain_error *err)
{
    spank_err_t rc;

    if (only >= 0)
        strcpy(lists->chosen, list->visible.entries[only]);
    else if (dt_visible_format(lists->chosen, &list->visible, own, own_count, err))
        return -1;
    if (strcmp(lists->chosen, list->given) == 0)
        return 0;
    rc = spank_setenv(spank, list->variable, lists->chosen, 1);
    if (rc != ESPANK_SUCCESS)
        return dt_error_set(err, "%s cannot be set: %s", list->variable, spank_strerror(rc));
    strcpy(list->given, lists->chosen);
    return 0;
}
