/* SPDX-License-Identifier: ISC */
#ifndef OUTPUT_WIDTH_H
#define OUTPUT_WIDTH_H

/* The number of columns that a character occupies on a screen (O1). boris uses
 * its own tables, so that the result does not depend on the C library or the
 * locale. */

#include <stdint.h>

/* Returns the number of columns that a Unicode character occupies: 0, 1
 * or 2. */
int char_width(uint32_t code);

#endif
