/* card.h - what a rank publishes before it is connected to anybody. */
#ifndef DT_RUNTIME_CARD_H
#define DT_RUNTIME_CARD_H

#include "runtime/backend.h"
#include "runtime/boot.h"
#include "runtime/control.h"

#define DT_CARD_IDS_MAX 8 /* single axes of both grids */
#define DT_CARD_FAILURE_MAX 512

struct dt_card {
    struct dt_opinion opinion;
    char host[DT_BOOT_HOST_MAX];
    char failure[DT_CARD_FAILURE_MAX]; /* why this rank cannot take part; "": it can */
    bool has_seat;
    struct dt_control_seat seat;
    uint32_t id_count; /* of groups whose root this rank is */
    uint64_t channels[DT_CARD_IDS_MAX];
    unsigned char ids[DT_CARD_IDS_MAX][DT_BACKEND_ID_MAX];
};

void dt_card_write(struct dt_buffer *buffer, const struct dt_card *card);
/* task: whose card it is, for the error. */
int dt_card_read(struct dt_card *card, const void *bytes, size_t size, uint32_t task,
                 struct dtrain_error *err);

/* The id for a channel, or NULL. */
const unsigned char *dt_card_id(const struct dt_card *card, uint64_t channel);

#endif
