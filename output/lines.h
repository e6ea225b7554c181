/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_LINES_H
#define OUTPUT_LINES_H

/* Copies plain text without drawing it on a screen. Most output of pipes is
 * plain text. The copy is the text that the screen would show. */

#include <stddef.h>
#include "base/buf.h"
#include "output/cut.h"

/* Appends complete lines of plain text to the buffer, as long as they fit, and
 * leaves out colours. Stops at a line that contains other control sequences,
 * has more than `columns` bytes, or is incomplete. Adds the size of the copy to
 * *size. Returns the number of bytes processed. */
size_t lines_copy(const unsigned char *text, size_t n, int columns,
                  struct buf *, struct extent *size);

/* Appends a row of `columns` printable ASCII characters to the buffer if
 * another character follows the row. Adds the size of the copy to *size.
 * Returns the number of bytes processed, which is `columns` or 0. */
size_t lines_copy_row(const unsigned char *text, size_t n, int columns,
                      struct buf *, struct extent *size);

#endif
