/* SPDX-License-Identifier: ISC */
#ifndef BASE_LIST_H
#define BASE_LIST_H

/* Doubly linked lists that allocate no memory.
 *
 * Each struct in a list has a member of type struct list_node. A zeroed struct
 * list is an empty list, and a zeroed node is in no list. LIST_ITEM() converts
 * a pointer to the node into a pointer to the struct that contains it:
 *
 *	for (n = jobs.first; n != NULL; n = n->next)
 *		job = LIST_ITEM(n, struct job, node);
 *
 * A loop that removes nodes must read a node's `next` before it removes the
 * node. */

#include <stddef.h>

struct list_node {
	struct list_node *next, *previous;
};

struct list {
	struct list_node *first, *last;
};

/* Returns a pointer to the struct that contains the list node. `type` is the
 * type of the struct, and `member` is the name of its list_node member. The
 * node must not be NULL. */
#define LIST_ITEM(node, type, member) \
	((type *)(void *)((char *)(node) - offsetof(type, member)))

/* Appends a node to a list. The node must not already be in a list. */
static inline void
list_append(struct list *list, struct list_node *node)
{
	node->next = NULL;
	node->previous = list->last;
	if (list->last != NULL)
		list->last->next = node;
	else
		list->first = node;
	list->last = node;
}

/* Removes a node from its list. */
static inline void
list_remove(struct list *list, struct list_node *node)
{
	if (node->previous != NULL)
		node->previous->next = node->next;
	else
		list->first = node->next;
	if (node->next != NULL)
		node->next->previous = node->previous;
	else
		list->last = node->previous;
	node->next = node->previous = NULL;
}

#endif
