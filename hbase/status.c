/* status.c - names of statuses, and failures; declared in hbase.h and state.h */
#include <stdarg.h>
#include <stdio.h>
#include "hbase/state.h"

const char *
hb_status_name(hb_status status)
{
	static const char *const names[] = {
		"HB_OK",	   "HB_END",	 "HB_INTERRUPTED", "HB_NOMEM",	  "HB_CONNECT",
		"HB_LOST",	   "HB_TIMEOUT", "HB_NOTABLE",	   "HB_NOFAMILY", "HB_DISABLED",
		"HB_EXISTS",   "HB_DENIED",	 "HB_AUTH",		   "HB_BUSY",	  "HB_NOTNUMBER",
		"HB_TOOLARGE", "HB_INVALID", "HB_PROTOCOL",	   "HB_REMOTE"};

	_Static_assert(sizeof names / sizeof *names == HB_REMOTE + 1, "a name for each status");
	return (unsigned) status <= HB_REMOTE ? names[status] : "HB_?";
}

hb_status
hb_status_fail(hb_client *client, hb_status status, const char *format, ...)
{
	hb_failure *f = &client->failure;
	va_list args;

	memset(f, 0, sizeof *f);
	f->error.status = status;
	va_start(args, format);
	vsnprintf(f->error.text, sizeof f->error.text, format, args);
	va_end(args);
	return status;
}

void
hb_status_set(hb_failure *f, hb_status status, hb_cure cure, const hb_server *server,
			  const char *format, ...)
{
	va_list args;

	memset(f, 0, sizeof *f);
	f->error.status = status;
	f->cure = cure;
	if (server != NULL && server->host[0] != 0)
		snprintf(f->error.server, sizeof f->error.server, "%s:%d", server->host, server->port);
	va_start(args, format);
	vsnprintf(f->error.text, sizeof f->error.text, format, args);
	va_end(args);
}

void
hb_status_text(char *text, size_t size, hb_bytes bytes)
{
	size_t n = bytes.len < size - 1 ? bytes.len : size - 1;

	for (size_t i = 0; i < n; i++)
		text[i] = (char) (bytes.data[i] < 32 || bytes.data[i] == 127 ? '?' : bytes.data[i]);
	text[n] = 0;
}

hb_status
hb_status_no_memory(hb_failure *failure)
{
	hb_status_set(failure, HB_NOMEM, HB_CURE_NONE, NULL, "out of memory");
	return HB_NOMEM;
}
