/*
 * PMIx as Slurm serves it: Put, Commit, Fence with PMIX_COLLECT_DATA, Get.
 * Deadlines are our own, since PMIX_TIMEOUT fires on some nodes only: calls
 * are non-blocking and waited for here. Between init and finalize the death of
 * any client ends the whole step, so the session is kept short.
 */
#include "boot.h"

#include <pmix.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CARD_KEY "dtrain.card"

/* One answer that PMIx's thread will give, perhaps long after nobody waits any more. */
struct answer {
    struct session *session;
    struct answer *next;
    bool is_done;
    pmix_status_t status;
    size_t size;
    unsigned char *card;
};

struct session {
    pmix_proc_t self;
    uint32_t task_count;
    struct dt_boot_counts counts;
    pthread_mutex_t lock; /* of the answers */
    pthread_cond_t changed;
    struct answer *answers;
    struct answer **cards; /* by task: those asked for */
};

/* PMIx itself has one session a process, and its server forgets a client that said goodbye. */
static atomic_flag was_opened = ATOMIC_FLAG_INIT;

static bool pmix_is_available(uint32_t task_count, char *why, size_t size)
{
    (void)task_count;
    if (getenv("PMIX_NAMESPACE") != NULL)
        return true;
    snprintf(why, size,
             "PMIX_NAMESPACE is not set, so the step runs without PMIx: start it with srun --mpi=pmix");
    return false;
}

static int fail(struct dtrain_error *err, const char *call, pmix_status_t status)
{
    return dt_error_set(err, "%s: %s (was the step started with srun --mpi=pmix?)", call,
                        PMIx_Error_string(status));
}

/* ---- Answers ------------------------------------------------------------------ */

static struct answer *answer_create(struct session *session, struct dtrain_error *err)
{
    struct answer *answer = calloc(1, sizeof(*answer));

    if (answer == NULL) {
        dt_error_memory(err, sizeof(*answer), "an answer of PMIx");
        return NULL;
    }
    answer->session = session;
    answer->next = session->answers;
    session->answers = answer;
    return answer;
}

static void answer_arrived(struct answer *answer, pmix_status_t status)
{
    pthread_mutex_lock(&answer->session->lock);
    answer->status = status;
    answer->is_done = true;
    pthread_cond_broadcast(&answer->session->changed);
    pthread_mutex_unlock(&answer->session->lock);
}

static void on_fence(pmix_status_t status, void *context)
{
    answer_arrived(context, status);
}

static void on_card(pmix_status_t status, pmix_value_t *value, void *context)
{
    struct answer *answer = context;

    if (status == PMIX_SUCCESS &&
        (value == NULL || value->type != PMIX_BYTE_OBJECT || value->data.bo.size > DT_BOOT_CARD_MAX))
        status = PMIX_ERR_TYPE_MISMATCH;
    if (status == PMIX_SUCCESS) {
        answer->size = value->data.bo.size;
        answer->card = malloc(answer->size > 0 ? answer->size : 1);
        if (answer->card == NULL)
            status = PMIX_ERR_NOMEM;
        else if (answer->size > 0)
            memcpy(answer->card, value->data.bo.bytes, answer->size);
    }
    answer_arrived(answer, status);
}

/* Whether the answer came before the deadline. */
static bool answer_wait(struct answer *answer, const struct dt_deadline *deadline)
{
    struct session *session = answer->session;
    struct timespec at = {.tv_sec = deadline->at_ns / 1000000000, .tv_nsec = deadline->at_ns % 1000000000};
    bool is_done;

    pthread_mutex_lock(&session->lock);
    while (!answer->is_done && pthread_cond_timedwait(&session->changed, &session->lock, &at) == 0)
        continue;
    is_done = answer->is_done;
    pthread_mutex_unlock(&session->lock);
    return is_done;
}

/* ---- Facts --------------------------------------------------------------------- */

