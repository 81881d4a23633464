import type { OpenLedger } from 'quittance/store';
import { createMemoryLedger } from 'quittance/ledger';
import type { Clock } from 'quittance/runtime';
import { alterLedger } from './alter-ledger.ts';

export type RecordingLedger = {
  readonly ledger: OpenLedger;
  /** Everything ever passed to the ledger, as text: what a disk would have seen. */
  readonly written: () => string;
};

/** A memory ledger that remembers every byte it was given, including dropped data. */
export function createRecordingLedger(clock?: Clock): RecordingLedger {
  const inner = createMemoryLedger(clock && { clock });
  const written: string[] = [];
  return {
    ledger: alterLedger(inner, {
      append: (entry) => {
        written.push(JSON.stringify(entry));
        return inner.append(entry);
      },
      putArtifact: (artifact) => {
        const { content } = artifact;
        written.push(JSON.stringify({ ...artifact, content: '' }));
        written.push(typeof content === 'string' ? content : Buffer.from(content).toString('latin1'));
        return inner.putArtifact(artifact);
      },
    }),
    written: () => written.join('\n'),
  };
}
