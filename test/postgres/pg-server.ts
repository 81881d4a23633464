/** A real PostgreSQL server as a child process that can be killed, stopped, started again and copied to a standby. */
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { appendFile, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { findPort } from '../find-port.ts';
import { binFolder, hydrateLinks } from './start-postgres.ts';

export type PgServerOptions = {
  /** Lines for the file of settings. */
  readonly settings?: readonly string[];
};

/** Folders that a base backup leaves empty. */
const leftOut = [
  'pg_wal',
  'pg_replslot',
  'pg_stat_tmp',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_subtrans',
  'pg_dynshmem',
];
/** A busy machine may take a minute to start a server. One that cannot start ends by itself. */
const startTries = 1_200;
const triesPauseMs = 50;
const endMs = 1_000;
/** A server that stops may accept a connection and never answer it. */
const connectWhileStartingMs = 2_000;
const connectMs = 30_000;
const longestStopMs = 10_000;

export class PgServer {
  readonly folder: string;
  readonly port: number;
  readonly log: string[] = [];
  #process: ChildProcess | undefined;

  private constructor(folder: string, port: number) {
    this.folder = folder;
    this.port = port;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Makes an empty cluster and starts it. Every commit is flushed, as by default. */
  static async create({ settings = [] }: PgServerOptions = {}): Promise<PgServer> {
    hydrateLinks();
    const server = new PgServer(await newFolder(), await findPort());
    run('initdb', [
      '--pgdata',
      server.#data,
      '--username=postgres',
      '--auth=trust',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
    ]);
    await server.#configure(settings);
    await server.start();
    return server;
  }

  get #data(): string {
    return join(this.folder, 'data');
  }

  /** Starts the server and waits until it takes connections. */
  async start(): Promise<void> {
    for (let tries = 0; ; tries++) {
      const child = spawn(join(binFolder(), 'postgres'), ['-D', this.#data], {
        ...account(),
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      child.stderr.setEncoding('utf8').on('data', (line: string) => this.log.push(line));
      this.#process = child;
      if (await this.#isUp(child)) return;
      // After a kill, backends of the old server may hold its memory for a moment.
      if (tries === 20) throw new Error(`PostgreSQL did not start.\n${this.log.join('')}`);
      await sleep(triesPauseMs);
    }
  }

  async #isUp(child: ChildProcess): Promise<boolean> {
    for (let tries = 0; tries < startTries; tries++) {
      if (child.exitCode !== null || child.signalCode !== null) return false;
      try {
        await this.query('SELECT 1', connectWhileStartingMs);
        return true;
      } catch {
        await sleep(triesPauseMs);
      }
    }
    return false;
  }

  /** Ends the server at once, as a crash of the machine's process would. Its backends end by themselves. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Ends all connections and stops. */
  async stop(): Promise<void> {
    await this.#end('SIGINT');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const over = once(child, 'exit');
    child.kill(signal);
    // The server waits for connections that were opened during its shutdown and say nothing. It gives them
    // `authentication_timeout`. Clients that were stopped or cut off while they connect again leave such connections.
    const timer = setTimeout(() => {
      process.stderr.write(
        `\nPostgreSQL did not stop within ${longestStopMs} ms.\n${this.log.slice(-30).join('')}\n`,
      );
      child.kill('SIGQUIT');
    }, longestStopMs);
    await over;
    clearTimeout(timer);
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  /** Runs a statement on a connection of its own. */
  async query(text: string, patienceMs = connectMs): Promise<readonly Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: patienceMs });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query(text)).rows as readonly Record<string, unknown>[];
    } finally {
      // The driver may wait for ever to end a connection that was never made.
      await Promise.race([client.end().catch(() => undefined), sleep(endMs)]);
    }
  }

  /** A standby that follows this server: a copy made between `pg_backup_start` and `pg_backup_stop`. */
  async createStandby(
    name: string,
    { settings = [], primaryPort = this.port }: PgServerOptions & { readonly primaryPort?: number } = {},
  ): Promise<PgServer> {
    const standby = new PgServer(await newFolder(), await findPort());
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    try {
      await client.query('SELECT pg_create_physical_replication_slot($1, true)', [name]);
      // Both functions must run on the same connection.
      await client.query('SELECT pg_backup_start($1, true)', [name]);
      cpSync(this.#data, standby.#data, {
        recursive: true,
        filter: (path) => isCopied(path.slice(this.#data.length + 1)),
      });
      const { rows } = await client.query<{ labelfile: string }>(
        'SELECT labelfile FROM pg_backup_stop(false)',
      );
      for (const folder of ['pg_wal/archive_status', 'pg_wal/summaries'])
        mkdirSync(join(standby.#data, folder), { recursive: true });
      writeFileSync(join(standby.#data, 'backup_label'), rows[0]?.labelfile ?? '');
      writeFileSync(join(standby.#data, 'standby.signal'), '');
    } finally {
      await client.end();
    }
    await standby.#configure([
      `primary_conninfo = 'host=127.0.0.1 port=${primaryPort} user=postgres application_name=${name}'`,
      `primary_slot_name = '${name}'`,
      ...settings,
    ]);
    own(standby.folder);
    execFileSync('chmod', ['700', standby.#data]);
    await standby.start();
    return standby;
  }

  /** Makes a standby the primary. */
  async promote(): Promise<void> {
    await this.query('SELECT pg_promote(true)');
  }

  async #configure(settings: readonly string[]): Promise<void> {
    await appendFile(
      join(this.#data, 'postgresql.conf'),
      [
        '',
        "listen_addresses = '127.0.0.1'",
        "unix_socket_directories = ''",
        `port = ${this.port}`,
        'wal_level = replica',
        ...settings,
        '',
      ].join('\n'),
    );
  }
}

const isCopied = (path: string): boolean => {
  const [first = '', ...rest] = path.split(sep);
  return (
    !(leftOut.includes(first) && rest.length > 0) && first !== 'postmaster.pid' && first !== 'postmaster.opts'
  );
};

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'quittance-postgres-'));
  own(folder);
  return folder;
}

/** PostgreSQL does not run as root: another account owns its files and runs it. */
function account(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  for (const name of ['postgres', 'nobody'])
    try {
      const id = (flag: string): number =>
        Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // There is no such account.
    }
  throw new Error('PostgreSQL needs an account other than root: create one named postgres.');
}

function own(folder: string): void {
  const { uid, gid } = account();
  if (uid === undefined || gid === undefined) return;
  chownSync(folder, uid, gid);
  execFileSync('chown', ['-R', `${uid}:${gid}`, folder]);
}

function run(program: string, args: readonly string[]): void {
  execFileSync(join(binFolder(), program), args, { ...account(), stdio: ['ignore', 'ignore', 'inherit'] });
}