/* Only what the client holds already: asking the server for what it lacks can hang. */
static int get_fact(struct session *session, const pmix_proc_t *proc, const char *key, pmix_value_t **value,
                    struct dtrain_error *err)
{
    pmix_info_t optional;
    pmix_status_t status;
    bool yes = true;

    PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, &yes, PMIX_BOOL);
    status = PMIx_Get(proc, key, &optional, 1, value);
    PMIX_INFO_DESTRUCT(&optional);
    session->counts.facts++;
    if (status != PMIX_SUCCESS)
        return dt_error_set(err, "PMIx does not tell %s: %s", key, PMIx_Error_string(status));
    return 0;
}

static int get_number(struct session *session, const pmix_proc_t *proc, const char *key, uint32_t *number,
                      struct dtrain_error *err)
{
    pmix_value_t *value = NULL;
    int rc = 0;

    if (get_fact(session, proc, key, &value, err) < 0)
        return -1;
    if (value->type == PMIX_UINT32)
        *number = value->data.uint32;
    else if (value->type == PMIX_UINT16)
        *number = value->data.uint16;
    else if (value->type == PMIX_PROC_RANK)
        *number = value->data.rank;
    else
        rc = dt_error_set(err, "PMIx tells %s as a value of type %d, expected a number", key, value->type);
    PMIX_VALUE_RELEASE(value);
    return rc;
}

static int get_host(struct session *session, char host[DT_BOOT_HOST_MAX], struct dtrain_error *err)
{
    pmix_value_t *value = NULL;
    int rc = 0;

    if (get_fact(session, &session->self, PMIX_HOSTNAME, &value, err) < 0)
        return -1;
    if (value->type != PMIX_STRING || strlen(value->data.string) >= DT_BOOT_HOST_MAX)
        rc = dt_error_set(err, "PMIx tells a host name that is no name");
    else
        strcpy(host, value->data.string);
    PMIX_VALUE_RELEASE(value);
    return rc;
}

static int get_facts(struct session *session, struct dt_boot_facts *facts, struct dtrain_error *err)
{
    pmix_proc_t job;

    PMIX_LOAD_PROCID(&job, session->self.nspace, PMIX_RANK_WILDCARD);
    *facts = (struct dt_boot_facts){.task = session->self.rank};
    if (get_number(session, &job, PMIX_JOB_SIZE, &facts->task_count, err) < 0 ||
        get_number(session, &job, PMIX_NUM_NODES, &facts->node_count, err) < 0 ||
        get_number(session, &job, PMIX_LOCAL_SIZE, &facts->local_size, err) < 0 ||
        get_number(session, &session->self, PMIX_LOCAL_RANK, &facts->local_rank, err) < 0)
        return -1;
    session->task_count = facts->task_count;
    session->cards = calloc(session->task_count, sizeof(struct answer *));
    if (session->cards == NULL)
        return dt_error_memory(err, session->task_count * sizeof(struct answer *), "the tasks' cards");
    return get_host(session, facts->host, err);
}

/* ---- The session --------------------------------------------------------------- */

static void session_destroy(struct session *session)
{
    while (session->answers != NULL) {
        struct answer *answer = session->answers;

        session->answers = answer->next;
        free(answer->card);
        free(answer);
    }
    pthread_cond_destroy(&session->changed);
    pthread_mutex_destroy(&session->lock);
    free(session->cards);
    free(session);
}

static struct session *session_create(struct dtrain_error *err)
{
    struct session *session = calloc(1, sizeof(*session));
    pthread_condattr_t attributes;

