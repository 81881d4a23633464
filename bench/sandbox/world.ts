/** A host with secrets: a project with a ledger in it, another project, servers, sockets and a process to attack. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type AddressInfo, type ListenOptions, type Server } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import { contractsFromYaml } from 'quittance/contracts';
import { openLedger } from 'quittance/ledger';
import { createSandbox, type Sandbox, type SandboxRun } from 'quittance/sandbox';

/** In everything that a command must not see. No random text contains it. */
export const secret = 'QTC-SECRET-5f1d9a';
/** Printed by a command that got where it must not be. */
export const escaped = 'QTC-ESCAPED-77c3e0';

type OpenedLedger = Awaited<ReturnType<typeof openLedger>>;

export type World = {
  readonly folder: string;
  readonly project: string;
  readonly other: string;
  readonly ledgerPath: string;
  readonly sandbox: Sandbox;
  readonly ledger: OpenedLedger;
  /** Serves a greeting. The rules of the tool Net allow it. */
  readonly allowedPort: number;
  /** Serves a secret on all addresses. No rule allows it. */
  readonly secretPort: number;
  /** An address of this machine that is not loopback, if it has one. */
  readonly address: string;
  readonly abstractName: string;
  readonly victim: ChildProcess;
  /** A held call that an agent could want to approve. */
  readonly confirmation: { readonly id: string; readonly digest: string };
  readonly root: string;
  /** Runs a shell text as the tool. */
  readonly sh: (text: string, tool?: string, sandbox?: Sandbox) => Promise<SandboxRun>;
  readonly small: Sandbox;
  readonly close: () => Promise<void>;
};

const repository = join(import.meta.dirname, '../..');

