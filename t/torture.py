# SPDX-License-Identifier: ISC
#
# torture.py: the driver of t/torture. It makes the system calls of boris, of
# its guard and of its children before exec fail one by one, as well as the
# allocations whose size a peer determines, and checks that boris handles each
# failure.
#
#	torture.py [-s SECONDS] [-j JOBS] BORIS [SCENARIO...]
#	torture.py -1 BORIS SCENARIO PROCESS TIMES N
#
# BORIS must be linked with t/torture_wrap.c. Each SCENARIO (default: all) is
# first played without a failure to count its calls. Then it is played for each
# call N of each PROCESS (boris, child, guard). In one run only that call fails
# (TIMES is 1), in another one also the next nine calls that need the same
# resource (TIMES is 10). -s plays random runs for that many seconds. -1 plays
# a single run and prints its messages.
#
# The requirements (SPEC E7, E8, L3, L4): boris neither crashes nor hangs. It
# answers each request once, and each answer is true. The next request works.
# No process, zombie, file or descriptor is left. If memory runs out, or before
# its first response, boris may print one line and exit with status 1, or with
# status 2 if an option caused the error.
import ctypes, getopt, json, mmap, os, random, re, select, shutil, signal
import socket, struct, sys, time

PATIENCE = 10  # seconds to wait for any event
DENSE = 300    # number of first calls that all fail in turn; the rest is sampled
PROCESSES = ['boris', 'child', 'guard']
# struct torture in t/torture_wrap.c
CONTROL = struct.Struct('@qqqq3qq32s32s')

# Texts of boris. NO_MEMORY is the only error that can follow after a command
# has run. UNSTOPPED and UNSAVED occur in results that do not have all expected
# facts.
NO_MEMORY = 'Out of memory for the result; a task can still be read'
PARTLY_CHANGED = 'the file may be partly changed and could not be restored: '
UNSTOPPED = 'could not be stopped|still running|may still be running'
UNSAVED = r'; full output not saved: |; full output: \S+ \(incomplete: '

VERSION = 'io.modelcontextprotocol/protocolVersion'
META = {VERSION: '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {},
        'progressToken': 1}
LONG_OUTPUT = 'i=0; while [ $i -lt 9000 ]; do echo 123456789012345; ' \
              'i=$((i+1)); done'
BACKGROUND = {'run_in_background': True}

# -- Scenarios: requests and expected results ---------------------------------
#
# A step is a request (method or tool, arguments, expectations), the name of an
# action (see perform), or an option of boris. The task_id "@" stands for the
# last task. Expectations: status, code, out (stdout), file (first line of
# in/f), later (the next step does not wait for the response), retry (after an
# error, the request is repeated without failures and must succeed).


def bash(command, arguments={}, **expected):
    return ('bash', {'command': command, **arguments}, expected)


def task_output(arguments={}, retry=False, **expected):
    return ('task_output', arguments, {'retry': retry, **expected})


