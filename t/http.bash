# http.bash: the words for boris over HTTP, beside those of helper.bash. Each
# connection has a name of the test's choice; bash itself speaks TCP.
# shellcheck shell=bash disable=SC2034,SC2154

load helper

port=0
declare -gA wire=()  # descriptors, by connection
declare -gA visit=() # Mcp-Session-Id, by connection
declare -gA pieces=() # of a stream, read and not yet looked at
http='' head='' body='' line='' comments=0 written=0

MODERN='MCP-Protocol-Version: 2026-07-28'

# serve ARGS...: a server that listens, on a port of its own: $port; fails where
# it can't
serve() {
	rm -f err # the one of a server before
	start --transport=http --port=0 "$@" && eventually listens_or_not || return
	port=$(sed -n 's|^boris: listening on \(http://.*\)/mcp$|\1|p' err)
	[ -n "$port" ] || return
	port=${port##*[:/]}
	[[ $port == [0-9]* && $port != *.* ]] || port=80
}

# listens_or_not: the server listens, or has ended
listens_or_not() {
	grep -qs '^boris: listening on' err || exited
}

# leave: what helper.bash does by closing stdin, a signal does here
leave() {
	kill "$server"
	died
	# Teardown wants to see that nothing else was said.
	grep -v '^boris: \(listening on\|generated token:\) ' err >said || :
	mv said err
}

# plug PEER...: connects
plug() {
	local fd peer
	for peer; do
		exec {fd}<>"/dev/tcp/127.0.0.1/$port" || return
		wire[$peer]=$fd
	done
}

# unplug PEER...: hangs up
unplug() {
	local fd peer
	for peer; do
		fd=${wire[$peer]}
		exec {fd}>&-
		# shellcheck disable=SC2184
		unset "wire[$peer]"
	done
}

# put PEER TEXT: writes that; $written counts the bytes
put() {
	written=$((written + ${#2}))
	printf '%s' "$2" >&"${wire[$1]}"
}

# asks PEER VERB PATH [HEADER]... [-- BODY]: writes a request
asks() {
	local peer=$1 text="$2 $3 HTTP/1.1"$'\r\n' host="Host: 127.0.0.1:$port"
	shift 3
	while (($# > 0)) && [ "$1" != -- ]; do
		case $1 in
		Host:*) host='' ;;
		esac
		text+=$1$'\r\n'
		shift
	done
	[ -z "$host" ] || text+=$host$'\r\n'
	# With a newline at its end bash writes all of it at once: the second of
	# two small segments waits 40 ms for the first one's acknowledgement.
	local body=${2:+$2$'\n'}
	[ "${1-}" != -- ] || text+="Content-Length: ${#body}"$'\r\n'
	put "$peer" "$text"$'\r\n'"$body"
}

# post PEER BODY [HEADER]...: writes a message, in the peer's session
post() {
	local peer=$1 text=$2
	shift 2
	asks "$peer" POST /mcp 'Content-Type: application/json' \
		'Accept: application/json, text/event-stream' \
		${visit[$peer]:+"Mcp-Session-Id: ${visit[$peer]}"} "$@" -- "$text"
}

# asked, posted, modern_posted PEER ...: asks, post and modern_post, and takes the
# response
asked() {
	asks "$@" && takes "$1"
}

posted() {
	post "$@" && takes "$1"
}

modern_posted() {
	modern_post "$@" && takes "$1"
}

# line_of PEER [SECONDS]: takes a line into $line
line_of() {
	IFS= read -rt $((${2:-20} * SLOW)) -u "${wire[$1]}" line ||
		fail "$1 hears nothing; stderr: $(<err)" || return
	line=${line%$'\r'}
}

# bytes_of PEER N: takes N bytes into $line
bytes_of() {
	line=''
	[ "$2" = 0 ] || IFS= read -rt $((20 * SLOW)) -N "$2" -u "${wire[$1]}" line ||
		fail "$1 hears too little: $line"
}

# heads PEER [SECONDS]: takes the head of a response: $http is its status
heads() {
	line_of "$@" || return
	like "$line" 'HTTP/1.1 [1-5][0-9][0-9] *' || return
	http=${line:9:3} head='' body=''
	while line_of "$1" && [ -n "$line" ]; do
		head+=$line$'\n'
	done
	pieces[$1]=''
}

# note: teardown will look at the reply; HTTP wants errors without an id
note() {
	[[ $reply != *'"id":'* && $reply != *'"method":'* ]] ||
		printf '%s\n' "$reply" >>heard
}

# takes PEER [SECONDS]: takes a response, the $body too if it is no stream
takes() {
	heads "$@" && bytes_of "$1" "$(header Content-Length || echo 0)" || return
	body=$line
	case $(header Content-Type) in
	application/json)
		reply=$body
		note
		;;
	esac
}

# header NAME: its value in the response; fails where there is none
header() {
	local name=${1,,} row
	while IFS= read -r row; do
		if [[ ${row,,} == "$name: "* ]]; then
			printf '%s\n' "${row:${#name}+2}"
			return
		fi
	done <<<"$head"
	return 1
}

# chunk PEER: takes a chunk of a stream; fails after the last
chunk() {
	line_of "$1" || return
	local size=$((16#$line))
	if [ $size = 0 ]; then
		line_of "$1"
		return 1
	fi
	bytes_of "$1" $size || return
	pieces[$1]+=$line
	line_of "$1" && is "$line" ''
}

# event PEER: takes the next message of a stream into $reply; comments are
# counted; fails at the end
event() {
	local row
	while :; do
		until [[ ${pieces[$1]} == *$'\n'* ]]; do
			chunk "$1" || return
		done
		row=${pieces[$1]%%$'\n'*}
		pieces[$1]=${pieces[$1]#*$'\n'}
		case $row in
		:*) comments=$((comments + 1)) ;;
		data:\ *)
			reply=${row#data: }
			note
			return
			;;
		esac
	done
}

# last_event PEER: takes the rest of a stream; the last message is $reply
last_event() {
	local last=''
	while event "$1"; do
		last=$reply
	done
	reply=$last
	isnt "$last" ''
}

# answers PEER: takes the answer to a message, be it JSON or a stream
answers() {
	heads "$1" || return
	if [ "$(header Content-Type)" = text/event-stream ]; then
		last_event "$1"
	else
		bytes_of "$1" "$(header Content-Length || echo 0)" || return
		body=$line reply=$line
		note
	fi
}

# hung_up PEER [SECONDS]: the server closes the connection, saying no more
hung_up() {
	local status=0
	IFS= read -rt $((${2:-5} * SLOW)) -N 1 -u "${wire[$1]}" line || status=$?
	is "status $status: $line" 'status 1: '
}

# enter PEER...: connects, and opens a session
enter() {
	local peer
	for peer; do
		visit[$peer]=''
		plug "$peer" && post "$peer" "$HELLO" && takes "$peer" &&
			is "$http" 200 || return
		visit[$peer]=$(header Mcp-Session-Id) || return
		post "$peer" '{"jsonrpc":"2.0","method":"notifications/initialized"}'
		takes "$peer" && is "$http" 202 || return
	done
}

# joins PEER HOST: another connection in that one's session
joins() {
	plug "$1" && visit[$1]=${visit[$2]}
}

# message METHOD [PARAMS]: sets $message to a request; $id is its id
message() {
	id=$((++calls))
	message='{"jsonrpc":"2.0","id":'$id',"method":"'$1'"'${2:+,\"params\":$2}'}'
}

# tool NAME ARGUMENTS [META]: sets $message to a call
tool() {
	message tools/call \
		'{"name":"'"$1"'","arguments":'"$2${3:+,\"_meta\":{$3\}}"'}'
}

# bash_call COMMAND [ARGUMENTS [META]]: sets $message to a call of bash
bash_call() {
	local more=${2-}
	quote "$1"
	more=${more#\{}
	more=${more%\}}
	tool bash '{"command":'"$quoted${more:+,$more}"'}' ${3+"$3"}
}

# runs PEER COMMAND [ARGUMENTS [META]]: posts a call of bash
runs() {
	local peer=$1
	shift
	bash_call "$@"
	post "$peer" "$message"
}

# ran PEER COMMAND [ARGUMENTS]: a call of bash and its answer
ran() {
	runs "$@" && answers "$1"
}

# used, modern_used PEER TOOL ARGUMENTS: a call of it and its answer
used() {
	tool "$2" "$3"
	post "$1" "$message" && answers "$1"
}

modern_used() {
	tool "$2" "$3" "$META"
	modern_post "$1" && answers "$1"
}

# pings PEER: the connection still serves
pings() {
	message ping
	post "$1" "$message" && takes "$1" && is "$http $(get result)" '200 {}'
}

# modern_post PEER [HEADER]...: posts $message, whose _meta has $META, with the
# headers it has to have
modern_post() {
	local peer=$1 method name
	shift
	method=$("$HERE/reply" -s method <<<"$message")
	name=$("$HERE/reply" -s params name <<<"$message") || name=''
	post "$peer" "$message" "$MODERN" "Mcp-Method: $method" \
		${name:+"Mcp-Name: $name"} "$@"
}

# modern_runs PEER COMMAND [ARGUMENTS]: posts a modern call of bash
modern_runs() {
	bash_call "$2" "${3-}" "$META"
	modern_post "$1"
}

# modern_ran PEER COMMAND [ARGUMENTS]: and its answer
modern_ran() {
	modern_runs "$@" && answers "$1"
}

# refused_at_start STATUS ARGS...: boris ends at once; one line says why
refused_at_start() {
	filter --transport=http "${@:2}" </dev/null >out
	is "${*:2} -> $status" "${*:2} -> $1"
	is "$(wc -c <out | tr -d ' ') bytes on stdout" '0 bytes on stdout'
	is "$(wc -l <err | tr -d ' ') lines on stderr" '1 lines on stderr'
}
