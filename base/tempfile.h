/* SPDX-License-Identifier: ISC */
#ifndef BASE_TEMPFILE_H
#define BASE_TEMPFILE_H

/* Temporary files of boris: saved output (O5), and files through which --secret
 * passes a secret (I5). All of them are in one directory. Their names are kept
 * in memory shared with the guard, a second process that removes the files if
 * boris is killed (L4). */

#include <stdbool.h>

struct tempfiles;

/* Creates an empty list of temporary files in the directory `dir`, an absolute
 * path. The string `dir` must stay valid as long as the list is used. boris
 * exits if allocation fails. */
struct tempfiles *tempfile_open(const char *dir);

/* Creates a file with a random name that other users cannot guess, and adds it
 * to the list. Sets *path, which the caller must free. Returns a descriptor for
 * writing, or -1 with errno set. The error is EDQUOT if there are too many
 * files. */
int tempfile_create(struct tempfiles *, char **path);

/* Adds a file to the list before the caller creates it. The file must be in the
 * directory of the list, and its name must be shorter than 48 bytes. Returns 0,
 * or -1 with errno set to EDQUOT if there are too many files. */
int tempfile_add(struct tempfiles *, const char *path);

/* Returns whether no more files can be added to the list. */
bool tempfile_is_full(const struct tempfiles *);

/* Removes a file that tempfile_create() or tempfile_add() has added to the
 * list. */
void tempfile_remove(struct tempfiles *, const char *path);

/* Removes all files in the list. Allocates no memory, but changes the current
 * directory. */
void tempfile_remove_all(const struct tempfiles *);

#endif
