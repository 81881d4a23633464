import type { JsonObject } from '../../base/json.ts';
import { clean, cleanObject } from '../input/clean.ts';
import type { AcceptedCall } from './accepted-call.ts';

/** Adds a line about a side problem to the log of a call. */
export function aside(live: AcceptedCall, message: string, fields?: JsonObject): void {
  const line = { at: live.engine.ledger.now(), message: clean(live, message).slice(0, 2_000) };
  const { journal } = live;
  const added = fields === undefined ? line : { ...line, fields: cleanObject(live, fields) };
  journal.asides = [...journal.asides, added];
}
