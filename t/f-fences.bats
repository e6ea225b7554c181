#!/usr/bin/env bats
# F: fences
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load http
load helper # once more: here a server leaves when its stdin ends

# The directory `in` is within the fence, `out` is not.
setup_fences() {
	needs_linux_parts
	mkdir -p in out
	echo before >out/file
}

# needs_landlock: skips the test where the kernel has none, or an old one
needs_landlock() {
	setup_fences
	filter --write=in </dev/null >seen
	case $status:$(<err) in
	*Landlock*'Function not implemented' | *Landlock*'not supported')
		skip "$(<err)"
		;;
	esac
	is "$status: $(cat err seen)" '0: '
}

# needs_namespaces: skips the test where this user may have none
needs_namespaces() {
	setup_fences
	needs unshare
	if [ "$(id -u)" = 0 ]; then
		unshare -n true || skip 'no network namespace here'
	else
		unshare -Un true || skip 'no user namespace here'
	fi
}

# as_other: the server will run as a user who is not root
as_other() {
	[ "$(id -u)" = 0 ] || return 0
	needs setpriv
	cp "$BORIS" boris
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" .. . 2>/dev/null || :
	chmod 777 in out tmp
	chmod 666 out/file gate
	BORIS=$PWD/boris
	wrap=(setpriv --reuid=54321 --regid=54322 --clear-groups)
	"${wrap[@]}" test -x "$BORIS" || skip 'no other user may come here'
}

# fails COMMAND...: each is refused by the kernel, with one of the errors that
# Landlock has
fails() {
	local command
	for command; do
		run_bash "$command"
		isnt "$command: $(result exit_code)" "$command: 0"
		like "$command: $(plain stderr)" \
			'*@([Pp]ermission denied|Invalid cross-device link|Operation not permitted)*'
	done
}

# works COMMAND...: each ends with 0
works() {
	local command
	for command; do
		run_bash "$command"
		is "$command: $(result exit_code) $(plain stderr)" "$command: 0 "
	done
}

# outside_is_out: no way to write in `out` is open, and `in` is
outside_is_out() {
	works 'echo x >in/file'
	fails 'echo x >out/new' 'echo x >>out/file' ': >out/file' \
		'truncate -s 0 out/file' 'dd if=/dev/null of=out/file' \
		'rm out/file' 'mkdir out/dir' 'rmdir out' 'mkfifo out/fifo' \
		'ln -s x out/link' 'mv in/file out/file2' 'mv out/file in/file2' \
		'mv out out2' 'ln in/file out/file2' 'ln out/file in/file2' \
		'cp in/file out/file2' '(cd out; echo x >new)' \
		'ln -s ../out in/out; echo x >in/out/new' \
		'echo x >/proc/self/cwd/out/new' 'exec 5<out/file; echo x >/dev/fd/5' \
		'echo x >/proc/self/comm'
	is "$(ls out)" file
	is "$(cat out/file)" before
}

# unreachable ADDRESS: a connection to it fails at once
unreachable() {
	begin
	run_bash "echo x >/dev/tcp/$1/80"
	within 2000
	is "$(result exit_code)" 1
	like "$(plain stderr)" '*Network is unreachable*'
}

@test "F1: below --write, and in \$TMPDIR, all of writing works; long output is saved there" {
	needs_landlock
	boris --write=in
	works 'echo a >in/a' 'echo b >>in/a' 'mkdir -p in/d/e' 'mv in/a in/d/e/b' \
		'ln in/d/e/b in/c' 'ln -s c in/l' 'mkfifo in/f' 'truncate -s 1 in/c' \
		'chmod 600 in/c' 'touch in/c' 'rm in/f in/l' 'rm -r in/d' \
		'file=$(mktemp); echo x >$file; rm $file'
	is "$(ls in)" c
	is "$(cat in/c; echo .)" a.
	run_bash 'head -c 40000 /dev/zero | tr "\0" a'
	is "$(wc -c <"$(plain stdout_file)")" 40000
}

@test "F1: outside --write nothing is written, made, removed, renamed, linked or truncated" {
	needs_landlock
	boris --write=in
	outside_is_out
}

@test "F1: outside --write truncate(2), which opens no file, fails too" {
	needs_landlock
	needs perl
	boris --write=in
	works 'echo x >in/file; perl -e "truncate q(in/file), 0 or die"'
	run_bash 'perl -e "truncate q(out/file), 0 or die qq(\$!\n)"'
	is "$(plain stderr)" 'Permission denied'
	is "$(cat in/file out/file)" before
}

