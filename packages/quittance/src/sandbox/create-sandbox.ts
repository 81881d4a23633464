/**
 * Tools whose bodies run in the sandboxed executor. The contract's sandbox rules configure it: the same rule judges the
 * text of a call and limits what its processes can reach.
 */
import { homedir } from 'node:os';
import { checkKeys } from '../base/check-keys.ts';
import { QuittanceError } from '../base/error.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import { createOwnFiles, type ProtectedFiles } from '../runtime/own-files.ts';
import type { Tool } from '../tool/define-tool.ts';
import { markSandboxed } from '../tool/sandboxed-tool.ts';
import type { ToolContext } from '../tool/tool-context.ts';
import { createAnchors } from './anchors.ts';
import { findEngine, runSandboxed, type SandboxCommand, type SandboxRun } from './run-sandboxed.ts';
import { toBubblewrapArguments } from './bubblewrap-arguments.ts';
import { createFileTools, type FileToolNames } from './file-tools.ts';
import { defaultLimits, planProtects, planSandbox, type SandboxLimits, type SandboxPlan } from './plan.ts';
import { createShellTool, type RunInSandbox } from './shell-tool.ts';
import type { ShellInput, ShellOutput, ShellToolOptions } from './shell-tool.ts';

export type SandboxOptions = {
  /** Its sandbox rules say what each tool may use. Relative paths start at its `workingDirectory`. */
  readonly contracts: Contracts;
  /** The ledger of the runtime that gets the tools. Its files are never visible. */
  readonly ledger: Pick<OpenLedger, 'ownFiles'>;
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
  const anchors = createAnchors();
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
      anchors,
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
  const runCall: RunInSandbox = (command, context) => runAs(context.toolName, command, context);
  const mark = <Made extends Tool>(tool: Made): Made => {
    plan(tool.name); // a rule that is missing or wrong is reported now, not with the first call
    return markSandboxed(tool, {
      engine: 'bubblewrap',
      contracts: options.contracts,
      protects: (files, toolName) => {
        try {
          const made = plan(toolName);
          return files.every((file) => planProtects(made, file));
        } catch {
          return false; // without a plan no call runs, and a later plan may differ
        }
      },
    });
  };

  return {
    plan,
    bubblewrapArguments: (toolName) => toBubblewrapArguments(plan(toolName), { node: process.execPath }),
    run: (toolName, words, given) =>
      runAs(toolName, { words }, given?.signal && { signal: given.signal, reached: () => undefined }),
    shellTool: <const Name extends string = 'run_command'>(given: ShellToolOptions<Name> = {}) =>
      mark(createShellTool(given, runCall, limits)),
    fileTools: (names = {}) => createFileTools(names, runCall, limits).map(mark),
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
