#ifndef OUTPUT_WIDTH_H
#define OUTPUT_WIDTH_H

/* How many columns characters take on a screen (O1). */

#include <stdint.h>

/* Returns the number of columns that a character takes: 0, 1 or 2. */
int char_width(uint32_t code);

#endif