@test "F1: behind --write no overlay's making empties a directory outside" {
	needs_landlock
	needs perl
	case $(uname -m) in x86_64) unshare=272 ;; *) unshare=97 ;; esac
	cat >overlay.pl <<-'EOF'
	my ($unshare, $type, $fd, $end) = (shift, 'overlay', 0, 0);
	syscall($unshare, 0x10020000);
	$fd = syscall(430, $type, 0);
	for my $set (['lowerdir', 'in'], ['upperdir', 'up'], ['workdir', 'out']) {
		my ($name, $value) = @$set;
		syscall(431, $fd, 1, $name, $value, 0);
	}
	syscall(431, $fd, 6, $end, $end, 0);
	EOF
	mkdir up out/work
	touch out/work/file
	perl overlay.pl "$unshare"
	[ ! -e out/work/file ] || skip 'no overlay can be made here'
	rm -r out/work
	mkdir out/work
	touch out/work/file
	boris --write=in
	run_bash "perl overlay.pl $unshare"
	test -e out/work/file
}

@test "F1: behind --write root mounts nothing and makes no device to write through" {
	needs_landlock
	needs_root
	needs mount mknod unshare
	mknod probe c 1 3 || skip 'no device can be made here'
	boris --write=in
	fails 'mount -t tmpfs none in' 'mount --bind out in' \
		'unshare -m mount --bind out in' 'mknod in/null c 1 3' \
		'mknod in/disk b 7 0' 'echo 0 >/proc/sys/kernel/printk'
}

@test "F1: behind --write files are read, programs run and /dev is written to as ever, and there are terminals" {
	needs_landlock
	printf '#!/bin/sh\ncat "$0" >in/copy\n' >out/program
	chmod 755 out/program
	boris --write=in
	works 'cat out/file' 'ls out' 'out/program'
	is "$(cat in/copy)" "$(cat out/program)"
	works 'echo x >/dev/null' 'echo x | tee /dev/stdout /dev/fd/1' \
		'cat <(echo x)' 'echo x > >(cat)' 'cat <<<x'
	run_bash 'echo err >/dev/stderr'
	is "$(plain stderr)" err
	if [ -w /dev/shm ]; then
		works 'file=$(mktemp -p /dev/shm); echo x >$file; rm $file'
	fi
	run_bash 'stty size' '{"tty":true}'
	is "$(plain stdout)" '50 200'
}

@test "F1: below --write git commits, a compiler compiles, sqlite stores" {
	needs_landlock
	unset "${!GIT_@}" # a hook of git's would have set some
	boris --write=in
	run_bash 'cd in'
	if [ -n "$(type -P git)" ]; then
		works 'git init -q . && echo x >file && git add file &&
			git -c user.name=n -c user.email=e commit -qm first && git log'
	fi
	if [ -n "$(type -P cc)" ]; then
		works 'echo "int main(void) { return 0; }" >a.c && cc -o a a.c && ./a'
	fi
	if [ -n "$(type -P sqlite3)" ]; then
		works 'sqlite3 db "pragma journal_mode = wal; create table t (a);
			insert into t values (1); select * from t"'
	fi
}

@test "F1: --write may be given twice, and what is moved between arrives; BORIS_WRITE is one directory, and a flag beats it" {
	needs_landlock
	mkdir -p 'also this' no
	boris --write=in --write "$PWD/also this"
	works 'echo x >in/a' 'mv in/a "also this/b"' 'ln "also this/b" in/c'
	is "$(cat in/c)" x
	fails 'echo x >no/a'
	leave
	export BORIS_WRITE='also this'
	boris
	works 'echo x >"also this/file"'
	fails 'echo x >in/file'
	leave
	boris --write=. --workdir=/
	works "echo x >'$PWD/in/file'"
	fails "echo x >'$BATS_FILE_TMPDIR/file'"
}

@test "F1: tasks, what is left running and other sessions are within the fence" {
	needs_landlock
	serve --write=in
	enter a
	runs a 'echo x >out/new' '{"run_in_background":true}' && answers a
	runs a '(echo x >out/new; echo done >in/left) &' && answers a
	begun in/left
	enter b
	ran b 'echo x >out/new'
	has "$(plain stderr)" 'Permission denied'
	plug c
	modern_ran c 'echo x >out/new'
	has "$(plain stderr)" 'Permission denied'
	kill "$server"
	died
	is $status 0
	is "$(ls out)" file
}

@test "F1: behind --write privileges cannot be gained" {
	needs_landlock
	boris --write=in
	run_bash 'grep NoNewPrivs /proc/self/status'
	is "$(plain stdout)" $'NoNewPrivs:\t1'
	if [ -n "$(type -P su)" ] && [ "$(id -u)" != 0 ]; then
		run_bash 'su -c id'
		isnt "$(result exit_code)" 0
	fi
}

@test "F1: without --write nothing is fenced" {
	setup_fences
	boris
	works 'echo x >out/new' 'mv out/new in/new'
	run_bash 'grep NoNewPrivs /proc/self/status'
	is "$(plain stdout)" "$(grep NoNewPrivs /proc/self/status)"
}

