/** Rules in the ledger: their versions, and which of them matched the newest calls. */
import { readStored } from '../ledger/feed.ts';
import { isKnownEvent } from '../ledger/formats/v1/event-table.ts';
import { ledgerSessionId } from '../ledger/ledger.ts';
import type { ContractsVersion, RuleHit, RuleHits } from './api/contract.ts';
import type { BoundedReads } from './bounded-reads.ts';

export async function readVersions(reads: BoundedReads): Promise<readonly ContractsVersion[]> {
  let versions: ContractsVersion[] = [];
  // That chain also records every dropped session, so it may be long.
  for (let after = 0; ;) {
    const entries = await reads.ledger.entries.read({
      sessionId: ledgerSessionId,
      after,
      limit: entriesAtOnce,
    });
    for (const entry of entries)
      for (const event of readStored(entry).events)
        if (isKnownEvent(event) && event.type === 'contracts.loaded')
          versions.push({
            policyVersion: event.policyVersion,
            loadedAt: event.at,
            documents: event.documents,
          });
    versions = versions.slice(-mostVersions);
    if (entries.length < entriesAtOnce) return versions.reverse();
    after = entries.at(-1)?.position ?? after;
    await reads.pause();
  }
}

const mostVersions = 100;
const entriesAtOnce = 100;

const mostCalls = 1_000;

export async function countHits(reads: BoundedReads): Promise<RuleHits> {
  const found = new Map<string, { -readonly [Name in keyof RuleHit]: RuleHit[Name] }>();
  const { rows } = await reads.ledger.queries.findCalls({ limit: mostCalls });
  for (const { sessionId, callId } of rows) {
    if (reads.isSpent) break;
    const stored = await reads.call({ sessionId, callId });
    const seen = new Set<string>();
    for (const event of stored === 'large' || stored === undefined ? [] : stored.events) {
      if (event.type !== 'tool.decided' && event.type !== 'tool.responded') continue;
      if (!('rules' in event)) continue;
      for (const { ruleId, action, observed } of event.rules) {
        // Rules judge again after an approval. Count the call once.
        if (seen.has(ruleId)) continue;
        seen.add(ruleId);
        const hit = found.get(ruleId) ?? {
          ruleId,
          action,
          hits: 0,
          observed: 0,
          lastAt: event.at,
          lastCall: { sessionId, callId },
        };
        found.set(ruleId, hit);
        if (observed === true) hit.observed++;
        else hit.hits++;
      }
    }
  }
  return {
    calls: rows.length,
    since: rows.at(-1)?.requestedAt,
    rules: [...found.values()].toSorted(
      (one, other) => other.hits + other.observed - one.hits - one.observed,
    ),
  };
}
