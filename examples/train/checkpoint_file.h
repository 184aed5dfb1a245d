/*
 * checkpoint_file.h - the file of a checkpoint, in one process. It knows no
 * layout: every tensor is whole. All numbers are little-endian:
 *
 *   magic "DTRAINCK", u32 version, u32 tensors, u64 bytes of the file, u64 step,
 *   u32 layers, hidden, heads, seq, vocabulary, u32 bytes of a value
 *   for each tensor, in the order of parameter.h:
 *     name (48 bytes, zero-padded), u64 rows, u64 cols,
 *     [rows, cols] values three times: weights, first moment, second moment
 *   u64 checksum of all bytes before it (FNV-1a)
 *
 * A value is a float32 (4 bytes) or a float64 (8). Version 1 had float32 only and
 * 0 for their bytes; it is still read.
 *
 * It is written under a temporary name beside the old one, brought to disk and
 * then renamed: whenever that is interrupted, the last good file is still there.
 */
#ifndef TRAIN_CHECKPOINT_FILE_H
#define TRAIN_CHECKPOINT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "dtrain.h"
#include "parameter.h"
#include "shape.h"

struct checkpoint_writer;
struct checkpoint_reader;

/* Whether a checkpoint can be written there: a regular file or none, in a directory that may be written. */
int checkpoint_file_check(const char *path, struct dtrain_error *err);

/* type of the values: float32 or float64. The caller ends the writer with commit() or abandon(), both of
 * which free it; abandon() takes NULL. */
int checkpoint_writer_open(struct checkpoint_writer **writer, const char *path, const struct shape *shape,
                           const struct parameter *list, enum dtrain_type type, uint64_t step,
                           struct dtrain_error *err);
/* In order: the tensor's head, then its three parts of n values. */
int checkpoint_writer_tensor(struct checkpoint_writer *writer, const struct parameter *parameter,
                             struct dtrain_error *err);
int checkpoint_writer_values(struct checkpoint_writer *writer, const void *values, size_t n,
                             struct dtrain_error *err);
int checkpoint_writer_commit(struct checkpoint_writer *writer, struct dtrain_error *err);
void checkpoint_writer_abandon(struct checkpoint_writer *writer);

/*
 * Reads the file once to check it: complete, unharmed, of a model of these sizes. The first tensor is next.
 * path is borrowed until the reader is closed.
 */
int checkpoint_reader_open(struct checkpoint_reader **reader, const char *path, const struct shape *shape,
                           uint64_t *step, struct dtrain_error *err);
int checkpoint_reader_tensor(struct checkpoint_reader *reader, const struct parameter *parameter,
                             struct dtrain_error *err);
/* To float32 or float64, whichever the file has. */
int checkpoint_reader_values(struct checkpoint_reader *reader, void *values, enum dtrain_type type, size_t n,
                             struct dtrain_error *err);
void checkpoint_reader_close(struct checkpoint_reader *reader); /* NULL is allowed */

#endif
