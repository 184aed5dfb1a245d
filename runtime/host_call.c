#include "host_call.h"

#include <stdio.h>

#include "runtime/host_coll.h"
#include "runtime/host_exchange.h"
#include "runtime/host_wait.h"
#include "runtime/operation.h"

char *dt_host_call_text(const struct dt_host_call *call, char buf[DT_HOST_CALL_TEXT_MAX])
{
    if (call->number == 0)
        snprintf(buf, DT_HOST_CALL_TEXT_MAX, "%s of %s", call->name, call->comm->name);
    else
        snprintf(buf, DT_HOST_CALL_TEXT_MAX, "%s #%llu on %s", call->name,
                 (unsigned long long)call->number, call->comm->name);
    return buf;
}

static int run(struct dt_host_comm *comm, const struct dt_operation *operation,
               struct dtrain_error *err)
{
    bool is_transfer = operation->kind == DT_TRANSFER;
    char text[DT_HOST_CALL_TEXT_MAX];
    struct dt_host_call call = {
        .comm = comm,
        .operation = operation,
        .name = dt_operation_name(operation),
        .number = is_transfer ? ++comm->transfers : ++comm->collectives,
        .deadline = dt_deadline_after_ms(comm->host->env.timeout_ms),
    };

    if (!is_transfer)
        call.header = dt_host_header_of(operation, call.number);
    if (dt_host_check_news(&call, err) != 0)
        return -1;
    if (dt_host_coll_run(&call, err) == 0)
        return 0;
    /* What the operation failed of then only follows from it. */
    if (dt_host_comm_is_revoked(comm))
        dt_error_set(err, "%s: %s", dt_host_call_text(&call, text), comm->revocation.text);
    return -1;
}

int dt_host_call_run(struct dt_host_comm *comm, const struct dt_operation *operation,
                     uint64_t ticket, struct dtrain_error *err)
{
    struct dtrain_error failure;
    int rc = dt_host_comm_begin(comm, ticket, err);

    if (rc != 0) {
        dt_host_comm_end(comm, NULL);
        return rc;
    }
    rc = run(comm, operation, &failure);
    dt_host_comm_end(comm, rc != 0 ? &failure : NULL);
    return rc == 0 ? 0 : dt_error_set(err, "%s", failure.text);
}

int dt_host_call_hello(struct dt_host_comm *comm, const struct dt_deadline *deadline,
                       struct dtrain_error *err)
{
    struct dt_host_message messages[2];
    struct dt_host_call call = {
        .comm = comm,
        .name = "bring-up",
        .deadline = *deadline,
        .header = {.magic = DT_HOST_WIRE_MAGIC, .kind = DT_HOST_HELLO, .bytes = comm->channel},
    };

    dt_host_message_send(&messages[0], &call, (comm->rank + 1) % comm->size, NULL, 0);
    dt_host_message_receive(&messages[1], &call, (comm->rank + comm->size - 1) % comm->size, NULL, 0);
    return dt_host_exchange(&call, messages, 2, err);
}
