/**
 * Tools whose bodies run in the sandboxed executor. The contract's sandbox rules configure it: the same rule judges the
 * text of a call and limits what its processes can reach.
 */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { checkKeys } from '../base/check-keys.ts';
import { QuittanceError } from '../base/error.ts';
import type { JsonObject } from '../base/json.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import { createOwnFiles, type ProtectedFiles } from '../runtime/files/own-files.ts';
import { defineTool, type Tool } from '../tool/define-tool.ts';
import type { ToolMode } from '../tool/mode.ts';
import { jsonSchema } from '../tool/schema.ts';
import { markSandboxed } from '../tool/sandboxed-tool.ts';
import type { SuccessVerdict } from '../tool/success-check.ts';
import type { ToolContext } from '../tool/tool-context.ts';
import {
  fileProgramWords,
  findEngine,
  runSandboxed,
  toBubblewrapArguments,
  type SandboxCommand,
  type SandboxRun,
  type SandboxStop,
} from './bubblewrap.ts';
import { defaultLimits, planSandbox, planShows, type SandboxLimits, type SandboxPlan } from './plan.ts';
import type { FileAnswer, FileRequest } from './sandbox-files.ts';

export type SandboxOptions = {
  /** Its sandbox rules say what each tool may use. Relative paths start at its `workingDirectory`. */
  readonly contracts: Contracts;
  /** The ledger of the runtime that gets the tools. Its files are never visible. */
  readonly ledger: Pick<Ledger, 'ownFiles'>;
  /** More files of the host, as in `createRuntime`. */
  readonly protectedFiles?: ProtectedFiles;
  /** Folders outside the project that commands may read, such as a toolchain in a home folder. */
  readonly readOnly?: readonly string[];
  /** Variables for commands. Of the host's environment they get only LANG, LC_ALL, TERM, TZ, NODE_ENV and CI. */
  readonly env?: Readonly<Record<string, string>>;
  readonly limits?: Partial<SandboxLimits>;
};

export type Sandbox = {
  /** A tool that runs a shell text, or the words of one command. */
  readonly shellTool: <const Name extends string = 'run_command'>(
    options?: ShellToolOptions<Name>,
  ) => Tool<Name, ShellInput, ShellOutput>;
  /** Tools that read, write, edit and list files: `read_file`, `write_file`, `edit_file`, `list_directory`. */
  readonly fileTools: (names?: FileToolNames) => readonly Tool[];
  /** What calls of this tool see now. Throws if no rule says so. */
  readonly plan: (toolName: string) => SandboxPlan;
  /** The arguments of bubblewrap for that plan. */
  readonly bubblewrapArguments: (toolName: string) => readonly string[];
  /** Runs a command as a call of this tool would, without a runtime. Nothing is recorded. */
  readonly run: (
    toolName: string,
    words: readonly string[],
    options?: { readonly signal?: AbortSignal },
  ) => Promise<SandboxRun>;
};

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

/** Names under which the file tools are offered. */
export type FileToolNames = {
  readonly read?: string;
  readonly write?: string;
  readonly edit?: string;
  readonly list?: string;
};

/** How long the runtime waits for the executor to end a call that is past its time. */
const graceMs = 10_000;

