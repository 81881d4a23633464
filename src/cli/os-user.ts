/** The user of the operating system, as the system says it: the environment can be set to anything. */
import { userInfo } from 'node:os';
import type { OsUserIdentity } from '../call/event.ts';

export function readOsUser(): OsUserIdentity {
  const uid = process.getuid?.();
  const known = uid === undefined ? {} : { uid };
  try {
    return { kind: 'os_user', user: userInfo().username, ...known };
  } catch {
    // A container may run under a number that has no name.
    return { kind: 'os_user', user: `uid ${uid ?? 'unknown'}`, ...known };
  }
}
