/** What agents do all day must work inside. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { SandboxRun } from 'quittance/sandbox';
import { largeBytes, type World } from './world.ts';

export type Ordinary = {
  readonly name: string;
  readonly text: (world: World) => string;
  readonly tool?: string;
  /** In the output. */
  readonly expect?: RegExp;
  readonly check?: (world: World, run: SandboxRun) => boolean;
};

export const ordinary: readonly Ordinary[] = [
  {
    name: 'pipes and filters',
    text: () => `grep -n o a.txt | sort -r | head -1 | sed s/two/2/`,
    expect: /2:2/,
  },
  {
    name: 'loops and variables',
    text: () => 'for i in 1 2 3; do x=$((i * 2)); echo n$x; done',
    expect: /n6/,
  },
  { name: 'a here-document', text: () => 'cat <<EOF > note.txt\nhi\nEOF\ncat note.txt', expect: /hi/ },
  {
    name: 'a written file is on the host and belongs to its user',
    text: () => 'mkdir -p out && echo made > out/made.txt',
    check: ({ project }) =>
      readFileSync(join(project, 'out/made.txt'), 'utf8') === 'made\n' &&
      statSync(join(project, 'out/made.txt')).uid === process.getuid?.(),
  },
  {
    name: 'a file is removed',
    text: () => 'rm out/made.txt',
    check: ({ project }) => !existsSync(join(project, 'out/made.txt')),
  },
  {
    name: 'temporary files',
    text: () => 't=$(mktemp) && echo temp > $t && cat $t && cd && pwd',
    expect: /temp\n\/tmp\/home/,
  },
  {
    name: 'git in a folder of the project',
    text: () =>
      'mkdir -p repo && cd repo && git init -q . && git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m first && git log --oneline',
    expect: /first/,
  },
  {
    name: 'node',
    text: () => `node -e 'console.log(require("os").userInfo().username, [1, 2].map((x) => x + 1))'`,
    expect: /agent \[ 2, 3 \]/,
  },
  {
    name: 'node with a child and with a thread',
    text: () =>
      `node -e 'const c = require("child_process"); console.log(c.execFileSync("echo", ["child"]).toString()); new (require("worker_threads").Worker)("console.log(\\"thread\\")", { eval: true })'`,
    expect: /child[^]*thread/,
  },
  {
    name: 'npm test of a small project',
    text: () => 'node $NPM test 2>&1',
    expect: /pass 1/,
  },
  { name: 'perl and awk', text: () => `perl -e 'print 6 * 7' && echo x y | awk '{print $2}'`, expect: /42y/ },
  {
    name: 'tar and find',
    text: () => 'tar cf /tmp/s.tar src && tar tf /tmp/s.tar && find . -name "*.js"',
    expect: /sum\.test\.js[^]*sum\.test\.js/,
  },
  {
    name: 'a server and a client on the own loopback',
    text: () =>
      `node -e 'const h = require("http"); const s = h.createServer((q, r) => r.end("own")).listen(4000, "127.0.0.1", () => h.get("http://127.0.0.1:4000", { agent: new h.Agent() }, (r) => { r.pipe(process.stdout); r.on("end", () => s.close()) }))'`,
    expect: /own/,
  },
  {
    name: 'the given variables',
    text: () => 'echo $GREETING $HOME $USER',
    expect: /hello \/tmp\/home agent/,
  },
  { name: 'exit codes', text: () => 'exit 7', check: (_, { exitCode }) => exitCode === 7 },
  {
    name: 'a command that a signal ends',
    text: () => 'kill -9 $$',
    check: (_, { exitCode }) => exitCode === 137,
  },
  {
    name: '50 MB of output, of which a part is kept',
    text: () => `head -c 50000000 /dev/zero | tr '\\0' x; echo end`,
    check: (_, { stdout, omittedBytes }) =>
      stdout.length < 400_000 &&
      stdout.endsWith('end\n') &&
      stdout.includes('bytes omitted') &&
      omittedBytes > 49_000_000,
  },
  {
    name: 'curl to an allowed host, through the proxy',
    tool: 'Net',
    text: ({ allowedPort }) => `curl -s -x $http_proxy --noproxy '' http://127.0.0.1:${allowedPort}/`,
    expect: /allowed host/,
  },
  {
    name: 'curl to an allowed host, through a tunnel',
    tool: 'Net',
    text: ({ allowedPort }) => `curl -s -p -x $http_proxy --noproxy '' http://127.0.0.1:${allowedPort}/`,
    expect: /allowed host/,
  },
  {
    name: 'twenty requests at once',
    tool: 'Net',
    text: ({ allowedPort }) =>
      `for i in $(seq 20); do curl -s -x $http_proxy --noproxy '' http://127.0.0.1:${allowedPort}/ -o /tmp/$i & done; wait; cat /tmp/* | grep -o allowed | wc -l`,
    expect: /^20/,
  },
  {
    name: 'a large download, through the proxy',
    tool: 'Net',
    text: ({ allowedPort }) =>
      `for way in '' -p; do curl -s $way -x $http_proxy --noproxy '' http://127.0.0.1:${allowedPort}/large | wc -c; done`,
    expect: new RegExp(`^${largeBytes}\n${largeBytes}\n$`),
  },
  {
    name: 'a large upload, through the proxy',
    tool: 'Net',
    text: ({ allowedPort }) =>
      `for way in '' -p; do head -c ${largeBytes} /dev/zero | curl -s $way -H 'Expect:' --data-binary @- -x $http_proxy --noproxy '' http://127.0.0.1:${allowedPort}/; done`,
    expect: new RegExp(`host, ${largeBytes} bytes.*host, ${largeBytes} bytes`),
  },
];
