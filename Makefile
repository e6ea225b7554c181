# SPDX-License-Identifier: ISC
.POSIX:
# The user can set CC, CFLAGS, CPPFLAGS and LDFLAGS as arguments of make or in
# the environment. The shell expands them, since the default CC of POSIX make is
# c99. The file `flags` sets them for the shell, including the default values.
COMPILE = . ./flags; $$CC $(NEEDS) $$CFLAGS $$CPPFLAGS
LINK = . ./flags; $$CC $$CFLAGS $$LDFLAGS
PREFIX = /usr/local
BINDIR = $(PREFIX)/bin
MANDIR = $(PREFIX)/share/man
DOCDIR = $(PREFIX)/share/doc/boris

# Flags that the code requires, and flags that `make static` adds if the tools
# support them
NEEDS = -std=c99 -Wall -Wextra -pedantic -I.
SMALL = -fno-asynchronous-unwind-tables -fno-pie
TIGHT = -Wl,-z,noseparate-code -Wl,-z,norelro -Wl,--gc-sections

# One object for each .c file. base/io.o, which has the clock, is separate for
# t/boris-fast, and boris.o is separate for t/decide.
PARTS = \
	transport/stdio.o transport/http.o transport/access.o \
	transport/connection.o transport/httpmsg.o \
	mcp/rpc.o mcp/revisions.o mcp/clients.o mcp/mcp.o mcp/calls.o \
	mcp/tools.o mcp/results.o mcp/wait.o mcp/watch.o mcp/request.o \
	session/session.o session/job.o session/edit.o \
	session/substitute.o session/secret.o session/log.o session/due.o \
	exec.o \
	run/script.o run/environment.o run/terminal.o run/prompt.o run/spawn.o \
	run/proc.o run/mounts.o run/guard.o run/fence.o \
	output/output.o output/unread.o output/kept.o output/screen.o \
	output/row.o output/sequence.o output/revised.o output/lines.o \
	output/width.o output/cut.o output/spool.o \
	json.o \
	base/options.o base/buf.o base/fmt.o base/text.o base/message.o \
	base/space.o base/tempfile.o base/random.o
MOST = boris.o $(PARTS)
OBJ = $(MOST) base/io.o

# Programs that only the tests need
TESTED = t/boris-fast t/reply t/decide t/tables t/screen

all: boris
boris: $(OBJ)
	$(LINK) -o $@ $(OBJ)

.c.o:
	$(COMPILE) -c -o $@ $<

# The user's flags, as assignments; empty if none are given
GIVEN = $${CC+CC=$$CC,}$${CFLAGS+CFLAGS=$$CFLAGS,}$${CPPFLAGS+CPPFLAGS=$$CPPFLAGS,}$${LDFLAGS+LDFLAGS=$$LDFLAGS,}

# The file `flags` has the flags of the last build and a checksum of all
# headers. If they change, all built files are removed, since some
# implementations of make do not notice changes within a second. If KEEP_FLAGS
# is set, the flags of the last build are kept unless other flags are given; see
# `built`. GIVEN_FLAGS are the flags that were given to `make static`.
$(OBJ): flags
flags: ALWAYS
	@put() { printf "%s='" "$$1"; \
	    printf '%s\n' "$$2" | sed "s/'/'\\\\''/g; \$$s/\$$/'/"; }; \
	given="$${GIVEN_FLAGS-$(GIVEN)}"; \
	if grep -qs '^given=' flags; then \
	    last=$$(. ./flags; echo "$$given"); \
	    case $$KEEP_FLAGS$$given in yes|"yes$$last") . ./flags ;; esac; \
	fi; \
	{ put given "$$given"; put CC "$${CC:-cc}"; \
	    put CFLAGS "$${CFLAGS--O2}"; put CPPFLAGS "$$CPPFLAGS"; \
	    put LDFLAGS "$$LDFLAGS"; \
	    echo "# $(NEEDS) $$(cat *.h */*.h 2>/dev/null | cksum)"; \
	} >flags.new; \
	if cmp -s flags.new flags; then rm flags.new; \
	else rm -f boris $(OBJ) $(TESTED); mv flags.new flags; fi
ALWAYS:

