/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_LINES_H
#define OUTPUT_LINES_H

/* Copies plain text directly to the output, without drawing it on a screen.
 * Most output of pipes is plain text. The result is the text that the screen
 * would show. */

#include <stddef.h>
#include "base/buf.h"
#include "output/cut.h"

/* Appends complete lines of plain text to the buffer, without colours, as long
 * as they fit. Stops at a line that contains other control sequences, has more
 * than `columns` bytes, or is incomplete. Adds the size of the copied text to
 * *size. Returns the number of bytes processed. */
size_t lines_copy(const unsigned char *text, size_t n, int columns,
                  struct buf *, struct extent *size);

/* Appends `columns` printable ASCII characters to the buffer if another
 * character follows them. Adds the size of the copied text to *size. Returns
 * the number of bytes processed, which is `columns` or 0. */
size_t lines_copy_row(const unsigned char *text, size_t n, int columns,
                      struct buf *, struct extent *size);

#endif
