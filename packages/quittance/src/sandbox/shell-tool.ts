/** The tool that runs commands in the sandbox, and what counts as its success. */
import { existsSync } from 'node:fs';
import { checkKeys } from '../base/check-keys.ts';
import { defineTool, type Tool } from '../tool/define-tool.ts';
import type { ToolMode } from '../tool/mode.ts';
import { jsonSchema } from '../tool/schema.ts';
import type { SuccessVerdict } from '../tool/success-check.ts';
import type { ToolContext } from '../tool/tool-context.ts';
import type { SandboxCommand, SandboxRun, SandboxStop } from './run-sandboxed.ts';
import type { SandboxLimits } from './plan.ts';

export type ShellToolOptions<Name extends string = string> = {
  /** Default: `run_command`. */
  readonly name?: Name;
  readonly description?: string;
  /** Default: `local`, which asks for consent unless `treatments` say otherwise. */
  readonly mode?: ToolMode;
};

export type ShellInput = { readonly command: string | readonly string[] };

export type ShellOutput = {
  /** Null if the executor ended the command. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Bytes of both streams that were cut out. A marker in the text shows where. */
  readonly omittedBytes: number;
  /** Why the executor ended the command, or why its result does not count. */
  readonly stopped?: string;
  /** Hosts that the proxy refused. */
  readonly refusedHosts?: readonly string[];
};

/** Runs a command for a call. */
export type RunInSandbox = (command: SandboxCommand, context: ToolContext) => Promise<SandboxRun>;

/** How long the runtime waits for the executor to end a call that is past its time. */
export const graceMs = 10_000;

export function createShellTool<const Name extends string>(
  given: ShellToolOptions<Name>,
  run: RunInSandbox,
  limits: SandboxLimits,
): Tool<Name, ShellInput, ShellOutput> {
  checkKeys('sandbox.shellTool', given, ['name', 'description', 'mode']);
  const name = given.name ?? ('run_command' as Name); // the default of the type parameter
  return defineTool({
    name,
    description:
      given.description ??
      'Runs a shell command in the project. Only the project is visible. A list of words runs one program without a shell.',
    mode: given.mode ?? 'local',
    input: shellInput,
    resources: { commands: ['command'] },
    timeoutMs: limits.timeoutMs + graceMs,
    retryOnTimeout: false,
    successCheck: (_tool: string, output: unknown) => judgeShell(output),
    run: async ({ command }, context): Promise<ShellOutput> => {
      const words = typeof command === 'string' ? [findShell(), '-c', command] : command;
      return toShellOutput(await run({ words }, context), limits);
    },
  });
}

const shellInput = jsonSchema<ShellInput>({
  type: 'object',
  properties: {
    command: {
      anyOf: [
        { type: 'string', minLength: 1 },
        { type: 'array', items: { type: 'string' }, minItems: 1 },
      ],
    },
  },
  required: ['command'],
  additionalProperties: false,
});

/** Models write for bash. The system's folders are the same inside. */
const findShell = (): string => ['/bin/bash', '/usr/bin/bash'].find((path) => existsSync(path)) ?? '/bin/sh';

function toShellOutput(run: SandboxRun, limits: SandboxLimits): ShellOutput {
  const stopped = describeStop(run, limits);
  return {
    exitCode: run.exitCode ?? null,
    stdout: run.stdout,
    stderr: run.stderr,
    omittedBytes: run.omittedBytes,
    ...(stopped !== undefined && { stopped }),
    ...(run.refusedHosts.length > 0 && { refusedHosts: run.refusedHosts }),
  };
}

/** Why the run does not count, for the model. */
export function describeStop(
  { stopped, changedPaths }: SandboxRun,
  limits: SandboxLimits,
): string | undefined {
  if (stopped !== undefined) return stopTexts[stopped](limits);
  return changedPaths.length === 0
    ? undefined
    : `During the command these paths were made or replaced, which the rules exclude: ${changedPaths.join(', ')}`;
}

const stopTexts: Readonly<Record<SandboxStop, (limits: SandboxLimits) => string>> = {
  timeout: ({ timeoutMs }) => `The command was ended after ${timeoutMs} ms.`,
  memory: ({ memoryMb }) => `The command was ended because it used more than ${memoryMb} MiB of memory.`,
  processes: ({ processes }) => `The command was ended because it ran more than ${processes} processes.`,
  cancelled: () => 'The command was ended because the call was cancelled.',
  relay: () => 'The command was ended because it sent invalid data to the proxy.',
};

const shownCharacters = 4_000;

/** A command succeeds if it ended by itself with exit code 0. */
function judgeShell(output: unknown): SuccessVerdict {
  const { exitCode, stdout, stderr, stopped } = output as ShellOutput; // made above, by the only body with this check
  if (stopped !== undefined) return { ok: false, reason: stopped };
  if (exitCode === 0) return true;
  const words = [stderr, stdout]
    .map((text) => text.trim().slice(-shownCharacters))
    .filter((text) => text !== '');
  return { ok: false, reason: [`The exit code is ${String(exitCode)}.`, ...words].join('\n') };
}
