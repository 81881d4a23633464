/** Restate: one invocation with one step. Its server has a log of its own and uses no PostgreSQL. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { burstOf, serveLane } from '../postgres/lane.ts';

type Context = { run<Result>(name: string, action: () => Promise<Result>): Promise<Result> };
type Restate = {
  readonly service: (definition: {
    name: string;
    handlers: { [name: string]: (context: Context, input: object) => Promise<object> };
  }) => unknown;
  readonly serve: (options: { services: unknown[]; port: number }) => Promise<unknown>;
};

const packageName = '@restatedev/restate-sdk'; // installed by the bench only, so its types are not here

await serveLane(async () => {
  const { service, serve } = (await import(packageName)) as Restate;
  const [ingress, admin, node, own] = await Promise.all([findPort(), findPort(), findPort(), findPort()]);
  const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-restate-'));
  const require = createRequire(import.meta.url);
  const home = dirname(
    require.resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/package.json`),
  );
  const server = spawn(join(home, 'bin/restate-server'), ['--no-logo'], {
    stdio: 'ignore',
    env: {
      ...process.env,
      RESTATE_BASE_DIR: folder,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_LISTEN_MODE: 'tcp',
      RESTATE_DISABLE_TELEMETRY: 'true',
    },
  });
  process.once('exit', () => server.kill('SIGKILL'));
  await serve({
    services: [
      service({
        name: 'mail',
        handlers: {
          send: (context, input) => context.run('send_mail', async () => ({ ...input, ok: true })),
        },
      }),
    ],
    port: own,
  });
  await register(`http://127.0.0.1:${admin}`, `http://127.0.0.1:${own}`);
  const agent = new Agent({ keepAlive: true, maxSockets: 1_024 });
  let made = 0;
  return {
    burst: burstOf(() => post(agent, ingress, JSON.stringify({ city: 'Lyon', days: made++ }))),
    async close() {
      agent.destroy();
      server.kill('SIGKILL');
      await new Promise((resolve) => server.once('exit', resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

async function register(admin: string, uri: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const answer = await fetch(`${admin}/deployments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ uri }),
    }).catch(() => undefined);
    if (answer?.ok === true) return;
    if (tries === 100) throw new Error(`Restate took no deployment: ${await answer?.text()}`); // it starts within seconds
    await sleep(200);
  }
}

function post(agent: Agent, port: number, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        agent,
        host: '127.0.0.1',
        port,
        path: '/mail/send',
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      },
      (answer) => {
        answer.resume();
        answer.once('end', () =>
          answer.statusCode === 200
            ? resolve()
            : reject(new Error(`Restate answered ${String(answer.statusCode)}.`)),
        );
      },
    );
    sent.once('error', reject);
    sent.end(body);
  });
}

function findPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
