#include "control_state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct dt_revocation *find(const struct dt_control *control, uint64_t channel)
{
    for (const struct dt_revocation *i = control->revocations; i != NULL; i = i->next)
        if (i->channel == channel)
            return i;
    return NULL;
}

/* Without memory the others are told all the same, and tell this rank over the data's connections. */
static void keep(struct dt_control *control, uint64_t channel, const char *text)
{
    size_t size = strlen(text) + 1;
    struct dt_revocation *made = malloc(sizeof(*made) + size);

    if (made == NULL)
        return;
    made->next = control->revocations;
    made->channel = channel;
    memcpy(made->text, text, size);
    control->revocations = made;
    control->revoke_count++;
    if (write(control->death_fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
        dt_log(control->log, DT_LOG_DEBUG, "the descriptor of news is full");
}

void dt_tree_revoke(struct dt_control *control, uint64_t channel, const char *text, const struct dt_link *from)
{
    if (control->is_stopped || control->phase == DT_PHASE_DONE || find(control, channel) != NULL)
        return;
    keep(control, channel, text);
    for (struct dt_link *i = control->links; i != NULL; i = i->next)
        if (i != from && (i->role & DT_LINK_TREE) != 0)
            dt_control_send_revoked(control, i, channel, text);
}

bool dt_control_is_revoked(const struct dt_control *control, uint64_t channel, struct dtrain_error *err)
{
    const struct dt_revocation *found = find(control, channel);

    if (found != NULL)
        dt_error_set(err, "%s", found->text);
    return found != NULL;
}

/* ---- As peers.h says --------------------------------------------------------- */

static void revoke_channel(void *context, uint64_t channel, const char *text)
{
    struct dt_control *control = context;

    pthread_mutex_lock(&control->lock);
    dt_tree_revoke(control, channel, text, NULL);
    pthread_mutex_unlock(&control->lock);
}

static bool is_revoked(void *context, uint64_t channel, struct dtrain_error *err)
{
    struct dt_control *control = context;
    bool revoked;

    pthread_mutex_lock(&control->lock);
    revoked = dt_control_is_revoked(control, channel, err);
    pthread_mutex_unlock(&control->lock);
    return revoked;
}

void dt_control_revoke_init(struct dt_control *control)
{
    control->peers.revoke = revoke_channel;
    control->peers.is_revoked = is_revoked;
    control->peers.revoke_count = &control->revoke_count;
}

void dt_control_revoke_free(struct dt_control *control)
{
    while (control->revocations != NULL) {
        struct dt_revocation *first = control->revocations;

        control->revocations = first->next;
        free(first);
    }
}
