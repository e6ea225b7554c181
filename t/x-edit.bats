#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# X: editing
# shellcheck disable=SC2011,SC2012,SC2016,SC2030,SC2031,SC2034,SC2059,SC2086,SC2154

load helper

# edit PATH NEW [OLD [MORE]]: a call of edit with JSON strings, and its answer
edit() {
	run_tool edit '{"path":"'"$1"'","new":'"$2${3:+,\"old\":$3}${4:+,$4}"'}'
}

# said PATTERN: the reply is a result that tells the model something like that
said() {
	is "$(get result isError)" false &&
		like "$(get -s result content 0 text)" "$1"
}

# holds FILE TEXT: these bytes and no others (printf's escapes)
holds() {
	is "$(od -An -c "$1")" "$(printf "$2" | od -An -c)"
}

# only DIR FILE...: nothing else is in there
only() {
	local dir=$1
	shift
	is "$(ls -A "$dir" | xargs)" "$*"
}

# inode FILE: its number
inode() {
	ls -i "$1" | sed 's/^ *\([0-9]*\).*/\1/'
}

@test "X1, B6: edit is offered only with --edit" {
	boris
	ask tools/list
	is "$(get result tools 2)" ''
	lacks "$(get result tools 0 description)" 'with edit'
	edit f '"x"'
	is "$(code)" -32602
	lacks "$(get error message)" 'edit ('
	run_bash true '{"path":"f"}'
	refused 'unknown argument "path"; *'
	leave
	is "$status$(<err)" 0
	boris --edit
	ask tools/list
	is "$(get -s result tools 2 name)" edit
	most ${#reply} 8192
	most "$(get -n result tools 0 description)" 1799
	has "$(get result tools 0 description)" 'use the edit tool'
	lacks "$(get result tools 0 description)" 'cat >'
	run_bash true '{"path":"f"}'
	refused 'unknown argument "path" (an argument of edit); *'
	edit f '"x"'
	said "$PWD/f: created"
}

@test "X1: with --no-bash and BORIS_EDIT=1, edit is the only tool" {
	export BORIS_EDIT=1
	boris --no-bash
	is "$(get -s result instructions)" "Use the edit tool to create and change files on this server's host."
	ask tools/list
	is "$(get -s result tools 0 name)$(get result tools 1)" edit
	run_tool bash '{"command":"touch ran"}'
	is "$(code)" -32602
	has "$(get error message)" 'available tools: edit'
	edit f '"x"'
	said "$PWD/f: created"
	edit f '"y"' '"x"'
	said "$PWD/f: text replaced in line 1"$'\n\n1\ty'
	holds f y
	[ ! -e ran ]
}

@test "X1: all replaces every occurrence of old" {
	boris --edit
	printf 'a b a\na.*b\n' >f
	edit f '"X"' '"a.*b"'
	said '*: text replaced in line 2*'
	holds f 'a b a\nX\n'
	edit f '"c"' '"a"'
	refused '*old occurs 2 times, in lines 1, 1; *'$'\n\n1\ta b a\n2\tX'
	edit f '"c"' '"a"' '"all":true'
	said '*: text replaced 2 times, in lines 1, 1*'
	holds f 'c b c\nX\n'
	edit f '""' '"c b c\n"' '"all":true'
	holds f 'X\n'
}

@test "X1: a call of edit without old creates a file" {
	boris --edit
	edit f '"one\ntwo"'
	said "$PWD/f: created"
	holds f 'one\ntwo'
	edit f '"x"' null
	refused '*File exists*'
	ln -s nowhere dangling
	edit dangling '"x"'
	refused '*File exists*'
	edit no/f '"x"'
	refused "$PWD/no/f: the file was not created: No such file*"
	edit empty '""'
	holds empty ''
	edit empty '"x"'
	said "$PWD/empty: created*"
	holds empty x
	holds f 'one\ntwo'
}

@test "P4: with --no-bash, the error about an unknown tool does not name bash" {
	boris --edit --no-bash
	for name in Bash KillShell KillBash TaskOutput write_stdin bash; do
		run_tool $name '{}'
		is "$(get -s error message)" 'unknown tool "'$name'"; available tools: edit'
	done
}

@test "P4: the error about a foreign tool that edits files names edit" {
	boris --edit
	for name in Edit MultiEdit Write str_replace; do
		run_tool $name '{}'
		like "$(get -s error message)" "unknown tool \"$name\"; use edit *"
	done
	leave
	boris
	run_tool Edit '{}'
	lacks "$(get -s error message)" 'use edit'
}

@test "X1: the error about a wrong argument of edit says what would be valid" {
	boris --edit
	echo x >f
	edit f '"x"' '""'
	refused '*File exists*'
	edit f '"x"' '"x"'
	refused 'old and new are identical*'
	run_tool edit '{"new":"x"}'
	refused 'argument "path" is missing*'
	run_tool edit '{"path":"f"}'
	refused 'argument "new" is missing*'
	edit '' '"x"'
	refused 'argument "path" must be *'
	edit 'f\u0000' '"x"'
	refused 'argument "path" must be *'
	run_tool edit '{"path":"f","text":"x","command":"y","new":""}'
	refused 'unknown arguments "text", "command" (an argument of bash); edit accepts path, old, new, all'
	edit f 1 '"x"'
	refused 'argument "new" must be a string*'
	holds f 'x\n'
}

@test "X2: an edit waits for the commands before it" {
	boris --edit
	mkdir d
	call_bash 'cd d; read <../gate; printf b >f'
	call edit '{"path":"f","old":"b","new":"c"}'
	edited=$id
	call edit '{"path":"f2","new":"x"}'
	cancel $id
	call_bash 'cat f; pwd; ls'
	in_turn
	release
	answer $edited
	said "$PWD/d/f: text replaced*"
	answer $((edited + 2))
	is "$(plain stdout)" "c$PWD/d"$'\n'f
	leave
	unanswered $((edited + 1))
}

@test "X2: an edit keeps bytes that are not UTF-8" {
	boris --edit
	printf '\377\0a\tb\n\300x' >f
	edit f '"c"' '"a\tb"'
	holds f '\377\0c\n\300x'
	edit f '"d\u0000"' '"\u0000c\n"'
	holds f '\377d\0\300x'
}

@test "X2: a newline in old matches CRLF" {
	boris --edit
	printf 'a\r\nb\r\nc\r\n' >f
	edit f '"1\n2\r\n3\n"' '"a\nb\n"'
	said '*: text replaced in line 1*'
	holds f '1\r\n2\r\n3\r\nc\r\n'
	printf 'a\r\nb\r\nc\r\nd\r\nx\ny\n' >f
	edit f '"z"' '"x\ny"'
	said '*text replaced in line 5*'
	holds f 'a\r\nb\r\nc\r\nd\r\nz\n'
	printf 'a\nb\r\nc\n' >f
	edit f '"x\ny"' '"b\r\nc"'
	holds f 'a\nx\ny\n'
}

@test "X2: matches with LF and with CRLF are counted together" {
	boris --edit
	printf 'a\r\nb\r\na\nb\n' >f
	edit f '"x\ny"' '"a\nb"'
	refused '*old occurs 2 times, in lines 1, 3; *'
	edit f '"x\ny\nz"' '"a\nb"' '"all":true'
	said '*: text replaced 2 times, in lines 1, 4*'
	holds f 'x\r\ny\r\nz\r\nx\ny\nz\n'
	printf 'a\r\nb\na\nb\r\n' >f
	edit f '"x\ny\nz\n"' '"a\nb\n"' '"all":true'
	holds f 'x\r\ny\nz\nx\ny\r\nz\r\n'
}

@test "X2: a match that starts or ends with a newline includes the complete CRLF" {
	boris --edit
	printf 'a\r\nb\r\nc\n' >f
	edit f '"\nB"' '"\nb"'
	holds f 'a\r\nB\r\nc\n'
	edit f '""' '"\nB"'
	holds f 'a\r\nc\n'
	edit f '"-"' '"\n"' '"all":true'
	holds f 'a-c-'
}

@test "X2: a line that is added within a line has the ending of that line" {
	boris --edit
	printf 'a\r\nb\nc\r\nd' >f
	edit f '"1\n2"' '"a"'
	edit f '"3\n4"' '"b"'
	edit f '"5\n6"' '"d"'
	holds f '1\r\n2\r\n3\n4\nc\r\n5\r\n6'
	printf 'x x\r\nx x\n' >f
	edit f '"y\n"' '"x"' '"all":true'
	holds f 'y\r\n y\r\n\r\ny\n y\n\n'
	printf a >f
	edit f '"1\n2"' '"a"'
	holds f '1\n2'
}

@test "X2: line endings can be changed if old contains CRLF" {
	boris --edit
	printf 'a\r\nb\nc\r\n' >f
	edit f '"\n"' '"\r\n"' '"all":true'
	said '*: text replaced 2 times, in lines 1, 3*'
	holds f 'a\nb\nc\n'
	edit f '"b\r\nc"' '"b\nc"'
	holds f 'a\nb\r\nc\n'
	edit f '"x\ny"' '"a\nb\r\nc"'
	holds f 'x\ny\n'
}

@test "X2: a CR in old matches a CR in the file" {
	boris --edit
	printf 'a\nx\r\nb\r\n' >f
	edit f '"y"' '"a\nx\r"'
	holds f 'y\nb\r\n'
	printf 'a\rb\nc\r\r\nd' >f
	edit f '"1"' '"\rb\nc\r\r\n"'
	holds f 'a1d'
}

@test "X2: a CR before a line ending in old does not match the CR of a CRLF" {
	boris --edit
	printf 'a\r\n\r\nb\n\r\r\nc' >f
	edit f '"1"' '"\n\r\r\n"'
	said '*: text replaced in line 3*'
	holds f 'a\r\n\r\nb1c'
}

@test "X3: an edited file keeps its mode and owner" {
	boris --edit
	mkdir d
	echo a=1 >d/f
	chmod 640 d/f
	[ "$(id -u)" != 0 ] || chown 1234:4321 d/f
	before=$(ls -ln d/f | cut -c 1-30) number=$(inode d/f)
	edit d/f '"2"' '"1"'
	holds d/f 'a=2\n'
	is "$(ls -ln d/f | cut -c 1-30)" "$before"
	isnt "$(inode d/f)" "$number"
	only d f
}

@test "X3: a symbolic link remains a link after an edit of its target" {
	boris --edit
	mkdir real etc
	echo a=1 >real/f
	ln -s ../real/f etc/f
	edit etc/f '"2"' '"1"'
	said "$PWD/real/f: text replaced in line 1*"
	holds real/f 'a=2\n'
	is "$(readlink etc/f)" ../real/f
	only etc f
	only real f
	echo a=1 >f
	ln f g
	edit f '"longer than it was"' '"1"'
	holds g 'a=longer than it was\n'
	edit g '""' '"a=longer "'
	holds f 'than it was\n'
	is "$(inode f)" "$(inode g)"
}

@test "X3: only a writable regular file can be edited" {
	boris --edit
	mkdir d
	echo a >f
	chmod 444 f
	edit d '"x"' '"a"'
	refused "$PWD/d: the file was not changed: Is a directory"
	edit /dev/null '"x"' '"a"'
	refused '/dev/null: *must name a regular file'
	edit gate '"x"' '"a"'
	refused '*must name a regular file'
	edit f '"x"' '"a"'
	refused '*Permission denied*'
	edit none '"x"' '"a"'
	refused "$PWD/none: the file was not changed: No such file*"
	holds f 'a\n'
}

@test "X3: an edit is rejected if the file has more than 16 MiB before or after it" {
	boris --edit
	head -c 16777216 /dev/zero | tr '\0' a >f
	edit f '"aa"' '"a"' '"all":true'
	refused '*at most 16 MiB, before and after the edit'
	printf b >>f
	edit f '""' '"ab"'
	refused '*at most 16 MiB, before and after the edit'
	is "$(wc -c <f | xargs)" 16777217
}

@test "X3: a file is not changed if the disk is full" {
	needs_root
	needs unshare mount
	unshare -m true || skip 'no mount namespaces here'
	mkdir d
	wrap=(unshare -m sh -c 'mount -t tmpfs -o size=64k none d &&
		head -c 20000 /dev/zero | tr "\0" a >d/f && echo END >>d/f &&
		cp d/f d/h && ln d/h d/g && { cat /dev/zero >d/fill; :; } 2>/dev/null
		exec "$@"' sh)
	boris --edit
	edit d/f '"x"' '"END"'
	refused '*No space left on device'
	long=$(printf %09000d 0)
	edit d/g "\"$long\"" '"END"'
	refused '*No space left on device'
	edit d/new "\"$long\""
	refused '*No space left on device'
	run_bash 'ls -A d | xargs; wc -c <d/f; cmp d/f d/g; tail -c 4 d/g'
	is "$(plain stdout)" $'f fill g h\n20004\nEND'
	edit d/g '"SAME"' '"aEND"'
	said '*replaced*'
}

@test "X3: the error about a read-only file gives the system's reason" {
	needs_root
	needs unshare mount
	unshare -m true || skip 'no mount namespaces here'
	mkdir d
	wrap=(unshare -m sh -c 'mount -t tmpfs none d && echo a >d/f &&
		mount -o remount,ro d; exec "$@"' sh)
	boris --edit
	edit d/f '"x"' '"a"'
	refused '*Read-only file system'
	edit d/new '"x"'
	refused '*Read-only file system'
	echo a >f
	chattr +i f || skip 'no immutable files here'
	edit f '"x"' '"a"'
	chattr -i f
	refused '*Operation not permitted*'
	holds f 'a\n'
}

@test "X3: a file is written in place if a new file cannot replace it" {
	needs_root
	needs unshare mount setpriv
	unshare -m true || skip 'no mount namespaces here'
	mkdir d
	echo a >d/f
	echo b >d/bound
	echo b >bound
	chmod 755 d
	chmod 666 d/f
	wrap=(unshare -m sh -c 'mount --bind bound d/bound; exec "$@"' sh)
	boris --edit
	edit d/bound '"c"' '"b"'
	said '*replaced*'
	only d bound f
	leave
	holds bound 'c\n'
	[ "$BORIS" -ef boris ] || cp "$BORIS" boris
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" .. . boris 2>/dev/null || :
	chmod 777 tmp
	BORIS=$PWD/boris
	wrap=(setpriv --reuid=54321 --regid=54322 --clear-groups)
	"${wrap[@]}" test -x "$BORIS" || skip 'no other user may come here'
	boris --edit
	number=$(inode d/f)
	edit d/f '"b"' '"a"'
	said '*replaced*'
	holds d/f 'b\n'
	is "$(inode d/f) $(ls -ln d/f | awk '{print $3}')" "$number 0"
	edit d/new '"b"'
	refused '*Permission denied*'
	only d bound f
}

# edit_swapping A B ARGUMENTS: eight edits while these names change places
edit_swapping() {
	needs perl
	rm -f stop swaps
	perl -e '($a, $b) = @ARGV; $n = `uname -m` =~ /x86_64/ ? 316 : 276; $p = getppid();
		syscall($n, -100, $a, -100, $b, 2) and exit; print "x"; close(STDOUT);
		until (-e "stop" || getppid() != $p) { syscall($n, -100, $a, -100, $b, 2) for 1 .. 500 }' \
		"$1" "$2" >swaps 3>&- 6>&- 7>&- 8>&- 9>&- &
	eventually test -s swaps 2>&- || skip 'names cannot be exchanged here'
	for m in {1..8}; do run_tool edit "$3"; done
	touch stop
	wait $!
}

@test "X3: a file that is swapped with a link does not receive the text of another file" {
	boris --edit
	mkdir d
	echo 'a secret' >secret
	for n in {1..10}; do
		rm -rf d/*
		echo 'a file' >d/f
		ln -s ../secret d/g
		edit_swapping d/f d/g '{"path":"d/f","old":"a","new":"ya"}'
		is "$(find d -type f -exec grep -H secret {} +)" ''
	done
}

@test "X3: a directory that is swapped with a link keeps its own file" {
	boris --edit
	mkdir d theirs
	for n in {1..8}; do
		rm -rf d/*
		mkdir d/ours
		echo 'a of ours' >d/ours/f
		echo 'a of theirs' >theirs/f
		ln -s ../theirs d/link
		edit_swapping d/ours d/link '{"path":"d/ours/f","old":"a","new":"ya"}'
		[ -L d/link ] || { rm d/ours && mv d/link d/ours; }
		is "$(find d/ours theirs ! -type d | xargs)" 'd/ours/f theirs/f'
		like "$(<d/ours/f) $(<theirs/f)" '*a of ours *a of theirs'
	done
}

@test "X3: a change by another program during an edit is not lost" {
	boris --edit
	mkdir d
	yes 'a line' | head -c 4000000 >was
	shopt -s dotglob
	for n in {1..6}; do
		{ cat was; echo end; } >d/f
		chmod 644 d/f
		call edit '{"path":"d/f","old":"end","new":"END"}'
		# Until the new file is there, and being written; or all is over.
		until files=(d/*) && ((${#files[@]} > 1)) || read -rt 0 -u 8; do :; done
		if ((n % 2)); then echo appended >>d/f; else chmod 600 d/f; fi
		answer
		case $((n % 2)) in
		1) is "$(tail -n 1 d/f)" appended ;;
		0) is "$(stat -c %a d/f)" 600 ;;
		esac
		[ "$(get result isError)" = false ] || refused "$PWD/d/f: *"
		only d f
	done
}

@test "X3: text that is appended after the last check is not lost" {
	needs strace
	strace -o /dev/null true || skip 'nothing can be traced here'
	# LeakSanitizer cannot look where strace does.
	wrap=(env ASAN_OPTIONS=detect_leaks=0 strace -f -o /dev/null -e inject=fsync:delay_enter=300000
		-e inject=?renameat,?renameat2:delay_exit=500000)
	boris --edit
	for new in longer s six; do
		printf '%s\n' a old end >f
		ln -f f g
		call edit '{"path":"f","old":"old","new":"'$new'"}'
		sleep 0.15 # until room is made
		echo appended >>g
		answer
		is "$(xargs <f)" "a $new end appended"
	done
	rm g
	exec 5>>f
	call edit '{"path":"f","old":"six","new":"so"}'
	until grep -q so f; do :; done
	truncate -s 100M /dev/fd/5
	answer
	exec 5>&-
	most "$(du -k f | cut -f 1)" 40000
}

# edit_line NAME: another boris makes one edit, in the background: the line NAME
# of the file f becomes "NAME done"; what it answers is in the file NAME
edit_line() {
	local edit='{"path":"f","old":"'$1'\n","new":"'$1' done\n"}'
	printf '%s\n' "$HELLO" \
		'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"edit","arguments":'"$edit"'}}' >"in.$1"
	# shellcheck disable=SC2086
	TEST_MARK="$PWD:" $WRAP "$BORIS" --edit <"in.$1" >"$1" 2>"err.$1" 7>&- 8>&- 9>&- &
}

@test "X3: simultaneous edits of a file by several boris processes are all made" {
	for round in {1..20}; do
		printf '%s\n' a b c >f
		# From the eleventh round on the file has two names.
		((round < 11)) || ln -f f g
		for name in a b c; do edit_line $name; done
		wait
		holds f 'a done\nb done\nc done\n'
		is "$(cat a b c | grep -c '"text":"[^"]*: text replaced in line')" 3
	done
}

@test "X3: a file that stays locked is not edited" {
	needs_linux_parts
	needs flock
	boris --edit
	echo a >f
	exec 5<f
	flock 5
	edit f '"b"' '"a"'
	refused "$PWD/f: the file was not changed, because another program has locked it; try again later"
	holds f 'a\n'
	flock -u 5
	edit f '"b"' '"a"'
	said '*replaced*'
}

# locked FILE: holds a lock on it until unlocked
locked() {
	needs_linux_parts
	needs flock
	echo a >"$1"
	exec 5<"$1"
	flock 5
}

unlocked() {
	flock -u 5
	exec 5<&-
}

@test "X5: boris answers other requests while an edit waits for a lock" {
	boris --edit
	locked f
	call edit '{"path":"f","old":"a","new":"b"}'
	edited=$id
	ask ping
	run_bash 'echo parallel' '{"cwd":"/"}'
	is "$(plain stdout)" parallel
	lacks "$(<heard)" "\"id\":$edited,"
	unlocked
	answer $edited
	said '*replaced*'
	holds f 'b\n'
}

@test "X5: a command waits for an earlier edit that waits for a lock" {
	boris --edit
	locked f
	call edit '{"path":"f","old":"a","new":"b"}'
	call_bash 'cat f'
	ask ping
	unlocked
	answer $((id - 1))
	is "$(plain stdout)" b
}

@test "X5: an edit that waits for a lock can be cancelled" {
	boris --edit --log=log
	locked f
	call edit '{"path":"f","old":"a","new":"b"}'
	edited=$id
	ask ping
	cancel $edited
	run_bash 'cat f'
	is "$(plain stdout)" a
	unlocked
	leave
	unanswered $edited
	holds f 'a\n'
	lacks "$(<log)" '"event":"edit"'
}

@test "X5: SIGTERM closes a session whose edit waits for a lock" {
	boris --edit
	locked f
	call edit '{"path":"f","old":"a","new":"b"}'
	edited=$id
	ask ping
	kill -TERM $server
	answer $edited
	refused 'not run, because the session was closed'
	died
	holds f 'a\n'
}

# tampered [-P FILE] CALLS: the server's edits run under strace, which tampers
# with these calls (see strace's --inject), or with those on that file alone
tampered() {
	needs_linux_parts
	needs strace
	strace -o /dev/null true || skip 'nothing can be traced here'
	# LeakSanitizer cannot look where strace does.
	wrap=(env ASAN_OPTIONS=detect_leaks=0 strace -f -o trace)
	if [ "$1" = -P ]; then
		wrap+=(-P "$PWD/$2")
		shift 2
	fi
	local inject
	for inject; do wrap+=(-e "inject=$inject"); done
	boris --edit
}

# meanwhile CALL COMMAND: runs the command once the call has begun, and waits for
# the edit's answer
meanwhile() {
	eventually grep -q "$1(" trace
	eval "$2"
	answer
}

@test "X3: an edit is undone if the file was replaced just before the exchange" {
	tampered renameat2:delay_enter=500000:when=1
	printf 'one\ntwo\n' >f
	echo 'of another program' >other
	call edit '{"path":"f","old":"two","new":"2"}'
	meanwhile renameat2 'mv other f'
	refused '*another program changed it during the edit; try again*'
	holds f 'of another program\n'
	lacks "$(ls -A)" .boris-
}

@test "X3: an edit is undone if the file was changed just before the exchange" {
	for change in 'printf ONE | dd of=f conv=notrunc status=none' 'chmod 600 f' 'ln f g'; do
		tampered renameat2:delay_enter=500000:when=1
		printf 'one\ntwo\n' >f
		chmod 644 f
		number=$(inode f)
		call edit '{"path":"f","old":"two","new":"2"}'
		meanwhile renameat2 "$change"
		refused '*another program changed it during the edit; try again*'
		is "$(tail -n 1 f) $(inode f)" "two $number"
		leave
		rm trace
	done
	lacks "$(ls -A)" .boris-
}

@test "X3: text that is appended while an exchange is undone is kept" {
	tampered renameat2:delay_exit=500000:when=1
	printf 'one\ntwo\n' >f
	exec 5<>f
	call edit '{"path":"f","old":"two","new":"2"}'
	meanwhile renameat2 'until grep -q 2 f; do :; done; echo appended >>f; echo ONE >&5'
	exec 5>&-
	refused '*another program changed it during the edit; try again*'
	holds f 'ONE\ntwo\nappended\n'
}

@test "X3: a file is edited even if the kernel cannot exchange names" {
	tampered renameat2:error=ENOSYS
	printf 'one\ntwo\n' >f
	edit f '"2"' '"two"'
	said '*text replaced in line 2*'
	holds f 'one\n2\n'
	edit new '"x"'
	said '*created'
	holds new x
	lacks "$(ls -A)" .boris-
}

@test "X3: an edit in place is not made if the file was changed meanwhile" {
	tampered fsync:delay_enter=500000:when=1
	printf 'one\ntwo\n' >f
	ln f g
	call edit '{"path":"f","old":"two","new":"more than two"}'
	meanwhile fsync 'printf ONE | dd of=f conv=notrunc status=none; echo appended >>f'
	refused '*another program changed it during the edit; try again*'
	holds f 'ONE\ntwo\nappended\n'
}

@test "X3: an edit in place writes only the bytes that differ" {
	tampered fsync:delay_enter=500000:when=1
	printf 'one\ntwo\nthree\n' >f
	ln f g
	call edit '{"path":"f","old":"two","new":"TWO"}'
	meanwhile fsync 'printf ONE | dd of=f conv=notrunc status=none'
	said '*replaced*'
	holds f 'ONE\nTWO\nthree\n'
}

@test "X3: an edit in place that fails keeps text that others have appended" {
	for new in 'more than two' 2 TWO; do
		printf 'one\ntwo\n' >f
		tampered -P f pwrite64:error=EIO:delay_enter=500000:when=1
		ln -f f g
		call edit '{"path":"f","old":"two","new":"'"$new"'"}'
		meanwhile pwrite64 'echo appended >>f'
		refused "$PWD/f: the file was not changed: Input/output error"
		holds f 'one\ntwo\nappended\n'
		leave
		rm trace
	done
}

@test "X6: an edit that shortens a file in place keeps text appended just before" {
	tampered -P f pread64:delay_exit=500000:when=5
	printf 'one\ntwo\n' >f
	ln f g
	call edit '{"path":"f","old":"two","new":"2"}'
	fifth() { [ "$(grep -c 'pread64(' trace)" = 5 ]; }
	eventually fifth
	echo appended >>f
	answer
	said '*replaced*'
	holds f 'one\n2\nappended\n'
}

@test "X1: an empty file of another user is not overwritten" {
	needs_root
	boris --edit
	touch theirs own
	chown nobody theirs
	edit theirs '"a secret"'
	refused "$PWD/theirs: *exists*"
	holds theirs ''
	edit own '"a secret"'
	holds own 'a secret'
}

@test "X3: a file in /proc/sys is edited in place" {
	needs_root
	needs unshare hostname
	wrap=(unshare -u sh -c 'hostname before && [ -w /proc/sys/kernel/hostname ] && exec "$@"' sh)
	"${wrap[@]}" true || skip 'no such namespace here'
	boris --edit
	edit /proc/sys/kernel/hostname '"now"' '"before"'
	said '/proc/sys/kernel/hostname: text replaced in line 1*in place*'
	run_bash hostname
	is "$(plain stdout)" now
}

@test "X3: a file is either old or new if boris is killed during an edit" {
	needs_linux
	mkdir d
	yes 'a line of text' | head -n 200000 >old
	echo end >>old
	sed '$s/end/END/' old >new
	for n in {1..20}; do
		cp old d/f
		boris --edit
		call edit '{"path":"d/f","old":"end","new":"END"}'
		pause $n
		kill -9 $server
		died || :
		eventually alone d f 2>/dev/null
		cmp -s d/f old || cmp d/f new
	done
}

@test "F1: with --write, an edit outside of the directory is denied by the kernel" {
	needs_linux
	mkdir in out
	echo a >in/f
	echo a >out/f
	filter --write=in </dev/null >seen
	[ "$status" = 0 ] || skip "$(<err)"
	boris --edit --write=in
	edit in/f '"b"' '"a"'
	said '*replaced*'
	edit out/f '"b"' '"a"'
	refused '*Permission denied*'
	edit out/new '"b"'
	refused '*Permission denied*'
	holds in/f 'b\n'
	holds out/f 'a\n'
	only out f
	only in f
}

@test "X4: the result of an edit shows three lines before and after the change" {
	boris --edit
	seq 100 >f
	edit f '"fifty\nand more"' '"50"'
	is "$(get -s result content 0 text)" "$PWD/f: text replaced in line 50

47	47
48	48
49	49
50	fifty
51	and more
52	51
53	52
54	53"
	is "$(result text)" "$(text)"
	is "$(result status)" '"completed"'
	edit f '"0\n"' '"0\n"'
	edit f '"!\n"' '"0\n"' '"all":true'
	said '*: text replaced 9 times, in lines 10, 20, 30, 40, 61, 71, 81, 91, 101*'
	is "$(plain text | grep -c '^[0-9.]')" 22
	has "$(plain text)" $'\n13\t13\n...\n17\t17\n'
}

@test "X4: a long line is shortened in the result of an edit" {
	boris --edit
	long=$(printf %0500d 0)
	printf '\033[31m%s\rb\n' $long >f
	edit f '"B"' '"b"'
	like "$(plain text)" '*1'$'\t''[[]31m0*0...'
	most "$(plain text | tail -n 1 | wc -c)" 170
}

@test "X4: the error about a missing text shows a match that differs in white space" {
	boris --edit
	printf 'x\n\tif (a)\n\t\tb();\n' >f
	edit f '"y"' '"    if (a)\n        b();\n"'
	refused '*old not found, but text that differs only in white space occurs in line 2'$'\n\n1\tx\n2\t\tif (a)\n3\t\t\tb();'
	edit f '"y"' '"elsewhere\nx"'
	refused '*old not found*'
	lacks "$(text)" 'white space'
	seq 30 | sed s/.*/x/ >f
	edit f '"y"' '"x"'
	refused '*old occurs 30 times, in lines 1, 2, *all: true*'
}

@test "K3: the result of an edit does not exceed --result-limit" {
	boris --edit --result-limit=2000
	long=$(printf %0300d 0)
	for n in {1..20}; do echo $long; done >f
	edit f '"1\n"' '"0\n"' '"all":true'
	most "$(plain text | wc -c)" 2000
	like "$(plain text)" '*: text replaced 20 times*...'
}

@test "T8: the result of an edit reports tasks that have ended" {
	boris --edit
	start_task 'read <gate'
	release
	eventually reaped $pid
	in_turn
	edit f '"x"'
	said '*: created'$'\n'"note: task $task ended with *"
}

@test "P6: an edit of 16 MiB takes at most half a second" {
	needs_plain
	boris --edit
	head -c 16777216 /dev/zero | tr '\0' a >f
	before=$(ticks)
	edit f '"b"' '"a"' '"all":true'
	said '*: text replaced 16777216 times*'
	most $(($(ticks) - before)) $((50 * SLOW))
	a=$(printf %090000d 0 | tr 0 a)
	before=$(ticks)
	edit f '"c"' "\"$a c\""
	refused '*'
	most $(($(ticks) - before)) $((50 * SLOW))
}
