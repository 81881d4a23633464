import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { approve } from '../approve.ts';
import { launchBrowser } from '../browser.ts';
import { packageArguments } from '../frameworks/suite/package-arguments.ts';

const root = join(import.meta.dirname, '../..');

test('the example shows what its agent does, asks, and continues after an approval', async () => {
  const args = [...packageArguments(), 'examples/react/server.ts'];
  const server = spawn(process.execPath, args, { cwd: root, env: { ...process.env, PORT: '0' } });
  const browser = await launchBrowser();
  try {
    const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    const { value: url } = (await lines.next()) as { value: string };
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(String(error)));
    await page.goto(url);
    const card = (name: string) => page.getByRole('article', { name });
    await expect.poll(() => card('get_price').getAttribute('data-status')).toBe('succeeded');
    await approve(card('set_price'));
    await expect.poll(() => card('set_price').getAttribute('data-status')).toBe('succeeded');
    expect(await lines.next()).toMatchObject({ value: 'The agent received: ToolExecutionResult' });

    // A page that opens later gets everything again.
    await page.reload();
    await expect.poll(() => page.getByRole('article').count()).toBe(2);
    expect(complaints).toEqual([]);
  } finally {
    await browser.close();
    server.kill();
  }
});
