/**
 * When the ledger cannot take the end of a call, the end is spilled: kept by its owner beside the ledger until the
 * ledger works again. No intent is written while there is no room left to spill, since nothing could be promised.
 */
import type { Engine } from './engine.ts';
import { LedgerTrouble } from './ledger-trouble.ts';

/** Before a body may run: what waits is appended first, and there must be room for one more. */
export async function beforeIntent(engine: Engine): Promise<void> {
  if (!engine.spill.waiting) return;
  await importSpills(engine);
  if (!(await engine.ledger.canSpill()))
    throw new LedgerTrouble('what could not be kept fills the spill; free the disk and call recover');
}

/** Appends what dead owners, and this one, have spilled. Gives how many entries there were. */
export async function importSpills(engine: Engine): Promise<number> {
  const { ledger, spill } = engine;
  let imported = 0;
  for (const { ownerId, entries } of await ledger.readSpills()) {
    for (const entry of entries) {
      // One that is there already, or was overtaken, answers `conflict`: then its call has an outcome.
      await ledger.append(entry);
      imported++;
    }
    await ledger.dropSpill(ownerId);
  }
  spill.waiting = false;
  return imported;
}
