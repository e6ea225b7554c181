/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L

#include "mcp/request.h"

void
call_request_free(struct call_request *request)
{
	buf_free(&request->id);
	buf_free(&request->until);
	buf_free(&request->input);
}
