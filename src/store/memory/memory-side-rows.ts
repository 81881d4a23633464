import { contentBytes, contentDigest } from '../../base/content-digest.ts';
import type { SideRow } from '../../ledger/side-row.ts';
import type { NewArtifact } from '../../ledger/artifacts.ts';
import type { ClaimHolder, Counter } from '../../ledger/claims.ts';
import type { MemorySession } from './memory-session.ts';

/** Lists the state stored outside entries, row by row. */
export async function* listMemorySideRows(
  sessions: Iterable<MemorySession>,
  claims: Iterable<readonly [string, ClaimHolder]>,
  counters: Iterable<readonly [string, Counter]>,
  artifacts: Iterable<ReadonlyMap<string, NewArtifact>>,
): AsyncGenerator<SideRow, void, undefined> {
  for (const [key, holder] of claims) yield { kind: 'claim', key, ...holder };
  for (const [name, { used, reserved }] of counters) yield { kind: 'counter', name, used, reserved };
  for (const session of sessions) {
    const { sessionId } = session;
    for (const effect of session.allInDoubt()) yield { kind: 'unsettled', sessionId, ...effect };
    for (const [subject, { version, state }] of session.states)
      yield { kind: 'state', sessionId, subject, version, text: JSON.stringify(state) };
    for (const [callId, { sealed }] of session.calls)
      if (sealed !== undefined) yield { kind: 'sealed', sessionId, callId };
  }
  for (const kept of artifacts)
    for (const { sessionId, callId, artifactId, content } of kept.values()) {
      const sizeBytes = contentBytes(content).byteLength;
      yield { kind: 'artifact', sessionId, callId, artifactId, sizeBytes, digest: contentDigest(content) };
    }
}
