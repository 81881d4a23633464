/** Rules in the ledger: their versions, and which of them matched the newest calls. */
import { readStored } from '../ledger/feed.ts';
import { isKnownEvent } from '../ledger/formats/v1/event-table.ts';
import { ledgerSessionId } from '../ledger/ledger.ts';
import type { ContractsVersion, RuleHit, RuleHits, RuleHitsQuery } from './api/contract.ts';
import type { BoundedReads, CallRef } from './bounded-reads.ts';

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

const callsAtOnce = 100;

/** The calls, read together, until the request has read as much as it may. */
async function* readEach(
  reads: BoundedReads,
  rows: readonly CallRef[],
): AsyncGenerator<CallRef & { readonly stored: Awaited<ReturnType<BoundedReads['call']>> }, void> {
  for (let start = 0; start < rows.length && !reads.isSpent; start += callsAtOnce) {
    const some = rows.slice(start, start + callsAtOnce);
    const read = await reads.calls(some);
    for (const [index, { sessionId, callId }] of some.entries())
      yield { sessionId, callId, stored: read[index] };
  }
}

type CountedRule = { -readonly [Name in keyof RuleHit]: RuleHit[Name] };

/** Counts each call once for each rule. A call that a rule only would have changed counts as observed. */
export async function countHits(reads: BoundedReads, { since, until }: RuleHitsQuery): Promise<RuleHits> {
  const found = new Map<string, CountedRule>();
  const { queries } = reads.ledger;
  const [denials, { rows, next }] = await Promise.all([
    queries.countDenials({ since, until }),
    queries.findCalls({ limit: mostCalls, since, until }),
  ]);
  let examined = 0;
  for await (const { sessionId, callId, stored } of readEach(reads, rows)) {
    const seen = new Set<string>();
    examined++;
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
    calls: examined,
    since: rows[examined - 1]?.requestedAt,
    exact: next === undefined && examined === rows.length,
    denials,
    rules: [...found.values()].toSorted(
      (one, other) => other.hits + other.observed - one.hits - one.observed,
    ),
  };
}
