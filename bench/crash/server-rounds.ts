/**
 * Lets the server or the network fail while a process makes calls. The process lives, unlike in the other rounds. Then
 * another process asks for the same calls. No effect may happen twice, and every call must end once.
 */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PgServer } from '../../test/postgres/pg-server.ts';
import type { PgProxy } from '../../test/postgres/start-proxy.ts';
import { startProxy } from '../../test/postgres/start-proxy.ts';
import { schemaUrl } from './ledgers.ts';
import type { ServerErrand, ServerPoint } from './points.ts';
import type { World } from './world.ts';

export type ServerTally = {
  rounds: number;
  calls: number;
  once: number;
  refused: number;
  duplicated: number;
  lost: number;
  indeterminate: number;
  notRun: number;
  findings: number;
};

export const emptyServerTally = (): ServerTally => ({
  rounds: 0,
  calls: 0,
  once: 0,
  refused: 0,
  duplicated: 0,
  lost: 0,
  indeterminate: 0,
  notRun: 0,
  findings: 0,
});

type Answers = Readonly<Record<string, { readonly type: string; readonly code?: string }>>;
type Told = { readonly outcomes: Answers; readonly findings: number };

const lanes = 32;
/** The failure happens after these shares of the calls. */
const shares = [0.2, 0.5, 0.8] as const;
/** Longer than the lease of these rounds. */
const stoppedMs = 2_500;

class Child {
  readonly process: ChildProcess;
  readonly over: Promise<void>;
  done = 0;
  told: Told | undefined;

  constructor(errand: ServerErrand) {
    this.process = fork(join(import.meta.dirname, 'server-child.ts'), [JSON.stringify(errand)], {
      execArgv: ['--conditions=quittance-source'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.process.on('message', (message: { readonly done: number } | Told | string) => {
      if (typeof message === 'string') return;
      if ('done' in message) this.done = message.done;
      else this.told = message;
    });
    this.over = once(this.process, 'exit').then(([code, signal]) => {
      if (code !== 0 && signal !== 'SIGKILL')
        throw new Error(`The child ended with ${String(code ?? signal)}: ${JSON.stringify(errand)}`);
    });
  }

  /** Resolves when so many calls ended, or the process did. */
  async reach(calls: number): Promise<void> {
    let isOver = false;
    void this.over.finally(() => (isOver = true)).catch(() => undefined);
    while (this.done < calls && !isOver) await sleep(2);
  }
}

export async function playServerRound(
  world: World,
  server: PgServer,
  { point, calls, serial }: { readonly point: ServerPoint; readonly calls: number; readonly serial: number },
  into: ServerTally,
): Promise<void> {
  const proxy = await startProxy(server.url);
  const name = `server-${serial}`;
  const common = { sessionId: `v${serial}`, service: world.url, calls, lanes };
  // Without a listening connection nothing but the lease says that a stopped process lives.
  const url = schemaUrl(server.url, name);
  const throughProxy = schemaUrl(proxy.url, name) + (point === 'process stopped' ? '&listen=off' : '');
  try {
    const recoverer =
      point === 'process stopped' ? new Child({ ...common, part: 'recoverer', ledger: url }) : undefined;
    if (recoverer !== undefined) await Promise.race([once(recoverer.process, 'message'), recoverer.over]);
    const first = new Child({ ...common, part: 'first', ledger: throughProxy });
    for (const share of shares) {
      await first.reach(Math.floor(calls * share) - lanes);
      await sleep(Math.random() * 20);
      await fail(point, { server, proxy, first, recoverer });
    }
    recoverer?.process.kill('SIGKILL');
    await first.over;
    await recoverer?.over;
    const after = new Child({ ...common, part: 'after', ledger: url });
    await after.over;
    into.rounds++;
    into.findings += after.told?.findings ?? 1;
    for (let index = 0; index < calls; index++) {
      const callId = `c${index}`;
      count(into, {
        effects: world.count(`${common.sessionId}/${callId}`),
        heard: first.told?.outcomes[callId],
        answer: after.told?.outcomes[callId],
        name: `${point}: ${callId}`,
      });
    }
  } finally {
    await proxy.close();
  }
}

type Scene = {
  readonly server: PgServer;
  readonly proxy: PgProxy;
  readonly first: Child;
  readonly recoverer: Child | undefined;
};

async function fail(point: ServerPoint, { server, proxy, first, recoverer }: Scene): Promise<void> {
  switch (point) {
    case 'backend killed': {
      const [row] = await server.query(
        `SELECT pid FROM pg_stat_activity WHERE query LIKE '%append\\_v1(%' AND pid <> pg_backend_pid() LIMIT 1`,
      );
      if (typeof row?.['pid'] === 'number') process.kill(row['pid'], 'SIGKILL');
      return;
    }
    case 'backend terminated':
      await server.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE query LIKE '%append\\_v1(%' AND pid <> pg_backend_pid()`,
      );
      return;
    case 'server killed':
      await server.kill();
      await server.start();
      return;
    case 'server restarted':
      await server.stop();
      await server.start();
      return;
    case 'network cut':
      proxy.cut();
      return;
    case 'answers lost':
      proxy.dropAnswers();
      await sleep(150);
      proxy.passAnswers();
      return;
    case 'network silent':
      proxy.stall();
      await sleep(1_500);
      proxy.resume();
      return;
    case 'process stopped': {
      if (recoverer === undefined) return;
      first.process.kill('SIGSTOP');
      await sleep(stoppedMs);
      const recovered = once(recoverer.process, 'message');
      recoverer.process.send('recover');
      await Promise.race([recovered, recoverer.over]);
      first.process.kill('SIGCONT');
    }
  }
}

type Counted = {
  readonly effects: number;
  readonly heard: Answers[string] | undefined;
  readonly answer: Answers[string] | undefined;
  readonly name: string;
};

function count(into: ServerTally, { effects, heard, answer, name }: Counted): void {
  into.calls++;
  const isSuccess = (one: Answers[string] | undefined): boolean => one?.type === 'ToolExecutionResult';
  const wasRefused = heard?.code === 'ledger.unavailable';
  if (effects > 1) into.duplicated++;
  else if (isSuccess(answer) && effects === 1) into[wasRefused ? 'refused' : 'once']++;
  // A success that the caller heard is never taken back.
  else if (answer?.code === 'tool.indeterminate' && !isSuccess(heard)) into.indeterminate++;
  else if (answer?.code === 'tool.cancelled' && effects === 0) into.notRun++;
  else {
    into.lost++;
    process.stderr.write(
      `\nLost at ${name}: ${effects} effects, heard ${JSON.stringify(heard)}, then ${JSON.stringify(answer)}\n`,
    );
  }
}
