/** Everything the demo uses: a separate folder, a shop on this machine, an approver, a ledger. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfirmationAnswer } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';
import { createMemoryLedger } from 'quittance/ledger';
import type { Shop } from './shop.ts';
import { openShop } from './shop.ts';

export interface World {
  readonly folder: string;
  readonly shop: Shop;
  readonly ada: Person;
  /** The ledger of every runtime of the demo. */
  readonly ledger: OpenLedger;
  has(file: string): boolean;
  close(): Promise<void>;
}

export interface Person {
  readonly name: string;
  /** Her decision on the next confirmations. */
  will(decision: 'approve' | 'deny', reason?: string): void;
  /** She is away: confirmations wait until she decides. */
  leave(): void;
  answer(): ConfirmationAnswer | Promise<ConfirmationAnswer>;
}

export async function openWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-demo-'));
  // Registered first, so that every exit cleans up.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'orders.csv'), 'order,customer,cents\n17,Ben,417\n18,Eve,418\n');
  writeFileSync(join(folder, 'old.csv'), 'order,customer,cents\n1,Ada,401\n');
  const shop = await openShop();
  return {
    folder,
    shop,
    ada: createPerson('Ada'),
    ledger: createMemoryLedger(),
    has: (file) => existsSync(join(folder, file)),
    close: () => shop.close(),
  };
}

function createPerson(name: string): Person {
  let mind: ConfirmationAnswer | undefined = { decision: 'approve', by: name };
  let waiting: ((answer: ConfirmationAnswer) => void)[] = [];
  return {
    name,
    will(decision, reason) {
      const answer: ConfirmationAnswer = { decision, by: name, ...(reason !== undefined && { reason }) };
      mind = answer;
      for (const tell of waiting) tell(answer);
      waiting = [];
    },
    leave() {
      mind = undefined;
    },
    answer: () => mind ?? new Promise((resolve) => waiting.push(resolve)),
  };
}
