/** The options for loading contracts, and the world in which their rules are judged. */
import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import type { Awaitable } from '../base/json.ts';
import type { HostOperator, HostSelector, PolicyWorld } from '../policy/language/policy-call.ts';
import type { ReadOptions } from '../policy/read/read-options.ts';
import type { WorkflowHost } from '../policy/workflow/first-shut-gate.ts';
import type { ToolEvidence } from '../policy/workflow/evidence-sources.ts';
import { evidenceSources } from '../policy/workflow/evidence-sources.ts';
import type { SuccessCheck } from '../tool/success-check.ts';
import { realPath } from '../runtime/own-files.ts';

export type ContractsOptions = {
  /** Decides whether a result is a success, for tools and runtimes without their own check. */
  readonly successCheck?: SuccessCheck;
  /** The value of `environment` in rules. `production` by default. */
  readonly environment?: string;
  /** The source of `env.NAME`. The environment of this process by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Base of relative paths in arguments. None by default, because tools may run elsewhere. Then a relative path is
   * inside relative prefixes only.
   */
  readonly workingDirectory?: string;
  readonly homeDirectory?: string;
  /** Additional selectors, by their first word. */
  readonly selectors?: Readonly<Record<string, HostSelector>>;
  /** Additional operators. */
  readonly operators?: Readonly<Record<string, HostOperator>>;
  /** The evidence that calls give to workflows, by tool name or glob, in addition to `Read`, `Bash` and `mcp__…`. */
  readonly evidence?: Readonly<Record<string, ToolEvidence>>;
  /**
   * Lets workflow conditions run commands. True runs them in a shell for at most 30 seconds; a function runs them
   * itself and returns the exit code. Off by default.
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

/** The exit code; if the command was killed or could not be started, a code that no command returns. */
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
