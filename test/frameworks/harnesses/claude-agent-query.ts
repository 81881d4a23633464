/** Queries of the Claude Agent SDK with a scripted model: no key, no network, no settings of the user. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Options, Query, SDKResultMessage, SpawnOptions } from '@anthropic-ai/claude-agent-sdk';
import { query } from '@anthropic-ai/claude-agent-sdk';
import { openPrompt } from '@quittance/claude-agent';
import type { MessagesRequest, ScriptedBlock } from './scripted-messages.ts';
import { serveMessages } from './scripted-messages.ts';

/** A folder for the settings and the sessions of the SDK. */
export const makeHome = (): string => mkdtempSync(join(tmpdir(), 'claude-home-'));

/** Runs a query to its end. Undefined if it ended without a result. `onQuery` gets the query meanwhile. */
export async function runScripted(
  home: string,
  next: (request: MessagesRequest) => Promise<readonly ScriptedBlock[]>,
  options: Options,
  onQuery?: (query: Query) => void,
): Promise<SDKResultMessage | undefined> {
  const { url, close } = await serveMessages(next);
  const ended: Promise<void>[] = [];
  try {
    let result: SDKResultMessage | undefined;
    // A query can be interrupted, and a deferred call resumed, only while the input is open.
    const prompt = openPrompt('Go.');
    const running = query({
      prompt,
      options: {
        model: 'claude-scripted',
        cwd: home,
        env: { PATH: process.env['PATH'], ...isolated(home, url) },
        tools: [],
        settingSources: [],
        spawnClaudeCodeProcess: (spawning) => {
          const child = spawnOnRecord(spawning);
          ended.push(new Promise((resolve) => child.once('exit', () => resolve())));
          return child;
        },
        ...options,
      },
    });
    onQuery?.(running);
    for await (const message of running) {
      prompt.hear(message);
      if (message.type === 'result') result = message;
    }
    return result;
  } finally {
    // It stores its session until then, and another process may continue it.
    await Promise.all(ended);
    await close();
  }
}

/** Everything that the program stored about its sessions. */
export const transcriptsIn = (home: string): string =>
  readdirSync(home, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.jsonl'))
    .map((file) => readFileSync(join(home, file), 'utf8'))
    .join('');

const isolated = (home: string, url: string): Record<string, string> => ({
  HOME: home,
  TMPDIR: home,
  CLAUDE_CODE_TMPDIR: home,
  CLAUDE_CONFIG_DIR: home,
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_API_KEY: 'scripted',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_AUTOUPDATER: '1',
  DISABLE_ERROR_REPORTING: '1',
  // The program runs for seconds. Its optimizing compilers cost more than they save in that time.
  BUN_JSC_useDFGJIT: '0',
  BUN_JSC_useFTLJIT: '0',
});

const mark = 'claude-process-';

/** The program outlives a killed host, so its process id is stored for the test that killed the host. */
function spawnOnRecord({ command, args, cwd, env, signal }: SpawnOptions) {
  const child = spawn(command, args, { cwd, env, signal, stdio: ['pipe', 'pipe', 'ignore'] });
  child.on('error', () => undefined); // the SDK gets the error too
  const record = join(tmpdir(), `${mark}${child.pid}`);
  writeFileSync(record, '');
  child.on('exit', () => rmSync(record, { force: true }));
  return child;
}

/** Ends the programs whose hosts were killed. */
export function endOrphans(): void {
  for (const name of readdirSync(tmpdir()).filter((file) => file.startsWith(mark))) {
    try {
      process.kill(Number(name.slice(mark.length)), 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
    rmSync(join(tmpdir(), name), { force: true });
  }
}
