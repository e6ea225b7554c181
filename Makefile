.POSIX:

# The user's: make CC=... CFLAGS=... LDFLAGS=...
CC = cc
CFLAGS = -O2
LDFLAGS =
PREFIX = /usr/local
DESTDIR =
UNITDIR =
SECONDS = 60
VERSION = $$(sed -n 's/^.define BORIS_VERSION "\(.*\)"/\1/p' *.h)

# The code's own needs, apart from the user's; and those of make static
NEEDS = -std=c99 -Wall -Wextra -pedantic
SMALL = -Os -fno-asynchronous-unwind-tables -fno-pie
ALONE = -static -s -Wl,-z,noseparate-code -Wl,-z,norelro -Wl,--gc-sections

MOST = boris.o options.o fence.o guard.o \
	stdio.o http.o connection.o httprules.o httpmsg.o \
	mcp.o clients.o answers.o calls.o until.o \
	tools.o results.o notes.o session.o job.o \
	exec.o proc.o output.o spool.o \
	buf.o json.o
OBJ = $(MOST) io.o
HDR = options.h fence.h guard.h \
	stdio.h http.h connection.h httprules.h httpmsg.h \
	mcp.h clients.h reader.h answers.h calls.h until.h \
	tools.h limits.h results.h notes.h session.h job.h \
	exec.h proc.h output.h spool.h \
	buf.h json.h io.h

all: boris

boris: $(OBJ)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(OBJ)

.c.o:
	$(CC) $(NEEDS) $(CFLAGS) -c -o $@ $<

$(OBJ): $(HDR)

# What all is built with: where that is new, so is all that is built
$(OBJ): flags
flags: ALWAYS
	@echo '$(CC) $(CFLAGS) $(LDFLAGS)' >flags.new; \
	if cmp -s flags.new flags; then rm flags.new; else mv flags.new flags; fi
ALWAYS:

# One small binary that needs nothing: by musl-gcc, where it is there and CC
# names no other compiler
static:
	@cc='$(CC)'; \
	if [ "$$cc" = cc ] && command -v musl-gcc >/dev/null; then \
	    cc=musl-gcc; fi; \
	$(MAKE) CC="$$cc" \
	    CFLAGS='$(CFLAGS) $(SMALL)' LDFLAGS='$(LDFLAGS) $(ALONE)' boris

demo: boris
	@sh t/demo

# What the tests are made of besides bats
t/reply: t/reply.c json.o buf.o json.h
	$(CC) $(NEEDS) $(CFLAGS) $(LDFLAGS) -o $@ t/reply.c json.o buf.o

t/output_table: t/output_table.c output.o spool.o buf.o output.h
	$(CC) $(NEEDS) $(CFLAGS) $(LDFLAGS) -o $@ t/output_table.c output.o \
	    spool.o buf.o

# boris with a clock that runs ten times as fast, for tests that wait long
t/boris-fast: boris io.c
	$(CC) $(NEEDS) $(CFLAGS) -DCLOCK_FACTOR=10 -c -o t/io-fast.o io.c
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(MOST) t/io-fast.o

test: boris t/boris-fast t/reply t/output_table
	@sh t/run

test-clients: boris
	@sh t/clients/run

test-agents: boris
	@sh t/clients/run agents

test-portable:
	@sh t/portable

bench:
	@sh t/bench

fuzz:
	@sh t/fuzz $(SECONDS)

# Each call of boris's fails in turn: all of it takes up to half an hour
torture:
	@sh t/torture

# What was built last; a binary that runs can be removed, but not written to
install:
	test -x boris || $(MAKE) boris
	mkdir -p "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/share/man/man1"
	rm -f "$(DESTDIR)$(PREFIX)/bin/boris"
	cp boris "$(DESTDIR)$(PREFIX)/bin/boris"
	chmod 755 "$(DESTDIR)$(PREFIX)/bin/boris"
	cp boris.1 "$(DESTDIR)$(PREFIX)/share/man/man1/boris.1"
	chmod 644 "$(DESTDIR)$(PREFIX)/share/man/man1/boris.1"
	test -z "$(UNITDIR)" || { mkdir -p "$(DESTDIR)$(UNITDIR)" && \
	    sed 's|/usr/local/bin|$(PREFIX)/bin|' packaging/boris.service \
	        >"$(DESTDIR)$(UNITDIR)/boris.service"; }

uninstall:
	rm -f "$(DESTDIR)$(PREFIX)/bin/boris"
	rm -f "$(DESTDIR)$(PREFIX)/share/man/man1/boris.1"
	test -z "$(UNITDIR)" || rm -f "$(DESTDIR)$(UNITDIR)/boris.service"

# What is given away: the source, static binaries, a package, a bundle for
# Claude Desktop
dist:
	git -c tar.tar.gz.command='gzip -cn9' archive HEAD \
	    --prefix="boris-$(VERSION)/" -o "boris-$(VERSION).tar.gz"

cross: ALWAYS
	@sh t/cross "$(VERSION)"

deb: dist
	@sh t/deb "$(VERSION)"

mcpb: static
	@sh t/mcpb "$(VERSION)"

clean:
	rm -f boris flags $(OBJ) t/boris-fast t/io-fast.o t/reply \
	    t/output_table
	rm -rf cross boris-*.tar.gz boris-*.mcpb
