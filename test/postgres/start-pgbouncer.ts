/** The real PgBouncer in transaction mode, if it is installed (Debian: `apt-get install pgbouncer`). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findPort } from '../find-port.ts';

const programs = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'];
/** As root it needs another account to run as. */
const account = 'nobody';

export const findPgBouncer = (): string | undefined => programs.find((path) => existsSync(path));

export type PgBouncer = { readonly url: string; close(): Promise<void> };

/** The server must trust its clients. */
export async function startPgBouncer(program: string, serverUrl: string, size: number): Promise<PgBouncer> {
  const target = new URL(serverUrl);
  const port = await findPort();
  const folder = await mkdtemp(join(tmpdir(), 'quittance-pgbouncer-'));
  await chmod(folder, 0o755);
  const settings = join(folder, 'pgbouncer.ini');
  await writeFile(
    settings,
    [
      '[databases]',
      `* = host=${target.hostname} port=${target.port} user=${target.username}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      'pool_mode = transaction',
      `default_pool_size = ${size}`,
      'max_client_conn = 1000',
      'ignore_startup_parameters = extra_float_digits',
      '',
    ].join('\n'),
  );
  const child = spawn(program, [...(process.getuid?.() === 0 ? ['-u', account] : []), '-q', settings], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`PgBouncer did not start.\n${said}`);
    await sleep(20);
  }
  const url = new URL(serverUrl);
  url.port = String(port);
  return {
    url: url.href,
    async close() {
      if (child.exitCode === null && child.signalCode === null) {
        const over = once(child, 'exit');
        child.kill('SIGQUIT');
        await over;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
