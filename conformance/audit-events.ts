/** Compares the records of an audit trail with expected partial records, in order. */
import { isDeepStrictEqual } from 'node:util';
import type { ActionRecord } from 'quittance/contracts';
import type { Problems } from './case.ts';
import { isData, own, show } from './case.ts';

/** These may appear between and after the expected ones. */
const mayStandBetween: ReadonlySet<string> = new Set(['workflow_completed', 'workflow_state_updated']);

export function checkAuditEvents(
  expected: readonly unknown[],
  found: readonly ActionRecord[],
  hasRun: boolean,
): Problems {
  let at = 0;
  for (const record of found) {
    if (at < expected.length && matchPart(expected[at], record)) at += 1;
    else if (!mayStandBetween.has(record.action) && (hasRun || record.action !== 'call_failed'))
      return [
        at < expected.length
          ? `expected audit event ${at + 1} to be ${show(expected[at])}, got ${show(record)}`
          : `expected no audit event after the ${expected.length} listed, got ${show(record)}`,
      ];
  }
  return at === expected.length
    ? []
    : [`expected audit event ${at + 1} to be ${show(expected[at])}, but there was none`];
}

/** Maps may contain more than expected; all other values must be equal. */
export function matchPart(expected: unknown, found: unknown): boolean {
  if (!isData(expected)) return isDeepStrictEqual(expected, found);
  return (
    isData(found) && Object.keys(expected).every((key) => matchPart(own(expected, key), own(found, key)))
  );
}
