#include "control_message.h"

#include <string.h>

#define GREETING_MAGIC 0x4454524eu /* "DTRN" */
#define RECORD_WIRE (4 + DT_ADDRESS_WIRE)

void dt_greeting_encode(unsigned char bytes[DT_GREETING_SIZE], const struct dt_greeting *greeting)
{
    struct dt_buffer buffer = {.data = bytes, .capacity = DT_GREETING_SIZE};

    dt_buffer_u32(&buffer, GREETING_MAGIC);
    dt_buffer_u32(&buffer, DT_PROTOCOL);
    dt_buffer_u32(&buffer, greeting->purpose);
    dt_buffer_u32(&buffer, greeting->rank);
    dt_buffer_u64(&buffer, greeting->channel);
    dt_buffer_bytes(&buffer, greeting->token, DT_TOKEN_SIZE);
}

bool dt_greeting_decode(struct dt_greeting *greeting, const unsigned char bytes[DT_GREETING_SIZE])
{
    struct dt_reader reader = {.data = bytes, .left = DT_GREETING_SIZE};
    uint32_t magic = dt_reader_u32(&reader), protocol = dt_reader_u32(&reader);

    greeting->purpose = dt_reader_u32(&reader);
    greeting->rank = dt_reader_u32(&reader);
    greeting->channel = dt_reader_u64(&reader);
    dt_reader_bytes(&reader, greeting->token, DT_TOKEN_SIZE);
    return magic == GREETING_MAGIC && protocol == DT_PROTOCOL;
}

/* In constant time: whoever guesses learns nothing from how long it took. */
bool dt_token_equals(const unsigned char a[DT_TOKEN_SIZE], const unsigned char b[DT_TOKEN_SIZE])
{
    unsigned char difference = 0;

    for (unsigned i = 0; i < DT_TOKEN_SIZE; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}

size_t dt_message_max(uint32_t kind, uint32_t world)
{
    size_t addresses = 4 + (size_t)world * RECORD_WIRE;

    switch (kind) {
    case DT_MESSAGE_HELLO:
        return 4 + DT_OPINIONS_MAX * DT_OPINION_WIRE_MAX + 4 + addresses;
    case DT_MESSAGE_GO:
        return DT_TOKEN_SIZE + 4 + addresses;
    case DT_MESSAGE_STOP:
        return 2 + DT_MESSAGE_TEXT_MAX;
    case DT_MESSAGE_DEAD:
        return 4 + 2 + DT_MESSAGE_TEXT_MAX;
    case DT_MESSAGE_REVOKED:
        return 8 + 2 + DT_MESSAGE_TEXT_MAX;
    case DT_MESSAGE_ROLL:
        return 4;
    default:
        return 0;
    }
}

size_t dt_frame_begin(struct dt_buffer *buffer, enum dt_message_kind kind)
{
    size_t begin = buffer->size;

    dt_buffer_u32(buffer, 0);
    dt_buffer_u32(buffer, kind);
    return begin;
}

void dt_frame_end(struct dt_buffer *buffer, size_t begin)
{
    dt_buffer_set_u32(buffer, begin, (uint32_t)(buffer->size - begin - DT_FRAME_HEADER));
}

void dt_addresses_write(struct dt_buffer *buffer, const struct dt_address *table, uint32_t world)
{
    size_t at = buffer->size;
    uint32_t n = 0;

    dt_buffer_u32(buffer, 0);
    for (uint32_t rank = 0; rank < world; rank++) {
        if (table[rank].family == 0)
            continue;
        dt_buffer_u32(buffer, rank);
        dt_address_write(buffer, &table[rank]);
        n++;
    }
    dt_buffer_set_u32(buffer, at, n);
}

void dt_addresses_read(struct dt_reader *reader, struct dt_address *table, uint32_t world)
{
    uint32_t n = dt_reader_u32(reader);

    for (uint32_t i = 0; i < n && !reader->is_broken; i++) {
        uint32_t rank = dt_reader_u32(reader);
        struct dt_address address;

        dt_address_read(reader, &address);
        if (rank >= world)
            reader->is_broken = true;
        if (!reader->is_broken)
            table[rank] = address;
    }
}
