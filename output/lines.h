/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_LINES_H
#define OUTPUT_LINES_H

/* Copies plain text directly to the output, without drawing it on a screen.
 * Most output from pipes is plain text. The copied text is what the screen
 * would show. */

#include <stddef.h>
#include "base/buf.h"
#include "output/cut.h"

/* Appends complete lines of plain text to the buffer, as long as they fit, and
 * removes colour sequences from them. Stops at a line that contains other
 * control sequences, has more than `columns` bytes, or is incomplete. Adds the
 * size of the appended text to *size. Returns the number of bytes that these
 * lines occupy in `text`. */
size_t lines_copy(const unsigned char *text, size_t n, int columns,
                  struct buf *, struct extent *size);

/* Appends the first `columns` characters of the text to the buffer, and adds
 * their size to *size. Does nothing unless these characters and the next one
 * are printable ASCII. The next character matters because the line continues in
 * another row only if a printable character follows. Returns the number of
 * bytes appended, which is `columns` or 0. */
size_t lines_copy_row(const unsigned char *text, size_t n, int columns,
                      struct buf *, struct extent *size);

#endif
