#!/usr/bin/env bats
# Q: building and installing, with a compiler that only notes what it is asked
# shellcheck disable=SC2016,SC2034,SC2154

load helper

# What is made is a script that says which compiler made it, with what; and so
# is an object, in which a program finds what each of its parts was made with.
setup_compiler() {
	mkdir src bin
	local to=$PWD/src
	(cd "$HERE/.." && cp ./*.[ch] Makefile README "$to" &&
		cp -R base output run session mcp transport doc "$to")
	cat >bin/cc <<-'END'
	#!/bin/sh
	all="${0##*/} $*"
	while [ "$1" != -o ]; do
		shift
	done
	out=$2
	shift 2
	case $out in
	*.o) printf '# %s\n' "$all" >"$out" ;;
	*) { printf '#!/bin/sh\n'; cat "$@"; echo "# $all"; } >"$out"
		chmod +x "$out" ;;
	esac
	END
	chmod +x bin/cc
	cp bin/cc bin/musl-gcc
	cp bin/cc bin/other
	PATH=$PWD/bin:$PATH
	unset MAKEFLAGS MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS
}

# build ARGS...: make with them, in src
build() {
	(cd src && ${MAKE:-make} -s "$@") 3>&- 6>&- 9>&-
}

# made PATTERN: all of src/boris was made by a command line like that
made() {
	is "$(grep '^# ' src/boris | grep -vc -- "$1")" 0 || cat src/boris
}

@test "Q4: CC, CFLAGS and LDFLAGS are the user's, in the environment as well" {
	setup_compiler
	build CC=other CFLAGS=-O7 LDFLAGS=-Lx
	made '^# other .*-O7'
	has "$(tail -n 1 src/boris)" ' -Lx '
	CC=other CFLAGS='-O7 -g' CPPFLAGS=-DX LDFLAGS=-Lx build
	is "$(grep -c '^# other .* -O7 -g -DX -c ' src/boris)" \
		"$(find src -name "*.c" | wc -l)"
	has "$(tail -n 1 src/boris)" '# other -O7 -g -Lx -o '
	CC=cc CFLAGS= build CC=other
	is "$(grep -c '^# other .* -I. -c ' src/boris)" \
		"$(find src -name "*.c" | wc -l)"
}

@test "Q4: what another compiler or other flags made is made anew, and nothing else" {
	setup_compiler
	build
	made '^# cc '
	mv bin/cc bin/away
	build # nothing is built again that is up to date
	mv bin/away bin/cc
	build CC=other CFLAGS=-O7
	made '^# other .*-O7'
	build static
	made '^# musl-gcc '
	build
	made '^# cc '
}

@test "Q4: so it is with a make that sees no difference within a second" {
	needs bmake
	setup_compiler
	MAKE=bmake build
	MAKE=bmake build static
	made '^# musl-gcc '
	MAKE=bmake build CC=other
	made '^# other '
	echo 'exit 1' >bin/other
	MAKE=bmake build CC=other
}

# setup_users: stubs of what `make demo` and `make test` run; each keeps the boris
# that it was run with as used, as the clock of the tests' boris keeps used.fast
setup_users() {
	mkdir src/t
	: >src/t/reply.c
	: >src/t/decide.c
	: >src/t/tables.c
	: >src/t/screen.c
	echo 'cp boris ../used' >src/t/demo
	echo 'cp boris ../used; cp t/boris-fast ../used.fast' >src/t/run
}

# uses TARGET COMPILER [ARG...]: what `make TARGET` uses was built by COMPILER alone
uses() {
	local target=$1 compiler=$2
	shift 2
	rm -rf used used.fast root
	build "$target" DESTDIR="$PWD/root" "$@" >/dev/null
	[ "$target" != install ] || cp root/usr/local/bin/boris used
	is "$target $* $(sed -n 's/^# \([^ ]*\) .*/\1/p' used | sort -u)" \
		"$target $* $compiler"
	[ ! -e used.fast ] || is "$(sed -n 's/^# \([^ ]*\) .*/\1/p' used.fast |
		sort -u)" "$compiler"
}

# last_build_counts: with ${MAKE:-make}
last_build_counts() {
	setup_compiler
	setup_users
	local target
	for target in demo test install; do
		build static
		uses $target musl-gcc
		build
		uses $target cc
		build CC=other
		uses $target other
		build clean
		uses $target cc
	done
}

@test "Q4: demo, test and install use what make or make static built last" {
	last_build_counts
}

@test "Q4: demo, test and install use the last build with bmake" {
	needs bmake
	MAKE=bmake
	last_build_counts
}