@test "F2: with --no-network, or BORIS_NO_NETWORK=1, other machines are unreachable at once; user and group ids stay" {
	needs_namespaces
	BORIS_NO_NETWORK=1 boris
	unreachable 192.0.2.1
	unreachable 2001:db8::1
	leave
	boris --no-network
	unreachable 198.51.100.1
	run_bash 'id -u; id -ru; id -g; id -rg; stat -c "%u %g" out/file'
	is "$(plain stdout)" "$(id -u; id -ru; id -g; id -rg; stat -c '%u %g' out/file)"
	works 'echo x >in/file'
	is "$(stat -c '%u %g' in/file)" "$(stat -c '%u %g' out/file)"
}

# talks: a server and a client of commands meet on loopback
talks() {
	run_bash 'busybox nc -l -p 4711 -e echo hello & server=$!
		until exec 3<>/dev/tcp/127.0.0.1/4711; do sleep 0.02; done 2>/dev/null
		cat <&3; wait $server'
	is "$(plain stdout)" hello
}

@test "F2: with --no-network a server and a client on loopback work" {
	needs_namespaces
	needs busybox
	boris --no-network
	talks
	start_task 'busybox nc -l -p 4712 -e echo task'
	run_bash 'until exec 3<>/dev/tcp/localhost/4712; do sleep 0.02; done 2>/dev/null; cat <&3'
	is "$(plain stdout)" task
}