    if (session == NULL) {
        dt_error_memory(err, sizeof(*session), "PMIx");
        return NULL;
    }
    pthread_mutex_init(&session->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&session->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return session;
}

/* Finalize first: afterwards PMIx's thread touches no answer any more. */
static void pmix_close(void *state)
{
    if (state == NULL)
        return;
    PMIx_Finalize(NULL, 0);
    session_destroy(state);
}

static int pmix_open(void **state, struct dt_boot_facts *facts, struct dtrain_error *err)
{
    struct session *session;
    pmix_status_t status;

    *state = NULL;
    if (atomic_flag_test_and_set(&was_opened))
        return dt_error_set(
            err, "PMIx serves one dtrain_init a process, and this is the second: keep the first world");
    session = session_create(err);
    if (session == NULL)
        return -1;
    status = PMIx_Init(&session->self, NULL, 0);
    if (status != PMIX_SUCCESS) {
        session_destroy(session);
        return fail(err, "PMIx_Init", status);
    }
    if (get_facts(session, facts, err) < 0) {
        pmix_close(session);
        return -1;
    }
    *state = session;
    return 0;
}

static int pmix_publish(void *state, const void *card, size_t size, struct dtrain_error *err)
{
    struct session *session = state;
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
    pmix_status_t status;

    value.data.bo.bytes = (char *)card;
    value.data.bo.size = size;
    status = PMIx_Put(PMIX_GLOBAL, CARD_KEY, &value);
    if (status != PMIX_SUCCESS)
        return fail(err, "PMIx_Put", status);
    session->counts.puts++;
    status = PMIx_Commit();
    if (status != PMIX_SUCCESS)
        return fail(err, "PMIx_Commit", status);
    session->counts.commits++;
    return 0;
}

static int pmix_fence(void *state, const struct dt_deadline *deadline, bool *is_late,
                      struct dtrain_error *err)
{
    struct session *session = state;
    struct answer *answer = answer_create(session, err);
    pmix_info_t collect;
    pmix_status_t status;
    bool yes = true;

    if (answer == NULL)
        return -1;
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    status = PMIx_Fence_nb(NULL, 0, &collect, 1, on_fence, answer);
    session->counts.fences++;
    if (status != PMIX_SUCCESS)
        return fail(err, "PMIx_Fence_nb", status);
    *is_late = !answer_wait(answer, deadline);
    if (!*is_late && answer->status != PMIX_SUCCESS)
        return fail(err, "PMIx_Fence_nb", answer->status);
    return 0;
}

static int ask(struct session *session, uint32_t task, struct dtrain_error *err)
{
    struct answer *answer = answer_create(session, err);
    pmix_proc_t proc;
    pmix_status_t status;

    if (answer == NULL)
        return -1;
    PMIX_LOAD_PROCID(&proc, session->self.nspace, task);
    status = PMIx_Get_nb(&proc, CARD_KEY, NULL, 0, on_card, answer);
    session->counts.gets++;
    if (status != PMIX_SUCCESS)
        return fail(err, "PMIx_Get_nb", status);
    session->cards[task] = answer;
    return 0;
}

static int pmix_get(void *state, uint32_t task, void *card, size_t *size, const struct dt_deadline *deadline,
                    bool *is_late, struct dtrain_error *err)
{
    struct session *session = state;
    struct answer *answer;

    *is_late = false;
    /* A rank that does not exist would be waited for by PMIx for minutes. */
    if (task >= session->task_count)
        return dt_error_set(err, "task %u: the step has tasks 0 to %u", task, session->task_count - 1);
    if (session->cards[task] == NULL && ask(session, task, err) < 0)
        return -1;
    answer = session->cards[task];
    *is_late = !answer_wait(answer, deadline);
    if (*is_late)
        return 0;
    if (answer->status != PMIX_SUCCESS)
        return dt_error_set(err, "PMIx has no card of task %u: %s", task, PMIx_Error_string(answer->status));
    memcpy(card, answer->card, answer->size);
    *size = answer->size;
    return 0;
}

static void pmix_count(const void *state, struct dt_boot_counts *counts)
{
    *counts = ((const struct session *)state)->counts;
}

const struct dt_boot dt_boot_pmix = {
    .name = "PMIx",
    .is_available = pmix_is_available,
    .open = pmix_open,
    .close = pmix_close,
    .publish = pmix_publish,
    .fence = pmix_fence,
    .get = pmix_get,
    .count = pmix_count,
};