# A small static binary, built with musl-gcc if it is available and CC is not
# set
static:
	@cc=$${CC:-cc}; [ "$$cc" != cc ] || ! command -v musl-gcc >/dev/null || cc=musl-gcc; \
	supports() { output=$$($$cc $${CFLAGS-} "$$@" -o probe probe.c 2>&1) && \
	    [ -z "$$output" ]; }; \
	echo 'int main(void) { return 0; }' >probe.c; \
	size=-Os link="$$LDFLAGS -static -s"; ! supports -c -Oz || size=-Oz; \
	for flag in $(TIGHT); do \
	    ! supports $$link $$flag || link="$$link $$flag"; \
	done; rm -f probe probe.c; \
	GIVEN_FLAGS="$(GIVEN)" $(MAKE) CC="$$cc" \
	    CFLAGS="$${CFLAGS--O2} $$size $(SMALL)" LDFLAGS="$$link" boris

# boris with a clock that runs ten times as fast, for tests with long waits
t/boris-fast: boris base/io.c
	$(COMPILE) -DCLOCK_FACTOR=10 $$LDFLAGS -o $@ base/io.c $(MOST)

REPLY = json.o base/buf.o base/fmt.o base/text.o base/message.o
# The tests run t/reply 12,000 times. If it is static, it starts faster.
t/reply: t/reply.c $(REPLY)
	@. ./flags; link() { $$CC $(NEEDS) $$CFLAGS $$CPPFLAGS $$LDFLAGS "$$@" \
	    -o $@ t/reply.c $(REPLY); }; link -static 2>/dev/null || link

# Table tests of modules that start no processes
TABLED = $(REPLY) transport/access.o transport/httpmsg.o run/mounts.o base/io.o
t/tables: t/tables.c $(TABLED)
	$(COMPILE) $$LDFLAGS -o $@ t/tables.c $(TABLED)

SCREEN = output/screen.o output/row.o output/sequence.o output/revised.o \
	output/lines.o output/width.o base/buf.o base/fmt.o base/text.o \
	base/message.o base/io.o
t/screen: t/screen.c $(SCREEN)
	$(COMPILE) $$LDFLAGS -o $@ t/screen.c $(SCREEN)

# Table tests of the decisions of the event loop
t/decide: t/decide.c boris
	$(COMPILE) $$LDFLAGS -o $@ t/decide.c $(PARTS) base/io.o

# Updates boris with the flags of the last `make` or `make static`.
built: ALWAYS
	KEEP_FLAGS=yes $(MAKE) -s boris

# boris and the programs that only the tests need
tested: built
	KEEP_FLAGS=yes $(MAKE) -s $(TESTED)

test: tested
	@sh t/run

demo compare: built
demo bench compare fuzz torture: ALWAYS
	@sh t/$@ $(SECONDS)

test-clients: built
	@sh t/clients/run
test-agents: built
	@sh t/clients/run agents
test-portable:
	@sh t/portable

# Remove the old binary first, since a running binary cannot be overwritten. If
# no flags are given, install the last build without building again.
install:
	test -x boris && test -z "$(GIVEN)" || KEEP_FLAGS=yes $(MAKE) -s boris
	umask 022; mkdir -p "$(DESTDIR)$(BINDIR)" "$(DESTDIR)$(MANDIR)/man1" \
	    "$(DESTDIR)$(DOCDIR)"
	rm -f "$(DESTDIR)$(BINDIR)/boris"
	install -m 755 boris "$(DESTDIR)$(BINDIR)"
	install -m 644 doc/boris.1 "$(DESTDIR)$(MANDIR)/man1"
	install -m 644 README doc/SECURITY "$(DESTDIR)$(DOCDIR)"
	test -z "$(UNITDIR)" || { umask 022; mkdir -p "$(DESTDIR)$(UNITDIR)" && \
	    bin=$$(echo "$(BINDIR)" | sed 's/[&|\\]/\\&/g') && \
	    sed "s|/usr/local/bin|$$bin|" doc/packaging/boris.service \
	        >"$(DESTDIR)$(UNITDIR)/boris.service"; }

uninstall:
	rm -f "$(DESTDIR)$(BINDIR)/boris" "$(DESTDIR)$(MANDIR)/man1/boris.1"
	rm -f "$(DESTDIR)$(DOCDIR)/README" "$(DESTDIR)$(DOCDIR)/SECURITY"
	test -z "$(UNITDIR)" || rm -f "$(DESTDIR)$(UNITDIR)/boris.service"

dist sign tarball cross deb npm mcpb: ALWAYS
	@OWNER="$(OWNER)" sh doc/packaging/release $@

clean:
	rm -f boris flags $(OBJ) $(TESTED)
distclean: clean
	rm -rf cross dist boris-*.tar.gz boris_*.deb boris-*.tgz boris-*.mcpb
