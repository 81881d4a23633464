/** A server that is restarted with another ledger, or with an older copy of its own, while a page is open. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHttpServer } from '@quittance/server';
import { openLedger } from 'quittance/ledger';
import { expect, test } from 'vitest';
import { tokenFilePath } from '../../packages/server/src/http/token-file.ts';
import { findPort } from '../find-port.ts';
import { openShop } from './shop.ts';
import { openStage } from './stage.ts';
import { lastPosition } from '../../packages/quittance/src/ledger/reads.ts';

test('a page that follows a replaced ledger says so and starts over', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-replaced-'));
  const port = await findPort();
  const stage = await openStage({ server: { port } });
  try {
    const { page, goTo } = await stage.visit();
    await goTo('/calls');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'call call_read' }).waitFor();

    await stage.server.close();
    const ledgerPath = join(folder, 'ledger.db');
    const ledger = await openLedger(ledgerPath);
    const shop = openShop(ledger);
    await shop.runtime.turn({ sessionId: 'restored' }).call({ id: 'call_other', name: 'say', arguments: {} });
    expect(await lastPosition(ledger)).toBeLessThan(await lastPosition(stage.ledger));
    copyFileSync(tokenFilePath(stage.ledgerPath), tokenFilePath(ledgerPath));
    const server = await createHttpServer({ ledger, ledgerUrl: ledgerPath, ...shop, port, localName: 'ada' });
    try {
      await page.getByText('The server now uses another ledger').waitFor();
      await page.getByRole('link', { name: 'call call_other' }).waitFor();
      expect(await page.getByRole('link', { name: 'call call_read' }).count()).toBe(0);
      await page.getByText('Live', { exact: true }).waitFor();
      // It follows the new one from there on.
      await shop.runtime
        .turn({ sessionId: 'restored' })
        .call({ id: 'call_after', name: 'say', arguments: {} });
      await page.getByRole('link', { name: 'call call_after' }).waitFor();
      expect(await page.getByText('The server now uses another ledger').count()).toBe(1);
    } finally {
      await server.close();
      await shop.runtime.close();
      await ledger.close();
    }
  } finally {
    await stage.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
