#include "card.h"

void dt_card_write(struct dt_buffer *buffer, const struct dt_card *card)
{
    struct dt_opinions one = {.n = 1, .items = {card->opinion}};

    dt_buffer_u32(buffer, DT_PROTOCOL);
    dt_opinions_write(buffer, &one);
    dt_buffer_text(buffer, card->host);
    dt_buffer_text(buffer, card->failure);
    dt_buffer_u16(buffer, card->has_seat);
    if (card->has_seat) {
        dt_address_write(buffer, &card->seat.address);
        dt_buffer_bytes(buffer, card->seat.token, DT_TOKEN_SIZE);
    }
    dt_buffer_u32(buffer, card->id_count);
    for (uint32_t i = 0; i < card->id_count; i++) {
        dt_buffer_u64(buffer, card->channels[i]);
        dt_buffer_bytes(buffer, card->ids[i], DT_BACKEND_ID_MAX);
    }
}

static void read_ids(struct dt_reader *reader, struct dt_card *card)
{
    card->id_count = dt_reader_u32(reader);
    if (card->id_count > DT_CARD_IDS_MAX)
        reader->is_broken = true;
    for (uint32_t i = 0; i < card->id_count && !reader->is_broken; i++) {
        card->channels[i] = dt_reader_u64(reader);
        dt_reader_bytes(reader, card->ids[i], DT_BACKEND_ID_MAX);
    }
}

int dt_card_read(struct dt_card *card, const void *bytes, size_t size, uint32_t task,
                 struct dtrain_error *err)
{
    struct dt_reader reader = {.data = bytes, .left = size};
    uint32_t protocol = dt_reader_u32(&reader);
    struct dt_opinions one = {0};

    *card = (struct dt_card){0};
    if (!reader.is_broken && protocol != DT_PROTOCOL)
        return dt_error_set(err,
                            "task %u runs a libdtrain that speaks protocol %u, this one (%s) speaks %u: "
                            "use one version in all tasks",
                            task, protocol, DTRAIN_VERSION, DT_PROTOCOL);
    dt_opinions_read(&reader, &one);
    card->opinion = one.items[0];
    dt_reader_text(&reader, card->host, sizeof(card->host));
    dt_reader_text(&reader, card->failure, sizeof(card->failure));
    card->has_seat = dt_reader_u16(&reader) != 0;
    if (card->has_seat) {
        dt_address_read(&reader, &card->seat.address);
        dt_reader_bytes(&reader, card->seat.token, DT_TOKEN_SIZE);
    }
    read_ids(&reader, card);
    if (!dt_reader_is_done(&reader))
        return dt_error_set(err, "task %u published a card of %zu bytes that is malformed", task, size);
    return 0;
}

const unsigned char *dt_card_id(const struct dt_card *card, uint64_t channel)
{
    for (uint32_t i = 0; i < card->id_count; i++)
        if (card->channels[i] == channel)
            return card->ids[i];
    return NULL;
}
