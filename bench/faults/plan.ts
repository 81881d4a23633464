/** The C library calls that fail, and how. */
import { constants } from 'node:os';

const { EIO, EMFILE, ENOSPC, EROFS, ENOMEM } = constants.errno;
const ENOLCK = 37; // Linux; Node does not name it

export type FaultMode = 'once' | 'sticky' | 'short';

export type Plan = {
  readonly name: string;
  /** As named in `faults.c`. */
  readonly ops: string;
  readonly error: string;
  readonly errno: number;
  readonly mode: FaultMode;
  /** Is the process killed after its first answer that follows the fault? */
  readonly dies: boolean;
  /** Do both flushing and writing fail? Then a refused write cannot be undone, see docs/ledger.md. */
  readonly isDead: boolean;
  /** Tries only every n-th place. */
  readonly stride: number;
};

const plan = (
  name: string,
  ops: string,
  [error, errno]: readonly [string, number],
  mode: FaultMode,
  { dies = false, isDead = false, stride = 1 }: Partial<Pick<Plan, 'dies' | 'isDead' | 'stride'>> = {},
): Plan => ({ name, ops, error, errno, mode, dies, isDead, stride });

const eio = ['EIO', EIO] as const;
const full = ['ENOSPC', ENOSPC] as const;
const starved = ['EMFILE', EMFILE] as const;
const changes = 'open,write,truncate,fsync,rename,unlink,link,mkdir';

/** `once`: only that call fails. `sticky`: that one and every later one. */
export const plans: readonly Plan[] = [
  plan('fsync', 'fsync', eio, 'once'),
  plan('fsync', 'fsync', eio, 'sticky'),
  plan('fsync', 'fsync', eio, 'once', { dies: true }),
  plan('fsync', 'fsync', eio, 'sticky', { dies: true }),
  plan('write', 'write', eio, 'once'),
  plan('write', 'write', eio, 'sticky'),
  plan('write', 'write', full, 'once'),
  plan('write', 'write', full, 'sticky'),
  plan('write', 'write', full, 'sticky', { dies: true }),
  plan('write', 'write', ['short', 0], 'short'),
  plan('disk full', 'grow,mkdir', full, 'sticky'),
  plan('open', 'open', starved, 'once'),
  plan('open', 'open', starved, 'sticky'),
  plan('open', 'open', eio, 'once'),
  plan('rename', 'rename', eio, 'once'),
  plan('link', 'link', eio, 'once'),
  plan('unlink', 'unlink', eio, 'once'),
  plan('unlink', 'unlink', eio, 'sticky'),
  plan('mkdir', 'mkdir', full, 'once'),
  plan('truncate', 'truncate', eio, 'once'),
  plan('map', 'map', ['ENOMEM', ENOMEM], 'once'),
  plan('read', 'read', eio, 'once'),
  plan('read', 'read', eio, 'sticky'),
  plan('stat', 'stat', eio, 'once'),
  plan('stat', 'stat', eio, 'sticky'),
  plan('lock', 'lock', ['ENOLCK', ENOLCK], 'once'),
  plan('cut log', 'cut', ['emptied', 0], 'once'),
  plan('read-only disk', changes, ['EROFS', EROFS], 'sticky', { isDead: true, stride: 4 }),
  plan('dead disk', `${changes},read,stat`, eio, 'sticky', { isDead: true, stride: 4 }),
  plan('dead disk', `${changes},read,stat`, eio, 'sticky', { dies: true, isDead: true, stride: 4 }),
];
