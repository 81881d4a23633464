import { contentBytes, contentDigest } from '../../base/content-digest.ts';
import type { BesideRow } from '../../ledger/beside.ts';
import type { NewArtifact } from '../../ledger/ledger.ts';
import type { MemorySession } from './memory-session.ts';

/** What is kept beside the entries, row by row. */
export async function* listBeside(
  sessions: Iterable<MemorySession>,
  claims: Iterable<string>,
  counters: Iterable<string>,
  artifacts: Iterable<ReadonlyMap<string, NewArtifact>>,
): AsyncGenerator<BesideRow, void, undefined> {
  for (const key of claims) yield { kind: 'claim', key };
  for (const name of counters) yield { kind: 'counter', name };
  for (const session of sessions) {
    const { sessionId } = session;
    for (const effect of session.allInDoubt()) yield { kind: 'unsettled', sessionId, ...effect };
    for (const subject of session.states.keys()) yield { kind: 'state', sessionId, subject };
    for (const [callId, { sealed }] of session.calls)
      if (sealed !== undefined) yield { kind: 'sealed', sessionId, callId };
  }
  for (const kept of artifacts)
    for (const { sessionId, callId, artifactId, content } of kept.values()) {
      const sizeBytes = contentBytes(content).byteLength;
      yield { kind: 'artifact', sessionId, callId, artifactId, sizeBytes, digest: contentDigest(content) };
    }
}
