#include "spank.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLES_MAX 128
#define OPTIONS_MAX 32

struct fake fake;

static struct {
    char *name, *value;
} variables[VARIABLES_MAX];
static uint32_t variable_count;
static struct spank_option options[OPTIONS_MAX];

static void forget_variable(uint32_t i)
{
    free(variables[i].name);
    free(variables[i].value);
    variables[i] = variables[--variable_count];
}

void fake_reset(spank_context_t context)
{
    while (variable_count)
        forget_variable(variable_count - 1);
    memset(&fake, 0, sizeof(fake));
    fake.context = context;
    fake.task_id = -1;
    fake.fails_item = -1;
}

static uint32_t find_variable(const char *name)
{
    uint32_t i = 0;

    while (i < variable_count && strcmp(variables[i].name, name) != 0)
        i++;
    return i;
}

void fake_put(const char *name, const char *value)
{
    uint32_t i = find_variable(name);

    if (i < variable_count)
        forget_variable(i);
    if (value == NULL || variable_count == VARIABLES_MAX)
        return;
    variables[variable_count].name = strdup(name);
    variables[variable_count++].value = strdup(value);
}

const char *fake_get(const char *name)
{
    uint32_t i = find_variable(name);

    return i < variable_count ? variables[i].value : NULL;
}

uint32_t fake_count(void)
{
    return variable_count;
}

int fake_option(const char *name, const char *value)
{
    for (uint32_t i = 0; i < fake.options; i++)
        if (strcmp(options[i].name, name) == 0)
            return options[i].cb(options[i].val, value, fake.context == S_CTX_REMOTE);
    return -100;
}

/* ---- SPANK ---- */

spank_context_t spank_context(void)
{
    return fake.context;
}

int spank_remote(spank_t spank)
{
    (void)spank;
    return fake.context == S_CTX_REMOTE;
}

const char *spank_strerror(spank_err_t err)
{
    return err == ESPANK_NOSPACE ? "no space" : "error";
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
    (void)spank;
    if (fake.options == OPTIONS_MAX)
        return ESPANK_NOSPACE;
    options[fake.options++] = *option;
    return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    const uint32_t *values[] = {
        [S_JOB_ID] = &fake.job_id,
        [S_JOB_STEPID] = &fake.step_id,
        [S_JOB_NNODES] = &fake.nodes,
        [S_JOB_NODEID] = &fake.node_id,
        [S_JOB_LOCAL_TASK_COUNT] = &fake.local_tasks,
        [S_JOB_TOTAL_TASK_COUNT] = &fake.all_tasks,
        [S_TASK_GLOBAL_ID] = &fake.task_global_id,
    };
    spank_err_t rc = ESPANK_SUCCESS;
    va_list args;

    (void)spank;
    if ((int)item == fake.fails_item)
        return ESPANK_ERROR;
    va_start(args, item);
    if (item == S_TASK_ID) {
        *va_arg(args, int *) = fake.task_id;
        rc = fake.task_id < 0 ? ESPANK_NOT_TASK : ESPANK_SUCCESS;
    } else if (item == S_JOB_LOCAL_TO_GLOBAL_ID) {
        uint32_t local = va_arg(args, uint32_t);

        *va_arg(args, uint32_t *) = local < FAKE_TASKS_MAX ? fake.local_to_global[local] : 0;
    } else if (item == S_JOB_ALLOC_CORES) {
        *va_arg(args, char **) = (char *)fake.job_cores;
        rc = fake.job_cores != NULL ? ESPANK_SUCCESS : ESPANK_NOT_AVAIL;
    } else if ((size_t)item < sizeof(values) / sizeof(values[0]) && values[item] != NULL) {
        *va_arg(args, uint32_t *) = *values[item];
    } else {
        rc = ESPANK_BAD_ARG;
    }
    va_end(args);
    return rc;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *buffer, int size)
{
    const char *value = fake_get(name);

    (void)spank;
    if (value == NULL)
        return ESPANK_ENV_NOEXIST;
    return snprintf(buffer, (size_t)size, "%s", value) >= size ? ESPANK_NOSPACE : ESPANK_SUCCESS;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
    (void)spank;
    if (fake.setenv_fails != NULL && strcmp(name, fake.setenv_fails) == 0)
        return ESPANK_ERROR;
    if (!overwrite && fake_get(name) != NULL)
        return ESPANK_ENV_EXISTS;
    fake_put(name, value);
    return ESPANK_SUCCESS;
}

