/** What a host may say when it loads contracts, and the world its rules are judged in. */
import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import type { Awaitable } from '../base/json.ts';
import type { HostOperator, HostSelector, PolicyWorld } from '../policy/language/policy-call.ts';
import type { ReadOptions } from '../policy/read/read-options.ts';
import type { WorkflowHost } from '../policy/workflow/first-shut-gate.ts';
import type { ToolEvidence } from '../policy/workflow/evidence-sources.ts';
import { evidenceSources } from '../policy/workflow/evidence-sources.ts';
import type { SuccessCheck } from '../tool/success-check.ts';
import { listFolder, realPath } from '../runtime/files/real-path.ts';

export type ContractsOptions = {
  /** Says whether a result is a success, for tools and runtimes that have no check of their own. */
  readonly successCheck?: SuccessCheck;
  /** What `environment` stands for in rules. `production` by default. */
  readonly environment?: string;
  /** What `env.NAME` stands for. The environment of this process by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * What relative paths in arguments are relative to. Nothing by default: tools may run elsewhere, and then a relative
   * path is inside relative prefixes only.
   */
  readonly workingDirectory?: string;
  readonly homeDirectory?: string;
  /** Selectors beyond those of the language, by their first word. */
  readonly selectors?: Readonly<Record<string, HostSelector>>;
  /** Operators beyond those of the language. */
  readonly operators?: Readonly<Record<string, HostOperator>>;
  /** Which calls show what to workflows, by tool name or glob, beside `Read`, `Bash` and `mcp__…`. */
  readonly evidence?: Readonly<Record<string, ToolEvidence>>;
  /**
   * Lets workflow conditions run commands: true runs them in a shell for at most 30 seconds, a function runs them its
   * own way and gives the exit code. Off by default.
   */
  readonly exec?: boolean | ((command: string) => Awaitable<number>);
};

export const toReadOptions = (options: ContractsOptions): ReadOptions => ({
  operators: Object.keys(options.operators ?? {}),
  selectors: Object.keys(options.selectors ?? {}),
});

export function createWorld(options: ContractsOptions): PolicyWorld {
  const env = options.env ?? process.env;
  return {
    environment: options.environment ?? 'production',
    env: (name) => (Object.hasOwn(env, name) ? env[name] : undefined),
    realPath,
    listFolder,
    workingDirectory: options.workingDirectory,
    homeDirectory: options.homeDirectory ?? homedir(),
    selectors: options.selectors ?? {},
    operators: options.operators ?? {},
  };
}

export function createWorkflowHost(options: ContractsOptions): WorkflowHost {
  const { exec } = options;
  return {
    evidence: evidenceSources(options.evidence),
    ...(options.workingDirectory !== undefined && { workingDirectory: options.workingDirectory }),
    ...(exec === true && { exec: runInShell }),
    ...(typeof exec === 'function' && { exec }),
  };
}

const longestRunMs = 30_000;

/** The exit code; one no command gives where it was killed or could not be started. */
const runInShell = (command: string): Promise<number> =>
  new Promise((resolve) => {
    const child = spawn(command, {
      shell: true,
      stdio: 'ignore',
      timeout: longestRunMs,
      killSignal: 'SIGKILL',
    });
    child.on('error', () => resolve(-1));
    child.on('exit', (code) => resolve(code ?? -1));
  });
