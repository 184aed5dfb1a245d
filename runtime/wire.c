#include "wire.h"

#include <stdlib.h>
#include <string.h>

#define BUFFER_START 256

void dt_buffer_free(struct dt_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct dt_buffer){0};
}

static bool reserve(struct dt_buffer *buffer, size_t n)
{
    size_t capacity = buffer->capacity > 0 ? buffer->capacity : BUFFER_START;
    unsigned char *data;

    if (buffer->is_broken)
        return false;
    while (capacity - buffer->size < n)
        capacity *= 2;
    if (capacity == buffer->capacity)
        return true;
    data = realloc(buffer->data, capacity);
    if (data == NULL) {
        buffer->is_broken = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void dt_buffer_bytes(struct dt_buffer *buffer, const void *bytes, size_t n)
{
    if (n == 0 || !reserve(buffer, n))
        return;
    memcpy(buffer->data + buffer->size, bytes, n);
    buffer->size += n;
}

static void put_number(struct dt_buffer *buffer, uint64_t value, unsigned size)
{
    unsigned char bytes[8];

    for (unsigned i = 0; i < size; i++)
        bytes[i] = (unsigned char)(value >> (8 * (size - 1 - i)));
    dt_buffer_bytes(buffer, bytes, size);
}

void dt_buffer_u16(struct dt_buffer *buffer, uint16_t value)
{
    put_number(buffer, value, 2);
}

void dt_buffer_u32(struct dt_buffer *buffer, uint32_t value)
{
    put_number(buffer, value, 4);
}

void dt_buffer_u64(struct dt_buffer *buffer, uint64_t value)
{
    put_number(buffer, value, 8);
}

void dt_buffer_text(struct dt_buffer *buffer, const char *text)
{
    size_t n = strnlen(text, UINT16_MAX);

    dt_buffer_u16(buffer, (uint16_t)n);
    dt_buffer_bytes(buffer, text, n);
}

void dt_buffer_set_u32(struct dt_buffer *buffer, size_t at, uint32_t value)
{
    if (buffer->is_broken || buffer->size < 4 || at > buffer->size - 4)
        return;
    for (unsigned i = 0; i < 4; i++)
        buffer->data[at + i] = (unsigned char)(value >> (24 - 8 * i));
}

void dt_reader_bytes(struct dt_reader *reader, void *bytes, size_t n)
{
    if (reader->is_broken || n > reader->left) {
        reader->is_broken = true;
        memset(bytes, 0, n);
        return;
    }
    memcpy(bytes, reader->data, n);
    reader->data += n;
    reader->left -= n;
}

static uint64_t get_number(struct dt_reader *reader, unsigned size)
{
    unsigned char bytes[8];
    uint64_t value = 0;

    dt_reader_bytes(reader, bytes, size);
    for (unsigned i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

uint16_t dt_reader_u16(struct dt_reader *reader)
{
    return (uint16_t)get_number(reader, 2);
}

uint32_t dt_reader_u32(struct dt_reader *reader)
{
    return (uint32_t)get_number(reader, 4);
}

uint64_t dt_reader_u64(struct dt_reader *reader)
{
    return get_number(reader, 8);
}

void dt_reader_text(struct dt_reader *reader, char *buf, size_t size)
{
    size_t n = dt_reader_u16(reader);

    if (n >= size)
        reader->is_broken = true;
    if (reader->is_broken)
        n = 0;
    if (n > 0)
        dt_reader_bytes(reader, buf, n);
    if (reader->is_broken)
        n = 0;
    buf[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)buf[i] < ' ' || buf[i] == 127)
            buf[i] = '?';
}

bool dt_reader_is_done(const struct dt_reader *reader)
{
    return !reader->is_broken && reader->left == 0;
}
