/**
 * The owner of a session: the principal of its first turn, and the program that made its first call. A session that
 * another one opened belongs to the owner of that one too.
 */
import type { DirectIdentity } from '../../call/event.ts';
import { directOf, namesOf } from '../../call/same-identity.ts';
import { isKnownEvent } from '../../ledger/formats/v1/event-table.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Askers } from './separate-duties.ts';
import { principalNames } from './separate-duties.ts';

/** Sessions deeper than this are owned by those nearer to the call. */
const mostParents = 20;

export async function sessionOwners(
  { entries }: Pick<Ledger, 'entries'>,
  sessionId: string,
): Promise<Askers> {
  const names: string[] = [];
  const identities: DirectIdentity[] = [];
  const seen = new Set<string>();
  for (
    let at: string | undefined = sessionId;
    at !== undefined && seen.size < mostParents && !seen.has(at);
  ) {
    seen.add(at);
    const [first] = await entries.read({ sessionId: at, limit: 1 });
    at = undefined;
    if (first === undefined) break;
    for (const event of readEntry(first).events) {
      if (!isKnownEvent(event)) continue;
      if (event.type === 'turn.opened') {
        at = event.parentSessionId;
        names.push(...principalNames(event.principal));
      }
      if (event.type === 'tool.requested' && event.askedBy !== undefined) {
        names.push(...namesOf(event.askedBy));
        identities.push(...directOf(event.askedBy));
      }
    }
  }
  return { names, identities };
}