export async function createWorld(): Promise<World> {
  const { folder, project, other, ledgerPath } = writeFiles();
  const [allowed, hidden, docker, abstract] = await Promise.all([
    listen(createHttpServer(greet), {
      host: '127.0.0.1',
      port: 0,
    }),
    listen(
      createHttpServer((_, response) => response.end(secret)),
      { port: 0 },
    ),
    listen(
      createHttpServer((_, response) => response.end(secret)),
      { path: join(project, 'docker.sock') },
    ),
    listen(
      createServer((socket) => socket.on('error', () => undefined).end(secret)),
      { path: `\0quittance-${process.pid}` },
    ),
  ]);
  const portOf = (server: Server): number => (server.address() as AddressInfo).port; // it listens on a port
  const allowedPort = portOf(allowed);

  const rules = writeRules(project, allowedPort, portOf(hidden));
  const contracts = await contractsFromYaml(rules, { workingDirectory: project });
  const ledger = await openLedger(ledgerPath);
  const confirmation = await holdCall(ledger);
  for (const companion of ['.tokens', '.spill/note', '-note'])
    writeFileSync(`${ledgerPath}${companion}`, `${secret}\n`);

  const node = dirname(dirname(process.execPath));
  const npm = process.env['npm_execpath'];
  const options = {
    contracts,
    ledger,
    protectedFiles: { sealed: [join(project, 'private.pem')] },
    // The package too: an agent may run its command line.
    readOnly: [node, repository, ...(npm === undefined ? [] : [dirname(dirname(npm))])],
    env: { GREETING: 'hello', NPM: npm ?? 'npm-cli.js' },
  };
  writeFileSync(join(project, 'private.pem'), secret);
  const sandbox = createSandbox({ ...options, limits: { timeoutMs: 60_000 } });
  const small = createSandbox({
    ...options,
    limits: { timeoutMs: 5_000, memoryMb: 400, processes: 120, scratchMb: 32, fileMb: 16 },
  });
  const victim = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await once(victim, 'spawn');

  return {
    folder,
    project,
    other,
    ledgerPath,
    sandbox,
    small,
    ledger,
    allowedPort,
    secretPort: portOf(hidden),
    address:
      Object.values(networkInterfaces())
        .flat()
        .find((each) => each?.family === 'IPv4' && !each.internal)?.address ?? '127.0.0.1',
    abstractName: `quittance-${process.pid}`,
    victim,
    confirmation,
    root: repository,
    sh: (words, tool = 'Bash', by = sandbox) => by.run(tool, ['/bin/bash', '-c', words]),
    close: async () => {
      victim.kill('SIGKILL');
      for (const server of [allowed, hidden, docker, abstract]) server.close();
      await ledger.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Places = Pick<World, 'folder' | 'project' | 'other' | 'ledgerPath'>;

function writeFiles(): Places {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-sandbox-'));
  const project = join(folder, 'project');
  const other = join(folder, 'other');
  for (const path of ['.git/hooks', 'src', 'state/.quittance', 'node_modules'])
    mkdirSync(join(project, path), { recursive: true });
  mkdirSync(other);
  const ledgerPath = join(project, 'state/.quittance/ledger.db');
  const text = (path: string, content: string): void => writeFileSync(join(folder, path), content);
  text('other/secret.txt', `${secret}\n`);
  text('project/.env', `TOKEN=${secret}\n`);
  text('project/.git/config', `[remote]\n  url = https://${secret}@example.com\n`);
  text('project/a.txt', 'one\ntwo\nthree\n');
  text('project/package.json', JSON.stringify({ name: 'tiny', scripts: { test: 'node --test' } }));
  text(
    'project/src/sum.test.js',
    "require('node:test').test('sums', () => { if (1 + 1 !== 2) throw 1; });\n",
  );
  symlinkSync(join(other, 'secret.txt'), join(project, 'link-out'));
  symlinkSync(`${ledgerPath}-note`, join(project, 'link-ledger'));
  symlinkSync(join(other, 'planted-by-tool'), join(project, 'link-to-write'));
  return { folder, project, other, ledgerPath };
}

function writeRules(project: string, allowedPort: number, secretPort: number): string {
  const rules = join(project, 'rules.yaml');
  const list = '.git, .env, .env.local, .npmrc';
  writeFileSync(
    rules,
    `apiVersion: edictum/v1
kind: Ruleset
metadata: { name: box }
defaults: { mode: enforce }
rules:
  - { id: here, type: sandbox, tools: [Bash, Net, NetAll, '*_file', list_directory], within: ['.'], not_within: [${list}], message: Stay here. }
  - { id: net, type: sandbox, tools: [Net], allows: { domains: ['127.0.0.1:${allowedPort}', '*.example.com'] }, message: Only there. }
  - { id: net-all, type: sandbox, tools: [NetAll], allows: { domains: ['*', '*:${secretPort}'] }, message: Any host. }
`,
  );
  return rules;
}

/** Answers with a greeting, with a large content, or with the number of bytes that it got. */
function greet(request: IncomingMessage, response: ServerResponse): void {
  if (request.url === '/large') return void response.end(Buffer.alloc(largeBytes, 'x'));
  let bytes = 0;
  request.on('data', (chunk: Buffer) => (bytes += chunk.length));
  request.on('end', () => response.end(`hello from an allowed host, ${bytes} bytes`));
}

export const largeBytes = 20_000_000;

async function listen(server: Server, at: ListenOptions): Promise<Server> {
  server.listen(at);
  await once(server, 'listening');
  return server;
}

/** A question that an agent could want to answer itself. */
async function holdCall(ledger: OpenedLedger): Promise<World['confirmation']> {
  const tool = defineTool({
    name: 'delete_order',
    mode: 'destructive',
    input: { type: 'object' },
    run: () => ({ deleted: true }),
  });
  const runtime = createRuntime({ tools: [tool], ledger });
  const turn = runtime.turn({ sessionId: 'agent', principal: { userId: secret } });
  turn.submit({ id: 'c1', name: 'delete_order', arguments: { order: secret } });
  for (;;) {
    const { rows } = await runtime.confirmations.list({ status: 'pending' });
    const [first] = rows;
    if (first !== undefined) return { id: first.confirmationId, digest: first.inputDigest };
    await new Promise(setImmediate);
  }
}