@test "Q4: demo, test and install after make static rebuild nothing" {
	setup_compiler
	setup_users
	build static
	uses test musl-gcc
	mv bin/musl-gcc bin/away
	for target in demo test install demo; do
		uses $target musl-gcc
	done
}

@test "Q4: make test after make static builds a changed file statically" {
	setup_compiler
	setup_users
	build static
	has "$(tail -n 1 src/boris)" ' -static '
	echo >>src/json.h
	uses test musl-gcc
	has "$(tail -n 1 used)" ' -static '
	rm src/boris
	uses install musl-gcc
}

@test "Q4: other flags given to demo, test or install override the last build" {
	setup_compiler
	setup_users
	for target in demo test install; do
		build static
		uses $target other CC=other
		build static CC=other
		uses $target other CC=other
		has "$(tail -n 1 used)" ' -static '
		uses $target cc CFLAGS=-O7
		lacks "$(tail -n 1 used)" ' -static '
		CC=other uses $target other
	done
}

@test "Q4: flags with quotes, dollars and blanks are kept for make test" {
	setup_compiler
	setup_users
	CFLAGS="-DA='\$x' -DB=\"c  d\" -DE=\\f" build
	made " -DA='\$x' -DB=\"c d\" -DE=.f -c\| -o boris "
	cp src/boris first
	uses test cc
	is "$(<used)" "$(<first)"
}

@test "Q2: make static takes the compiler that CC names, else musl-gcc" {
	setup_compiler
	build static
	made '^# musl-gcc '
	has "$(tail -n 1 src/boris)" ' -static '
	build static CC=other CFLAGS=-msoft-float
	made '^# other .* -msoft-float '
	has "$(tail -n 1 src/boris)" ' -static '
}

@test "Q2: make static leaves out what the linker does not know" {
	setup_compiler
	mv bin/cc bin/real
	cat >bin/other <<-'END'
	#!/bin/sh
	case "$*" in
	*norelro*) exit 1 ;;
	*noseparate-code*) echo 'warning: what is noseparate-code?' >&2 ;;
	esac
	exec real "$@"
	END
	build static CC=other
	has "$(tail -n 1 src/boris)" ' -static -s -Wl,--gc-sections -o boris '
	is "$(cd src && echo probe*)" 'probe*'
}

