import { isQuittanceError } from '../base/error.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { sealContext } from '../runtime/state/seal-input.ts';
import { createSealOnce } from './side-subjects.ts';

/** Enough to find another key. `quittance verify` opens all. */
const most = 1_000;

/** Tries the key of the ledger on its sealed inputs. Undefined without a key. */
export async function openSealedInputs(
  ledger: Ledger,
): Promise<{ readonly opened: number; readonly broken: number } | undefined> {
  const seal = createSealOnce(ledger)();
  if (seal === undefined) return undefined;
  let [opened, broken] = [0, 0];
  for await (const row of ledger.integrity.readSideRows()) {
    if (row.kind !== 'sealed' || row.sessionId === undefined) continue;
    const sealed = await ledger.journal.readSealed(row.sessionId, row.callId);
    if (sealed === undefined) continue;
    try {
      seal.open(sealed, sealContext(row.sessionId, row.callId));
      opened++;
    } catch (error) {
      if (!isQuittanceError(error, 'seal.broken')) throw error;
      broken++;
    }
    if (opened + broken >= most) break;
  }
  return { opened, broken };
}