SCENARIOS = {
    'commands': [
        ('tools/list', {}, {'later': True}),
        bash('echo out; echo err >&2; exit 3', later=True, code=3, out='out\n'),
        bash('cd sub; pwd', later=True, code=0),
        bash('cat', {'stdin': 'text\n', 'cwd': '..'}, code=0, out='text\n')],
    'directory': [
        bash('mkdir -p a/a; cd a', code=0), bash('pwd; cd a'),
        bash('pwd', code=0)],
    'pipeline': [bash('echo hi | (read x; echo $x; exit 4) | cat', code=0,
                      out='hi\n')],
    'timeout': [
        bash("(trap '' TERM; read x <never) & echo hi; read x <never",
             {'timeout': 5000}, later=True, status='timed_out', out='hi\n'),
        ('ping', {}, {})],
    'task': [
        bash('echo one; read x <gate; echo two; exit 3', BACKGROUND,
             status='running'),
        task_output({'task_id': '@', 'wait': 3000, 'until': 'one'}),
        task_output(), 'release',
        task_output({'task_id': '@', 'wait': 100000}, True, code=3,
             out='one\ntwo\n')],
    'kill': [
        bash('echo one; read x <never', BACKGROUND, status='running'),
        ('bash', {'kill_pid': '@'}, {'status': 'killed', 'retry': True})],
    'until': [bash('echo start; echo ready >&2; read x <never',
                   {**BACKGROUND, 'until': 'ready'}, status='running')],
    'terminal': [
        bash("printf '? '; read x; echo got $x", {'tty': True}),
        ('bash', {'task_id': '@', 'input': 'seven\n'}, {'retry': True})],
    'long': [bash(LONG_OUTPUT, code=0)],
    'sized': [bash('wc -c', {'stdin': 'x' * 200000}, code=0, out='200000\n')],
    'cancel': [bash('read x <never', later=True), 'cancel',
               bash('echo on', code=0, out='on\n')],
    'modern': [bash('echo one; read -t .03 x <>never; echo two',
                    {'_meta': META}, later=True, code=0, out='one\ntwo\n'),
               ('server/discover', {'_meta': META}, {})],
    'handover': [
        '--on-timeout=background',
        bash('echo one; read x <gate; echo two', {'timeout': 1000},
             status='running', out='one\n'),
        'release',
        task_output({'task_id': '@', 'wait': 100000}, True, code=0,
             out='one\ntwo\n')],
    'left': [bash('read x <never >/dev/null 2>&1 & echo one', code=0,
                  out='one\n'),
             bash('echo two', code=0, out='two\n')],
    'end': [bash('echo one', later=True, code=0, out='one\n'),
            bash('read x <never', BACKGROUND, later=True), 'end'],
    'sigterm': [
        bash('read x <never', BACKGROUND, status='running'),
        bash("trap '' TERM; read x <never & read x <never", later=True),
        bash('echo queued', later=True), 'term'],
    'sigkill': [
        bash(LONG_OUTPUT + "; touch $TMPDIR/boris-mine; (trap '' TERM; "
             'read x <never) &'),
        bash('read x <never', BACKGROUND),
        bash('(set -m; read x <never & read x <never)', later=True), 'kill'],
    'fence': ['--write=in', bash('echo >in/x; echo >out; echo done')],
    'edit': [
        '--edit', ('edit', {'path': 'in/f', 'new': 'made\n'}, {'file': 'made'}),
        'write',
        ('edit', {'path': 'in/f', 'old': 'old', 'new': 'new'}, {'file': 'new'}),
        'write', 'link',
        ('edit', {'path': 'in/f', 'old': 'old', 'new': 'longer'},
         {'file': 'longer'})],
    'session': [
        '--transport=http', bash('cd sub; echo out', code=0, out='out\n'),
        bash('pwd', code=0), bash('echo task; exit 2', BACKGROUND),
        task_output({'task_id': '@', 'wait': 20000}, True, code=2,
                    out='task\n')],
    'stateless': [
        '--transport=http', bash('echo one; read -t .03 x <>never; echo two',
                                 {'_meta': META}, code=0, out='one\ntwo\n')],
    'http-sigterm': ['--transport=http',
                     bash('read x <never', BACKGROUND, status='running'),
                     'term'],
}
# Scenarios in which processes are still running after the last step
LEAVES = 'until terminal left end sigterm sigkill http-sigterm'.split()

# -- Processes ---------------------------------------------------------------


def read_text(path):
    try:
        with open(path, errors='replace') as file:
            return file.read()
    except OSError:
        return ''


def children_of(pid):
    return [int(child) for child in
            read_text(f'/proc/{pid}/task/{pid}/children').split()]


def is_zombie(pid):
    return ') Z ' in read_text(f'/proc/{pid}/stat')


class Violation(Exception):
    """A violated requirement, which ends the scenario"""


class Exited(Exception):
    """boris has exited, or could not read the request."""


