/* SPDX-License-Identifier: ISC */
#ifndef BASE_TEMPFILE_H
#define BASE_TEMPFILE_H

/* Temporary files of boris: saved output (O5), and files through which --secret
 * passes a secret (I5). All of them are in one directory. Their names are in
 * memory that boris shares with its guard, a second process that removes the
 * files if boris is killed (L4). */

struct tempfiles;

/* Creates an empty record of temporary files in `dir`, an absolute path that
 * must stay valid. boris exits if allocation fails. */
struct tempfiles *tempfile_open(const char *dir);

/* Creates a file with a random name, which other users cannot guess. Sets
 * *path, which the caller frees. Returns a descriptor for writing, or -1 with
 * errno set. The error is EDQUOT if there are too many files. */
int tempfile_create(struct tempfiles *, char **path);

/* Records the path of a file that the caller will create in the directory. The
 * file name must be shorter than 48 bytes. Returns 0, or -1 with errno set to
 * EDQUOT if there are too many files. */
int tempfile_add(struct tempfiles *, const char *path);

/* Removes a file that was recorded by tempfile_create() or tempfile_add(). */
void tempfile_remove(struct tempfiles *, const char *path);

/* Removes all recorded files. Allocates no memory, but changes the current
 * directory. */
void tempfile_remove_all(const struct tempfiles *);

#endif