export function createSandbox(options: SandboxOptions): Sandbox {
  checkKeys('createSandbox', options, ['contracts', 'ledger', 'protectedFiles', 'readOnly', 'env', 'limits']);
  const { contracts, ledger, protectedFiles, readOnly = [], env = {} } = options;
  // A program without types may forget one, or to await it.
  if ((contracts as Contracts | undefined)?.policy === undefined || typeof (ledger as unknown) !== 'object')
    throw new QuittanceError(
      'config.invalid',
      'createSandbox needs { contracts, ledger }: the loaded rules that configure it, and the ledger whose files it hides.',
    );
  const limits = readLimits(options.limits);
  const ownFiles = createOwnFiles(ledger, contracts, protectedFiles, () => undefined);
  const plan = (toolName: string): SandboxPlan =>
    planSandbox({
      toolName,
      contracts,
      ownFiles: ownFiles.list(),
      readOnly,
      environment: env,
      hostEnvironment: process.env,
      homeDirectory: homedir(),
      limits,
    });
  const runAs = async (
    toolName: string,
    command: SandboxCommand,
    context?: Pick<ToolContext, 'signal' | 'reached'>,
  ): Promise<SandboxRun> => {
    const made = plan(toolName);
    const run = await runSandboxed(findEngine(), made, command, {
      signal: context?.signal,
      ...(context?.reached !== undefined && { onReached: context.reached }),
    });
    if (run.stopped === 'cancelled') context?.signal.throwIfAborted();
    return run;
  };
  const mark = <Made extends Tool>(tool: Made): Made => {
    plan(tool.name); // a rule that is missing or wrong is reported now, not with the first call
    return markSandboxed(tool, {
      engine: 'bubblewrap',
      sees: (path) => {
        try {
          return planShows(plan(tool.name), path);
        } catch {
          return false; // without a plan no call runs
        }
      },
    });
  };

  const useFile = async (request: FileRequest, context: ToolContext): Promise<JsonObject> => {
    const run = await runAs(
      context.toolName,
      { words: fileProgramWords, input: JSON.stringify(request), withFileProgram: true },
      context,
    );
    const problem = describeStop(run, limits) ?? (run.exitCode === 0 ? undefined : run.stderr.slice(-2_000));
    if (problem !== undefined) throw new Error(problem);
    // The answer of our own program. A file can make it large, but not malformed.
    const answer = JSON.parse(run.stdout) as FileAnswer;
    if (!answer.ok) throw new Error(answer.error);
    return answer.output as JsonObject;
  };
  // The answer must come back whole: JSON needs up to six bytes for one.
  const mostBytes = Math.floor(limits.outputBytes / 8);
  const timeoutMs = limits.timeoutMs + graceMs;

  return {
    plan,
    bubblewrapArguments: (toolName) => toBubblewrapArguments(plan(toolName), { node: process.execPath }),
    run: (toolName, words, given) =>
      runAs(toolName, { words }, given?.signal && { signal: given.signal, reached: () => undefined }),
    shellTool: <const Name extends string = 'run_command'>(given: ShellToolOptions<Name> = {}) => {
      checkKeys('sandbox.shellTool', given, ['name', 'description', 'mode']);
      const name = given.name ?? ('run_command' as Name); // the default of the type parameter
      return mark(
        defineTool({
          name,
          description:
            given.description ??
            'Runs a shell command in the project. Only the project is visible. A list of words runs one program without a shell.',
          mode: given.mode ?? 'local',
          input: shellInput,
          resources: { commands: ['command'] },
          timeoutMs,
          retryOnTimeout: false,
          successCheck: (_tool: string, output: unknown) => judgeShell(output),
          run: async ({ command }, context): Promise<ShellOutput> => {
            const words = typeof command === 'string' ? [findShell(), '-c', command] : command;
            return toShellOutput(await runAs(name, { words }, context), limits);
          },
        }),
      );
    },
    fileTools: (names = {}) => {
      checkKeys('sandbox.fileTools', names, ['read', 'write', 'edit', 'list']);
      return [
        defineTool({
          name: names.read ?? 'read_file',
          description: `Reads a text file of the project, up to ${mostBytes} bytes.`,
          mode: 'read',
          input: fileInput<{ readonly path: string }>({}),
          resources: { paths: ['path'] },
          successCheck: () => true,
          timeoutMs,
          run: ({ path }, context) => useFile({ operation: 'read', path, mostBytes }, context),
        }),
        defineTool({
          name: names.write ?? 'write_file',
          description: 'Writes a text file of the project, and the folders above it.',
          mode: 'safe_write',
          idempotent: true,
          input: fileInput<{ readonly path: string; readonly content: string }>({
            content: { type: 'string' },
          }),
          resources: { paths: ['path'] },
          timeoutMs,
          run: ({ path, content }, context) => useFile({ operation: 'write', path, content }, context),
        }),
        defineTool({
          name: names.edit ?? 'edit_file',
          description: 'Replaces a text in a file of the project. The text must be there once.',
          mode: 'safe_write',
          input: fileInput<{
            readonly path: string;
            readonly old_text: string;
            readonly new_text: string;
            readonly replace_all?: boolean;
          }>(
            { old_text: { type: 'string', minLength: 1 }, new_text: { type: 'string' } },
            { replace_all: { type: 'boolean' } },
          ),
          resources: { paths: ['path'] },
          timeoutMs,
          run: ({ path, old_text, new_text, replace_all = false }, context) =>
            useFile(
              {
                operation: 'edit',
                path,
                oldText: old_text,
                newText: new_text,
                replaceAll: replace_all,
                mostBytes: 16 * 1_048_576,
              },
              context,
            ),
        }),
        defineTool({
          name: names.list ?? 'list_directory',
          description: 'Lists a folder of the project.',
          mode: 'read',
          input: fileInput<{ readonly path: string }>({}),
          resources: { paths: ['path'] },
          successCheck: () => true,
          timeoutMs,
          run: ({ path }, context) =>
            useFile({ operation: 'list', path, mostEntries: Math.floor(mostBytes / 64) }, context),
        }),
      ].map((tool) => mark(tool as Tool)); // four inputs, one list
    },
  };
}

function readLimits(given: Partial<SandboxLimits> = {}): SandboxLimits {
  checkKeys('createSandbox: limits', given, Object.keys(defaultLimits));
  const limits = { ...defaultLimits, ...given };
  for (const [name, value] of Object.entries(limits))
    if (!Number.isSafeInteger(value) || value < 1)
      throw new QuittanceError(
        'config.invalid',
        `createSandbox: limits.${name} is ${String(value)}. Expected a whole number of at least 1.`,
      );
  return limits;
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

const fileInput = <Input>(required: JsonObject, optional: JsonObject = {}) =>
  jsonSchema<Input>({
    type: 'object',
    properties: { path: { type: 'string', minLength: 1 }, ...required, ...optional },
    required: ['path', ...Object.keys(required)],
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

function describeStop({ stopped, changedPaths }: SandboxRun, limits: SandboxLimits): string | undefined {
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