class Run:
    def __init__(self, binary, number):
        self.binary, self.fd_max = binary, 0
        self.dir = f"{os.environ.get('TMPDIR', '/tmp')}/run{number}"
        with open(self.dir + '.control', 'wb+') as file:
            file.truncate(CONTROL.size)
            self.memory = mmap.mmap(file.fileno(), CONTROL.size)
        self.show = False

    def control(self):
        """Returns TIMES, the calls per process, the number of failed calls, and
        the name and the resource of the first one."""
        _, _, times, _, *count, failed, name, resource = \
            CONTROL.unpack(self.memory)
        return times, count, failed, *(
            s.rstrip(b'\0').decode() for s in (name, resource))

    def has_failed(self):
        return self.control()[2] > 0

    def resource(self):
        return self.control()[4]

    def end_shortage(self):
        struct.pack_into('@q', self.memory, 24, 1)

    def path(self, name):
        return f'{self.dir}/{name}'

    # Reaps the children, including those that boris leaves, since this process
    # is a subreaper. Returns whether none is left.
    def reap(self):
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return False
                if pid == self.boris:
                    self.boris, self.status = 0, status
        except ChildProcessError:
            return True

    def is_running(self):
        if self.boris:
            self.reap()
        return self.boris > 0

    def wait_for(self, condition, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.002)
        return True

    # -- Messages ----------------------------------------------

    def handle(self, line):
        if self.show:
            print('<-', line[:400])
        try:
            message = json.loads(line)
        except ValueError:
            raise Violation(f'not JSON: {line}')
        if 'method' in message:
            return  # a progress notification
        self.before_response = False
        number = message.get('id')
        if number not in self.requests:
            self.without_id += 1
            if not self.has_failed() or number is not None:
                raise Violation(f'unexpected response: {line}')
        elif number in self.responses:
            raise Violation(f'request {number} was answered twice')
        else:
            self.responses[number] = message

    # Waits at most that long for output of boris, and handles its complete
    # lines. Returns False at the end of the output.
    def read_output(self, seconds):
        if self.stdout < 0:
            return False
        if not select.select([self.stdout], [], [], seconds)[0]:
            return True
        piece = os.read(self.stdout, 65536)
        *lines, self.partial = (self.partial + piece).split(b'\n')
        if not piece:
            os.close(self.stdout)
            self.stdout = -1
            if self.partial and not self.killed:
                raise Violation('the last message is incomplete')
            return False
        for line in lines:
            self.handle(line.decode())
        return True

    def send(self, text):
        data = text.encode() + b'\n'
        while data and self.stdin >= 0:
            try:
                data = data[os.write(self.stdin, data):]
            except BlockingIOError:
                self.read_output(0.001)
            except BrokenPipeError:
                return

    # Posts a message over a new connection and handles the response.
    def post(self, headers, text):
        data = b''
        head = (f'POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n'
                f'Content-Type: application/json\r\nAccept: application/json, '
                f'text/event-stream\r\nContent-Length: {len(text)}\r\n')
        if self.session:
            head += f'Mcp-Session-Id: {self.session}\r\n'
        peer = socket.socket()
        peer.settimeout(PATIENCE)
        try:
            peer.connect(('127.0.0.1', self.port))
            peer.sendall((head + headers + '\r\n' + text).encode())
            while piece := peer.recv(65536):
                data += piece
        except TimeoutError:
            raise Violation(f'no response: {text[:300]}')
        except OSError:
            pass
        finally:
            peer.close()
        head, _, body = data.decode().partition('\r\n\r\n')
        if not head.startswith('HTTP/1.1 '):
            if self.wait_for(lambda: not self.is_running(), 1):
                raise Exited
            raise Violation('the connection was closed without a response: '
                            f'{text[:300]}')
        if found := re.search(r'Mcp-Session-Id: (\w+)', head):
            self.session = found[1]
        events = re.findall(r'^data: (\{.*\})\r?$', body, re.M)
        if not events and body.startswith('{'):
            events = [body]
        elif not events and head[9] in '45':
            self.without_id += 1
        for event in events:
            self.handle(event)

    # Sends a request and returns its number. Each command first creates a
    # file, which shows that it has run.
    def request(self, name, arguments):
        number = len(self.requests) + 1
        self.requests.add(number)
        arguments = {key: self.task if value == '@' else value
                     for key, value in arguments.items()}
        if 'command' in arguments:
            arguments['command'] = \
                f"echo >>'{self.path('ran')}.{number}'; {arguments['command']}"
        params, method, meta = arguments, name, arguments.pop('_meta', None)
        if name in ('bash', 'task_output', 'edit'):
            params = {'name': name, 'arguments': arguments}
            method = 'tools/call'
        if meta:
            params['_meta'] = meta
        text = json.dumps({'jsonrpc': '2.0', 'id': number, 'method': method,
                           'params': params})
        if self.show:
            print('->', text[:1000])
        if not self.http:
            self.send(text)
        else:
            self.post('MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: '
                      f'{method}\r\nMcp-Name: {name}\r\n' if meta else '', text)
        return number

    # Returns whether there are as many errors without an id as unanswered
    # requests. Then boris could not read these requests, so it will not answer
    # them.
    def was_unreadable(self):
        return len(self.requests - set(self.responses)) <= self.without_id

    def response(self, number):
        end = time.monotonic() + PATIENCE
        while number not in self.responses and not self.was_unreadable() and \
                not self.http and time.monotonic() < end and \
                self.read_output(0.1):
            pass
        if number not in self.responses:
            # boris may have exited in the middle of an event stream.
            if self.stdout >= 0 and not self.was_unreadable() and \
                    not self.wait_for(lambda: not self.is_running(), 1):
                raise Violation(f'request {number} was not answered')
            raise Exited
        return self.responses[number]

    # -- Checks ----------------------------------------------------------

    # Returns the text of a tool error or a protocol error, or None.
    @staticmethod
    def error_of(response):
        result = response.get('result')
        if result is None:
            return response['error']['message']
        return result['content'][0]['text'] if result.get('isError') else None

    def has_run(self, number):
        return os.path.exists(self.path(f'ran.{number}'))

    # Returns whether the request concerns one task. Its output can be read
    # again if there was no memory for the result.
    @staticmethod
    def is_about_task(step):
        names = ('run_in_background', 'tty', 'task_id', 'kill_pid')
        return step[0] in ('bash', 'task_output') and \
            any(name in step[1] for name in names)

    # Checks that a result has the expected facts, or says that some are
    # missing.
    def check_result(self, number, response, step):
        _, arguments, expected = step
        data = response['result'].get('structuredContent')
        if not data or 'status' not in data:
            return
        out = data.get('stdout', '')
        incomplete = re.search(UNSTOPPED, data.get('note', '')) or \
            re.search(UNSAVED, out)
        for name in ('status', 'exit_code', 'stdout'):
            value = expected.get(
                {'exit_code': 'code', 'stdout': 'out'}.get(name, name))
            if value is not None and data.get(name) != value and not incomplete:
                raise Violation(f'request {number}: {name} is not {value}: '
                                f'{data}')
        file = data.get('stdout_file')
        if file and not incomplete and os.path.getsize(file) != 144000:
            raise Violation(f'the output file is incomplete: {data}')
        # The command starts in the directory that the last result named.
        if self.cwd and arguments.get('command', '').startswith('pwd') and \
                not out.startswith(self.cwd) and not incomplete:
            raise Violation(f'the command started in {out}, not in {self.cwd}')
        if '_meta' not in arguments:
            self.cwd = data.get('cwd', self.cwd)
        self.task = data.get('task_id', self.task)

    # Checks in/f, which has one line, after an edit, and that no temporary
    # file is left (X3). error is None if the edit succeeded. If exited is set,
    # boris exited before it answered.
    def check_edit(self, error, new, exited=False):
        line = read_text(self.path('in/f')).partition('\n')[0]
        old = '' if new == 'made' else 'old'
        unknown = exited or (error is not None and NO_MEMORY in error)
        expected = new if error is None or (unknown and line == new) else old
        if line != expected and not (error and PARTLY_CHANGED in error):
            raise Violation(f'the file has {line}, not {expected}: {error}')
        for name in os.listdir(self.path('in')):
            if name.startswith('.boris-') and self.resource() != 'unlinkat':
                raise Violation(f'a file is left: {name}')

    # Checks the response to a step. Returns whether it is a result.
    def check_step(self, number, step):
        expected = step[2]
        try:
            response = self.response(number)
        except Exited:
            if 'file' in expected:
                self.check_edit('', expected['file'], True)
            raise
        error = self.error_of(response)
        if 'file' in expected:
            self.check_edit(error, expected['file'])
        if error is None:
            self.check_result(number, response, step)
            return True
        if not self.has_failed() and not self.closing:
            raise Violation(f'error although no call has failed: {error}')
        if self.has_run(number) and NO_MEMORY not in error:
            raise Violation(f'request {number} has run, but the error does not '
                            f'say so: {error}')
        if NO_MEMORY in error and self.is_about_task(step) and \
                not expected.get('retry'):
            self.end_shortage()
            tasks = self.response(self.request('task_output', {}))
            tasks = tasks['result']['structuredContent']['tasks']
            if not tasks:
                raise Violation('the task is not listed')
            self.task = tasks[0]['task_id']
        return False

    # -- One run ---------------------------------------------------------

    # Performs an action that is not a request.
    def perform(self, action):
        last = max(self.requests)
        if action in ('cancel', 'kill', 'term'):
            self.wait_for(lambda: self.has_run(last) or not self.is_running() or
                          not self.read_output(0.005), 0.3)
        if action == 'release':
            with open(self.path('gate'), 'rb+', buffering=0) as gate:
                gate.write(b'\n')
                self.wait_for(lambda: not self.is_running() or
                           not select.select([gate], [], [], 0)[0], 2)
        elif action == 'cancel':
            self.cancelled = last
            self.send('{"jsonrpc":"2.0","method":"notifications/cancelled",'
                     '"params":{"requestId":%d}}' % last)
            self.without_id += 1  # boris does not answer the request
        elif action == 'end':
            os.close(self.stdin)
            self.stdin = -1
        elif action == 'term':
            self.closing = True
            if self.is_running():
                os.kill(self.boris, signal.SIGTERM)
        elif action == 'kill' and self.is_running():
            self.killed = True
            os.kill(self.boris, signal.SIGKILL)
        elif action == 'write':
            with open(self.path('in/f'), 'w') as file:
                file.write('old\n')
        elif action == 'link':
            os.link(self.path('in/f'), self.path('sub/f'))

    def play_steps(self):
        later = []
        for step in self.steps:
            if isinstance(step, str):
                self.perform(step)
                continue
            if '@' in step[1].values() and not self.task:
                return
            number = self.request(step[0], step[1])
            if step[2].get('later'):
                later.append((number, step))
            elif not self.check_step(number, step) and step[2].get('retry'):
                self.end_shortage()
                if not self.check_step(self.request(step[0], step[1]), step):
                    raise Violation('the task cannot be read any more')
        for number, step in later:
            if number != self.cancelled and not self.closing:
                self.check_step(number, step)
        if os.path.exists(self.path('out')):
            raise Violation('boris runs commands without --write')

    def start(self, options):
        shutil.rmtree(self.dir, ignore_errors=True)
        for name in ('', 'tmp', 'in', 'sub'):
            os.mkdir(self.path(name))
        for name in ('gate', 'never'):
            os.mkfifo(self.path(name))
        self.http = '--transport=http' in options
        child_in, self.stdin = os.pipe()
        self.stdout, child_out = os.pipe()
        err = os.open(self.path('err'), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        environment = {
            'TORTURE': self.dir + '.control', 'TMPDIR': self.path('tmp'),
            'PATH': '/usr/local/bin:/usr/bin:/bin',
            'ASAN_OPTIONS': 'exitcode=99:detect_leaks=0',
            'UBSAN_OPTIONS': 'exitcode=99'}
        self.boris = os.fork()
        if self.boris == 0:
            os.chdir(self.dir)
            for to, fd in enumerate((child_in, child_out, err)):
                os.dup2(fd, to)
            os.execve(self.binary, ['boris', *options] +
                      ['--port=0'] * self.http, environment)
        for fd in (child_in, child_out, err):
            os.close(fd)
        os.set_blocking(self.stdin, False)

    # Waits until boris listens. Returns False if boris has exited, or if it
    # could not print the port.
    def wait_until_listening(self):
        self.port = 0

        def port_is_known():
            found = re.match(r'boris: listening on http://127.0.0.1:(\d+)/mcp\n',
                             read_text(self.path('err')))
            self.port = int(found[1]) if found else 0
            return self.port or not self.is_running()

        if not self.wait_for(port_is_known, 1) and \
                self.control()[3] not in ('write', 'poll') and \
                not self.wait_for(port_is_known):
            raise Violation('boris does not listen')
        return self.port > 0

    def initialize(self):
        self.before_response, self.session = True, ''
        for _ in range(3):
            response = self.response(self.request(
                'initialize', {'protocolVersion': '2025-11-25'}))
            if self.error_of(response) is None:
                return
            if not self.has_failed():
                raise Violation('initialize failed')
        raise Exited

    # Returns whether boris can terminate processes. If kill() fails
    # repeatedly, boris takes them for processes of another user and leaves
    # them running (E12).
    def can_kill(self):
        return self.control()[0] == 1 or self.resource() != 'kill'

    # Checks that boris works normally after the shortage (E7).
    def check_recovery(self):
        self.end_shortage()
        if self.killed or self.closing or not self.is_running() or \
                self.stdin < 0 or \
                (self.http and not self.port):
            return
        self.initialize()
        self.cwd = ''
        step = bash('cd /; echo /proc/$$/fd/*; exit 5', code=5)
        number = self.request(step[0], step[1])
        if not self.check_step(number, step):
            raise Violation(f'boris does not recover: {self.responses[number]}')
        fds = self.responses[number]['result']['structuredContent']['stdout']
        # 0 to 2, that of the report of the directory, and that of the listing
        if len(fds.split()) != 5:
            raise Violation(f'a command has unexpected descriptors: {fds}')

        def clean():
            children = children_of(self.boris)
            return len(children) <= 1 and not any(map(is_zombie, children))

        if self.name not in LEAVES and self.can_kill() and \
                not self.wait_for(clean, 2) and self.is_running():
            raise Violation('boris has unexpected children: '
                            f'{children_of(self.boris)}')

        def closed():
            self.fds = len(os.listdir(f'/proc/{self.boris}/fd'))
            return self.fds <= self.fd_max

        # boris notices closed connections a moment later.
        if not self.wait_for(closed, 1) and self.fd_max and self.can_kill():
            raise Violation(f'{self.fds - self.fd_max} descriptors too many are '
                            'open')

    # Reads the remaining output, and waits for boris and all its processes.
    def finish(self):
        if self.http and self.is_running():
            os.kill(self.boris, signal.SIGTERM)
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1
        violation = None
        end = time.monotonic() + PATIENCE
        try:
            while time.monotonic() < end and self.read_output(0.1):
                pass
        except Violation as error:
            violation = error
        if not self.wait_for(lambda: not self.is_running()):
            violation = Violation('boris does not exit')
            os.kill(self.boris, signal.SIGKILL)
        if not self.wait_for(self.reap) and self.can_kill():
            violation = Violation('processes are left: '
                                  f'{children_of(os.getpid())}')
        while not self.reap():
            for child in children_of(os.getpid()):
                os.kill(child, signal.SIGKILL)
            time.sleep(0.01)
        if self.stdout >= 0:
            os.close(self.stdout)
            self.stdout = -1
        if violation:
            raise violation

    def check_exit(self):
        err = '\n'.join(line for line in read_text(self.path('err')).splitlines()
                        if not line.startswith('boris: listening on'))
        if self.killed:
            return
        if os.WIFSIGNALED(self.status):
            raise Violation('boris was killed by signal '
                            f'{os.WTERMSIG(self.status)}')
        status = os.WEXITSTATUS(self.status)
        if (status == 1 or (status == 2 and self.before_response)) and \
                self.has_failed() and \
                len(err.splitlines()) == 1 and \
                (self.before_response or self.resource() == 'memory'):
            return
        if status != 0 or (err and not self.has_failed()):
            raise Violation(f'exit status {status}, stderr: {err}')
        if not self.was_unreadable() and not self.closing:
            raise Violation('unanswered requests: '
                            f'{self.requests - set(self.responses)}')

    # Checks that boris has removed its own files and no other ones.
    def check_files(self):
        left = os.listdir(self.path('tmp'))
        allowed = self.control()[0] > 1 and \
            self.resource() in ('unlink', 'chdir')
        for name in left:
            if name != 'boris-mine' and not name.startswith('.') and \
                    not allowed:
                raise Violation(f'a file is left: {name}')
        if self.killed and 'boris-mine' not in left and self.has_run(2):
            raise Violation("boris removed a file of a command")

    # Plays a scenario once. Returns the first violation, or ''.
    def play(self, name, process, times, at):
        CONTROL.pack_into(self.memory, 0, PROCESSES.index(process), at, times,
                          0, 0, 0, 0, 0, b'', b'')
        self.name, self.status, self.fds = name, 0, 0
        self.requests, self.responses, self.without_id = set(), {}, 0
        self.cancelled, self.partial = 0, b''
        self.killed = self.closing = False
        self.task = self.cwd = ''
        options = [step for step in SCENARIOS[name] if step[:2] == '--']
        self.steps = [step for step in SCENARIOS[name] if step not in options]
        self.before_response = True
        self.start(options)
        violation = ''

        def play_scenario():
            if not self.http or self.wait_until_listening():
                self.initialize()
                self.play_steps()

        for part in (play_scenario, self.check_recovery, self.finish,
                     self.check_exit, self.check_files):
            try:
                part()
            except Exited:
                pass
            except Violation as error:
                violation = violation or ' '.join(str(error).split())[:600]
        if self.show:
            _, count, failed, first, _ = self.control()
            print(f'{name}: calls: {count}; {failed} failed, first {first}\n'
                  f'stderr: {read_text(self.path("err"))}\n'
                  f'{violation or "passed"}')
        return violation

    # Reports a violation if one of two further runs violates a requirement,
    # too. Otherwise the machine was probably busy. Returns the number of
    # reports.
    def report(self, point, violation):
        first = self.control()[3]
        if any([self.play(*point) for _ in range(2)]):
            print(*point, f'{first}: {violation}', flush=True)
            return 1
        return 0


# -- All runs ----------------------------------------------------------------


def subreaper():
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


# Plays runs until the deadline, then writes the number of runs and of
# violations to the descriptor and exits. A point is (SCENARIO, PROCESS, TIMES,
# N); fds has the number of descriptors that boris has open after each
# scenario.
def work(binary, number, points, fds, deadline, descriptor):
    subreaper()
    run = Run(binary, number)
    played = bad = 0
    for point in points:
        if time.monotonic() > deadline:
            break
        run.fd_max = fds[point[0]]
        violation = run.play(*point)
        bad += bool(violation) and run.report(point, violation)
        played += 1
    os.write(descriptor, struct.pack('qq', played, bad))
    os._exit(0)


def main():
    options, args = getopt.getopt(sys.argv[1:], 's:j:1')
    options = dict(options)
    subreaper()
    binary, *names = args
    run = Run(binary, 'x')
    if '-1' in options:
        run.show = True
        name, process, times, at = names
        return run.play(name, process, int(times), int(at)) != ''
    points, fds, bad, played = [], {}, 0, 0
    for name in names or SCENARIOS:
        run.fd_max = 0
        violation = run.play(name, 'boris', 1, 0)
        fds[name], count = run.fds, run.control()[1]
        if violation:
            bad += run.report((name, 'boris', 1, 0), violation)
        for process, calls in zip(PROCESSES, count):
            at = 1
            while at <= calls:
                points += [(name, process, 1, at), (name, process, 10, at)]
                at += 1 + at // DENSE
    deadline = float('inf')
    if '-s' in options:
        random.shuffle(points)
        deadline = time.monotonic() + float(options['-s'])
    jobs = int(options.get('-j', 12))
    reader, writer = os.pipe()
    for number in range(jobs):
        if os.fork() == 0:
            work(binary, number, points[number::jobs], fds, deadline, writer)
    os.close(writer)
    while sums := os.read(reader, 16):
        played, bad = (a + b for a, b in zip((played, bad),
                                             struct.unpack('qq', sums)))
    print(f'{played} runs of {len(points)}\n{played - bad} passed, {bad} failed')
    return bad > 0


if __name__ == '__main__':
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    sys.exit(main())