# lines FOLDER NAME...: of the files below it with such names
lines() {
	local folder=$1 names=()
	shift
	while (($# > 0)); do
		names+=(-o -name "$1")
		shift
	done
	find "$HERE/../$folder" -type f \( "${names[@]:1}" \) \
		! -path '*/node_modules/*' ! -name reply ! -name boris-fast \
		-exec cat {} + | wc -l
}

@test "Q7: the lines of the code, the tests and the manual are reported" {
	echo "# code $(($(lines . '*.[ch]') - $(lines t '*.[ch]')))," \
		"tests $(lines t '*')," \
		"manual $(wc -l <"$HERE/../doc/boris.1")," \
		"Makefile $(wc -l <"$HERE/../Makefile") lines" >&3
}

# modules: each is NAME.c with NAME.h
modules() {
	(cd "$HERE/.." && ls ./*.c ./*/*.c) | module_of | grep -v '^t/'
}

# module_of: the modules of the files
module_of() {
	sed -E 's,(^| )\./,\1,g; s,\.[cho]( |$),\1,g'
}

# included: A B, where module A includes the header of module B
included() {
	(
		cd "$HERE/.." || return
		for module in $(modules); do
			for file in "$module".[ch]; do
				[ ! -e "$file" ] ||
					sed -n "s,^#include \"\(.*\)\",$module \1,p" "$file"
			done
		done
	) | module_of | sort -u | awk '$1 != $2'
}

# called: A B, where module A uses a symbol that module B defines
called() {
	(
		cd "$HERE/.." || return
		nm -A $(modules | sed 's/$/.o/') | awk '{ sub(/:.*/, "", $1) }
			$(NF - 1) == "U" { print "uses", $1, $NF; next }
			$(NF - 1) ~ /[A-Z]/ { print "has", $1, $NF }' | sort | awk '
			$1 == "has" { of[$3] = $2 }
			$1 == "uses" && of[$3] { print $2, of[$3] }'
	) | module_of | sort -u | awk '$1 != $2'
}

# needs_objects: skips the test where make has left none of these sources
needs_objects() {
	needs nm tsort
	[ -f "$HERE/../boris.o" ] || skip 'needs what make leaves'
}

@test "Q7: no two modules depend on each other, by header or by symbol" {
	needs_objects
	{ included; called; } | sort -u >needs
	least "$(wc -l <needs)" 60
	is "$(tsort needs 2>&1 >/dev/null)" ''
}

@test "Q7: a layer depends only on the layers below it, by header or by symbol" {
	needs_objects
	{ included; called; } | sort -u | awk '
		BEGIN {
			n = split("base json output run exec session mcp transport boris", layers)
			for (i = 1; i <= n; i++)
				rank[layers[i]] = i
		}
		{
			from = to = $0
			sub(/ .*/, "", from)
			sub(/.* /, "", to)
			sub(/\/.*/, "", from)
			sub(/\/.*/, "", to)
		}
		!rank[from] || !rank[to] || rank[from] < rank[to]' >up
	is "$(cat up)" ''
}

@test "Q7: the top level has at most 20 names" {
	[ -e "$HERE/../.git" ] || skip 'needs a git checkout'
	most "$(cd "$HERE/.." && git ls-files | cut -d/ -f1 | sort -u | wc -l)" 20
}

@test "Q7: SPEC names every module" {
	for module in $(modules); do
		grep -q "\b${module##*/}\.c\b" "$HERE/../doc/SPEC" || fail "SPEC does not name $module"
	done
}

@test "Q7: nothing at file scope changes but the pipe of the signals" {
	needs_objects
	needs gcc
	mkdir o
	local sources
	sources=$(modules | sed "s,.*,$HERE/../&.c,")
	(cd o && gcc -std=c99 -fno-pie -I"$HERE/.." -c $sources 2>/dev/null) || :
	is "$(nm o/*.o | sed -n 's/.* [bBdDC] //p')" signal_pipe
}

@test "Q: make install puts in place what was built last" {
	setup_compiler
	build static
	build install DESTDIR="$PWD/a b" PREFIX=/usr
	cmp src/boris 'a b/usr/bin/boris'
	cmp src/doc/boris.1 'a b/usr/share/man/man1/boris.1'
	made '^# musl-gcc '
	build uninstall DESTDIR="$PWD/a b" PREFIX=/usr
	is "$(find 'a b' -type f)" ''
}

@test "Q: make install can be told BINDIR, MANDIR and DOCDIR, and all may read it" {
	setup_compiler
	umask 077
	build install DESTDIR="$PWD/d" BINDIR=/b MANDIR=/m DOCDIR=/o UNITDIR=/u
	umask 022
	made '^# cc ' # it builds where nothing is built
	is "$(cd d && find . -type f | sort | xargs stat -c '%a %n')" \
		'755 ./b/boris'$'\n''644 ./m/man1/boris.1'$'\n''644 ./o/README'$'\n''644 ./o/SECURITY'$'\n''644 ./u/boris.service'
	is "$(find d/* -type d ! -perm 755)" ''
	has "$(cat d/u/boris.service)" 'ExecStart=/b/boris '
	build uninstall DESTDIR="$PWD/d" BINDIR=/b MANDIR=/m DOCDIR=/o UNITDIR=/u
	is "$(find d -type f)" ''
	build install DESTDIR="$PWD/d" PREFIX='/r&d|x' UNITDIR=/u
	has "$(cat d/u/boris.service)" 'ExecStart=/r&d|x/bin/boris '
}

@test "Q: make install goes over a boris that runs" {
	setup_compiler
	build
	mkdir -p d/usr/local/bin
	cp "$(command -v sleep)" d/usr/local/bin/boris
	d/usr/local/bin/boris 60 3>&- 6>&- 9>&- &
	build install DESTDIR="$PWD/d"
	kill -0 $!
	cmp src/boris d/usr/local/bin/boris
	kill $!
}

@test "Q: systemd has nothing against the unit" {
	needs systemd-analyze
	[ -d /run/systemd ] || mkdir /run/systemd 2>/dev/null ||
		skip 'systemd does not run here'
	sed "s|/usr/local/bin/boris|$BORIS|" "$HERE/../doc/packaging/boris.service" \
		>boris.service
	is "$(systemd-analyze verify --man=no ./boris.service 2>&1)" ''
}

@test "Q: the manual fits 80 columns, as Debian's man sets it" {
	needs groff
	groff -mandoc -Tascii -P-cbou -rLL=78n "$HERE/../doc/boris.1" >out 2>err
	is "$(cat err)" ''
	is "$(awk 'length > 80' out)" ''
}

# clone: this repository in a, to release from
clone() {
	git clone -q "$HERE/.." a 2>/dev/null || skip 'no clone of this to be had'
	version=$("$BORIS" --version | cut -d' ' -f2)
	unset MAKEFLAGS MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS
}

@test "Q: make tarball makes the same bytes each time, named after --version" {
	clone
	cp -R a b
	make -s -C a tarball
	make -s -C b tarball
	cmp a/boris-*.tar.gz b/boris-*.tar.gz
	is "$(cd a && echo boris-*.tar.gz)" "boris-$version.tar.gz"
}

@test "Q: make dist refuses a version that CHANGES does not name first" {
	clone
	commit=(git -C a -c user.name=a -c user.email=b commit -q -a -m)
	sed "1,/^[0-9]/s/^[0-9].*/$version/" a/doc/CHANGES >CHANGES
	mv CHANGES a/doc
	"${commit[@]}" 'No day yet' || :
	run make -s -C a dist
	has "$output" "the newest in CHANGES is '$version', not '$version, DAY'"
	sed "1,/^[0-9]/s/^[0-9].*/9.9.9, 2031-01-01/" a/doc/CHANGES >CHANGES
	mv CHANGES a/doc
	"${commit[@]}" 'Another version'
	run make -s -C a dist
	is "$status" 2
	has "$output" "the newest in CHANGES is '9.9.9, 2031-01-01', not '$version, DAY'"
}

@test "Q: make dist refuses what is not committed" {
	clone
	echo >a/new
	run make -s -C a dist
	is "$status" 2
	has "$output" 'a release is made of what is committed'
}

# What doc/packaging/release needs, with this boris for each processor, in src
setup_bundle() {
	mkdir -p src/cross
	cp -R "$HERE"/../{LICENSE,README,doc} src
	mkdir -p src/base
	echo '#define BORIS_VERSION "9.8.0"' >src/base/options.h
	for processor in amd64 arm64 armel armhf i386 ppc64el riscv64 s390x; do
		cp "$BORIS" "src/cross/boris-9.8.0-$processor"
	done
}

@test "Q: the script of the npm package becomes the binary for its processor" {
	mkdir -p bin a/amd64 a/armhf a/armel
	cp "$HERE/../doc/packaging/npm/boris" a
	for processor in amd64 armhf armel; do
		printf '#!/bin/sh\necho %s $$ "$@"\n' $processor >a/$processor/boris
		chmod +x a/$processor/boris
	done
	ln -s ../a/boris bin/boris
	printf '#!/bin/sh\necho $MACHINE\n' >bin/uname
	chmod +x bin/uname
	PATH=$PWD/bin:$PATH
	while read -r machine processor; do
		MACHINE=$machine bin/boris 'a  b' >out 3>&- 6>&- 9>&- &
		wait $!
		is "$(cat out)" "$processor $! a  b"
	done <<-'END'
	x86_64 amd64
	armv7l armhf
	armv6l armel
	END
	run env MACHINE=sparc bin/boris
	is "$status" 1
	has "$output" 'sparc'
}

@test "Q: the script of the npm package removes the variables of npx" {
	mkdir -p a/amd64 bin
	cp "$HERE/../doc/packaging/npm/boris" a
	printf '#!/bin/sh\nenv\n' >a/amd64/boris
	printf '#!/bin/sh\necho x86_64\n' >bin/uname
	chmod +x a/amd64/boris bin/uname
	env PATH="$PWD/bin:$PATH" npm_config_yes=true npm_execpath=/x NODE=/x INIT_CWD=/x \
		npm_lifecycle_script=$'a b\nnpm_x; touch ran=1' NPM_TOKEN=kept MY_npm_x=kept \
		a/boris >out
	is "$(grep -c -e '^npm_' -e ^NODE= -e ^INIT_CWD= out)" 0
	is "$(grep -c =kept out)" 2
	[ ! -e ran ]
}

@test "Q: the npm package can be installed, and answers" {
	needs npm
	setup_bundle
	(cd src && OWNER=someone sh doc/packaging/release npm) >/dev/null 3>&- 6>&- 9>&-
	mv src/boris-mcp-9.8.0.tgz 1.tgz
	(cd src && OWNER=someone sh doc/packaging/release npm) >/dev/null 3>&- 6>&- 9>&-
	cmp 1.tgz src/boris-mcp-9.8.0.tgz
	has "$(tar xzOf 1.tgz package/package.json)" '"io.github.someone/boris"'
	case $(uname -m) in x86_64 | aarch64) ;; *) skip 'not here' ;; esac
	HOME=$PWD npm install -g --offline --no-audit --prefix "$PWD/d" ./1.tgz \
		>/dev/null 2>&1 3>&- 6>&- 9>&-
	is "$(d/bin/boris --version)" "$("$BORIS" --version)"
}
