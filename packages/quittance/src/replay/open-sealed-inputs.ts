import { isQuittanceError } from '../base/error.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import { sealContext } from '../runtime/recorded-input.ts';
import { createSealOnce } from './side-subjects.ts';
import { readSideRows, readSealed } from '../ledger/reads.ts';

/** Enough to find another key. `quittance verify` opens all. */
const most = 1_000;

/** Tries the key of the ledger on its sealed inputs. Undefined without a key. */
export async function openSealedInputs(
  ledger: OpenLedger,
): Promise<{ readonly opened: number; readonly broken: number } | undefined> {
  const seal = createSealOnce(ledger)();
  if (seal === undefined) return undefined;
  let [opened, broken] = [0, 0];
  for await (const row of readSideRows(ledger)) {
    if (row.kind !== 'sealed' || row.sessionId === undefined) continue;
    const sealed = await readSealed(ledger, row.sessionId, row.callId);
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