@test "F2: --no-network holds for a user who is not root, too" {
	needs_namespaces
	as_other
	[ ${#wrap[@]} = 0 ] || "${wrap[@]}" unshare -Un true ||
		skip 'no user namespace for others here'
	boris --no-network
	unreachable 192.0.2.1
	[ -z "$(type -P busybox)" ] || talks
	run_bash 'id -u; id -g; grep -h Cap[IPEA] /proc/self/status /proc/$PPID/status'
	is "$(plain stdout | sed 's/.*\t0*$/none/' | uniq)" \
		"$({ "${wrap[@]}" id -u; "${wrap[@]}" id -g; echo none; } | uniq)"
	works 'echo x >in/file'
	is "$(stat -c '%u %g' in/file)" "$("${wrap[@]}" id -u) $("${wrap[@]}" id -g)"
}

@test "F2: no command goes back into the network that boris came from" {
	needs_namespaces
	needs nsenter ip
	boris --no-network
	run_bash "nsenter --net=/proc/$BASHPID/ns/net true"
	isnt "$(result exit_code)" 0
	run_bash "ip link add name v0 type veth peer name boris$$ netns $BASHPID"
	isnt "$(result exit_code)" 0
	run_bash "unshare -n nsenter --net=/proc/$BASHPID/ns/net true"
	isnt "$(result exit_code)" 0
	run_bash "ip -br link | wc -l; readlink /proc/self/ns/net"
	isnt "$(plain stdout | sed -n 2p)" "$(readlink /proc/self/ns/net)"
}

@test "F2: with --no-network clients are served over HTTP, but commands are not" {
	needs_namespaces
	serve --no-network
	enter a
	ran a 'echo hi'
	is "$(plain stdout)" hi
	ran a "exec 2>&1; echo x >/dev/tcp/127.0.0.1/$port"
	like "$(plain stdout)" '*Connection refused*'
	ran a 'exec 2>&1; echo x >/dev/tcp/192.0.2.1/80'
	like "$(plain stdout)" '*Network is unreachable*'
	plug b
	asks b GET /health
	takes b
	is "$http $body" '200 {"status":"ok"}'
	kill "$server"
	died
	is $status 0
}

@test "F2: over HTTP no command gets hold of the socket that listens outside" {
	needs_namespaces
	needs perl
	serve --no-network
	enter a
	# as steals() has it
	steal='use POSIX; my $p = syscall(434, $ARGV[0] + 0, 0); exit 3 if $p < 0;
		for (0 .. 40) { print "got $_\n" if syscall(438, $p, $_, 0) >= 0 }
		print POSIX::strerror($!), "\n"'
	printf '%s\n' "$steal" >steal.pl
	ran a 'perl steal.pl $PPID'
	like "$(plain stdout)" '@(Operation not permitted|Function not implemented)'
	kill "$server"
	died
	is $status 0
}

@test "F2: --no-network holds where boris is process 1, too" {
	needs_namespaces
	needs_root
	unshare -pf --mount-proc true || skip 'no pid namespace here'
	wrap=(unshare -pf --mount-proc)
	boris --no-network
	unreachable 192.0.2.1
}

@test "F: both fences stand together, for a user who is not root too" {
	needs_namespaces
	needs_landlock
	for user in root other; do
		[ $user = root ] || as_other
		[ ${#wrap[@]} = 0 ] || "${wrap[@]}" unshare -Un true ||
			skip 'no user namespace for others here'
		boris --write=in --no-network
		outside_is_out
		unreachable 192.0.2.1
		leave
		rm in/*
	done
}

# What is to be hidden: `secrets/dir`, with a key in it, and `secrets/p/file`
setup_hidden() {
	needs_namespaces
	needs_landlock # which root needs, for what is outside
	unshare -m true || [ "$(id -u)" != 0 ] || skip 'no mount namespace here'
	mkdir -p secrets/dir secrets/p secrets/r
	secret=secret-$RANDOM$RANDOM
	echo $secret | tee secrets/dir/key >secrets/p/file
	hide=("--hide=$PWD/secrets/dir" --hide=secrets/p/file)
}

# as_other_hidden: the server runs as a user who is not root, who owns them
as_other_hidden() {
	as_other
	[ ${#wrap[@]} = 0 ] || "${wrap[@]}" unshare -Un true ||
		skip 'no user namespace for others here'
	[ ${#wrap[@]} = 0 ] || chown -R 54321:54322 secrets
}

# covered: they are there, empty, and can't be written
covered() {
	run_bash 'ls -a secrets/dir; cat secrets/p/file; cat secrets/dir/key; test -f secrets/p/file && test -d secrets/dir'
	is "$(result exit_code) $(plain stdout)" $'0 .\n..'
	run_bash 'echo x >secrets/p/file || echo x >secrets/dir/new || rm -r secrets/dir || rmdir secrets/dir || mv secrets/dir secrets/x'
	isnt "$(result exit_code)" 0
	like "$(plain stderr)" '*Read-only*Read-only*busy*busy*busy*'
	is "$(cat secrets/dir/key secrets/p/file)" "$secret"$'\n'"$secret"
}

# no_way_back ARGS...: none of many uncovers them
no_way_back() {
	needs perl unshare nsenter
	cp "$HERE/uncover" uncover
	chmod 755 uncover
	# An open file, a directory and a working directory of the same user
	(cd secrets && exec "${wrap[@]}" perl -e 'open(A, "<", "dir/key"); open(B, "<", "p/file");
		opendir(C, "dir"); open(D, ">", "r/ready"); sleep 600') 3>&- 6>&- 9>&- &
	outside=$!
	eventually test -e secrets/r/ready
	handle=$(perl -e 'my $p = "secrets/dir/key"; my $h = pack("Il", 128, 0) . "\0" x 128; my $m = pack("i", 0);
		my $n = `uname -m` =~ /x86_64/ ? 303 : 264; syscall($n, -100, $p, $h, $m, 0);
		print unpack("H*", substr($h, 0, 8 + unpack("I", $h)))')
	SLOW=$((SLOW * 10)) # two seconds where nothing else runs
	boris "${hide[@]}" "$@"
	run_bash "./uncover $secret '$PWD/secrets' $outside $handle" '{"timeout":300000}'
	kill $outside
	lacks "$reply" "uncovered by"
	like "$(plain stdout)" '[4-9][0-9] ways'
	is "$(cat secrets/dir/key secrets/p/file)" "$secret"$'\n'"$secret"
}

@test "F5: what --hide names is empty, and can't be written, by a user who is not root either" {
	setup_hidden
	boris "${hide[@]}"
	covered
	leave
	as_other_hidden
	boris "${hide[@]}"
	covered
}

@test "F5: root finds no way back, behind all fences neither" {
	needs_root
	setup_hidden
	no_way_back
	leave
	rm secrets/r/ready
	no_way_back --write=. --no-network
}

@test "F5: a user who is not root finds no way back, behind all fences neither" {
	setup_hidden
	as_other_hidden
	chmod 777 .
	no_way_back
	leave
	rm secrets/r/ready
	no_way_back --write=. --no-network
}

@test "F5: tasks, what is left running and other sessions see nothing of it" {
	setup_hidden
	serve "${hide[@]}"
	enter a b
	runs a 'cat secrets/p/file >in/task; echo done >>in/task' '{"run_in_background":true}' && answers a
	runs a '(cat secrets/p/file >in/left; echo done >>in/left) &' && answers a
	ran b 'cat secrets/p/file'
	is "$(result exit_code) $(plain stdout)" '0 '
	begun in/task in/left
	eventually grep -q done in/task in/left
	is "$(cat in/task in/left)" $'done\ndone'
	kill "$server"
	died
	is $status 0
}

@test "F5: as process 1 too" {
	setup_hidden
	needs_root
	unshare -pf --mount-proc true || skip 'no pid namespace here'
	wrap=(unshare -pf --mount-proc)
	boris "${hide[@]}"
	covered
	run_bash 'cat /proc/1/root/$PWD/secrets/p/file'
	isnt "$(result exit_code)" 0
}

@test "F5: a link leads to what is hidden, what is below it needs no cover of its own; a FIFO and a socket are empty files" {
	setup_hidden
	ln -s secrets/dir link
	boris --hide=link --hide=secrets/dir/key --hide=secrets/dir
	run_bash 'ls secrets/dir link/'
	is "$(plain stdout)" $'link/:\n\nsecrets/dir:'
	run_bash 'cat secrets/p/file'
	is "$(plain stdout)" "$secret"
	leave
	needs perl
	mkfifo secrets/fifo
	perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "secrets/socket", Listen => 1)'
	boris --hide=secrets/fifo --hide=secrets/socket
	run_bash 'stat -c %F secrets/fifo secrets/socket; cat secrets/fifo secrets/socket'
	is "$(plain stdout)" $'regular empty file\nregular empty file'
}

@test "F5: BORIS_HIDE is one path, and a flag beats it" {
	setup_hidden
	export BORIS_HIDE=secrets/dir
	boris
	run_bash 'ls secrets/dir; cat secrets/p/file'
	is "$(plain stdout)" "$secret"
	leave
	boris --hide=secrets/p/file
	run_bash 'ls secrets/dir; cat secrets/p/file'
	is "$(plain stdout)" key
}

@test "F5: root keeps the right to all that is not hidden" {
	needs_root
	setup_hidden
	chown 54321 out/file
	chmod 600 out/file
	boris "${hide[@]}"
	works 'cat out/file' 'chown 12345 out/file' 'echo x >out/file' 'kill -0 1'
}

@test "F5: a path that covers what boris needs, or is below /proc, is refused by its name" {
	setup_fences
	mkdir -p in/work dir
	ln -s /proc proc
	cp "$(type -P true)" in/shell
	while read -r path needed; do
		filter --hide="$path" --workdir=in/work </dev/null >seen
		is "$path -> $status $(cat seen)" "$path -> 2 "
		is "$(<err)" "boris: --hide=$(realpath "$path"): must not $needed"
	done <<-EOF
	in cover $PWD/in/work, the working directory
	tmp cover $PWD/tmp, the directory for saved files (\$TMPDIR)
	/proc cover /proc, where boris finds processes
	proc cover /proc, where boris finds processes
	/proc/sys be below /proc, which boris needs
	/proc/1 be below /proc, which boris needs
	/proc/1/status be below /proc, which boris needs
	/proc/meminfo be below /proc, which boris needs
	/dev cover /dev/null, which shell scripts need
	/dev/null cover /dev/null, which shell scripts need
	/dev/ptmx cover /dev/ptmx, which terminals need
	EOF
	# Where /dev/ptmx is a link to pts/ptmx, this covers both.
	filter --hide=/dev/pts </dev/null >seen
	is "$status $(cat seen)" '2 '
	like "$(<err)" 'boris: --hide=/dev/pts: must not cover /dev/pt*'
}

@test "F5: a path that covers the shell is refused, but not with --no-bash" {
	setup_fences
	local shell=/bin/bash
	[ -x $shell ] || skip 'no /bin/bash'
	for path in $shell "$(dirname "$(realpath $shell)")"; do
		filter --hide="$path" </dev/null >seen
		is "$path -> $status $(cat seen)" "$path -> 2 "
		is "$(<err)" "boris: --hide=$(realpath "$path"): must not cover $shell, the shell"
	done
	setup_hidden
	boris --no-bash --edit --hide="$(dirname "$(realpath $shell)")"
	run_tool edit '{"path":"in/new","new":"x"}'
	is "$(cat in/new)" x
}

@test "F5: a disk in /dev and settings in /sys can be hidden" {
	setup_hidden
	needs_root
	[ -d /sys/kernel ] || skip 'no /sys here'
	boris --hide=/dev/zero --hide=/sys
	run_bash 'stat -c %F /dev/zero; ls /sys; stat -c %F /dev/null; tty' '{"tty":true}'
	like "$(plain stdout)" $'regular empty file\ncharacter special file\n/dev/pts/*'
	is "$(result exit_code)" 0
}

@test "F5: what is not there, or is needed, can't be hidden" {
	setup_fences
	mkdir -p in/work
	for args in --hide= --hide=nowhere --hide=in/nowhere --hide=/ --hide=. --hide=tmp \
	    '--workdir=in/work --hide=in' '--workdir=in/work --hide=in/work/.'; do
		filter $args </dev/null >seen
		is "$args -> $status" "$args -> 2"
		is "$(cat seen)" ''
		is "$(wc -l <err)" 1
		has "$(<err)" --hide
	done
	BORIS_HIDE='' filter </dev/null
	is $status 2
	has "$(<err)" BORIS_HIDE
}

# steals PID: a command asks for each descriptor of that process
steals() {
	# pidfd_open(), pidfd_getfd(): the same numbers on all processors
	echo 'use POSIX; my $p = syscall(434, $ARGV[0] + 0, 0); exit 3 if $p < 0;
		for (0 .. 40) { print "got $_\n" if syscall(438, $p, $_, 0) >= 0 }
		print POSIX::strerror($!), "\n"' >in/steal.pl
	run_bash "perl in/steal.pl $1"
	like "$(plain stdout)" '@(Operation not permitted|Function not implemented)'
	[ ${#wrap[@]} = 0 ] && [ "$(id -u)" = 0 ] && return
	run_bash "cat /proc/$1/environ; ls -l /proc/$1/fd/ | grep pipe; echo x >/proc/$1/fd/2"
	isnt "$(result exit_code)" 0
	is "$(plain stdout)" ''
}

@test "F3: no command takes boris's descriptors, behind any fence, as root neither" {
	needs_landlock
	needs perl
	for user in root other; do
		[ $user = root ] || as_other
		boris --write=in
		steals "$server"
		leave
	done
}

@test "F3: as root, with --hide alone, files are moved and linked between directories" {
	needs_root
	setup_hidden
	boris "${hide[@]}"
	works 'echo x >in/a; ln in/a out/b' 'mv in/a out/a; [ out/a -ef out/b ]'
}

@test "F3: as root, with --no-network alone, no descriptor of a process outside is taken" {
	needs_root
	needs_landlock
	needs_namespaces
	needs perl setpriv
	setpriv --bounding-set=-all cat <never 3>&- 6>&- 9>&- &
	outside=$!
	eventually grep -q '^CapPrm:[^1-9a-f]*$' "/proc/$outside/status"
	boris --no-network
	run_bash 'perl -e '\''my $p = syscall(434, $ARGV[0] + 0, 0); print $p > 0, " ", syscall(438, $p, 0, 0), "\n"'\'' '"$outside; exec 5</proc/$outside/mem && echo open"
	is "$(plain stdout)" '1 -1'
}

# make_queue: makes a System V message queue outside of the fences, as the user
# whom the server will run as; sets $queue to its id
make_queue() {
	queue=$("${wrap[@]}" ipcmk -Q | tr -cd 0-9)
	has "$(ipcs -q)" " $queue "
}

@test "F3: behind --no-network and --hide no command reaches System V objects of a process outside, as root neither" {
	setup_hidden
	needs ipcmk ipcs ipcrm
	for user in root other; do
		[ $user = root ] || as_other_hidden
		make_queue
		for args in --no-network "${hide[0]}"; do
			boris "$args"
			run_bash 'ipcs -q'
			has "$(plain stdout)" msqid
			lacks "$(plain stdout)" " $queue "
			leave
		done
		ipcrm -q "$queue"
	done
}

@test "F4: behind --write alone a user who is not root has System V objects" {
	needs_landlock
	needs ipcmk ipcs ipcrm
	as_other
	boris --write=in
	run_bash 'queue=$(ipcmk -Q | tr -cd 0-9); ipcs -q -i $queue && ipcrm -q $queue'
	is "$(result exit_code) $(plain stderr)" '0 '
}

# without_sys_admin: the server runs without CAP_SYS_ADMIN, as in Docker
without_sys_admin() {
	needs_root
	needs setpriv
	wrap=(setpriv --bounding-set -sys_admin --inh-caps -sys_admin)
	"${wrap[@]}" true || skip 'no capability can be dropped here'
}

@test "F3: --write holds for root without CAP_SYS_ADMIN" {
	needs_landlock
	without_sys_admin
	boris --write=in
	outside_is_out
	run_bash 'grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status'
	like "$(plain stdout)" $'CapEff*NoNewPrivs:\t1*Seccomp:\t2*'
}

@test "F3: --no-network and --hide tell root that they need CAP_SYS_ADMIN" {
	setup_fences
	mkdir h
	without_sys_admin
	for args in --no-network "--hide=h" "--write=in --no-network"; do
		filter $args </dev/null >seen
		is "$args -> $status $(cat seen)" "$args -> 1 "
		is "$(wc -l <err)" 1
		like "$(<err)" 'boris: --@(no-network|hide): requires * namespace*CAP_SYS_ADMIN*'
	done
}

# In each the first argument is add_key()'s number.
USE_KEYS='my ($add, $type, $name, $value) = (@ARGV, "user", "boris-test", "x");
	print syscall($add + 0, $type, $name, $value, 1, -4) > 0 ? "made " : "$! ";
	print syscall($add + 1, $type, $name, 0, 0) > 0 ? "found " : "$! ";
	print syscall($add + 2, 0, -4, 0) > 0 ? "reached\n" : "$!\n";'
REMOVE_KEY='my ($add, $type, $name) = (@ARGV, "user", "boris-test");
	my $key = syscall($add + 2, 10, -4, $type, $name, 0);
	syscall($add + 2, 9, $key, -4)'

@test "F3: behind every fence kernel keys are out of reach, as root too" {
	setup_hidden
	needs perl
	case $(uname -m) in x86_64) add=248 ;; aarch64) add=217 ;; *) skip 'which numbers?' ;; esac
	printf '%s\n' "$USE_KEYS" >keys.pl
	chmod 644 keys.pl
	for user in root other; do
		[ $user = root ] || as_other_hidden
		[ "$("${wrap[@]}" perl keys.pl "$add")" = 'made found reached' ] || skip 'no keys here'
		for args in --write=in --no-network "${hide[0]}"; do
			boris "$args"
			run_bash "perl keys.pl $add"
			is "$user $args $(plain stdout)" "$user $args Function not implemented Function not implemented Function not implemented"
			leave
		done
		"${wrap[@]}" perl -e "$REMOVE_KEY" "$add"
	done
}

@test "F3: behind a fence a call by its number on 32 bit reaches no kernel key" {
	needs_landlock
	needs cc
	[ "$(uname -m)" = x86_64 ] || skip 'for x86-64'
	cat >keys.c <<-'EOF'
	#include <stdio.h>
	int main(void) {
		long result;
		/* keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0) */
		__asm__ volatile ("int $0x80" : "=a" (result)
		    : "a" (288), "b" (0), "c" (-4), "d" (0) : "memory");
		printf("%d\n", (int)result > 0 ? 1 : (int)result);
		return 0;
	}
	EOF
	cc -o keys keys.c
	[ "$(./keys)" = 1 ] || skip 'no keys, or no calls on 32 bit'
	boris --write=in
	run_bash ./keys
	is "$(plain stdout)" -38  # ENOSYS
}

@test "F3: root behind --write cannot open a file by its handle" {
	needs_landlock
	needs_root
	boris --write=in
	run_bash 'grep CapBnd /proc/self/status'
	hex=$(plain stdout)
	# CAP_DAC_READ_SEARCH, without which the kernel refuses that
	is $((0x${hex##*[[:space:]]} & 4)) 0
}

@test "F3: what the client left open is closed" {
	needs_linux
	exec 5<>never
	wrap=(bash -c 'exec 11<>never 200<. "$0" "$@"')
	boris
	run_bash 'ls -l /proc/self/fd'
	lacks "$(plain stdout)" never
	lacks "$(ls -l "/proc/$server/fd")" never
	[ ! -e "/proc/$server/fd/200" ]
}

@test "F3: without mount namespaces --hide is refused" {
	setup_hidden
	why='boris: --hide: requires a* namespace*: *'
	refuses_where unshare:error=EPERM "${hide[@]}"
	refuses_where mount:error=EPERM "${hide[@]}"
	refuses_where mkdir:error=ENOSPC "${hide[@]}"
	refuses_where umount2:error=EBUSY "${hide[@]}"
	why="boris: --hide=$PWD/secrets/dir: *"
	refuses_where mount:error=EPERM:when=4 "${hide[@]}"
	why="boris: --hide=$PWD/secrets/p/file: *"
	refuses_where mount:error=EPERM:when=5 "${hide[@]}"
	why='boris: --hide: *: *'
	[ "$(id -u)" != 0 ] || refuses_where landlock_restrict_self:error=EPERM "${hide[@]}"
	as_other_hidden
	why='boris: --hide: requires a user namespace: *'
	refuses_where unshare:error=EPERM "${hide[@]}"
	why='boris: --hide: requires a mount namespace: *'
	refuses_where unshare:error=EPERM:when=3 "${hide[@]}"
}

@test "F3: a directory that --write needs and that can't be opened is told" {
	needs_landlock
	TMPDIR_FOR_BORIS=$PWD/nowhere
	start --write=in
	end_input
	died
	is "$status $(<err)" "1 boris: --write=$PWD/nowhere: No such file or directory"
}

# refuses_where INJECTION ARGS...: where the kernel answers so, boris ends with
# 1, has said why in a line like $why, and has neither run nor said anything
refuses_where() {
	needs strace
	strace -o /dev/null true || skip 'nothing can be traced here'
	quote "touch '$PWD/ran'"
	printf '%s\n' "$HELLO" '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash","arguments":{"command":'"$quoted"'}}}' >calls
	local before=("${wrap[@]}")
	# LeakSanitizer cannot look where strace does.
	wrap+=(env ASAN_OPTIONS=detect_leaks=0
		strace -f -o /dev/null -e inject="$1")
	filter "${@:2}" <calls >seen
	is "$1 -> $status" "$1 -> 1"
	is "$(cat seen)" ''
	is "$(wc -l <err)" 1
	like "$(<err)" "$why"
	[ ! -e ran ]
	wrap=("${before[@]}")
}

@test "F3: without Landlock, with one that is too old, or where it fails half-way, --write is refused, over HTTP too" {
	setup_fences
	why='boris: --write: requires Landlock*Linux 6.2*: *'
	refuses_where landlock_create_ruleset:error=ENOSYS --write=in
	refuses_where landlock_create_ruleset:error=EOPNOTSUPP --write=in
	refuses_where landlock_create_ruleset:error=EPERM --write=in
	refuses_where landlock_create_ruleset:retval=2:when=1 --write=in
	needs_landlock
	why='boris: --write: *: *'
	refuses_where landlock_create_ruleset:error=ENOMEM:when=2 --write=in
	why="boris: --write=$PWD/in: *"
	refuses_where landlock_add_rule:error=ENOMEM --write=in
	why='boris: --write: *: *'
	refuses_where landlock_restrict_self:error=E2BIG --write=in
	refuses_where prctl:error=EINVAL --write=in
	why='boris: --write: *: *'
	refuses_where landlock_create_ruleset:error=ENOSYS --write=in \
		--transport=http --port=0
	why='boris: --write: requires seccomp filters: *'
	refuses_where prctl:error=EINVAL:when=3 --write=in
}

@test "F3: without namespaces, or where leaving the network fails half-way, --no-network is refused" {
	needs_namespaces
	why='boris: --no-network: *: *'
	for error in EPERM ENOSYS; do
		refuses_where unshare:error=$error --no-network
	done
	refuses_where unshare:error=ENOSPC --no-network --write=in
	refuses_where socket:error=EAFNOSUPPORT --no-network
	refuses_where ioctl:error=EPERM --no-network
	refuses_where capset:error=EPERM --no-network
	for n in 2 3 4; do
		[ "$(id -u)" != 0 ] || refuses_where prctl:error=EPERM:when=$n --no-network
	done
	as_other
	[ ${#wrap[@]} = 0 ] || "${wrap[@]}" unshare -Un true ||
		skip 'no user namespace for others here'
	refuses_where unshare:error=EPERM --no-network
	refuses_where socket:error=EAFNOSUPPORT --no-network
	refuses_where write:error=EPERM:when=1 --no-network
	refuses_where write:error=EPERM:when=2 --no-network
	refuses_where write:error=EPERM:when=3 --no-network
}

@test "F3: a --write that is no directory is refused, exit 2" {
	setup_fences
	for dir in nowhere out/file '' in/nowhere; do
		for args in "--write=$dir" "--write=in --write=$dir"; do
			filter $args </dev/null >seen
			is "$args -> $status" "$args -> 2"
			is "$(cat seen)" ''
			is "$(wc -l <err)" 1
			has "$(<err)" --write
		done
	done
	for dir in nowhere ''; do
		BORIS_WRITE=$dir filter </dev/null >seen
		is "BORIS_WRITE=$dir -> $status" "BORIS_WRITE=$dir -> 2"
		has "$(<err)" BORIS_WRITE
	done
}

@test "F4: the description says where commands can write, and of the network" {
	needs_landlock
	needs_namespaces
	mkdir "in/a \"b\" c"
	boris --write="in/a \"b\" c" --no-network
	ask tools/list
	has "$(get -s result tools 0 description)" \
		"Commands can write only below $PWD/in/a \"b\" c, $PWD/tmp"
	has "$(get -s result tools 0 description)" 'Commands have no network'
	leave
	boris --write=in --write=out
	ask tools/list
	has "$(get -s result tools 0 description)" "below $PWD/in, $PWD/out, $PWD/tmp"
	lacks "$(get -s result tools 0 description)" network
	leave
	boris --no-network
	ask tools/list
	has "$(get -s result tools 0 description)" 'Commands have no network'
	lacks "$(get -s result tools 0 description)" 'Commands can write'
	leave
	mkdir a b
	"$BORIS" --hide="$PWD/a" </dev/null || skip 'no namespaces here'
	boris --hide="$PWD/a" --hide="$PWD/b"
	ask tools/list
	has "$(get -s result tools 0 description)" ' 2 paths of this host are hidden and appear empty.'
	leave
	boris --hide="$PWD/a"
	ask tools/list
	has "$(get -s result tools 0 description)" ' One path of this host is hidden and appears empty.'
	leave
	boris
	ask tools/list
	lacks "$(get -s result tools 0 description)" network
}

@test "F4: a directory with a long name is named in full, or not at all" {
	needs_landlock
	long=$(printf 'x%.0s' {1..80})
	mkdir -p "in/$long" "out/$long/$long/$long/$long"
	boris --write="in/$long"
	ask tools/list
	has "$(get -s result tools 0 description)" "below $PWD/in/$long, $PWD/tmp"
	leave
	boris --write="out/$long/$long/$long/$long"
	ask tools/list
	lacks "$(get -s result tools 0 description)" xxx
	like "$(get -s result tools 0 description)" "* below $PWD/tmp, /dev and 1 more."
}

@test "F4: long names leave the description within its limits" {
	needs_landlock
	needs_namespaces
	long=$(printf 'x%.0s' {1..200}) odd=$(printf '\001\377%.0s' {1..50})
	mkdir -p "in/$long/$long/$long" "in/$odd"
	few=("--write=in/$odd")
	for i in {1..40}; do
		few+=("--write=in/$long" "--write=in/$long/$long")
	done
	for truncate in head tail both; do
		boris --truncate=$truncate --no-network "${few[@]}"
		ask tools/list
		most "$(get -n result tools 0 description)" 1799
		most ${#reply} 7168
		like "$(get -s result tools 0 description)" '* [0-9]* more*'
		leave
	done
}

@test "F4: without bash the description of edit names the fences, and no commands" {
	needs_landlock
	needs_namespaces
	mkdir d
	echo x >hidden
	boris --edit --no-bash --write=d --hide=hidden --no-network
	ask tools/list
	has "$(get -s result tools 0 description)" " One path of this host is hidden and appears empty. Files can be changed only below $PWD/d,"
	lacks "${reply,,}" command
}
