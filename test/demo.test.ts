import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createRuntime, defineTool } from 'quittance';
import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest';
import { playAll } from '../demo/stage.ts';
import type { World } from '../demo/world.ts';
import manifest from '../package.json' with { type: 'json' };
import { root } from './sources.ts';

/** Starts what `npm run tour` starts, with its own folder for temporary files. */
function start(folder: string) {
  const [, ...args] = manifest.scripts.tour.split(' ');
  const env = { ...process.env, TMPDIR: folder, TEMP: folder, TMP: folder };
  return spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
}

describe('npm run tour', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quittance-test-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('plays to the end as scripted, in plain text off a terminal, and leaves nothing behind', async () => {
    const demo = start(folder);
    const [output, errors, [code]] = await Promise.all([
      text(demo.stdout),
      text(demo.stderr),
      once(demo, 'close'),
    ]);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(output).toContain('Where to go next');
    expect(output).not.toContain('\u001B');
    expect(output.split('\n').filter((line) => Array.from(line).length > 100)).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });

  // Windows has no signals.
  it.skipIf(process.platform === 'win32')(
    'cleans up when it is interrupted',
    async () => {
      const demo = start(folder);
      let output = '';
      demo.stdout.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
        if (output.includes('list_files') && !demo.killed) demo.kill('SIGINT');
      });
      const [code] = (await once(demo, 'close')) as [number];
      expect(code).toBe(130);
      expect(output).not.toContain('Where to go next');
      expect(readdirSync(folder)).toEqual([]);
    },
    20_000,
  );
});

test('a scene that does not end as scripted is reported', async () => {
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const runtime = createRuntime({ tools: [defineTool({ name: 'get_nothing', run: () => null })] });
  const report = await playAll(
    [
      {
        title: 'Wrong',
        play: async ({ ask, openTurn }) => {
          await ask(
            openTurn(),
            'get_nothing',
            {},
            { ends: 'failure tool.execution_error', happened: '', records: ['blocked'] },
          );
        },
      },
      {
        title: 'Broken',
        play: () => Promise.reject(new Error('a hole in the stage')),
      },
    ],
    runtime,
    {} as World, // neither scene reads it
  );
  vi.restoreAllMocks();
  expect(report.failures).toEqual([
    'Scene 1: "get_nothing" should end as failure tool.execution_error, but ended as result.',
    'Scene 1: the records of call_1 should be blocked, but are completed.',
    expect.stringContaining('Scene 2: it stopped early. Error: a hole in the stage'),
  ]);
});
