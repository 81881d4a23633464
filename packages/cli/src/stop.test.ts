import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { expect, test } from 'vitest';
import { startCli } from '../../../test/run-cli.ts';

test('Ctrl-C ends a long export with a message, and releases the ledger', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-cli-'));
  const path = join(folder, 'ledger.db');
  const ledger = await openLedger(path);
  const page = defineTool({
    name: 'get_page',
    mode: 'read',
    input: { type: 'object' },
    run: () => 'x'.repeat(4_000),
  });
  const runtime = createRuntime({ tools: [page], ledger });
  const turn = runtime.turn({ sessionId: 's' });
  await Promise.all(
    Array.from({ length: 300 }, (_, index) =>
      turn.call({ id: `c${index}`, name: 'get_page', arguments: { index } }),
    ),
  );
  await runtime.close();
  await ledger.close();

  // More data than a pipe can hold, so the export cannot end before it is read.
  const child = startCli(['export', '--out', '-', '--ledger', path]);
  await once(child.stdout, 'readable');
  child.kill('SIGINT');
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  expect(code).toBe(130);
  expect(err).toMatch(
    /^Stopped after \d+ of 300 entries\. The written part is not a complete export; verify rejects it\.\n$/,
  );
  expect(out).not.toContain('quittanceExportEnd');
  expect(readdirSync(`${path}.owners`)).toEqual([]);
  rmSync(folder, { recursive: true });
});
