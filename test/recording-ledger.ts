import type { Ledger } from 'quittance';
import { createMemoryLedger } from 'quittance';
import type { Clock } from 'quittance';

export type RecordingLedger = {
  readonly ledger: Ledger;
  /** Everything that was ever handed over to be stored, as text: what a disk would have seen. */
  readonly written: () => string;
};

/** A memory ledger that remembers every byte it was given, also what was dropped again. */
export function createRecordingLedger(clock?: Clock): RecordingLedger {
  const inner = createMemoryLedger(clock && { clock });
  const written: string[] = [];
  return {
    ledger: {
      ...inner,
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
    },
    written: () => written.join('\n'),
  };
}