static void __attribute__((format(printf, 1, 0))) say(const char *format, va_list args)
{
    size_t used = strlen(fake.said);

    vsnprintf(fake.said + used, sizeof(fake.said) - used, format, args);
    used = strlen(fake.said);
    snprintf(fake.said + used, sizeof(fake.said) - used, "\n");
}

void slurm_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
}

void slurm_spank_log(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
}

void slurm_info(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
}

/* ---- The controller ---- */

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

slurm_step_layout_t *slurm_job_step_layout_get(slurm_step_id_t *id)
{
    slurm_step_layout_t *layout;

    if (fake.node_list == NULL || id->job_id != fake.job_id || id->step_id != fake.step_id)
        return NULL;
    layout = calloc(1, sizeof(*layout));
    layout->node_cnt = fake.nodes;
    layout->node_list = copy(fake.node_list);
    layout->tasks = calloc(fake.nodes, sizeof(*layout->tasks));
    layout->tids = calloc(fake.nodes, sizeof(*layout->tids));
    for (uint32_t i = 0; i < fake.nodes; i++) {
        layout->tasks[i] = fake.layout_tasks[i];
        layout->tids[i] = fake.layout_ids[i];
    }
    return layout;
}

void slurm_job_step_layout_free(slurm_step_layout_t *layout)
{
    free(layout->node_list);
    free(layout->tasks);
    free(layout->tids);
    free(layout);
}

int slurm_get_job_steps(time_t since, uint32_t job_id, uint32_t step_id,
                        job_step_info_response_msg_t **answer, uint16_t flags)
{
    (void)since;
    (void)flags;
    if (fake.is_silent)
        return -1;
    *answer = calloc(1, sizeof(**answer));
    (*answer)->job_step_count = 1;
    (*answer)->job_steps = calloc(1, sizeof(*(*answer)->job_steps));
    (*answer)->job_steps->step_id = (slurm_step_id_t){.job_id = job_id, .step_id = step_id};
    (*answer)->job_steps->tres_per_node = copy(fake.tres_per_node);
    (*answer)->job_steps->tres_per_step = copy(fake.tres_per_step);
    return 0;
}

void slurm_free_job_step_info_response_msg(job_step_info_response_msg_t *answer)
{
    free(answer->job_steps->tres_per_node);
    free(answer->job_steps->tres_per_step);
    free(answer->job_steps);
    free(answer);
}

int slurm_load_job(job_info_msg_t **answer, uint32_t job_id, uint16_t flags)
{
    (void)flags;
    if (fake.is_silent)
        return -1;
    *answer = calloc(1, sizeof(**answer));
    (*answer)->record_count = 1;
    (*answer)->job_array = calloc(1, sizeof(*(*answer)->job_array));
    (*answer)->job_array->job_id = job_id;
    (*answer)->job_array->restart_cnt = fake.restart_count;
    return 0;
}

void slurm_free_job_info_msg(job_info_msg_t *answer)
{
    free(answer->job_array);
    free(answer);
}

int slurm_load_node_single(node_info_msg_t **answer, char *name, uint16_t flags)
{
    (void)flags;
    if (fake.is_silent)
        return -1;
    *answer = calloc(1, sizeof(**answer));
    (*answer)->record_count = 1;
    (*answer)->node_array = calloc(1, sizeof(*(*answer)->node_array));
    (*answer)->node_array->name = copy(name);
    (*answer)->node_array->node_addr = copy(fake.node_address);
    return 0;
}

void slurm_free_node_info_msg(node_info_msg_t *answer)
{
    free(answer->node_array->name);
    free(answer->node_array->node_addr);
    free(answer->node_array);
    free(answer);
}
