/*
 * wire.h - numbers and texts in messages between ranks: big-endian, no
 * padding, every read checked. A buffer or reader that failed once stays
 * broken and gives zeros, so that callers check at the end only.
 */
#ifndef DT_RUNTIME_WIRE_H
#define DT_RUNTIME_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise; dt_buffer_free() ends it. */
struct dt_buffer {
    unsigned char *data;
    size_t size;
    size_t capacity;
    bool is_broken; /* memory ran out */
};

void dt_buffer_free(struct dt_buffer *buffer);
void dt_buffer_bytes(struct dt_buffer *buffer, const void *bytes, size_t n);
void dt_buffer_u16(struct dt_buffer *buffer, uint16_t value);
void dt_buffer_u32(struct dt_buffer *buffer, uint32_t value);
void dt_buffer_u64(struct dt_buffer *buffer, uint64_t value);
/* Two bytes of length, then the text without NUL; cut to 65535 bytes. */
void dt_buffer_text(struct dt_buffer *buffer, const char *text);
/* Overwrites four bytes that are there already. */
void dt_buffer_set_u32(struct dt_buffer *buffer, size_t at, uint32_t value);

struct dt_reader {
    const unsigned char *data; /* borrowed */
    size_t left;
    bool is_broken; /* something did not fit */
};

void dt_reader_bytes(struct dt_reader *reader, void *bytes, size_t n);
uint16_t dt_reader_u16(struct dt_reader *reader);
uint32_t dt_reader_u32(struct dt_reader *reader);
uint64_t dt_reader_u64(struct dt_reader *reader);
/* NUL-terminated into buf; longer than size - 1 breaks the reader. What cannot be printed becomes '?'. */
void dt_reader_text(struct dt_reader *reader, char *buf, size_t size);
/* Whether all was read and nothing was missing. */
bool dt_reader_is_done(const struct dt_reader *reader);

#endif
