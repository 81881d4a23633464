/** The user, as reported by the operating system, because environment variables can be faked. */
import { userInfo } from 'node:os';
import type { OsUserIdentity } from '../call/event.ts';

export function readOsUser(): OsUserIdentity {
  const uid = process.getuid?.();
  const known = uid === undefined ? {} : { uid };
  try {
    return { kind: 'os_user', user: userInfo().username, ...known };
  } catch {
    // A container may run under a user id without a name.
    return { kind: 'os_user', user: `uid ${uid ?? 'unknown'}`, ...known };
  }
}
