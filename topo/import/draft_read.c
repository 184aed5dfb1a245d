/* What the readers of terminals' texts have in common. */
#include <stdlib.h>

#include "draft.h"
#include "plain.h"

int dt_draft_read(struct dt_topo **topo, const struct dt_draft_reader *reader, const char *text, size_t size,
                  const char *source, struct dtrain_error *err)
{
    void *state = calloc(1, reader->state_size);
    struct dt_topo *made = NULL;
    char *plain = NULL;
    int rc = -1;

    if (state == NULL) {
        dt_error_memory(err, reader->state_size, source);
        goto out;
    }
    made = dt_topo_create(source, err);
    if (made == NULL)
        goto out;
    if (dt_plain_copy(&plain, text, size, err) != 0 || reader->fill(made, state, plain, err) != 0) {
        dt_error_prefix(err, "%s", source);
        goto out;
    }
    rc = dt_draft_finish(made, err);
    if (rc == 0) {
        *topo = made;
        made = NULL;
    }
out:
    dt_topo_destroy(made);
    free(plain);
    free(state);
    return rc;
}
